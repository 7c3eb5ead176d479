"""Which names loops, options and expressions declare and use, and what each of them names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from mtpp_dsl.core.text.source import Span
from mtpp_dsl.editor.server.index import GLOBAL, KINDS, Declared, Occurrence
from mtpp_dsl.language.lowering.lower_devices import DEVICE_OPTIONS
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS

_BASE = re.compile(r"[^\[\].]+")
Env = Mapping[str, str]
"""Homes of loop variables, of params of functions and of blocks, by name."""

_PHASED = ("work", "output", "size")


class Expressions:
    """Goes through the loops, options and expressions of a statement with what is known at each place.

    Attributes:
        within: the innermost statement or item.
        home: of the items that are gone through: "" or "block NAME".
        siblings: options of the item, which others may refer to.
    """

    def __init__(self, statement: tree.Statement, declared: Declared) -> None:
        self.within: tree.Tree = statement
        self.declared = declared
        self.home = GLOBAL
        self.siblings: tuple[str, ...] = ()

    # places

    def note(
        self,
        word: tree.Word,
        kind: str,
        role: Literal["definition", "reference"] = "definition",
        home: str = GLOBAL,
    ) -> Occurrence:
        """Return the occurrence of a word, of one in quotation marks what is between them."""
        span = unquoted(word.span)
        return Occurrence(word.text, kind, role, span, self.within, home)

    # loops and options

    def clauses(self, clauses: Any, env: Env) -> Iterator[Occurrence]:
        """Yield the names of loops whose variables nothing sees."""
        yield from self.bound(clauses, env)[1]

    def bound(self, loop: Any, env: Env) -> tuple[Env, list[Occurrence]]:
        """Return what is known within a loop, the members of a family or a ``forall``, and the names of the loop."""
        occurrences: list[Occurrence] = []
        if loop is None:
            return env, occurrences
        inner = dict(env)
        for binder in loop.binders:
            occurrences += self.expression(binder.domain, inner)
            start = binder.name.span.start
            home = inner[binder.name.text] = f"loop {id(binder.name.span.source):x}:{start}"
            occurrences.append(self.note(binder.name, "variable", home=home))
        occurrences += self.expression((getattr(loop, "condition", None), getattr(loop, "size", None)), inner)
        return inner, occurrences

    def options(self, options: Sequence[tree.Option], env: Env) -> Iterator[Occurrence]:
        """Yield the names in the values of options."""
        for option in options:
            name, value = option.name.text, option.value
            if name == "type" and self.siblings is DEVICE_OPTIONS:
                yield from self.types(value, env)
            elif name in ("switch", "under") and isinstance(value, tree.Name) and not self.variable(value.name, env):
                yield self.base(value, "switch")
                yield from self.inside(value, env)
            elif isinstance(value, tree.MapOf) and (name == "time" or name in _PHASED):
                kinds = ("device", "type") if name == "time" else ("phase",)
                yield from self.map(value, env, kinds)
            else:
                yield from self.expression(value, env)

    def types(self, value: tree.Expression, env: Env) -> Iterator[Occurrence]:
        """Yield the names in the value of the option ``type``: bare ones are types."""
        match value:
            case tree.Name() if not self.variable(value.name, env):
                yield self.base(value, "type")
            case tree.Conditional():
                yield from self.expression(value.condition, env)
                yield from self.types(value.then, env)
                yield from self.types(value.otherwise, env)
            case tree.Select(base=tree.ListOf(items=items), parts=parts):
                for item in items:
                    yield from self.types(item, env)
                yield from self.expression(parts, env)
            case _:
                yield from self.expression(value, env)

    # expressions

    def members(self, members: Sequence[tree.Expression], env: Env, kind: str) -> Iterator[Occurrence]:
        """Yield the names of nodes or devices that a statement names; strings are names, too."""
        for member in members:
            if isinstance(member, tree.Text):
                yield from self.text(member, kind)
            elif isinstance(member, (tree.ListOf, tree.SetOf)):
                yield from self.members(member.items, env, kind)
            else:
                yield from self.expression(member, env)

    def expression(self, node: Any, env: Env) -> Iterator[Occurrence]:
        """Yield the names of an expression, or of several."""
        match node:
            case None | tree.Number() | tree.Text() | tree.Word() | str() | int() | bool():
                return
            case tuple():
                for part in node:
                    yield from self.expression(part, env)
            case tree.Name():
                yield from self.name(node, env)
            case tree.Part():
                yield from self.expression(node.subscripts, env)
            case tree.Call():
                yield from self.call(node, env)
            case tree.MapOf():
                yield from self.map(node, env, ())
            case tree.ListWhere() | tree.SetWhere():
                inner, occurrences = self.bound(node.clauses, env)
                yield from occurrences
                yield from self.expression(node.item, inner)
            case tree.MapWhere():
                inner, occurrences = self.bound(node.clauses, env)
                yield from occurrences
                yield from self.expression((node.entry.key, node.entry.value), inner)
            case tree.Tree():
                for name in node.__dataclass_fields__:
                    if name != "span":
                        yield from self.expression(getattr(node, name), env)

    def call(self, node: tree.Call, env: Env) -> Iterator[Occurrence]:
        """Yield the names of a call: its function, and strings where nodes or devices are wanted."""
        name = node.function.text
        own = self.declared.has("def", name)
        known = name in FUNCTIONS or name in AGGREGATES
        yield self.note(node.function, "def" if own else "function" if known else "", "reference")
        inner, occurrences = self.bound(node.clauses, env)
        yield from occurrences
        kinds = FUNCTIONS[name][1] if name in FUNCTIONS and not own else ()
        for number, argument in enumerate(node.arguments):
            wanted = kinds[number].rstrip("?") if number < len(kinds) else ""
            if wanted in ("node", "device", "node or device") and isinstance(argument, tree.Text):
                yield from self.text(argument, wanted.partition(" ")[0])
            else:
                yield from self.expression(argument, inner)
        yield from self.options(node.named, inner)

    def map(self, node: tree.MapOf, env: Env, kinds: Sequence[str]) -> Iterator[Occurrence]:
        """Yield the names of a map; its keys are text, which may name a device, a node, a type or a phase."""
        for entry in node.entries:
            key = entry.key
            bare = isinstance(key, tree.Name) and not key.subscripts and not key.parts
            if isinstance(key, tree.Text):
                yield from (replace(occurrence, loose=not kinds) for occurrence in self.text(key, *kinds))
            elif isinstance(key, tree.Name) and bare:
                kind = self.declared.first(key.name, *(kinds or ("device", "node", "type", "phase")))
                if kind:
                    yield replace(self.base(key, kind), loose=not kinds)
            else:
                yield from self.expression(key, env)
            yield from self.expression(entry.value, env)

    def text(self, node: tree.Text, *kinds: str) -> Iterator[Occurrence]:
        """Yield the name that a string begins with, where something is called so."""
        span = unquoted(node.span)
        whole = self.declared.first(node.value, *(kinds or ("device", "node", "type", "phase")), "instance")
        match = _BASE.match(node.value)
        base = node.value if whole else match[0] if match is not None else ""
        kind = whole or self.declared.first(base, *(kinds or ("device", "node", "type", "phase")), "instance")
        if base and span.text == node.value:
            at = Span(span.source, span.start, span.start + len(base))
            kind = kind or (kinds[0] if kinds else "")
            if kind:
                yield Occurrence(base, kind, "reference", at, self.within)

    def variable(self, name: str, env: Env) -> bool:
        """Return whether a name is a loop variable, a param or a let, which come before all others."""
        return name in env or bool(self.declared.first(name, "param", "let"))

    def base(self, node: tree.Name, kind: str, home: str = GLOBAL) -> Occurrence:
        """Return the use of the first word of a name."""
        start = node.span.start
        return Occurrence(
            node.name, kind, "reference", Span(node.span.source, start, start + len(node.name)), self.within, home
        )

    def inside(self, node: tree.Name, env: Env) -> Iterator[Occurrence]:
        """Yield the names between the brackets of a name."""
        yield from self.expression(node.subscripts, env)
        for part in node.parts:
            yield from self.expression(part.subscripts, env)

    def name(self, node: tree.Name, env: Env) -> Iterator[Occurrence]:
        """Yield what a name names, and the parts behind it: nodes of an instance, for one of a block."""
        name = node.name
        if name in env:
            yield self.base(node, "variable", env[name])
        else:
            kind, home = self.meant(name)
            yield self.base(node, kind, home)
            if kind in ("instance", "block"):
                yield from self.parts(node, home)
        yield from self.inside(node, env)

    def meant(self, name: str) -> tuple[str, str]:
        """Return what a name that no loop declares names, and its home."""
        declaration = self.declared.first(name, "param", "let")
        if declaration:
            return declaration, GLOBAL
        if name in self.siblings:
            return "option", GLOBAL
        phase = self.declared.first(name, "phase")
        if phase:
            return phase, GLOBAL
        item = self.declared.item(self.home, name)
        if item is not None:
            return self.kind_of(item), (GLOBAL if self.kind_of(item) == "block" else self.home)
        if self.home != GLOBAL:
            return "", GLOBAL
        return self.declared.first(name, "device", "switch", "type", "def"), GLOBAL

    def kind_of(self, item: tree.NodeItem | tree.UseItem | tree.PortItem) -> str:
        """Return what an item declares; instances without a name of their own go by that of the block."""
        if isinstance(item, tree.UseItem) and item.name.span == item.block.span:
            return "block"
        return KINDS[type(item)]

    def parts(self, node: tree.Name, home: str) -> Iterator[Occurrence]:
        """Yield the names behind the dots of a path into an instance."""
        item = self.declared.item(self.home, node.name)
        for part in node.parts:
            if part.name is None or not isinstance(item, tree.UseItem):
                continue
            home = f"block {item.block.text}"
            inner = self.declared.item(home, part.name)
            if inner is None:
                return
            start = part.span.source.text.find(part.name, part.span.start, part.span.stop)
            at = Span(part.span.source, start, start + len(part.name))
            kind = self.kind_of(inner)
            yield Occurrence(part.name, kind, "reference", at, self.within, GLOBAL if kind == "block" else home)
            item = inner


def unquoted(span: Span) -> Span:
    """Return a span without the quotation marks around it."""
    if span.text.startswith('"') and span.stop - span.start >= 2:
        return Span(span.source, span.start + 1, span.stop - 1)
    return span
