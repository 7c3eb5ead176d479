"""Where names are declared and used, over a text and all that it includes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.language.syntax import tree

GLOBAL = ""
"""The home of names that are known in the whole spec."""


@dataclass(frozen=True)
class Occurrence:
    """A name in a text.

    Attributes:
        name: as it is written, without subscripts; of a string what it says up to the first subscript or dot.
        kind: what it names: "param", "let", "def", "block", "node", "device", "type", "switch", "phase", "scenario",
            "constraint" and "objective" (their labels), "port", "instance" (of a block), "variable" (of a loop, of a
            function, of a block); "function" of the language; "option" of the same item; "file"; "" for a use of
            which that is not known.
        role: whether the name is declared there, or used.
        span: of the name alone, without quotation marks.
        within: the statement or item that it stands in.
        home: where the name is known: :data:`GLOBAL`, "block NAME", or the place of a loop or a function.
        loose: whether it may be text alone, such as the key of a map.
    """

    name: str
    kind: str
    role: Literal["definition", "reference"]
    span: Span
    within: tree.Tree
    home: str = GLOBAL
    loose: bool = False

    @property
    def symbol(self) -> tuple[str, str, str]:
        """What is named: its kind, its name and its home."""
        return self.kind, self.name, self.home

    @property
    def quoted(self) -> bool:
        """Whether it is written as a string."""
        return self.span.source.text[self.span.start - 1 : self.span.start] == '"'


@dataclass(frozen=True, eq=False)
class Index:
    """The names of a text and of what it includes."""

    occurrences: tuple[Occurrence, ...]
    declared: Declared

    @cached_property
    def definitions(self) -> Mapping[str, tuple[Occurrence, ...]]:
        """Where each name is declared."""
        return _by_name(self.occurrences, "definition")

    @cached_property
    def references(self) -> Mapping[str, tuple[Occurrence, ...]]:
        """Where each name is used."""
        return _by_name(self.occurrences, "reference")

    def at(self, source: Source, offset: int) -> Occurrence | None:
        """Return the name at an offset of a source, or just before it."""
        here = [
            occurrence
            for occurrence in self._by_source.get(source, ())
            if occurrence.span.start <= offset <= occurrence.span.stop
        ]
        return min(
            here,
            key=lambda occurrence: (occurrence.span.stop - occurrence.span.start, -occurrence.span.start),
            default=None,
        )

    def same(self, occurrence: Occurrence) -> tuple[Occurrence, ...]:
        """Return all places where the same thing is named, each once, the definitions first."""
        occurrences: dict[tuple[object, int], Occurrence] = {}
        for candidate in self._by_symbol.get(occurrence.symbol, ()):
            source = candidate.span.source
            occurrences.setdefault((source.path or source, candidate.span.start), candidate)
        return tuple(sorted(occurrences.values(), key=lambda candidate: candidate.role))

    @cached_property
    def _by_source(self) -> Mapping[Source, Sequence[Occurrence]]:
        by_source: dict[Source, list[Occurrence]] = {}
        for occurrence in self.occurrences:
            by_source.setdefault(occurrence.span.source, []).append(occurrence)
        return by_source

    @cached_property
    def _by_symbol(self) -> Mapping[tuple[str, str, str], Sequence[Occurrence]]:
        by_symbol: dict[tuple[str, str, str], list[Occurrence]] = {}
        for occurrence in self.occurrences:
            by_symbol.setdefault(occurrence.symbol, []).append(occurrence)
        return by_symbol


def _by_name(occurrences: Iterable[Occurrence], role: str) -> Mapping[str, tuple[Occurrence, ...]]:
    by_name: dict[str, list[Occurrence]] = {}
    for occurrence in occurrences:
        if occurrence.role == role:
            by_name.setdefault(occurrence.name, []).append(occurrence)
    return {name: tuple(group) for name, group in by_name.items()}


KINDS: Mapping[type[tree.Tree], str] = {
    tree.ParamStatement: "param",
    tree.LetStatement: "let",
    tree.DefStatement: "def",
    tree.BlockStatement: "block",
    tree.NodeItem: "node",
    tree.DeviceStatement: "device",
    tree.TypeStatement: "type",
    tree.SwitchStatement: "switch",
    tree.PhaseName: "phase",
    tree.ScenarioStatement: "scenario",
    tree.PortItem: "port",
    tree.UseItem: "instance",
}
"""What constructs declare by their ``name``."""


@dataclass(frozen=True, eq=False)
class Declared:
    """What the statements of a spec declare, by kind and name, and what its blocks have in them.

    Attributes:
        kinds: names by kind.
        blocks: by name: the last one counts.
        graphs: the items of graphs that are written out.
    """

    kinds: Mapping[str, frozenset[str]]
    blocks: Mapping[str, tree.BlockStatement]
    graphs: tuple[tree.Item, ...]

    @classmethod
    def of(cls, statements: Iterable[tree.Statement]) -> Declared:
        """Return what statements declare, those of scenarios among them."""
        kinds: dict[str, set[str]] = {}
        blocks: dict[str, tree.BlockStatement] = {}
        graphs: list[tree.Item] = []

        def note(statement: tree.Statement) -> None:
            match statement:
                case tree.ScenarioStatement(statements=inner):
                    for part in inner:
                        note(part)
                case tree.PhaseStatement(phases=phases):
                    kinds.setdefault("phase", set()).update(phase.name.text for phase in phases)
                case tree.GraphBlock(items=items):
                    graphs.extend(items)
                case tree.BlockStatement():
                    blocks[statement.name.text] = statement
            name = getattr(statement, "name", None)
            if type(statement) in KINDS and isinstance(name, tree.Word):
                kinds.setdefault(KINDS[type(statement)], set()).add(name.text)

        for statement in statements:
            note(statement)
        for item in graphs:
            if isinstance(item, (tree.NodeItem, tree.UseItem)):
                kinds.setdefault(KINDS[type(item)], set()).add(item.name.text)
        return cls({kind: frozenset(names) for kind, names in kinds.items()}, blocks, tuple(graphs))

    def has(self, kind: str, name: str) -> bool:
        """Return whether something of a kind is called *name*."""
        return name in self.kinds.get(kind, ())

    def first(self, name: str, *kinds: str) -> str:
        """Return the first of *kinds* of which something is called *name*; "" where none is."""
        return next((kind for kind in kinds if self.has(kind, name)), "")

    def items(self, home: str) -> Sequence[tree.Item]:
        """Return the items of a block, by its home "block NAME", or of the graph."""
        if home == GLOBAL:
            return self.graphs
        block = self.blocks.get(home.removeprefix("block "))
        return () if block is None else block.items

    def item(self, home: str, name: str) -> tree.NodeItem | tree.UseItem | tree.PortItem | None:
        """Return the item of a block or of the graph that declares *name*; the first of several."""
        return self._items(home).get(name)

    def _items(self, home: str) -> Mapping[str, tree.NodeItem | tree.UseItem | tree.PortItem]:
        if home not in self._known:
            items = self._known[home] = {}
            for item in self.items(home):
                if isinstance(item, (tree.NodeItem, tree.UseItem, tree.PortItem)):
                    items.setdefault(item.name.text, item)
        return self._known[home]

    @cached_property
    def _known(self) -> dict[str, dict[str, tree.NodeItem | tree.UseItem | tree.PortItem]]:
        return {}


_FIELDS: dict[type[tree.Tree], tuple[str, ...]] = {}


def _names_of_fields(kind: type[tree.Tree]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(attribute.name for attribute in fields(kind) if attribute.name != "span")
    return _FIELDS[kind]


def walk(node: Any) -> Iterator[tree.Tree]:
    """Yield a node of the syntax tree and all that it holds, outermost first, in the order of the tree's fields."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.Tree):
            yield node
            waiting += [getattr(node, name) for name in reversed(_names_of_fields(type(node)))]
        elif isinstance(node, tuple):
            waiting += reversed(node)
