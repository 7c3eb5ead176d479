"""List what a text declares, as an outline: nodes in their graph, statements in their scenario."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from mtpp_dsl.core.text.source import Span, shortened
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.positions import Lines
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.lexing import brackets

MAX_SYMBOLS = 20_000
"""Symbols of a text; of a longer one the first."""

MAX_NAME = 100


@dataclass(frozen=True)
class TextSymbol:
    """Something that a text declares or says.

    Attributes:
        name: what it is called; never empty.
        kind: "graph", "block", "scenario", "node", "edge", "use", "port", "device", "type", "switch", "interconnect",
            "link", "param", "let", "def", "objective", "constraint", "file", "phase", "time", "target", "assert" or
            "version".
        detail: what stands beside the name.
        span: of all of it.
        named: of the name within it.
        children: what it holds.
    """

    name: str
    kind: str
    detail: str
    span: Span
    named: Span
    children: tuple[TextSymbol, ...] = ()


def symbols(reading: TextReading) -> list[TextSymbol]:
    """Return the outline of the statements that parse."""
    left = [MAX_SYMBOLS]
    return list(_of_all(reading.statements, left))


def _of_all(parts: Iterable[tree.Tree], left: list[int]) -> Iterator[TextSymbol]:
    for part in parts:
        if left[0] <= 0:
            return
        left[0] -= 1
        yield _symbol(part, left)


def _symbol(part: tree.Tree, left: list[int]) -> TextSymbol:
    kind, name, named = _name(part)
    inner: tuple[tree.Tree, ...] = ()
    match part:
        case tree.GraphBlock() | tree.BlockStatement():
            inner = tuple(item for item in part.items if not isinstance(item, tree.EdgeItem))
        case tree.ScenarioStatement():
            inner = part.statements
    shown = visible(shortened(name, MAX_NAME)).replace("\n", " ").strip() or kind
    return TextSymbol(shown, kind, _detail(part), part.span, named, tuple(_of_all(inner, left)))


def _name(part: tree.Tree) -> tuple[str, str, Span]:
    """Return what kind of thing a statement or an item is, what it is called, and where that stands."""
    for declares, kind in _DECLARED.items():
        if isinstance(part, declares):
            name: tree.Word = part.name  # type: ignore[attr-defined]
            family = getattr(part, "family", None)
            end = family.span if family is not None else name.span
            return kind, Span(name.span.source, name.span.start, end.stop).text, name.span
    match part:
        case tree.ConstraintStatement():
            return "constraint", _head(part.span), part.rule.span
        case tree.LabelledConstraint():
            return "constraint", part.label.text, part.label.span
        case tree.ObjectiveStatement():
            return "objective", _head(part.span), part.value.span
        case tree.IncludeStatement() | tree.ImportStatement() | tree.ImportPlan() | tree.GraphFile() | tree.TimesFile():
            return "file", _head(part.span), part.path.span
        case tree.GraphBlock() | tree.GraphGenerator():
            return "graph", "graph" if isinstance(part, tree.GraphBlock) else _head(part.span), _word(part.span)
        case tree.PhaseStatement():
            return "phase", _head(part.span), _word(part.span)
        case tree.VersionStatement():
            return "version", "mtpp", _word(part.span)
    kind = _word(part.span).text
    return kind if kind in ("link", "time", "edge", "assert") else "version", _head(part.span), _word(part.span)


_DECLARED: dict[type[tree.Tree], str] = {
    tree.ParamStatement: "param",
    tree.LetStatement: "let",
    tree.DefStatement: "def",
    tree.BlockStatement: "block",
    tree.NodeItem: "node",
    tree.UseItem: "use",
    tree.PortItem: "port",
    tree.DeviceStatement: "device",
    tree.TypeStatement: "type",
    tree.SwitchStatement: "switch",
    tree.InterconnectStatement: "interconnect",
    tree.ScenarioStatement: "scenario",
    tree.TargetStatement: "target",
}


def _word(span: Span) -> Span:
    """Return the first word of a span."""
    text = span.text
    length = next((at for at, character in enumerate(text) if not (character.isalnum() or character == "_")), len(text))
    return Span(span.source, span.start, span.start + length)


def _head(span: Span) -> str:
    """Return the words of a statement before its options, without its first where others follow."""
    text = span.source.text[span.start : min(span.stop, span.start + 4 * MAX_NAME)]
    words = text.split("#")[0].split(" (")[0].split()
    return " ".join(words[1:] or words)


def _detail(part: tree.Tree) -> str:
    """Return the value or the options of a statement, on one line."""
    match part:
        case tree.LetStatement() | tree.DefStatement():
            text = part.value.span.text
        case tree.VersionStatement():
            text = part.version.span.text
        case tree.ParamStatement():
            text = " ".join(value.span.text for value in (part.type, part.default) if value is not None)
        case _:
            options: tuple[tree.Option, ...] = getattr(part, "options", ())
            text = ", ".join(option.span.text for option in options[:8])
    return visible(shortened(" ".join(text[:400].split()), MAX_NAME))


# What may be folded: statements, brackets, comments.

MAX_FOLDS = 20_000


@dataclass(frozen=True)
class Fold:
    """Lines that may be folded into the first of them, counted from 0."""

    first: int
    last: int
    kind: Literal["region", "comment", "imports"] = "region"


def folds(reading: TextReading) -> list[Fold]:
    """Return what may be folded, in the order of the text, also of a text that does not parse."""
    all_folds = sorted(
        {*_brackets(reading.text, reading.lines()), *_runs(reading)}, key=lambda fold: (fold.first, -fold.last)
    )
    return all_folds[:MAX_FOLDS]


def _brackets(text: str, lines: Lines) -> Iterator[Fold]:
    """Yield brackets over several lines; the line of the closing one stays in sight."""
    opened: list[tuple[str, int]] = []
    for match in brackets(text):
        mark = match[0]
        if mark in "([{":
            opened.append((mark, match.start()))
        elif opened and opened[-1][0] == "([{"[")]}".index(mark)]:
            first, last = lines.position(opened.pop()[1])[0], lines.position(match.start())[0] - 1
            if last > first:
                yield Fold(first, last)


def _runs(reading: TextReading) -> Iterator[Fold]:
    """Yield runs of lines that are remarks, and runs of includes."""
    begun, kind = 0, ""
    rows = [*reading.text.split("\n"), ""]
    for number, row in enumerate(rows):
        stripped = row.lstrip()
        now = "comment" if stripped.startswith("#") else "imports" if stripped.startswith("include ") else ""
        if now != kind:
            if kind and number - begun > 1:
                yield Fold(begun, number - 1, "comment" if kind == "comment" else "imports")
            begun, kind = number, now
