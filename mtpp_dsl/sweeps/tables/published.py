"""Numbers that a paper prints, from a file with its tables."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.errors import UsageError, did_you_mean

__all__ = ["Printed", "PublishedTable", "read_published", "rounding"]

_MISSING = ("-", "")
_DECIMALS = re.compile(r"[-+]?\d[\d_]*\.(\d+)")


class Printed(float):
    """A number with the text that stands for it, so that 1.50 stays 1.50."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __new__(cls, text: str) -> Printed:
        """Read the text as a number."""
        return super().__new__(cls, text.replace("_", ""))

    def __str__(self) -> str:
        return self.text


def rounding(printed: float) -> float:
    """Return how far off a printed number may be: half a unit of its last place.

    >>> rounding(Printed("1.50")), rounding(119)
    (0.005, 0.5)
    """
    if not isinstance(printed, Printed) or not (match := _DECIMALS.fullmatch(printed.text)):
        return 0.5 if isinstance(printed, int) else 0.0
    return 0.5 / float(10 ** len(match[1]))


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    Attributes:
        paper: author and year.
        place: in the paper, such as ``Table 1``.
        columns: their labels.
        rows: by label, a number or a text for each column; "-" for none.
    """

    paper: str
    place: str
    columns: tuple[str, ...]
    rows: Mapping[str, Sequence[Any]]

    @property
    def names(self) -> list[str]:
        """The labels of the rows."""
        return list(self.rows)

    def check_row(self, label: str) -> None:
        """Refuse a label that no row has."""
        if label not in self.rows:
            raise UsageError(f"{self.paper}, {self.place}: there is no row {label!r}{did_you_mean(label, self.rows)}")

    def check_column(self, label: str) -> None:
        """Refuse a label that no column has."""
        if label not in self.columns:
            known = did_you_mean(label, self.columns)
            raise UsageError(f"{self.paper}, {self.place}: there is no column {label!r}{known}")

    def cell(self, row: str, column: str) -> float | int | str | None:
        """Return what is printed in a cell; None where nothing is, or where there is no such row or column."""
        if row not in self.rows or column not in self.columns:
            return None
        found: float | int | str = self.rows[row][self.columns.index(column)]
        return None if found in _MISSING else found


def read_published(path: Path, name: str) -> PublishedTable:
    """Return the table called *name* of a file of published numbers.

    Raises:
        UsageError: there is no such file or table, or a row has more or fewer numbers than there are columns.
    """
    data = _read(path)
    tables = {table.get("name"): table for table in data.get("tables", []) if isinstance(table, dict)}
    if name not in tables:
        raise UsageError(f"{path} has no table {name!r}{did_you_mean(name, [key for key in tables if key])}")
    table = tables[name]
    columns, rows = tuple(table.get("columns", ())), table.get("rows", {})
    for label, numbers in rows.items():
        if not isinstance(numbers, list) or len(numbers) != len(columns):
            raise UsageError(f"{path}, {name}: row {label!r} does not have a number for each of {len(columns)} columns")
        if not all(isinstance(each, (int, float, str)) for each in numbers):
            raise UsageError(f"{path}, {name}: row {label!r} has something that is neither a number nor text")
    return PublishedTable(str(data.get("paper", path.parent.name)), str(table.get("place", name)), columns, rows)


@lru_cache(maxsize=16)
def _read(path: Path) -> dict[str, Any]:
    text = read_text(path, wanted="TOML with published numbers")
    try:
        return tomllib.loads(text, parse_float=Printed)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
