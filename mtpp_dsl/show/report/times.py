"""Where times are from, for people: one line for answers, and a table of all times for ``mtpp check --verbose``."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.time_sources import counted_sources, sources_of
from mtpp_dsl.show.report.names import fold_names

MARKS = {TimeSource.GIVEN: "", TimeSource.MODELLED: "~", TimeSource.MEASURED: "="}
MAX_ROWS = 40
"""Rows of the table; further nodes are counted."""
MAX_NAMES = 28
"""Cells of a name of nodes or devices; a longer one is cut."""


def sources_in_words(problem: Problem) -> str:
    """Return how many times are from where; "" if all are given."""
    counted = counted_sources(problem)
    words = {
        "modelled": "by the spec's own roofline(v, d)" if problem.graph.law else "by the roofline",
        "measured": "",
        "given": "",
    }
    return ", ".join(f"{count:,} {what} {words[what]}".rstrip() for what, count in counted.items() if count)


def time_table(problem: Problem, width: int | None) -> list[str]:
    """Return lines with what nodes take on devices, equal nodes and equal devices together; [] if all are given.

    There is a table for each phase, if there are any. Columns that do not fit in *width* cells come below.
    """
    if not counted_sources(problem):
        return []
    lines: list[str] = []
    for name in problem.phases or ("",):
        lines += [""] if lines else []
        lines += _table(problem.phase(name) if name else problem, name or "node", width)
    return [*lines, "~ modelled by the law, = measured, others given; - cannot run there"]


def _table(problem: Problem, corner: str, width: int | None) -> list[str]:
    """Return the table of a problem without phases, or of one phase; *corner* is its first word."""
    cells, columns = _cells(problem)
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, row in zip(problem.graph.names, cells, strict=True):
        rows.setdefault(tuple(row), []).append(name)
    shown = [(_cut(fold_names(names, most=4)), row) for row, names in list(rows.items())[:MAX_ROWS]]
    heads = [_cut(fold_names(names, most=4)) for names in columns]
    first = max(len(text) for text in (corner, *(name for name, _ in shown)))
    widths = [max(len(head), *(len(row[j]) for _, row in shown)) for j, head in enumerate(heads)]
    lines: list[str] = []
    for part in _fitting(widths, None if width is None else width - first):
        lines += [] if not lines else [""]
        lines.append("  ".join([corner.ljust(first), *(heads[j].rjust(widths[j]) for j in part)]))
        lines += ["  ".join([name.ljust(first), *(row[j].rjust(widths[j]) for j in part)]) for name, row in shown]
    if len(rows) > MAX_ROWS:
        left = sum(len(names) for names in list(rows.values())[MAX_ROWS:])
        lines.append(f"… and {left:,} more nodes")
    return lines


def _cells(problem: Problem) -> tuple[list[list[str]], list[list[str]]]:
    """Return the text of each time by node and column, and the devices of each column: those with equal times."""
    sources = sources_of(problem)
    alike: dict[bytes, list[int]] = {}
    for d in range(problem.k):
        alike.setdefault(problem.time[:, d].tobytes() + sources[:, d].tobytes(), []).append(d)
    first = [devices[0] for devices in alike.values()]
    cells = [
        [
            MARKS[TimeSource(sources[v, d])] + format_quantity(float(problem.time[v, d]), problem.time_unit)
            if np.isfinite(problem.time[v, d])
            else "-"
            for d in first
        ]
        for v in range(problem.graph.n)
    ]
    return cells, [[problem.devices[d].name for d in devices] for devices in alike.values()]


def _fitting(widths: list[int], room: int | None) -> list[list[int]]:
    """Return the columns in groups that fit side by side, each column in one."""
    groups: list[list[int]] = [[]]
    used = 0
    for column, width in enumerate(widths):
        if room is not None and groups[-1] and used + width + 2 > room:
            groups.append([])
            used = 0
        groups[-1].append(column)
        used += width + 2
    return groups


def _cut(name: str) -> str:
    return name if len(name) <= MAX_NAMES else f"{name[: MAX_NAMES - 1]}…"
