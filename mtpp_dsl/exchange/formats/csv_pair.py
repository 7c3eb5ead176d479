"""CSV: a table of nodes and a table of edges, in two files side by side."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.base.writing import check_writable, write_text
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.formats.graph_rows import (
    EDGE_FIELDS,
    MAX_EDGES,
    MAX_NODES,
    NODE_FIELDS,
    TIME_ON,
    GraphRows,
    check_name,
    graph_of,
    remedy,
    rows_of,
    unsaid,
)
from mtpp_dsl.exchange.formats.workload import Workload

__all__ = ["CsvPair", "number_text"]

_HEADER = re.compile(r"\s*(.*?)\s*(?:\(\s*([^\s()]+)\s*\))?\s*")


class CsvPair:
    """Two CSV files: ``net.nodes.csv`` and ``net.edges.csv``, or ``nodes.csv`` and ``edges.csv``.

    The path is that of the nodes; the edges are in the file whose name has "edges" in place of "nodes". The first row
    names the columns, with their units in brackets: ``name, work (ms), output (MiB), kind``, and
    ``source, target, size (B)``. Numbers may carry units of their own instead. An empty cell says nothing.
    """

    name = "csv"
    suffixes = (".csv",)

    def read(self, path: Path) -> Workload:
        """Return the graph of the nodes in *path* and the edges beside it.

        Raises:
            UsageError: a file is missing or broken, or says what no graph has; names the file and the line.
        """
        edges_path = edges_beside(path)
        rows = GraphRows()
        for place, row in _table(path, ("name", *NODE_FIELDS), MAX_NODES, "nodes", rows.declared):
            name = row.pop("name", "")
            check_name(place, name)
            rows.names.append(name)
            rows.nodes.append(row)
        index = {name: v for v, name in enumerate(rows.names)}
        for place, row in _table(edges_path, ("source", "target", *EDGE_FIELDS), MAX_EDGES, "edges", rows.declared):
            ends = [row.get(end, "") for end in ("source", "target")]
            for end in ends:
                if end not in index:
                    hint = did_you_mean(end, index) if len(index) < MAX_COMPARED else ""
                    raise UsageError(f"{place}: there is no node {end[:60]!r}{hint}")
            rows.edges.append((index[ends[0]], index[ends[1]]))
            rows.sizes.append(row.get("size"))
        return Workload(graph_of(f"{path}", rows))

    def write(self, workload: Workload, path: Path) -> tuple[Path, ...]:
        """Write the two files, and return their paths.

        Raises:
            UsageError: the graph has what they cannot say, or the name of *path* lacks "nodes".
        """
        reason = unsaid(workload.graph)
        if reason is not None:
            raise UsageError(f"CSV cannot say {reason}; write JSON{remedy(reason)}")
        edges_path = edges_beside(path)
        rows = rows_of(workload.graph)
        columns = [what for what in NODE_FIELDS if any(what in row for row in rows.nodes)]
        columns += [what for what in ("work", "output") if what not in columns and rows.unit_of(what)]
        columns += ["memory"] * ("memory" not in columns and rows.units["memory"] != rows.units["size"])
        columns += [f"{TIME_ON}{kind}" for kind in workload.graph.times]
        nodes = [
            [name, *(number_text(row.get(what, "")) for what in columns)]
            for name, row in zip(rows.names, rows.nodes, strict=True)
        ]
        sized = ["size"] * any(size is not None for size in rows.sizes)
        edges = [
            [rows.names[u], rows.names[v], *([number_text("" if size is None else size)] * len(sized))]
            for (u, v), size in zip(rows.edges, rows.sizes, strict=True)
        ]
        check_writable(path, edges_path)
        write_text(path, _written(["name", *(_headed(what, rows) for what in columns)], nodes))
        write_text(edges_path, _written(["source", "target", *(_headed(what, rows) for what in sized)], edges))
        return path, edges_path


MAX_COMPARED = 10_000
"""Of more nodes, none that is near is looked for."""


def edges_beside(path: Path) -> Path:
    """Return the file of edges that belongs to a file of nodes.

    Raises:
        UsageError: the name of the file lacks "nodes".
    """
    before, word, after = path.name.rpartition("nodes")
    if not word:
        raise UsageError(
            f"{path}: a graph in CSV is a pair such as nodes.csv and edges.csv; name the file with the nodes"
        )
    return path.with_name(f"{before}edges{after}")


def number_text(value: Any) -> str:
    """Return a value as it is written: whole numbers without a point, others so that they are read back exactly."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _headed(what: str, rows: GraphRows) -> str:
    unit = rows.unit_of(what)
    return f"{what} ({unit})" if unit else what


def _written(head: list[str], rows: list[list[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _table(
    path: Path, known: tuple[str, ...], most: int, what: str, declared: dict[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each row of a CSV file, and its cells that are not empty, with the units of their columns.

    The units of the columns are put into *declared*.

    Raises:
        UsageError: no header, a column that is unknown or given twice, a row of another length, or more than *most*.
    """
    reader = csv.reader(io.StringIO(read_text(path, wanted="CSV"), newline=""), strict=True)
    try:
        columns = [_column(path, cell, known) for cell in next(reader, [])]
        names = [name for name, _ in columns]
        if not names or len(set(names)) < len(names) or known[0] not in names:
            raise UsageError(f"{path}:1: expected the names of columns, each once: {', '.join(known[:3])}, …")
        declared |= {name: unit for name, unit in columns if unit}
        for number, cells in enumerate(reader):
            place = f"{path}:{reader.line_num}"
            if number >= most:
                raise UsageError(f"{path} has more than {most:,} {what}, the most that are read")
            if cells and len(cells) != len(columns):
                raise UsageError(f"{place}: {len(cells)} cells; the header has {len(columns)}")
            row = {
                name: f"{cell} {unit}" if unit and cell.strip("+-0123456789.eE_ ") == "" else cell
                for (name, unit), cell in zip(columns, cells, strict=False)
                if cell
            }
            if row:
                yield place, row
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: not CSV: {error}") from None


def _column(path: Path, cell: str, known: tuple[str, ...]) -> tuple[str, str]:
    """Return the name of a column and the unit of its numbers; "" for none."""
    match = _HEADER.fullmatch(cell) if cell.rstrip().endswith(")") else None
    name, unit = (match[1], match[2] or "") if match else (cell.strip(), "")
    if name not in known and not (name.startswith(TIME_ON) and "name" in known):
        listed = f"columns are: {', '.join(known)}"
        raise UsageError(f"{path}:1: there is no column {name[:60]!r}{did_you_mean(name, known)}; {listed}")
    return name, unit
