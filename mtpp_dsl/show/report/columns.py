"""Lines that fit the width of a terminal. Names and figures stay whole: bars give way first, then columns go below."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

_WORD = re.compile(r"… \d\S* more …\S*|\d[^\s,]* [^\W\d]\S*|\S+")
"""What stays on one line: a word, a figure with its unit, or how many are left out."""
_GAP, _INDENT = 2, 4
_ROOM = 30
"""Cells that running text gets beside other columns; with less it goes below them."""


@dataclass(frozen=True)
class ColumnsRow:
    """One row of a table.

    Attributes:
        name: what it is about.
        bar: draws the bar in a number of cells.
        figures: the first is aligned to the right, the others to the left.
        text: what may be broken between words, such as a list of names.
    """

    name: Text
    bar: Callable[[int], Text]
    figures: Sequence[Text]
    text: Text


def wrapped(text: Text, width: int | None, indent: int = 0, hanging: int | None = None) -> list[Text]:
    """Break a text between words into lines of at most *width* cells; None is any width.

    A longer word has a line of its own. All lines are indented less where that makes the longest word fit.

    Args:
        text: may have line ends.
        width: of the lines, their indents included.
        indent: cells before the first line.
        hanging: cells before the others; as before the first where not given.
    """
    hanging = indent if hanging is None else hanging
    if width is not None:
        spare = max(0, width - _longest(text))
        indent, hanging = min(indent, spare), min(hanging, spare)
    lines: list[Text] = []
    for part in text.split("\n"):
        start = end = -1
        for word in _WORD.finditer(part.plain):
            room = None if width is None else width - (hanging if lines else indent)
            if start < 0:
                start = word.start()
            elif room is not None and cell_len(part.plain[start : word.end()]) > room:
                lines.append(part[start:end])
                start = word.start()
            end = word.end()
        if end >= 0:
            lines.append(part[start:end])
    return [Text.assemble(" " * (hanging if i else indent), line) for i, line in enumerate(lines)]


def facts(pairs: Iterable[tuple[str, Text]], width: int | None) -> list[Text]:
    """Return labels with texts beside them, or below where a word would not fit there."""
    pairs = list(pairs)
    column = max((cell_len(label) for label, _ in pairs), default=0) + _GAP
    lines: list[Text] = []
    for label, text in pairs:
        if width is not None and width - column < _longest(text):
            lines += [Text(label, "dim"), *wrapped(text, width, _GAP)]
            continue
        for i, line in enumerate(wrapped(text, None if width is None else width - column)):
            lines.append(Text.assemble(_padded(Text("" if i else label, "dim"), column), line))
    return lines


def table(rows: Sequence[ColumnsRow], width: int | None, most: int, least: int) -> list[Text]:
    """Return rows whose columns are aligned, each row in one line where that fits, else in several.

    Args:
        rows: with one number of figures.
        width: of the lines; None is any.
        most: cells of a bar where there is room.
        least: to which it shrinks before a column goes below the others; where nothing else helps it shrinks further.
    """
    if not rows:
        return []
    shape = _shape(rows, width, most, least)
    lines = [line for row in rows for line in _lines(row, shape)]
    for line in lines:
        line.rstrip()
    return lines


@dataclass(frozen=True)
class _Shape:
    """Cells of the columns that stand beside each other.

    Attributes:
        name: 0 where names have lines of their own.
        bar: 0 where there is no room for one.
        figures: those that stand beside the bar; the others go below it.
        beside: whether the running text stands beside them, too.
        width: of a line; None is any.
    """

    name: int
    bar: int
    figures: tuple[int, ...]
    beside: bool
    width: int | None

    @property
    def used(self) -> int:
        """Cells of all columns, with the gaps between them."""
        return sum(_GAP + column for column in (self.name, self.bar, *self.figures) if column) - _GAP


def _shape(rows: Sequence[ColumnsRow], width: int | None, most: int, least: int) -> _Shape:
    """Return the first shape in which bars have at least the cells asked for; the narrowest where none has."""
    names = max(cell_len(row.name.plain) for row in rows)
    columns = zip(*(row.figures for row in rows), strict=True)
    figures = tuple(max(cell_len(figure.plain) for figure in column) for column in columns)
    if width is None:
        return _Shape(names, most, figures, True, None)
    text = max(cell_len(row.text.plain) for row in rows)
    word = max(_longest(row.text) for row in rows)
    for room in (text, max(word, _ROOM)) if text else ():
        bar = width - _Shape(names, 0, figures, True, width).used - 2 * _GAP - room
        if bar >= least:
            return _Shape(names, min(bar, most), figures, True, width)
    shape = _Shape(0, 0, figures[:1], False, width)
    for name, beside in ((names, figures), (names, figures[:1]), (0, figures), (0, figures[:1])):
        bar = width - _Shape(name, 0, beside, False, width).used - (_GAP if name else 2 * _GAP)
        shape = _Shape(name, max(0, min(bar, most)), beside, False, width)
        if bar >= least:
            break
    return shape


def _lines(row: ColumnsRow, shape: _Shape) -> list[Text]:
    """Return one row in a shape."""
    lines = [] if shape.name else wrapped(row.name, None)
    parts = [_padded(row.name, shape.name)] if shape.name else []
    if shape.bar:
        parts.append(_padded(row.bar(shape.bar), shape.bar))
    for i, (figure, cells) in enumerate(zip(row.figures, shape.figures, strict=False)):
        if cells:
            parts.append(_padded(figure, cells, right=i == 0))
    indent = "" if shape.name else " " * _GAP
    if shape.beside:
        texts = wrapped(row.text, None if shape.width is None else shape.width - shape.used - _GAP)
        lines.append(Text.assemble(indent, Text(" " * _GAP).join([*parts, *texts[:1]])))
        return lines + [Text.assemble(" " * (shape.used + _GAP), text) for text in texts[1:]]
    lines.append(Text.assemble(indent, Text(" " * _GAP).join(parts)))
    rest = Text(" · ").join(part for part in (*row.figures[len(shape.figures) :], row.text) if part.plain)
    return lines + wrapped(rest, shape.width, _INDENT)


def _padded(text: Text, cells: int, right: bool = False) -> Text:
    """Return a text with spaces after it, or before it, up to a number of cells."""
    spaces = " " * (cells - cell_len(text.plain))
    return Text.assemble(spaces, text) if right else Text.assemble(text, spaces)


def _longest(text: Text) -> int:
    """Return the cells of the longest word."""
    return max((cell_len(word[0]) for word in _WORD.finditer(text.plain)), default=0)
