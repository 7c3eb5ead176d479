"""The names that may stand at a place, from what is declared, from data files and from the words around the place."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mtpp_dsl.editor.server.features.context import Context
from mtpp_dsl.editor.server.index import Declared
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax.keywords import STATEMENTS
from mtpp_dsl.language.syntax.lexing import lexemes
from mtpp_dsl.language.values.values import Value

MAX_NAMES = 300
"""Names of one sort that are offered."""

_AHEAD = 3_000
_ITEM = re.compile(r'\b(node|use|input|output)\s+(?:[A-Za-z_]\w*\s+as\s+)?([A-Za-z_]\w*|"(?:\\.|[^"\\\n])*+")')
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PARAMS = re.compile(r"\bblock\s+[A-Za-z_]\w*\s*\(([^()]*)\)\s*\Z")


@dataclass(frozen=True)
class KnownName:
    """A name that may stand at a place, and what it names, in words and as the kind of an occurrence."""

    name: str
    kind: str
    detail: str


def names(reading: TextReading, context: Context) -> Iterator[KnownName]:
    """Yield the names that an expression may use."""
    declared = reading.index.declared
    yield from variables(reading, context)
    for kind in ("param", "let", "phase"):
        yield from (
            KnownName(name, kind, _detail(reading, kind, name)) for name in sorted(declared.kinds.get(kind, ()))
        )
    yield from (KnownName(name, "def", "a function of the spec") for name in sorted(declared.kinds.get("def", ())))
    yield from members(reading, context, "node")
    if not context.home:
        yield from members(reading, context, "device")


def value_of(reading: TextReading, known_name: KnownName) -> Value | None:
    """Return the value of a param or a let, as the last analysis knew it; None where it did not."""
    scope = reading.scope
    return (
        scope.params.get(known_name.name) if known_name.kind == "param" else scope.evaluated.lets.get(known_name.name)
    )


def _detail(reading: TextReading, kind: str, name: str) -> str:
    from mtpp_dsl.editor.server.features.values import short

    scope = reading.scope
    value = value_of(reading, KnownName(name, kind, ""))
    return kind if value is None else f"{kind} = {short(value, scope)}"


def variables(reading: TextReading, context: Context) -> Iterator[KnownName]:
    """Yield the variables of the statement's loops, and the params of the function or the block around the place."""
    marks, described = context.marks, {}
    text = reading.text
    for before, mark in itertools.pairwise(marks):
        if mark.text == "in" and _WORD.match(before.text):
            described[before.text] = "a variable of a loop"
    if context.keyword == "def" and len(marks) > 2 and marks[2].text == "(":
        inside = marks[3 : next((n for n, mark in enumerate(marks) if mark.text == ")"), len(marks))]
        described |= {mark.text: "a param of the function" for mark in inside if _WORD.match(mark.text)}
    before_word = ""
    for lexeme in lexemes(text, context.start, min(len(text), context.start + _AHEAD)):
        word = lexeme.text
        if lexeme.kind == "COMMENT":
            continue
        first = lexeme.offset == 0 or text[lexeme.offset - 1] == "\n"
        if (first and word in STATEMENTS) or word == "}" or word in ("node", "edge", "use"):
            break
        if word == "in" and _WORD.match(before_word):
            described[before_word] = "a variable of a loop"
        before_word = word
    container = context.container
    params = (
        _PARAMS.search(text, max(0, container.offset - 500), container.offset) if container.kind == "block" else None
    )
    if params is not None:
        described |= dict.fromkeys(re.findall(r"\w+", params[1]), "a param of the block")
    yield from (KnownName(name, "variable", what) for name, what in described.items())


