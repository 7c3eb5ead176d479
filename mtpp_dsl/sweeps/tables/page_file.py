"""Read the description of a page of results, PAGE.toml, and the published tables that it shows beside them."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.sweeps.tables.figures import Column, FigureRule

VERSION = 1
MAX_BYTES = 4_000_000
COMPARE = ("", "lower", "higher", "no")
LAYOUTS = ("beside", "below")


_TABLE: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "title", "sweep", "size", "text", "rule", "rows", "published", "layout"), str),
    **dict.fromkeys(("row_names", "where", "together", "published_rows", "why"), dict),
    "columns": list,
    "others": (list, str),
    "common": bool,
}
_COLUMN: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "by", "show", "best", "over", "seeds", "failed", "unit", "published", "compare"), str),
    "where": dict,
    "spread": bool,
    "digits": int,
    "decimals": int,
    "tolerance": (int, float),
}
_MISSING = ("-", "")
_DECIMALS = re.compile(r"[-+]?\d[\d_]*\.(\d+)")


@dataclass(frozen=True)
class PageColumn:
    """A column of ours, and what of the paper stands beside it.

    Attributes:
        column: what it shows.
        published: the paper's column; ``{}`` stands for the value of the field in ``by``. "" for none.
        compare: which is better, ``lower`` or ``higher``; ``no`` compares nothing, "" goes by what is shown.
        tolerance: how far ours may be worse and count as equal, in the unit that is shown; None for half a unit of the
            last place that the paper prints.
    """

    column: Column
    published: str = ""
    compare: str = ""
    tolerance: float | None = None


@dataclass(frozen=True)
class PageTable:
    """One table of a page; docs/tables.md describes the keys.

    Attributes:
        name: unique in its part.
        title: the heading.
        sweep: path of the sweep file.
        rows: the field whose values are the rows.
        columns: of ours, in order.
        size: of the sweep; "" as it stands.
        text: Markdown above the table.
        rule: a sentence on limits and what counts.
        row_names: what is shown for a value of *rows*.
        where: fields with the values that the runs shown have.
        together: names of rows, each with the labels of methods that it joins.
        published: the paper's table; None for none.
        published_rows: by shown row, the paper's.
        layout: published numbers as columns ``beside``, or as rows ``below``.
        others: rows of the paper that are shown although no row of ours stands beside them.
        why: by shown row, why ours is worse.
        common: whether only problems count on which every method has a figure.
    """

    name: str
    title: str
    sweep: Path
    rows: str
    columns: tuple[PageColumn, ...]
    size: str = ""
    text: str = ""
    rule: str = ""
    row_names: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)
    together: Mapping[str, Sequence[str]] = field(default_factory=dict)
    published: PublishedTable | None = None
    published_rows: Mapping[str, str] = field(default_factory=dict)
    layout: str = "beside"
    others: tuple[str, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    common: bool = False


@dataclass(frozen=True)
class PaperTables:
    """The tables of one paper.

    Attributes:
        folder: of its description, whose name tells its tables from others.
        title: the heading.
        text: Markdown before the tables.
        tables: in order.
    """

    folder: Path
    title: str
    text: str
    tables: tuple[PageTable, ...]

    @property
    def name(self) -> str:
        """The name of its folder, which ``--take`` and the files of rows have, wherever the command is given."""
        return _folder_name(self.folder)


@dataclass(frozen=True)
class Page:
    """A page of results.

    Attributes:
        path: of its description.
        title: the first heading.
        text: Markdown below it.
        parts: in order.
        output: the file that is written.
        results: the folder with the rows that the page shows.
    """

    path: Path
    title: str
    text: str
    parts: tuple[PaperTables, ...]
    output: Path
    results: Path

    def rows_of(self, part: PaperTables, table: PageTable) -> Path:
        """Return the file that holds the rows of a table; tables of one sweep and size share it."""
        size = f"-{table.size}" if table.size else ""
        return self.results / f"{part.name}-{table.sweep.stem}{size}.csv"


def read_page(path: Path) -> Page:
    """Read the description of a page, and those of its parts.

    Raises:
        UsageError: a file cannot be read, or says something that is not known.
    """
    data = _toml(path)
    _keys(
        data, path.name, {"title": str, "text": str, "parts": list, "output": str, "results": str}, {"title", "parts"}
    )
    folder = path.parent
    parts = tuple(_part(folder / _text(name, f"{path.name}: parts")) for name in data["parts"])
    return Page(
        path,
        data["title"],
        data.get("text", ""),
        parts,
        Path(os.path.normpath(folder / data.get("output", "results.md"))),
        Path(os.path.normpath(folder / data.get("results", "results"))),
    )


def _folder_name(folder: Path) -> str:
    return Path(os.path.normpath(folder.absolute())).name


def _part(path: Path) -> PaperTables:
    data, place = _toml(path), f"{_folder_name(path.parent)}/{path.name}"
    _keys(data, place, {"title": str, "text": str, "tables": list}, {"title"})
    tables = tuple(
        _table(table, path.parent, f"{place}: table {n}") for n, table in enumerate(data.get("tables", []), 1)
    )
    names = [table.name for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{place}: two tables are called {name!r}")
    return PaperTables(path.parent, data["title"], data.get("text", ""), tables)


def _table(data: Any, folder: Path, place: str) -> PageTable:
    _keys(data, place, _TABLE, {"name", "title", "sweep", "rows", "columns"})
    place = f"{_folder_name(folder)}/{data['name']}"
    published = read_published(folder / "published.toml", data["published"]) if "published" in data else None
    if data.get("layout", "beside") not in LAYOUTS:
        raise UsageError(f"{place}: layout is one of {', '.join(LAYOUTS)}, not {data['layout']!r}")
    others = data.get("others", [])
    if published is None and (others or data.get("published_rows")):
        raise UsageError(f"{place}: rows of the paper need published, the name of its table")
    if published is not None:
        others = published.names if others == "all" else others
        for label in (*others, *data.get("published_rows", {}).values()):
            published.check_row(label)
    columns = tuple(_column(column, f"{place}, column {n}") for n, column in enumerate(data["columns"], 1))
    plain = {"name", "title", "size", "text", "rule", "rows", "row_names", "where", "together", "published_rows"}
    return PageTable(
        **{key: data[key] for key in plain | {"layout", "why", "common"} if key in data},
        sweep=folder / data["sweep"],
        columns=columns,
        published=published,
        others=tuple(others),
    )


def _column(data: Any, place: str) -> PageColumn:
    _keys(data, place, _COLUMN, set())
    if data.get("compare", "") not in COMPARE:
        raise UsageError(f"{place}: compare is lower, higher or no, not {data['compare']!r}")
    rule = FigureRule(**{key: data[key] for key in ("over", "seeds", "failed") if key in data})
    own = ("name", "by", "show", "where", "best", "spread", "digits", "decimals", "unit")
    column = Column(**{key: data[key] for key in own if key in data}, rule=rule)
    tolerance = float(data["tolerance"]) if "tolerance" in data else None
    return PageColumn(column, data.get("published", ""), data.get("compare", ""), tolerance)


def _toml(path: Path) -> dict[str, Any]:
    """Read a TOML file that begins with ``mtpp-page = 1``, and return the rest."""
    text = read_text(path, MAX_BYTES, wanted="a description of a page, in TOML that begins with mtpp-page = 1,")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
    if data.pop("mtpp-page", None) != VERSION:
        raise UsageError(f"{path} is no description of a page: it begins with mtpp-page = {VERSION}")
    return data


def _keys(data: Any, place: str, known: Mapping[str, type | tuple[type, ...]], needed: set[str]) -> None:
    """Refuse a table of TOML that has unknown keys, values of wrong types, or lacks what is needed."""
    if not isinstance(data, dict):
        raise UsageError(f"{place}: expected a table, found {data!r:.60}")
    for key, value in data.items():
        if key not in known:
            raise UsageError(f"{place}: there is no key {key!r}{did_you_mean(key, known)}")
        if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] is not bool):
            raise UsageError(f"{place}: {key} is {value!r:.60}")
    for key in sorted(needed - set(data)):
        raise UsageError(f"{place}: {key} is missing")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{place}: expected text, found {value!r:.60}")
    return value


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
        value: float | int | str = self.rows[row][self.columns.index(column)]
        return None if value in _MISSING else value


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
        if not all(isinstance(number, (int, float, str)) for number in numbers):
            raise UsageError(f"{path}, {name}: row {label!r} has something that is neither a number nor text")
    return PublishedTable(str(data.get("paper", path.parent.name)), str(table.get("place", name)), columns, rows)


@lru_cache(maxsize=16)
def _read(path: Path) -> dict[str, Any]:
    text = read_text(path, wanted="TOML with published numbers")
    try:
        return tomllib.loads(text, parse_float=Printed)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
