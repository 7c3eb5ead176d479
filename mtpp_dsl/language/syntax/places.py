"""Where a spec says what: the lines of the statement that a constraint, a device, a node or an objective stems from."""

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
from mtpp_dsl.core.text.source import Source, Span, named_line, place_of
from mtpp_dsl.exchange.library.entries import LIBRARY
from mtpp_dsl.language.syntax import tree

__all__ = ["Places", "SpecLines"]

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
        found: dict[SpecLines | None, list[Constraint]] = {}
        for constraint in problem.constraints:
            found.setdefault(next(iter(self.of_constraint(constraint)), None), []).append(constraint)
        return {lines: tuple(group) for lines, group in found.items()}

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
            given = [s for s in (*types, *own) if any(each.name.text == option for each in s.options)]
            return _lines([each.span for s in given[-1:] for each in s.options if each.name.text == option])
        imports = list(self._of(tree.ImportStatement)) if not own else []
        return _lines([s.span for s in (*imports, *types, *own)])

    def _types(self, devices: Sequence[tree.DeviceStatement]) -> Iterator[tree.TypeStatement]:
        """Yield the ``type`` statements that the options of devices name, those that they are made of first."""
        known = {s.name.text: s for s in self._of(tree.TypeStatement)}
        wanted = [_type_names(s.options) for s in devices]
        found: dict[str, None] = {}
        names = [name for each in wanted for name in each]
        while names:
            name = names.pop(0)
            if name in known and name not in found:
                found[name] = None
                names += _type_names(known[name].options)
        yield from (known[name] for name in reversed(found))

    def of_node(self, name: str) -> Found:
        """Return the ``node`` or ``use`` that makes a node; of a graph from elsewhere, the statement that brings it."""
        items = [each for each in self._items() if isinstance(each, (tree.NodeItem, tree.UseItem))]
        return _lines([each.span for each in items if each.name.text == _base(name)]) or self.graph

    def of_edge(self, tail: str, head: str) -> Found:
        """Return the ``edge`` items that may make an edge; of a graph from elsewhere, the statement that brings it.

        Those whose ends bear the names are preferred to those that name a loop variable or a set.
        """
        ends = [(each, list(pairwise(each.ends))) for each in self._items() if isinstance(each, tree.EdgeItem)]
        declared = {each.name.text for each in self._items() if isinstance(each, (tree.NodeItem, tree.UseItem))}
        sure = [each.span for each, pairs in ends if any(_is(a, tail) and _is(b, head) for a, b in pairs)]
        perhaps = [
            each.span
            for each, pairs in ends
            if any(_may_be(a, tail, declared) and _may_be(b, head, declared) for a, b in pairs)
        ]
        return _lines(sure) or _lines(perhaps) or self.graph

    def node_items(self) -> Iterator[tuple[str, SpecLines]]:
        """Yield the ``node`` and ``use`` items of the graph: the name that each declares, and its lines."""
        for each in self._items():
            if isinstance(each, (tree.NodeItem, tree.UseItem)):
                yield each.name.text, SpecLines.of(each.span)

    def edge_items(self) -> Iterator[tuple[tuple[str | None, ...], SpecLines]]:
        """Yield the ``edge`` items of the graph: the names of their ends, and their lines.

        An end is called as it is written where that is a node (``attn[3]``), by the name of its family where its
        subscripts are computed (``attn``), and None where it may be anything, such as a loop variable.
        """
        declared = {name for name, _ in self.node_items()}
        for each in self._items():
            if isinstance(each, tree.EdgeItem):
                yield tuple(_end(end, declared) for end in each.ends), SpecLines.of(each.span)

    @property
    def included(self) -> tuple[Source, ...]:
        """The texts of the files that the spec includes, each once; without those of the library."""
        return tuple(each for name, each in self._named().items() if not name.startswith(_LIBRARY))

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
    if end.parts or not all(isinstance(each, tree.Number) and each.unit is None for each in end.subscripts):
        return end.name
    written = ", ".join(str(each.value) for each in end.subscripts if isinstance(each, tree.Number))
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
        for each in value:
            yield from _names_in(each)
    elif isinstance(value, tree.Tree):
        for each in vars(value).values():
            yield from _names_in(each)
