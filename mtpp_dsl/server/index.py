"""Where names are declared and used, over a text and all that it includes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from mtpp_dsl.language import tree
from mtpp_dsl.language.choosing import all_of
from mtpp_dsl.text.source import Source, Span

__all__ = ["Index", "Occurrence", "walk"]


@dataclass(frozen=True)
class Occurrence:
    """A name in a text.

    Attributes:
        name: as it is written, without subscripts.
        kind: what it names: "param", "let", "def", "block", "node", "device", "type", "switch", "phase", "scenario",
            "constraint" (a label), "port", "instance" (of a block), "variable" (of a loop, or of a function); "" for a
            use of which that is not known.
        role: whether the name is declared there, or used.
        span: of the name alone.
        within: the statement or item that it stands in.
    """

    name: str
    kind: str
    role: Literal["definition", "reference"]
    span: Span
    within: tree.Tree


@dataclass(frozen=True, eq=False)
class Index:
    """The names of a text and of what it includes."""

    occurrences: tuple[Occurrence, ...]

    @classmethod
    def of(cls, statements: Sequence[tuple[tree.Statement, Path]], own: Iterable[tree.Statement]) -> Index:
        """Return the index of the statements of a spec, conditional ones among them, and of its text's own."""
        found = dict.fromkeys(map(id, every := [*own, *all_of(statements)]))
        seen: list[Occurrence] = []
        for statement in every:
            if id(statement) in found:
                del found[id(statement)]
                seen += _occurrences(statement)
        return cls(tuple(seen))

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
        found = [each for each in self._by_source.get(source, ()) if each.span.start <= offset <= each.span.stop]
        return min(found, key=lambda each: each.span.stop - each.span.start, default=None)

    @cached_property
    def _by_source(self) -> Mapping[Source, Sequence[Occurrence]]:
        found: dict[Source, list[Occurrence]] = {}
        for each in self.occurrences:
            found.setdefault(each.span.source, []).append(each)
        return found


def _by_name(occurrences: Iterable[Occurrence], role: str) -> Mapping[str, tuple[Occurrence, ...]]:
    found: dict[str, list[Occurrence]] = {}
    for each in occurrences:
        if each.role == role:
            found.setdefault(each.name, []).append(each)
    return {name: tuple(group) for name, group in found.items()}


_DECLARES: dict[type[tree.Tree], str] = {
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
    tree.Binder: "variable",
}


def _occurrences(statement: tree.Statement) -> Iterator[Occurrence]:
    """Yield the names of a statement, in the order of the tree."""
    within: tree.Tree = statement
    for node in walk(statement):
        if isinstance(node, (tree.Statement, tree.NodeItem, tree.EdgeItem, tree.UseItem, tree.PortItem)):
            within = node
        kind = _DECLARES.get(type(node), "")
        if kind:
            name: tree.Word = node.name  # type: ignore[attr-defined]
            yield Occurrence(name.text, kind, "definition", name.span, within)
        elif isinstance(node, tree.LabelledConstraint):
            yield Occurrence(node.label.text, "constraint", "definition", node.label.span, within)
        elif isinstance(node, tree.Name):
            start = node.span.start
            yield Occurrence(node.name, "", "reference", Span(node.span.source, start, start + len(node.name)), within)
        elif isinstance(node, tree.Call):
            yield Occurrence(node.function.text, "def", "reference", node.function.span, within)


def walk(node: Any) -> Iterator[tree.Tree]:
    """Yield a node of the syntax tree and all that it holds, outermost first, in the order of the tree's fields."""
    if isinstance(node, tree.Tree):
        yield node
        for each in fields(node):
            if each.name != "span":
                yield from walk(getattr(node, each.name))
    elif isinstance(node, tuple):
        for part in node:
            yield from walk(part)
