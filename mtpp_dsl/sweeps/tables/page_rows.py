"""The rows that a page shows, in text files, so that the page can be made again without a database."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import PROVED
from mtpp_dsl.sweeps.store.store import Store
from mtpp_dsl.sweeps.tables.measures import answered, contests, found_after, trained_for
from mtpp_dsl.sweeps.tables.runs import MISSING, NEEDED, Runs, hint

_COLUMNS = (
    *("problem", "grp", "params", "scenario", "label", "method", "options", "solver", "coarsen", "seed", "time_limit"),
    *(
        "threads",
        "status",
        "objective",
        "sense",
        "unit",
        "value",
        "bound",
        "gap",
        "proof",
        "seconds",
        "found",
        "train",
        "cpu",
        "total",
        "memory",
    ),
    *("nodes", "edges", "devices", "started", "machine", "version", "spec_sha256"),
)
_TEXTS = {
    *("problem", "grp", "scenario", "label", "method", "solver", "coarsen", "status", "objective", "sense", "unit"),
    *("proof", "started", "machine", "version", "spec_sha256"),
}
_OBJECTS = {"params", "options"}
_ROUNDED = {"seconds": 4, "found": 4, "train": 4, "cpu": 4, "total": 4}
_HASH = 12
"""So much of a hash tells problems of one name apart."""


def take_rows(store: Store, runs: Sequence[Run], path: Path) -> tuple[int, int]:
    """Write the rows of *runs* that a database has to *path*; those it lacks are written as missing.

    Returns:
        How many there are, and how many runs are missing.
    """
    columns = store.columns([*NEEDED, "log"])
    columns["found"] = [
        found_after(log, seconds) if value is not None else None
        for log, seconds, value in zip(columns["log"], columns["seconds"], columns["value"], strict=True)
    ]
    columns["train"] = [trained_for(store.answer(key)) for key in columns["key"]]
    at = {key: i for i, key in enumerate(columns["key"])}
    rows, missing = [], 0
    for run in runs:
        i = at.get(run.key)
        if i is None:
            missing += 1
            rows.append(_missing(run))
        else:
            row = {name: values[i] for name, values in columns.items()}
            # The names are those of the sweep as it stands: a run may have been recorded under others.
            rows.append(row | {"problem": run.problem, "label": run.label, "grp": run.group})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, rows_text(rows))
    return len(rows), missing


def _missing(run: Run) -> dict[str, Any]:
    data = run.to_json()
    row = {name: data.get({"grp": "group"}.get(name, name)) for name in NEEDED}
    return row | {"status": MISSING, "versions": {}, "gap": None, "memory": None}


def rows_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, sorted: the same rows make the same text."""
    lines = sorted(_sorted_line(row) for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(cells for _, cells in lines)
    return out.getvalue()


def _sorted_line(row: Mapping[str, Any]) -> tuple[tuple[Any, ...], list[str]]:
    """Return what a row is sorted by, and its cells."""
    values = dict(row) | {
        "started": str(row.get("started") or "")[:10],
        "version": (row.get("versions") or {}).get("mtpp-dsl", ""),
        "spec_sha256": str(row.get("spec_sha256") or "")[:_HASH],
    }
    cells = [_cell(name, values.get(name)) for name in _COLUMNS]
    place = (values["problem"], cells[2], values["label"], values.get("solver") or "", values.get("seed") or 0)
    return (*place, cells), cells


def _cell(name: str, value: Any) -> str:
    if name in _OBJECTS:
        return json.dumps(dict(value), sort_keys=True) if value else ""
    if value is None:
        return ""
    if isinstance(value, float):
        value = round(value, _ROUNDED[name]) if name in _ROUNDED else value
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def read_rows(path: Path) -> Runs:
    """Read what :func:`take_rows` wrote.

    Raises:
        UsageError: there is no such file, or it is of another form.
    """
    if not path.exists():
        raise UsageError(f"there is no file {path}; mtpp bench page --take all makes it")
    try:
        lines = list(csv.reader(io.StringIO(read_text(path, wanted="a table of rows in CSV"))))
    except csv.Error as error:
        raise UsageError(f"{path}: {error}") from None
    if not lines or tuple(lines[0]) != _COLUMNS or any(len(line) != len(_COLUMNS) for line in lines):
        raise UsageError(f"{path} does not have the columns of rows for a page: take them anew, by --take")
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for number, line in enumerate(lines[1:], 2):
        for name, cell in zip(_COLUMNS, line, strict=True):
            columns[name].append(_value(name, cell, f"{path.name}, line {number}"))
    return Runs(columns)


def _value(name: str, cell: str, place: str) -> Any:
    if name in _TEXTS:
        return cell
    try:
        if name in _OBJECTS:
            return json.loads(cell) if cell else {}
        return None if not cell else float(cell)
    except ValueError:
        raise UsageError(f"{place}: {name} is {cell!r:.60}") from None


CLOSE = 1e-6
"""A plan this close to a bound, relatively, is optimal; the same share as ``mtpp solve`` has by default."""
_OWN = ("key", "label", "method", "status", "value", "bound", "gap", "proof", "seconds", "cpu", "total", "memory")
_FOUNDED = {"trusted": 1, "checked": 2, PROVED: 3}
"""How well a bound is founded; 0 where nothing, or something else, is said of it."""


def with_together(runs: Runs, together: Mapping[str, Sequence[str]]) -> Runs:
    """Return *runs* with further ones, whose labels are the names in *together*.

    Each has the best value and the best bound of the methods named there, of one problem and seed, the sum of their
    times and the largest of their memories.

    Raises:
        UsageError: a name is the label of a method, or a method has no runs.
    """
    if not together:
        return runs
    labels = runs.field("label")
    columns: dict[str, list[Any]] = {name: list(column) for name, column in runs.columns.items()}
    for name, parts in together.items():
        if name in labels:
            raise UsageError(f"{name!r} is the label of a method: methods taken together need another name")
        for part in parts:
            if part not in labels:
                raise UsageError(f"no method is called {part!r}{hint(part, sorted(set(labels)))}")
        places = [i for i, label in enumerate(labels) if label in parts]
        of_parts = runs.take(places)
        for meeting in contests(of_parts):
            for column, value in _joined(of_parts, meeting.runs, name).items():
                columns[column].append(value)
    return Runs(columns)


def _joined(runs: Runs, meeting: Sequence[int], name: str) -> dict[str, Any]:
    """Return the row of one problem and seed."""
    first = meeting[0]
    row = {column: values[first] for column, values in runs.columns.items()}
    maximize = bool(runs.maximize[first])
    value = _best(answered(runs, "value")[meeting], largest=maximize)
    bound = _best(answered(runs, "bound")[meeting], largest=not maximize)
    statuses = [runs.field("status")[i] for i in meeting]
    gap = None
    if value is not None and bound is not None:
        gap = max(0.0, (bound - value if maximize else value - bound) / abs(value)) if value else 0.0
    if "infeasible" in statuses:
        status = "infeasible"
    elif value is not None:
        status = "optimal" if "optimal" in statuses or (gap is not None and gap <= CLOSE) else "feasible"
    else:
        status = "bound" if bound is not None else max(set(statuses), key=statuses.count)
    sums = {column: float(np.nansum(runs.numbers(column)[meeting])) for column in ("seconds", "cpu", "total")}
    keys = " ".join(str(runs.columns["key"][i]) for i in meeting) if "key" in runs.columns else ""
    own = {"key": keys, "label": name, "method": name, "status": status, "value": value, "bound": bound, "gap": gap}
    own |= sums | {"memory": _best(runs.numbers("memory")[meeting], largest=True)}
    bounds = answered(runs, "bound")
    proofs = [runs.field("proof")[i] for i in meeting if bounds[i] == bound]
    own["proof"] = max(proofs, key=lambda proof: _FOUNDED.get(proof, 0), default="")
    seeds = {runs.field("seed")[i] for i in meeting}
    return row | {column: own[column] for column in _OWN if column in row} | {"seed": max(seeds, default=0)}


def _best(values: Any, *, largest: bool) -> float | None:
    known = values[~np.isnan(values)]
    return None if not known.size else float(known.max() if largest else known.min())
