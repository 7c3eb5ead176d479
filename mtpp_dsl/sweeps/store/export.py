"""The rows of a database as CSV, as Parquet and as a table of pandas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.base.writing import check_writable, write_bytes
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.sweeps.store.rows import COLUMNS, RunRow

FORMATS = (".csv", ".parquet")
PARAM = "param."
"""Before the name of a param that has a column of its own."""
_JSON = frozenset(name for name, kind in COLUMNS.items() if kind.startswith(("Mapping", "Sequence")))
_LEFT_OUT = ("log",)


def table_of(rows: Sequence[RunRow], columns: Iterable[str] = ()) -> dict[str, list[Any]]:
    """Return the columns of a table of rows, each with an entry a row, by their names.

    Objects and logs are texts of JSON. Each param has a column of its own behind the others, ``param.k``, with None
    where a row has no such param.

    Args:
        rows: of a database.
        columns: their names, in the order wanted; all but ``log`` where there are none.

    Raises:
        UsageError: there is no such column.
    """
    params = sorted({f"{PARAM}{name}" for row in rows for name in row.params})
    wanted = [*columns] or [*(name for name in COLUMNS if name not in _LEFT_OUT), *params]
    for name in wanted:
        if name not in COLUMNS and name not in params:
            raise UsageError(f"there is no column {name!r}{did_you_mean(name, (*COLUMNS, *params))}")
    return {name: [_entry(row, name) for row in rows] for name in dict.fromkeys(wanted)}


def _entry(row: RunRow, name: str) -> Any:
    if name.startswith(PARAM):
        return row.params.get(name.removeprefix(PARAM))
    value = getattr(row, name)
    return json.dumps(value, sort_keys=True) if name in _JSON else value


def frame(rows: Sequence[RunRow], columns: Iterable[str] = ()) -> Any:
    """Return a table of pandas with a row a run; *columns* as of :func:`table_of`.

    Raises:
        UsageError: pandas is not installed; there is no such column.
    """
    table = table_of(rows, columns)
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise UsageError(f"a table needs pandas, which cannot be imported ({error}): pip install pandas") from None
    return pandas.DataFrame({name: pandas.Series(values, dtype=_dtype(name, values)) for name, values in table.items()})


def _dtype(name: str, values: Collection[Any]) -> str | None:
    whole = name.startswith(PARAM) and {type(value) for value in values} == {int, type(None)}
    return "Int64" if whole else _DTYPES.get(COLUMNS.get(name, ""))


_DTYPES = {"float | None": "float64", "int | None": "Int64", "int": "int64"}
"""What pandas calls the types of columns: whole numbers stay whole where some are missing."""


def to_csv(table: dict[str, list[Any]]) -> str:
    """Return a table as CSV (RFC 4180, lines ended by newlines); what is missing is empty, and numbers are whole."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue()


def export(rows: Sequence[RunRow], path: Path, columns: Iterable[str] = ()) -> None:
    """Write rows to a file, whose ending says how: ``.csv`` or ``.parquet``.

    Raises:
        UsageError: there is no such format or column; pyarrow is not installed; the file cannot be written.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"cannot export to {path}: its name has to end in {' or '.join(FORMATS)}")
    check_writable(path)
    table = table_of(rows, columns)
    data = to_csv(table).encode("utf-8", "replace") if path.suffix == ".csv" else _parquet(table)
    try:
        write_bytes(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _parquet(table: dict[str, list[Any]]) -> bytes:
    """Return a table as the bytes of a Parquet file; columns have the types of the database."""
    arrow = need("pyarrow", "parquet")
    parquet = need("pyarrow.parquet", "parquet")
    types = {"float | None": arrow.float64(), "int | None": arrow.int64(), "int": arrow.int64()}
    arrays = {}
    for name, values in table.items():
        if name.startswith(PARAM):
            arrays[name] = arrow.array(_alike(values))
        else:
            arrays[name] = arrow.array(values, types.get(COLUMNS[name], arrow.string()))
    sink = arrow.BufferOutputStream()
    parquet.write_table(arrow.table(arrays), sink)
    return bytes(sink.getvalue())


def _alike(values: Collection[Any]) -> list[Any]:
    """Return the values of a param with one type: texts of JSON where they are neither all numbers nor all alike."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) <= 1:
        return [float(value) if float in kinds and value is not None else value for value in values]
    return [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