def members(reading: TextReading, context: Context, kind: str) -> Iterator[KnownName]:
    """Yield the names of nodes or of devices, and of their families; within a block its own nodes."""
    declared = reading.index.declared
    described: dict[str, str] = {}
    if kind == "node":
        described |= dict.fromkeys(_items(reading, context), "a node")
        if not context.home:
            described |= dict.fromkeys(sorted(declared.kinds.get("instance", ())), "instances of a block")
    if kind == "device" or not context.home:
        described |= dict.fromkeys(sorted(declared.kinds.get(kind, ())), f"a {kind}")
        described |= {
            name: what for name, what in _of_scope(reading, kind) if name not in described or "family" in what
        }
    for number, (name, what) in enumerate(described.items()):
        if number >= MAX_NAMES and not name.startswith(context.prefix):
            continue
        yield KnownName(name, kind, what)


def _of_scope(reading: TextReading, kind: str) -> Iterator[tuple[str, str]]:
    """Yield families first, then single names of data files, as the last analysis knew them."""
    scope = reading.scope
    single = scope.graph.names if kind == "node" and scope.graph is not None else ()
    if kind == "device":
        single = tuple(device.name for device in scope.devices or ())
    seen: dict[str, int] = {}
    rest: list[str] = []
    for name in single:
        base, bracket, _ = name.rpartition("[")
        if bracket and name.endswith("]") and _WORD.match(base):
            seen[base] = seen.get(base, 0) + 1
        elif "[" not in name and len(rest) < 10 * MAX_NAMES:
            rest.append(name)
    yield from ((base, f"a family of {count:,} {kind}s") for base, count in seen.items())
    yield from ((name, f"a {kind}") for name in rest)


def _items(reading: TextReading, context: Context) -> Iterator[str]:
    """Yield what the items of the graph or block around the place declare, also where it does not parse."""
    container = context.container
    if container.kind not in ("graph", "block"):
        return
    text = reading.text
    stop = re.compile(r"^[}A-Za-z]", re.MULTILINE).search(text, context.start)
    end = min(len(text), context.start + 50 * _AHEAD) if stop is None else stop.start()
    for match in _ITEM.finditer(text, container.offset, end):
        yield match[2].strip('"')


def parts(reading: TextReading, context: Context) -> Iterator[KnownName]:
    """Yield what may stand behind the dot before a place: nodes of an instance, ends of an edge, columns."""
    path = _path(context)
    if not path:
        return
    declared = reading.index.declared
    value = reading.scope.params.get(path[0])
    yield from columns(value)
    if context.home:
        home: str | None = _home_of(declared, context.home, path)
    else:
        home = _home_of(declared, "", path)
    if home is not None:
        for item in declared.items(home):
            name = getattr(item, "name", None)
            if name is not None:
                kind = type(item).__name__.removesuffix("Item").lower()
                yield KnownName(
                    name.text, {"port": "port", "use": "instance"}.get(kind, "node"), f"a {kind} of the {home}"
                )
    if home is None and not columns(value):
        yield KnownName("source", "port", "the first node of an edge")
        yield KnownName("target", "port", "the last node of an edge")


def columns(value: object) -> list[KnownName]:
    """Return the columns of a table; none of anything else."""
    names = getattr(value, "columns", None)
    return [KnownName(name, "port", "a column") for name in names if _WORD.match(name)] if names else []


def _home_of(declared: Declared, home: str, path: list[str]) -> str | None:
    """Return the block that a path leads into; None where it leads into none."""
    for name in path:
        item = declared.item(home, name)
        block = getattr(item, "block", None)
        if block is None:
            return None
        home = f"block {block.text}"
    return home if path else None


def _path(context: Context) -> list[str]:
    """Return the words of the path before the dot that stands before the prefix, without subscripts."""
    path: list[str] = []
    number = len(context.marks) - 1
    while number > 0 and context.marks[number].text == ".":
        number -= 1
        depth = 0
        while number >= 0 and (depth or context.marks[number].text == "]"):
            depth += (context.marks[number].text == "]") - (context.marks[number].text == "[")
            number -= 1
        if number < 0 or not _WORD.match(context.marks[number].text):
            return []
        path.insert(0, context.marks[number].text)
        number -= 1
    return path
