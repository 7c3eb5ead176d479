"""Fronts of two objectives: as JSON and as a table."""

from __future__ import annotations

import sys
from typing import IO, Any

from rich.text import Text

from mtpp_dsl.core.base.units import counted, format_gap
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.show.report.columns import wrapped
from mtpp_dsl.solving.answers.json import SCHEMA_VERSION, result_to_json

_ENDED = {"time_limit": "stopped at the time limit; ", "interrupted": "interrupted; "}


def front_to_json(front: Front) -> dict[str, Any]:
    """Return a front as JSON: an answer for each point, and whether there are no others."""
    return {
        "schema": SCHEMA_VERSION,
        "front": [result_to_json(front.problem, point) for point in front.points],
        "complete": front.complete,
    }


def front_table(front: Front, width: int | None = None) -> list[Text]:
    """Return the lines that ``mtpp solve --pareto`` prints: value and gap of both objectives, point by point.

    Args:
        front: what was found.
        width: of the terminal; None breaks no line.
    """
    if front.infeasibility is not None:
        return wrapped(Text(f"infeasible: {front.infeasibility.reason}"), width)
    if not front.points:
        return wrapped(Text("no plan was found"), width)
    head = ["", *(cell for objective in front.problem.objectives for cell in (objective.shown, "gap"))]
    rows = [head]
    for number, point in enumerate(front.points, 1):
        cells = [str(number)]
        for one in point.objectives:
            assert one.cost is not None
            value = front.problem.valued(one.cost, one.objective)
            cells += [value, "no bound" if one.gap is None else format_gap(one.gap)]
        rows.append(cells)
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = []
    for number, row in enumerate(rows):
        text = "  ".join(cell.rjust(cells) for cell, cells in zip(row, widths, strict=True)).rstrip()
        lines.append(Text(text, style="bold" if number == 0 else "", no_wrap=True))
    points = counted(len(front.points), "point")
    if front.complete:
        sentence = f"{points}: every plan is no better in both than one of them"
    else:
        where = " between them" if len(front.points) > 1 else ""
        sentence = f"{points}: {_ENDED.get(front.termination, '')}there may be others{where}"
    notes = [line for note in front.notes for line in wrapped(Text(note), width)]
    return [*lines, Text(""), *wrapped(Text(sentence), width), *notes]


def show(front: Front, width: int | None = None, file: IO[str] | None = None) -> None:
    """Print :func:`front_table`, plainly.

    Args:
        front: what was found.
        width: of the lines; None for 100.
        file: where to; None for standard output.
    """
    out = sys.stdout if file is None else file
    out.write("".join(f"{visible(line.plain).rstrip()}\n" for line in front_table(front, width or 100)))
