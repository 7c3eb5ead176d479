"""Text with a name, places in it, and messages about those places."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

__all__ = ["Diagnostic", "Edit", "Fix", "MovingSpan", "Place", "Source", "Span", "TextAnchor", "shortened"]


MAX_EXCERPT = 100
"""Characters of a source line that messages show."""

MAX_MESSAGE = 2_000
_LONG_WORD = re.compile(r"\S{200,}")


CELL = "the cell"
"""The name of the text in a cell of a notebook."""
_CELL_LINE = re.compile(rf"line (\d+) of {CELL}")
_FILE_LINE = re.compile(r"(.*):(\d+)", re.DOTALL)


def place_of(name: str, line: int, columns: str | int = "") -> str:
    """Return how messages call a line of a source, or columns of it.

    >>> place_of("a.mtpp", 5, 3), place_of(CELL, 5, 3), place_of(CELL, 5)
    ('a.mtpp:5:3', 'line 5 of the cell, column 3', 'line 5 of the cell')
    """
    if name == CELL:
        several = "columns" if "-" in str(columns) else "column"
        return f"line {line} of {CELL}{f', {several} {columns}' if columns else ''}"
    return f"{name}:{line}{f':{columns}' if columns else ''}"


def named_line(place: str) -> tuple[str, int] | None:
    """Return the source and the line that a place names, as :func:`place_of` has it; None where it names none.

    >>> named_line("a.mtpp:5"), named_line("line 5 of the cell"), named_line("target vllm")
    (('a.mtpp', 5), ('the cell', 5), None)
    """
    cell, file = _CELL_LINE.fullmatch(place), _FILE_LINE.fullmatch(place)
    if cell is not None:
        return CELL, int(cell[1])
    return None if file is None else (file[1], int(file[2]))


MAX_ORIGINS = 3
"""Number of includes that are shown from each end of a long chain."""


@dataclass(frozen=True, eq=False)
class Source:
    """A named text.

    Attributes:
        name: what messages call it, usually the path as the user gave it.
        text: the whole text.
        included_from: where the ``include`` that brought it stands, for the chain in messages.
        path: of the file that it was read from; None for a text that is in none.
    """

    name: str
    text: str
    included_from: Span | None = None
    path: Path | None = None

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.text)} characters)"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        r"""Return the line and the column, both from 1, of a character offset.

        >>> Source("s", "ab\ncd").position(4)
        (2, 2)
        """
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of line *number* (from 1), without its end."""
        start = self._starts[number - 1]
        stop = self.text.find("\n", start)
        return self.text[start : stop if stop >= 0 else None].rstrip("\r")


@dataclass(frozen=True)
class Span:
    """The characters ``start`` up to, not including, ``stop`` of a source."""

    source: Source
    start: int
    stop: int

    def __repr__(self) -> str:
        return f"Span({self}, {self.stop - self.start} characters)"

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return place_of(self.source.name, line, column)

    @property
    def text(self) -> str:
        """The characters themselves."""
        return self.source.text[self.start : self.stop]

    @property
    def place(self) -> str:
        """``file:line``, the short form that results carry."""
        return place_of(self.source.name, self.source.position(self.start)[0])

    def to(self, other: Span) -> Span:
        """Return the span from here to the end of *other*."""
        return Span(self.source, self.start, max(self.stop, other.stop))

    def excerpt(self) -> str:
        """Return the source line, or the part of a long one that matters, with carets under the span."""
        line, column = self.source.position(self.start)
        text = self.source.line(line).replace("\t", " ")
        width = max(1, min(self.stop - self.start, len(text) - column + 1))
        text, column, width = _window(text, column - 1, width)
        gutter = f"{line:5} | "
        return f"{gutter}{text}\n{' ' * (len(gutter) - 2)}| {' ' * column}{'^' * width}"


