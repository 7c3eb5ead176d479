"""Columns of runs for the tests of statistics, tables, pictures and pages."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.sweeps.tables.runs import NEEDED


def columns(*rows: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of runs, given what differs from a run of ``heft`` that found 1 s in half a second."""
    made: dict[str, list[Any]] = {name: [] for name in [*NEEDED, "log"]}
    for number, given in enumerate(rows):
        row: dict[str, Any] = dict.fromkeys(NEEDED, "") | {"key": f"{number:03}", "problem": "p", "label": "heft"}
        row |= {"params": {}, "options": {}, "versions": {}, "seed": 0, "time_limit": 10.0, "status": "feasible"}
        row |= {"objective": "makespan", "sense": "minimize", "unit": "s", "value": 1.0, "bound": None, "gap": None}
        row |= {"seconds": 0.5, "cpu": 0.5, "total": 0.6, "memory": 1000, "nodes": 10, "edges": 9, "devices": 2}
        row |= {"started": "2026-01-02T03:04:05Z", "machine": "2 x CPU, 23 GB", "log": [], **given}
        row["method"] = row["method"] or row["label"]
        for name, column in made.items():
            column.append(row[name])
    return made
