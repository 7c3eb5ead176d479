"""Hold what a sweep found: of each run the plan and the bound that it had at each limit and at its end, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.regret import sample
from benchmarks.regret.recording import LIMITS
from mtpp_dsl.sweeps.store.rows import RunRow

FOLDER = Path(__file__).with_name("results")
_OF_RUN = ("problem", "label", "time_limit", "status", "sense", "unit", "nodes", "edges", "devices")
_MEASURED = ("seconds", "cpu")
_AT = tuple(f"{what}_{limit:g}" for limit in LIMITS for what in ("plan", "bound"))
_END = ("plan_end", "bound_end")
"""Where a run was given more than all limits; else they are empty, and what it had at the last limit is its end."""
COLUMNS = (*_OF_RUN, *_MEASURED, *_AT, *_END)


class Figures(NamedTuple):
    """What one run found.

    Attributes:
        problem: its name.
        label: of the method.
        limit: seconds that it was given.
        status: how it ended.
        maximised: whether a larger value is better.
        plans: the value of its best plan at each of the limits, or None.
        bounds: its best bound, likewise.
        plan: the value of its best plan at its end.
        bound: its best bound there.
    """

    problem: str
    label: str
    limit: float
    status: str
    maximised: bool
    plans: dict[float, float | None]
    bounds: dict[float, float | None]
    plan: float | None
    bound: float | None


def _at(row: RunRow, limit: float) -> tuple[float | None, float | None]:
    """Return the plan and the bound that a run had after *limit* seconds; those of its answer if it ended before."""
    if limit >= (row.time_limit or 0.0) or limit >= (row.seconds or 0.0):
        return row.value, row.bound
    before = [entry for entry in row.log if entry[0] is not None and entry[0] <= limit]
    return (before[-1][1], before[-1][2]) if before else (None, None)


def write(rows: Iterable[RunRow], order: Sequence[str], path: Path) -> None:
    """Write the figures of rows of a database as CSV, in the order of the problems; other runs in the file stay.

    Args:
        rows: those of problems outside *order* are left out.
        order: names of problems.
        path: the file.
    """
    wanted = set(order)
    lines = {_run_of(line): line for line in _lines(path)} if path.exists() else {}
    lines |= {_run_of(line): line for line in (_line(row) for row in rows if row.problem in wanted)}
    place = {drawn.name: i for i, drawn in enumerate(sample.read())}
    ordered = sorted(lines.values(), key=lambda line: (place[line["problem"]], *_run_of(line)[1:]))
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)


def _line(row: RunRow) -> dict[str, Any]:
    """Return a line of the CSV."""
    fields = {name: getattr(row, name) for name in _OF_RUN}
    fields |= {name: round(getattr(row, name) or 0.0, 2) for name in _MEASURED}
    for limit in LIMITS:
        fields[f"plan_{limit:g}"], fields[f"bound_{limit:g}"] = _at(row, limit)
    if (row.time_limit or 0.0) > LIMITS[-1]:
        fields |= dict(zip(_END, (row.value, row.bound), strict=True))
    return fields


def _run_of(line: dict[str, Any]) -> tuple[str, str, float]:
    """Return what tells the run of a line from others: the problem, the method and the limit."""
    return line["problem"], line["label"], float(line["time_limit"])


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read(path: Path) -> list[Figures]:
    """Return what :func:`write` wrote."""
    return [
        Figures(
            line["problem"],
            line["label"],
            float(line["time_limit"]),
            line["status"],
            line["sense"] == "maximize",
            {limit: _number(line[f"plan_{limit:g}"]) for limit in LIMITS},
            {limit: _number(line[f"bound_{limit:g}"]) for limit in LIMITS},
            *(_number(line.get(f"{what}_end") or line[f"{what}_{LIMITS[-1]:g}"]) for what in ("plan", "bound")),
        )
        for line in _lines(path)
    ]


def _number(text: str) -> float | None:
    return float(text) if text else None