def _window(text: str, start: int, width: int) -> tuple[str, int, int]:
    """Return :data:`MAX_EXCERPT` characters of a line at most, those around the carets, and where these then start."""
    if len(text) <= MAX_EXCERPT:
        return text, start, width
    first = max(0, min(start - MAX_EXCERPT // 3, len(text) - MAX_EXCERPT))
    stop = min(len(text), first + MAX_EXCERPT)
    shown = ("…" if first else "") + text[first + bool(first) : stop - (stop < len(text))]
    return shown + ("…" if stop < len(text) else ""), start - first, min(width, stop - start)


def _included_from(source: Source | None) -> list[str]:
    """Return by which statements a source is included, from within; of a long chain the first and the last."""
    origins = []
    while source is not None and source.included_from is not None:
        origins.append(source.included_from)
        source = source.included_from.source
    lines = [f"  = included from {origin}" for origin in origins]
    left = len(lines) - 2 * MAX_ORIGINS
    return lines if left <= 1 else [*lines[:MAX_ORIGINS], f"  = … {left} more", *lines[-MAX_ORIGINS:]]


def shortened(text: str, most: int = MAX_MESSAGE) -> str:
    """Return *text* without the middle of its long words, and no more of it than *most* characters.

    >>> len(shortened("nothing is called '" + 10**6 * "a" + "'"))
    179
    """
    text = _LONG_WORD.sub(lambda word: f"{word[0][:120]}…{word[0][-40:]}", text)
    return text if len(text) <= most else f"{text[: most * 3 // 4]} … {text[-most // 4 :]}"


@dataclass(frozen=True)
class Place:
    """A further place that a message is about, such as where a name was declared first.

    Attributes:
        span: where.
        says: what is there, such as "first declared here".
    """

    span: Span
    says: str

    def __str__(self) -> str:
        excerpt = "\n".join(f"  {line}" for line in self.span.excerpt().splitlines())
        return f"  {self.span}: {shortened(self.says)}\n{excerpt}"


@dataclass(frozen=True)
class Edit:
    """A replacement of the characters of a span; of an empty one, an insertion."""

    span: Span
    text: str


@dataclass(frozen=True)
class Fix:
    """A change of the text that mends what a message is about.

    Attributes:
        title: what it does, such as "write '<=' in place of '<'".
        edits: they do not overlap, and are made together.
        safe: whether a program may make it unasked: it can only be what was meant.
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True

    @classmethod
    def replace(cls, span: Span, text: str, *, safe: bool = True) -> Fix:
        """Return the fix that writes *text* in place of *span*."""
        title = f"write {text!r} in place of {span.text!r}" if text else f"remove {span.text!r}"
        return cls(title if span.text else f"write {text!r} here", (Edit(span, text),), safe)


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place.

    Attributes:
        message: what is wrong, with the offending value and, where known, the remedy.
        span: where; None for what has no place in a text (a ``-D`` on the command line).
        severity: errors stop, warnings do not.
        notes: further lines, such as what was expected.
        code: by which :mod:`mtpp_dsl.core.text.codes` and docs/errors.md know this kind of message, such as
            "MTPP-E101".
        places: further places that it is about, each with what is there.
        fix: a change that mends it, where a program can tell.
    """

    message: str
    span: Span | None = None
    severity: Literal["error", "warning"] = "error"
    notes: tuple[str, ...] = field(default=())
    code: str = ""
    places: tuple[Place, ...] = ()
    fix: Fix | None = None

    def __repr__(self) -> str:
        place = "" if self.span is None else f"{self.span}: "
        return f"Diagnostic({place}{self.severity}: {shortened(self.message, 200)})"

    def __str__(self) -> str:
        severity = f"{self.severity}[{self.code}]" if self.code else self.severity
        if self.span is None:
            return "\n".join([f"{severity}: {shortened(self.message)}", *self._trailer()])
        line, column = self.span.source.position(self.span.start)
        stop = column + max(1, self.span.stop - self.span.start) - 1
        columns = f"{column}" if stop == column or "\n" in self.span.text else f"{column}-{stop}"
        head = f"{place_of(self.span.source.name, line, columns)}: {severity}: {shortened(self.message)}"
        return "\n".join([head, self.span.excerpt(), *self._trailer()])

    def _under(self, place: Place) -> str:
        """Return a line that underlines a further place in the excerpt above it; "" where that is another line."""
        if self.span is None or place.span.source is not self.span.source:
            return ""
        line, column = place.span.source.position(place.span.start)
        text = self.span.source.line(line)
        if line != self.span.source.position(self.span.start)[0] or len(text) > MAX_EXCERPT:
            return ""
        width = max(1, min(place.span.stop - place.span.start, len(text) - column + 1))
        return f"{' ' * 6}| {' ' * (column - 1)}{'-' * width} {shortened(place.says)}"

    def _says(self, fix: Fix) -> bool:
        """Return whether the message itself says what a fix does."""
        texts = [edit.text for edit in fix.edits if edit.text]
        return any(repr(text) in self.message for text in texts) or (not texts and "remove it" in self.message)

    def _trailer(self) -> list[str]:
        lines = [self._under(place) or str(place) for place in self.places]
        lines += [f"  = {shortened(note)}" for note in self.notes]
        if self.fix is not None and not self._says(self.fix):
            lines.append(f"  = help: {shortened(self.fix.title)}")
        return lines + _included_from(self.span.source if self.span else None)


class TextAnchor:
    """Where a piece of text begins now.

    Attributes:
        source: the text as it is now.
        offset: of the piece in it.
    """

    __slots__ = ("offset", "source")

    def __init__(self, source: Source, offset: int) -> None:
        self.source, self.offset = source, offset


class MovingSpan(Span):
    """A span of a piece, which is where its anchor has it.

    Args:
        anchor: of the piece.
        first: offset in the piece.
        last: offset in the piece, of the end.
    """

    def __init__(self, anchor: TextAnchor, first: int, last: int) -> None:
        self.__dict__.update(anchor=anchor, first=first, last=last)

    @property
    def source(self) -> Source:
        """The text as it is now."""
        anchor: TextAnchor = self.__dict__["anchor"]
        return anchor.source

    @property
    def start(self) -> int:
        """Where it begins now."""
        offset: int = self.__dict__["anchor"].offset + self.__dict__["first"]
        return offset

    @property
    def stop(self) -> int:
        """Where it ends now."""
        offset: int = self.__dict__["anchor"].offset + self.__dict__["last"]
        return offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and (self.source, self.start, self.stop) == (
            other.source,
            other.start,
            other.stop,
        )

    def __hash__(self) -> int:
        return hash((self.source, self.start, self.stop))

    def __reduce__(self) -> tuple[Any, ...]:
        return Span, (self.source, self.start, self.stop)
