"""Fronts of two objectives: as JSON, as a table, and as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

from rich.text import Text

from mtpp_dsl.base.units import counted, display_unit, format_gap, format_quantity
from mtpp_dsl.plans.front import Front
from mtpp_dsl.plans.result import Reached
from mtpp_dsl.report.columns import wrapped
from mtpp_dsl.report.json import SCHEMA_VERSION, result_to_json
from mtpp_dsl.report.picture import check_picture
from mtpp_dsl.text.visible import visible

__all__ = ["draw_front", "front_table", "front_to_json", "show"]

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
    time_unit = front.problem.time_unit
    head = ["", *(cell for objective in front.problem.objectives for cell in (objective.shown, "gap"))]
    rows = [head]
    for number, point in enumerate(front.points, 1):
        cells = [str(number)]
        for one in point.objectives:
            cells += [_value(one, time_unit), "no bound" if one.gap is None else format_gap(one.gap)]
        rows.append(cells)
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = []
    for number, row in enumerate(rows):
        text = "  ".join(cell.rjust(cells) for cell, cells in zip(row, widths, strict=True)).rstrip()
        lines.append(Text(text, style="bold" if number == 0 else "", no_wrap=True))
    found = counted(len(front.points), "point")
    if front.complete:
        said = f"{found}: every plan is no better in both than one of them"
    else:
        said = f"{found}: {_ENDED.get(front.termination, '')}there may be others between them"
    notes = [line for note in front.notes for line in wrapped(Text(note), width)]
    return [*lines, Text(""), *wrapped(Text(said), width), *notes]


def _value(one: Reached, time_unit: str) -> str:
    assert one.cost is not None
    return format_quantity(one.objective.value(one.cost), one.objective.unit(time_unit))


def show(front: Front, width: int | None = None, file: IO[str] | None = None) -> None:
    """Print :func:`front_table`, plainly.

    Args:
        front: what was found.
        width: of the lines; None for 100.
        file: where to; None for standard output.
    """
    out = sys.stdout if file is None else file
    out.write("".join(f"{visible(line.plain).rstrip()}\n" for line in front_table(front, width or 100)))


def draw_front(front: Front, path: Path) -> None:
    """Draw the points of a front, and the bounds of both objectives at each, as a picture.

    Raises:
        UsageError: see :func:`mtpp_dsl.report.picture.check_picture`.
    """
    check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    first, second = front.problem.objectives
    figure = Figure(figsize=(7, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    bases = (first.unit(front.problem.time_unit), second.unit(front.problem.time_unit))
    units = [display_unit((pair[i] for pair in front.values), base) for i, base in enumerate(bases)]
    (name_x, per_x), (name_y, per_y) = units
    values = [(x / per_x, y / per_y) for x, y in front.values]
    axes.plot([x for x, _ in values], [y for _, y in values], drawstyle="steps-post", color="#b8c4cc", zorder=1)
    bounds = [
        tuple(_bound(one, per) for one, per in zip(point.objectives, (per_x, per_y), strict=True))
        for point in front.points
    ]
    for (x, y), (low, below) in zip(values, bounds, strict=True):
        axes.plot([x if low is None else low, x], [y, y], color="#d1495b", linewidth=1, zorder=2)
        axes.plot([x, x], [y if below is None else below, y], color="#d1495b", linewidth=1, zorder=2)
    axes.scatter([x for x, _ in values], [y for _, y in values], color="#3d6b8c", zorder=3)
    axes.plot([], [], color="#d1495b", linewidth=1, label="down to the bound")
    axes.set_xlabel(_axis(first.shown, name_x))
    axes.set_ylabel(_axis(second.shown, name_y))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    origin = front.problem.origin.path
    axes.set_title(f"{Path(origin).name if origin else 'front'}: {first.shown} and {second.shown}", loc="left")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _bound(one: Reached, per: float) -> float | None:
    return None if one.bound is None else one.objective.value(one.bound.cost) / per


def _axis(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
