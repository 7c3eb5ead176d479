"""Where a spec says what: the statements that a part of a problem stems from, and where a lacking one belongs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

from mtpp_dsl.core.base.data_classes import Picklable
from mtpp_dsl.core.constraints import Constraint, Linear
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Edit, Fix, Source, Span, named_line, place_of
from mtpp_dsl.exchange.library.entries import LIBRARY
from mtpp_dsl.language.syntax import tree

_GRAPHS = (tree.GraphBlock, tree.GraphFile, tree.GraphGenerator)
_JOINS = (tree.InterconnectStatement, tree.LinkStatement, tree.SwitchStatement)
_LIBRARY = f"{LIBRARY}/"


@dataclass(frozen=True, order=True)
class SpecLines:
    """The lines of one statement, or of a part of one.

    Attributes:
        file: as messages call it: the path as it was given, "<text>" for a text.
        first_line, last_line: from 1, both included.
        text: of the statement, from its first character to its last; "" where only its line is known.
        start: the offset of its first character in the file; -1 where it is not known.
    """

    file: str
    first_line: int
    last_line: int
    text: str = ""
    start: int = -1

    @classmethod
    def of(cls, span: Span) -> SpecLines:
        """Return the lines of a place in a text."""
        source = span.source
        last = max(span.start, span.stop - 1)
        return cls(source.name, source.position(span.start)[0], source.position(last)[0], span.text, span.start)

    def __str__(self) -> str:
        """``file:line``, the short form that messages have."""
        return place_of(self.file, self.first_line)

    def to_json(self) -> dict[str, Any]:
        """Return the lines as JSON values."""
        return {"file": self.file, "first_line": self.first_line, "last_line": self.last_line, "text": self.text}


Found: TypeAlias = tuple[SpecLines, ...]


@dataclass(frozen=True, eq=False)
class Places(Picklable):
    """Where a spec says what its problem holds; ``Analysis.places`` has those of a spec.

    It is beside the problem, which stays as it is. What no statement says has no lines: (). Of a problem that was made
    in Python, ``Places()`` knows no more than the ``origin`` of constraints.

    Attributes:
        statements: those that count, of the spec and of all that it includes, in their order.
        stated: the statements of every constraint, by the constraint: several if they say the same.
        asked: the statements of the objectives, in their order.
        sources: the texts that were read: that of the spec, and those that it includes, in their order.
    """

    statements: tuple[tree.Statement, ...] = ()
    stated: Mapping[Constraint, tuple[Span, ...]] = field(default_factory=lambda: MappingProxyType({}))
    asked: tuple[Span, ...] = ()
    sources: tuple[Source, ...] = ()

    def of_constraint(self, constraint: Constraint) -> Found:
        """Return the statements that a constraint stems from.

        One that a target stands for stems from the ``target`` statement, and nodes that are together as they share
        weights from the graph; a row that no statement asks for stems from none.
        """
        if constraint in self.stated:
            return _lines(self.stated[constraint])
        named = named_line(constraint.origin)
        if named is not None and not self.statements:
            file, line = named
            return (SpecLines(file, line, line),)
        if constraint.origin.startswith("target "):
            return self.target
        return () if isinstance(constraint, Linear) else self.graph

    def by_statement(self, problem: Problem) -> dict[SpecLines | None, tuple[Constraint, ...]]:
        """Return the constraints of a problem by the statement that each stems from first; None for those of none."""
        groups: dict[SpecLines | None, list[Constraint]] = {}
        for constraint in problem.constraints:
            groups.setdefault(next(iter(self.of_constraint(constraint)), None), []).append(constraint)
        return {lines: tuple(group) for lines, group in groups.items()}

    def of_objective(self, number: int = 0) -> Found:
        """Return the statement of an objective, by its number from 0."""
        return _lines(self.asked[number : number + 1])

    def of_device(self, name: str, option: str | None = None) -> Found:
        """Return the statements that declare a device, types that they name among them.

        Args:
            name: of the device.
            option: such as "memory": then the place where it is given last, if a statement gives it.
        """
        family = name.partition("[")[0]
        own = [s for s in self._of(tree.DeviceStatement) if s.name.text == family]
        types = list(self._types(own))
        if option is not None:
            given = [s for s in (*types, *own) if any(setting.name.text == option for setting in s.options)]
            return _lines([setting.span for s in given[-1:] for setting in s.options if setting.name.text == option])
        imports = list(self._of(tree.ImportStatement)) if not own else []
        return _lines([s.span for s in (*imports, *types, *own)])

    def _types(self, devices: Sequence[tree.DeviceStatement]) -> Iterator[tree.TypeStatement]:
        """Yield the ``type`` statements that the options of devices name, those that they are made of first."""
        known = {s.name.text: s for s in self._of(tree.TypeStatement)}
        wanted = [_type_names(s.options) for s in devices]
        chosen: dict[str, None] = {}
        names = [name for group in wanted for name in group]
        while names:
            name = names.pop(0)
            if name in known and name not in chosen:
                chosen[name] = None
                names += _type_names(known[name].options)
        yield from (known[name] for name in reversed(chosen))

    def of_node(self, name: str) -> Found:
        """Return the ``node`` or ``use`` that makes a node; of a graph from elsewhere, the statement that brings it."""
        items = [item for item in self._items() if isinstance(item, (tree.NodeItem, tree.UseItem))]
        return _lines([item.span for item in items if item.name.text == _base(name)]) or self.graph

    def of_edge(self, tail: str, head: str) -> Found:
        """Return the ``edge`` items that may make an edge; of a graph from elsewhere, the statement that brings it.

        Those whose ends bear the names are preferred to those that name a loop variable or a set.
        """
        ends = [(item, list(pairwise(item.ends))) for item in self._items() if isinstance(item, tree.EdgeItem)]
        declared = {item.name.text for item in self._items() if isinstance(item, (tree.NodeItem, tree.UseItem))}
        sure = [item.span for item, pairs in ends if any(_is(a, tail) and _is(b, head) for a, b in pairs)]
        perhaps = [
            item.span
            for item, pairs in ends
            if any(_may_be(a, tail, declared) and _may_be(b, head, declared) for a, b in pairs)
        ]
        return _lines(sure) or _lines(perhaps) or self.graph

    def node_items(self) -> Iterator[tuple[str, SpecLines]]:
        """Yield the ``node`` and ``use`` items of the graph: the name that each declares, and its lines."""
        for item in self._items():
            if isinstance(item, (tree.NodeItem, tree.UseItem)):
                yield item.name.text, SpecLines.of(item.span)

    def edge_items(self) -> Iterator[tuple[tuple[str | None, ...], SpecLines]]:
        """Yield the ``edge`` items of the graph: the names of their ends, and their lines.

        An end is called as it is written where that is a node (``attn[3]``), by the name of its family where its
        subscripts are computed (``attn``), and None where it may be anything, such as a loop variable.
        """
        declared = {name for name, _ in self.node_items()}
        for item in self._items():
            if isinstance(item, tree.EdgeItem):
                yield tuple(_end(end, declared) for end in item.ends), SpecLines.of(item.span)

    @property
    def included(self) -> tuple[Source, ...]:
        """The texts of the files that the spec includes, each once; without those of the library."""
        return tuple(source for name, source in self._named().items() if not name.startswith(_LIBRARY))

    @property
    def library(self) -> tuple[str, ...]:
        """The files of the library that the spec includes, as ``include`` has them."""
        return tuple(name.removeprefix(_LIBRARY) for name in self._named() if name.startswith(_LIBRARY))

    def _named(self) -> dict[str, Source]:
        return {source.name: source for source in self.sources if source.included_from is not None}

    @property
    def graph(self) -> Found:
        """The statement that the graph is from."""
        own = [s.span for s in self.statements if isinstance(s, _GRAPHS)]
        return _lines((own or [s.span for s in self._of(tree.ImportStatement)])[-1:])

    @property
    def interconnect(self) -> Found:
        """The statements that say what joins the devices."""
        own = [s.span for s in self.statements if isinstance(s, _JOINS)]
        return _lines(own or [s.span for s in self._of(tree.ImportStatement)])

    @property
    def target(self) -> Found:
        """The ``target`` statement that counts."""
        return _lines([s.span for s in self._of(tree.TargetStatement)][-1:])

    def _of(self, kind: type[tree.Tree]) -> Iterator[Any]:
        return (s for s in self.statements if isinstance(s, kind))

    def _items(self) -> Iterator[tree.Tree]:
        """Yield the items of the graph that counts."""
        for statement in [s for s in self.statements if isinstance(s, _GRAPHS)][-1:]:
            if isinstance(statement, tree.GraphBlock):
                yield from statement.items


def _lines(spans: Iterable[Span]) -> Found:
    """Return the lines of places, each once."""
    return tuple(dict.fromkeys(SpecLines.of(span) for span in spans))


def _base(name: str) -> str:
    """Return what declares a node: the name before subscripts and parts."""
    return re.split(r"[\[.]", name, maxsplit=1)[0]


def _is(end: tree.Expression, name: str) -> bool:
    return isinstance(end, tree.Name) and end.name == _base(name)


def _end(end: tree.Expression, declared: set[str]) -> str | None:
    """Return what an end of an edge is called; see :meth:`Places.edge_items`."""
    if not isinstance(end, tree.Name) or end.name not in declared:
        return None
    if end.parts or not all(
        isinstance(subscript, tree.Number) and subscript.unit is None for subscript in end.subscripts
    ):
        return end.name
    written = ", ".join(str(subscript.value) for subscript in end.subscripts if isinstance(subscript, tree.Number))
    return f"{end.name}[{written}]" if written else end.name


def _may_be(end: tree.Expression, name: str, declared: set[str]) -> bool:
    """Return whether an end of an edge bears a node's name, or one that is no node's and may stand for any."""
    return _is(end, name) or not isinstance(end, tree.Name) or end.name not in declared


def _type_names(options: Sequence[tree.Option]) -> list[str]:
    """Return the bare words in the option ``type``, in their order."""
    return [name for option in options if option.name.text == "type" for name in _names_in(option.value)]


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, tree.Name):
        yield value.name
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _names_in(part)
    elif isinstance(value, tree.Tree):
        for part in vars(value).values():
            yield from _names_in(part)


_BEFORE_DEVICES = (
    tree.VersionStatement,
    tree.ParamStatement,
    tree.GraphBlock,
    tree.GraphFile,
    tree.GraphGenerator,
    tree.ImportStatement,
    tree.PhaseStatement,
)
_DEVICES = (*_BEFORE_DEVICES, tree.TypeStatement, tree.SwitchStatement, tree.DeviceStatement)
_BEFORE_OBJECTIVES = (*_DEVICES, tree.InterconnectStatement, tree.LinkStatement)
_BEFORE: dict[str, tuple[type[tree.Tree], ...]] = {
    "device": _DEVICES,
    "interconnect": _DEVICES,
    "objective": (*_BEFORE_OBJECTIVES, tree.TimeStatement, tree.TimesFile, tree.TransferStatement),
}
"""What a statement stands behind, by what it is."""


def adding(what: str, text: str, source: Source, statements: Iterable[tree.Statement]) -> Fix | None:
    """Return the fix that writes a statement that a spec lacks: on a line of its own behind what usually precedes it.

    Args:
        what: "device", "interconnect" or "objective"; of anything else there is no fix.
        text: the statement.
        source: the text of the spec.
        statements: its statements, with those that it includes.
    """
    if what not in _BEFORE:
        return None
    own = [(statement, _own(statement.span, source)) for statement in statements]
    places = [span for _, span in own if span is not None]
    before = [span.stop for stated, span in own if span is not None and isinstance(stated, _BEFORE[what])]
    at = _line_end(source.text, max(before)) if before else len(source.text.rstrip())
    while (across := max((span.stop for span in places if span.start < at < span.stop), default=at)) > at:
        at = _line_end(source.text, across)
    new = f"\n{text}" if source.text[:at].strip() else f"{text}\n"
    return Fix(f"add, for example, '{text}'", (Edit(Span(source, at, at), new),), safe=False)


def whole_lines(span: Span) -> Span:
    """Return the lines of a statement, with their ends, where nothing but remarks stands beside it; else the span."""
    text = span.source.text
    start, stop = text.rfind("\n", 0, span.start) + 1, _line_end(text, span.stop)
    behind = text[span.stop : stop].strip()
    if text[start : span.start].strip() or (behind and not behind.startswith("#")):
        return _with_blanks(span)
    return Span(span.source, start, min(stop + 1, len(text)))


def _with_blanks(span: Span) -> Span:
    """Return a span with the blanks behind it."""
    text, stop = span.source.text, span.stop
    while stop < len(text) and text[stop] in " \t":
        stop += 1
    return Span(span.source, span.start, stop)


def _own(span: Span, source: Source) -> Span | None:
    """Return where a text has a statement, or the include that brings it; None where it has neither."""
    place: Span | None = span
    while place is not None and place.source is not source:
        place = place.source.included_from
    return place


def _line_end(text: str, at: int) -> int:
    stop = text.find("\n", at)
    return len(text) if stop < 0 else stop
