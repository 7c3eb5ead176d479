"""Parts of a text that an editor may fold: blocks, brackets over several lines, and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mtpp_dsl.editor.server.positions import Lines
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax.lexing import brackets

__all__ = ["MAX_FOLDS", "Fold", "folds"]

MAX_FOLDS = 20_000


@dataclass(frozen=True)
class Fold:
    """Lines that may be folded into the first of them, counted from 0."""

    first: int
    last: int
    kind: Literal["region", "comment", "imports"] = "region"


def folds(reading: TextReading) -> list[Fold]:
    """Return what may be folded, in the order of the text, also of a text that does not parse."""
    found = sorted(
        {*_brackets(reading.text, reading.lines()), *_runs(reading)}, key=lambda fold: (fold.first, -fold.last)
    )
    return found[:MAX_FOLDS]


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
