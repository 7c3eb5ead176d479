"""Files of comma-separated values: their lines and cells, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.language.values.scope import Complaint

__all__ = ["NUMBER", "Cell", "cells_of", "lines_of"]

_CELL = re.compile(r'[ \t]*+("(?:[^"]|"")*+"|[^,"]*+)[ \t]*+(,|$)')
NUMBER = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|inf")
"""A number, or inf, as cells have them. Neither pattern goes back over what it has matched, however long a cell is."""


@dataclass(frozen=True)
class Cell:
    """A cell, without quotes and the spaces around it."""

    text: str
    span: Span


def lines_of(source: Source) -> Iterator[Span]:
    """Yield every line that is not blank."""
    at = 0
    for line in source.text.split("\n"):
        text = line.rstrip("\r")
        if text.strip():
            yield Span(source, at, at + len(text))
        at += len(line) + 1


def cells_of(source: Source, line: Span) -> list[Cell]:
    """Return the cells of a line.

    Raises:
        Complaint: quotes that do not close.
    """
    cells = []
    at = line.start
    while True:
        match = _CELL.match(source.text, at, line.stop)
        if match is None:
            raise Complaint(
                'a cell with quotes is written "…", with "" for each quote inside',
                Span(source, at, line.stop),
                code="MTPP-E709",
            )
        text = match[1].strip()
        stop = match.start(1) + len(match[1].rstrip())
        if text.startswith('"'):
            text = text[1:-1].replace('""', '"')
        cells.append(Cell(text, Span(source, match.start(1), max(stop, match.start(1) + 1))))
        at = match.end()
        if match[2] != ",":
            return cells
