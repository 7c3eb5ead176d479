"""Tables of data that params hold: rows of a CSV or JSON file, with units in the names of their columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TypeAlias

from mtpp_dsl.core.base.exact_numbers import Exact, exact_number, settled
from mtpp_dsl.core.base.files import once, read_text
from mtpp_dsl.core.base.units import NONE, UNITS, unit_hint
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.outside import from_python
from mtpp_dsl.language.values.values import DataTable, Quantity, Value, describe

__all__ = ["MAX_CELLS", "NUMBER", "Cell", "cells_of", "lines_of", "read_table", "table_of_records"]

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


PlaceIn: TypeAlias = Callable[[int | None, int], Span | None]
"""Gives the place of a cell by row and column, and of the name of a column by None and column."""

MAX_CELLS = 1_000_000
"""Cells of a table; a larger one is refused."""

MAX_BYTES = 16 * 2**20
_HEADER = re.compile(r"([^(\[]*+)[(\[]([^()\[\]]*+)[)\]]")
_WITH_UNIT = re.compile(rf"({NUMBER.pattern})\s*([A-Za-zµ%][A-Za-zµ/]*)")
_FORMS = "a table in JSON is a list of objects, one a row, or an object of lists, one a column"


def read_table(path: Path, place: Span | None) -> DataTable:
    """Return the table of a file: JSON where its name ends so, else comma-separated values.

    The first line of a CSV file names the columns; ``time (ms)`` or ``time [ms]`` gives a unit to all numbers of the
    column ``time``. Rows are looked up by the text of their first cell.

    Args:
        path: of the file.
        place: where the spec names it; None for a file that was given from outside.

    Raises:
        Complaint: it cannot be read, with the place in the file where it has one.
    """
    try:
        source = Source(
            str(path), read_text(path, MAX_BYTES, wanted="JSON" if path.suffix.lower() == ".json" else "CSV"), place
        )
    except UsageError as error:
        raise Complaint(str(error), place, code="MTPP-E701") from None
    return _from_json(source, path) if path.suffix.lower() == ".json" else _from_csv(source, path, place)


def table_of_records(name: str, records: Sequence[Mapping[str, object]]) -> DataTable:
    """Return a table of rows that Python gives, each a mapping from columns to values.

    Raises:
        Complaint: a value that the language has nothing like, or a column twice.
    """
    columns: dict[str, list[object]] = {}
    for i, record in enumerate(records):
        for column, value in record.items():
            columns.setdefault(str(column), [None] * i).append(value)
        for values in columns.values():
            values += [None] * (i + 1 - len(values))
    plain = [[None if value is None else from_python(value) for value in values] for values in columns.values()]
    places = tuple(f"{name}, row {i + 1}" for i in range(len(records)))
    texts = [_cell_text(values[i]) for values in plain[:1] for i in range(len(records))]
    return _table(None, name, list(columns), plain, texts, places, lambda _, __: None)


def _cell_text(value: Value | None) -> str:
    return value if isinstance(value, str) else str(value.value) if isinstance(value, Quantity) else ""


# CSV


def _from_csv(source: Source, path: Path, place: Span | None) -> DataTable:
    lines = lines_of(source)
    first = next(lines, None)
    if first is None:
        raise Complaint(f"{source.name} is empty; the first line of a table names its columns", place, code="MTPP-E709")
    header = cells_of(source, first)
    if len(header) == 1 and re.search(r"[;\t]", first.text):
        raise Complaint("cells are separated by commas", header[0].span, code="MTPP-E709")
    rows = []
    for line in lines:
        cells = cells_of(source, line)
        if len(cells) != len(header):
            raise Complaint(
                f"this line has {len(cells)} cells; the first line has {len(header)}", line, code="MTPP-E709"
            )
        rows.append(cells)
        if len(rows) * len(header) > MAX_CELLS:
            raise Complaint(
                f"{source.name} has more than {MAX_CELLS:,} cells, the most that are read", place, code="MTPP-E901"
            )
    columns = [_inferred([row[j].text for row in rows]) for j in range(len(header))]

    def place_in(i: int | None, j: int) -> Span:
        return (header if i is None else rows[i])[j].span

    names = [cell.text for cell in header]
    places = tuple(row[0].span.place for row in rows)
    return _table(path, source.name, names, columns, [row[0].text for row in rows], places, place_in)


def _inferred(texts: Sequence[str]) -> list[Value | None]:
    """Return what the cells of a column mean: numbers, quantities, true and false, or else strings.

    Nothing, and without end, need no unit: in a column of sizes, 0 is 0 B.
    """
    filled = [text for text in texts if text]
    for meaning in (_number, _quantity, _truth):
        if filled and all(meaning(text) is not None for text in filled):
            return [meaning(text) if text else None for text in texts]
    bare = {text: number for text in filled if (number := _number(text)) is not None and number.value in (0, inf)}
    quantities = [_quantity(text) for text in filled if text not in bare]
    dimensions = {quantity.dimension for quantity in quantities if quantity is not None}
    if bare and None not in quantities and len(dimensions) == 1:
        (dimension,) = dimensions
        return [replace(bare[text], dimension=dimension) if text in bare else _quantity(text) for text in texts]
    return [text or None for text in texts]


def _number(text: str) -> Quantity | None:
    if NUMBER.fullmatch(text) is None:
        return None
    try:
        number: Exact = inf if text == "inf" else settled(exact_number(text))
    except OverflowError:
        return None
    return Quantity(number) if -inf < number < inf or text == "inf" else None


def _quantity(text: str) -> Quantity | None:
    match = _WITH_UNIT.fullmatch(text)
    number = _number(match[1]) if match is not None else None
    unit = match[match.lastindex or 0] if match is not None else ""
    if number is None or unit not in UNITS:
        return None
    factor, dimension = UNITS[unit]
    return Quantity(settled(number.value * factor), dimension)


def _truth(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())  # as spreadsheets write them, too


# JSON


def _from_json(source: Source, path: Path) -> DataTable:
    try:
        data = json.loads(source.text, object_pairs_hook=once, parse_float=exact_number, parse_int=exact_number)
    except json.JSONDecodeError as error:
        raise Complaint(f"not JSON: {error.msg}", Span(source, error.pos, error.pos + 1), code="MTPP-E709") from None
    except (ValueError, RecursionError) as error:
        raise Complaint(f"not JSON that can be read: {error}", Span(source, 0, 1), code="MTPP-E709") from None
    by_rows = isinstance(data, list)
    if by_rows and all(isinstance(row, dict) for row in data):
        names = list(dict.fromkeys(name for row in data for name in row))
        columns = [[row.get(name) for row in data] for name in names]
    elif isinstance(data, dict) and data and all(isinstance(column, list) for column in data.values()):
        names, columns = list(data), list(data.values())
    else:
        raise Complaint(f"{source.name} holds no table: {_FORMS}", Span(source, 0, 1), code="MTPP-E709")

    def place_in(i: int | None, j: int) -> Span:
        row = next((k for k, record in enumerate(data) if names[j] in record), 0) if by_rows and i is None else i
        steps = (row, names[j]) if by_rows else (names[j], row)
        return Span(source, *place_of(source.text, [step for step in steps if step is not None]))

    if sum(map(len, columns)) > MAX_CELLS:
        raise Complaint(
            f"{source.name} has more than {MAX_CELLS:,} cells, the most that are read",
            Span(source, 0, 1),
            code="MTPP-E901",
        )
    for j, column in enumerate(columns):
        if len(column) != len(columns[0]):
            message = f"column {names[j]!r} has {len(column)} values, and {names[0]!r} has {len(columns[0])}"
            raise Complaint(message, place_in(None, j), code="MTPP-E709")
        for i, value in enumerate(column):
            if isinstance(value, (list, dict)):
                raise Complaint(
                    "a cell holds a number, a string, true, false or null", place_in(i, j), code="MTPP-E709"
                )
            column[i] = value if value is None or isinstance(value, (str, bool)) else Quantity(value)
        if any(column) and all(value is None or isinstance(value, str) for value in column):
            quantities = [None if value is None else _quantity(value) for value in column]
            if all(quantity is not None or value is None for quantity, value in zip(quantities, column, strict=True)):
                columns[j] = quantities
    rows = len(columns[0]) if columns else 0
    texts = [_cell_text(columns[0][i]) for i in range(rows)]
    places = tuple(f"{source.name}, row {i + 1}" for i in range(rows))
    return _table(path, source.name, names, columns, texts, places, place_in)


# both


def _table(
    path: Path | None,
    name: str,
    header: Sequence[str],
    columns: Iterable[Sequence[Value | None]],
    texts: Sequence[str],
    places: tuple[str, ...],
    place_in: PlaceIn,
) -> DataTable:
    """Return a table, with the units of its header given to its numbers.

    Args:
        path: of the file, if it is one.
        name: for messages.
        header: names of the columns, as written.
        columns: values of each.
        texts: first cell of each row, as written.
        places: of the rows.
        place_in: gives the place of a cell by row and column, and of a column's name by None and column.
    """
    named: dict[str, tuple[Value | None, ...]] = {}
    for j, (written, values) in enumerate(zip(header, columns, strict=True)):
        column, unit = written.strip(), None
        match = _HEADER.fullmatch(column)
        if match is not None:
            column, unit = match[1].strip(), match[2].strip()
            if unit not in UNITS:
                remedy = unit_hint(unit) or "; a name in brackets behind a column's is its unit"
                raise Complaint(f"there is no unit {unit!r}{remedy}", place_in(None, j), code="MTPP-E201")
        if not column:
            raise Complaint(f"column {j + 1} has no name", place_in(None, j), code="MTPP-E709")
        if column in named:
            raise Complaint(f"there are two columns {column!r}", place_in(None, j), code="MTPP-E102")
        named[column] = tuple(_with_unit(value, unit, place_in, i, j) for i, value in enumerate(values))
    rows: dict[str, int | None] = {}
    for i, text in enumerate(texts):
        rows[text] = None if text in rows else i
    return DataTable(path, name, named, rows, places)


def _with_unit(value: Value | None, unit: str | None, place_in: PlaceIn, row: int, column: int) -> Value | None:
    """Return a value with the unit of its column; only numbers without a unit of their own can have it."""
    factor, dimension = (1, NONE) if unit is None else UNITS[unit]
    if unit is not None and isinstance(value, str):
        value = _number(value) or value
    if unit is not None and value is not None and (not isinstance(value, Quantity) or value.dimension != NONE):
        message = f"the numbers of this column are in {unit}; this is {describe(value)}"
        raise Complaint(message, place_in(row, column), code="MTPP-E205")
    if not isinstance(value, Quantity):
        return value
    try:
        return Quantity(settled(value.value * factor), dimension if unit is not None else value.dimension)
    except OverflowError as error:
        raise Complaint(str(error), place_in(row, column), code="MTPP-E215") from None


# Where a value stands in a JSON text, for messages about it.

_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*+"|[\[\]{},:]|[^\s\[\]{},:"]+)')


def place_of(text: str, steps: Sequence[str | int]) -> tuple[int, int]:
    """Return the offsets of the value that names and numbers lead to; those of the whole text if there is none.

    >>> place_of('[{"a": 1}, {"a": [2]}]', [1, "a"])
    (17, 20)
    """
    tokens = [(match[1], match.start(1), match.end(1)) for match in _TOKEN.finditer(text)]
    at = 0
    for step in steps:
        member = _member(tokens, at, step)
        if member is None:
            return 0, len(text)
        at = member
    end = _end(tokens, at)
    return (tokens[at][1], tokens[end - 1][2]) if at < len(tokens) else (0, len(text))


def _member(tokens: Sequence[tuple[str, int, int]], at: int, step: str | int) -> int | None:
    """Return the token at which the member of an object or an array begins."""
    if at >= len(tokens) or tokens[at][0] not in ("[", "{"):
        return None
    named, number = tokens[at][0] == "{", 0
    at += 1
    while at < len(tokens) and tokens[at][0] not in ("]", "}"):
        key: str | int = json.loads(tokens[at][0]) if named else number
        at += 2 if named else 0
        if key == step:
            return at
        at, number = _end(tokens, at), number + 1
        at += at < len(tokens) and tokens[at][0] == ","
    return None


def _end(tokens: Sequence[tuple[str, int, int]], at: int) -> int:
    """Return the token behind a value."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at][0] in ("[", "{")) - (tokens[at][0] in ("]", "}"))
        at += 1
        if depth <= 0:
            break
    return at
