"""Hold what a sweep found: of each run the plan and the bound that it had at each limit, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.regret.recording import LIMITS
from mtpp_dsl.sweeps.store.rows import RunRow

FOLDER = Path(__file__).with_name("results")
_OF_RUN = ("problem", "label", "time_limit", "status", "sense", "unit", "nodes", "edges", "devices")
_MEASURED = ("seconds", "cpu")
_AT = tuple(f"{what}_{limit:g}" for limit in LIMITS for what in ("plan", "bound"))
COLUMNS = (*_OF_RUN, *_MEASURED, *_AT)


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
    """

    problem: str
    label: str
    limit: float
    status: str
    maximised: bool
    plans: dict[float, float | None]
    bounds: dict[float, float | None]


def _at(row: RunRow, limit: float) -> tuple[float | None, float | None]:
    """Return the plan and the bound that a run had after *limit* seconds; those of its answer if it ended before."""
    if limit >= (row.time_limit or 0.0) or limit >= (row.seconds or 0.0):
        return row.value, row.bound
    before = [entry for entry in row.log if entry[0] is not None and entry[0] <= limit]
    return (before[-1][1], before[-1][2]) if before else (None, None)


def write(rows: Iterable[RunRow], order: Sequence[str], path: Path) -> None:
    """Write the figures of rows of a database as CSV, in the order of the problems."""
    place = {name: i for i, name in enumerate(order)}
    lines = []
    for row in rows:
        if row.problem not in place:
            continue
        fields = {name: getattr(row, name) for name in _OF_RUN}
        fields |= {name: round(getattr(row, name) or 0.0, 2) for name in _MEASURED}
        for limit in LIMITS:
            fields[f"plan_{limit:g}"], fields[f"bound_{limit:g}"] = _at(row, limit)
        lines.append(fields)
    lines.sort(key=lambda line: (place[line["problem"]], line["label"], line["time_limit"]))
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def read(path: Path) -> list[Figures]:
    """Return what :func:`write` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Figures(
                row["problem"],
                row["label"],
                float(row["time_limit"]),
                row["status"],
                row["sense"] == "maximize",
                {limit: _number(row[f"plan_{limit:g}"]) for limit in LIMITS},
                {limit: _number(row[f"bound_{limit:g}"]) for limit in LIMITS},
            )
            for row in csv.DictReader(file)
        ]


def _number(text: str) -> float | None:
    return float(text) if text else None
