"""Draw how plan and bound came together over the time of a search."""

from __future__ import annotations

from math import isfinite
from typing import Any

from mtpp_dsl.core.base.units import display_unit, format_quantity, format_value
from mtpp_dsl.core.plans.result import Result, searched_for
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.pictures.canvas import COLUMN, Picture, ink, new_picture, short
from mtpp_dsl.show.pictures.loads import title_of
from mtpp_dsl.show.report.palette import LINES

Points = list[tuple[float, float]]
LONG = 50.0
"""Times that differ by more than this factor are drawn on a logarithmic axis."""


def draw_gap(problem: Problem, result: Result, width: float | None = None) -> Picture:
    """Draw the best plan and the best bound over time, as steps, with what is left open between them.

    Args:
        problem: what was asked.
        result: with a log.
        width: in inches; None for that of a column.
    """
    objective = problem.objective
    plans, bounds = _steps(problem, result)
    end = max([searched_for(result.time), *(at for at, _ in plans + bounds)])
    unit, per = display_unit(
        [value for _, value in plans + bounds], objective.unit(problem.time_unit), decimal=problem.origin.decimal
    )
    figure = new_picture(width or COLUMN, 2.3)
    axes = figure.subplots()
    ends = {}
    for points, name, dashes, colour in ((plans, "plan", "-", "bottleneck"), (bounds, "bound", (0, (4, 2)), "bound")):
        if points:
            times = [at for at, _ in points] + [end]
            values = [value / per for _, value in points]
            axes.plot(
                times, [*values, values[-1]], drawstyle="steps-post", color=ink(colour), linestyle=dashes, linewidth=1.2
            )
            axes.plot(times[:1], values[:1], "o", markersize=2.5, color=ink(colour))
            ends[name] = values[-1]
    _fill(axes, plans, bounds, end, per)
    _limits(axes, [value / per for _, value in plans], [value / per for _, value in bounds])
    times = sorted({at for at, _ in plans + bounds if at > 0})
    if times and end / times[0] > LONG:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: format_value(value))
    _name_ends(axes, problem, ends, per, end)
    axes.set_xlabel("time (s)")
    name = short(objective.shown, 24)
    axes.set_ylabel(f"{name} ({unit})" if unit else name)
    axes.grid()
    figure.suptitle(title_of(problem, result), x=0.01, ha="left", fontsize=7.5)
    return figure


def _steps(problem: Problem, result: Result) -> tuple[Points, Points]:
    """Return the times and values at which plan and bound became better; what is held at the end comes last."""
    value = problem.objective.value
    lines: list[Points] = []
    for name, last in (("incumbent", result.cost), ("bound", None if result.bound is None else result.bound.cost)):
        points: Points = []
        for entry in result.log:
            cost = getattr(entry, name)
            if cost is not None and isfinite(value(cost)) and (not points or value(cost) != points[-1][1]):
                points.append((max(entry.time, 1e-3), value(cost)))
        if points and last is not None and isfinite(value(last)) and value(last) != points[-1][1]:
            points.append((max(searched_for(result.time), points[-1][0]), value(last)))
        lines.append(points)
    return lines[0], lines[1]


def _fill(axes: Any, plans: Points, bounds: Points, end: float, per: float) -> None:
    """Shade what lies between plan and bound from the time when both are known."""
    if not (plans and bounds):
        return
    begin = max(plans[0][0], bounds[0][0])
    times = sorted({begin, end, *(at for at, _ in plans + bounds if at > begin)})

    def at(points: Points, time: float) -> float:
        return [value for when, value in points if when <= time][-1] / per

    tops, lows = ([at(points, time) for time in times] for points in (plans, bounds))
    axes.fill_between(times, lows, tops, step="post", color=LINES["grid"][0], alpha=0.6, linewidth=0)


def _limits(axes: Any, plans: list[float], bounds: list[float]) -> None:
    """Show the end of the search well: early plans and bounds that were far off lie outside."""
    if not (plans and bounds):
        return
    low, high = sorted((plans[-1], bounds[-1]))
    middle, room = (low + high) / 2, max(abs(high), abs(low)) * 0.15 or 1.0
    spread = max(high - low, room)
    values = plans + bounds
    axes.set_ylim(
        max(min(values) - 0.05 * spread, middle - 4 * spread), min(max(values) + 0.08 * spread, middle + 4 * spread)
    )


def _name_ends(axes: Any, problem: Problem, ends: dict[str, float], per: float, end: float) -> None:
    """Name both lines at their right ends, apart from each other."""
    unit = problem.objective.unit(problem.time_unit)
    bottom, top = axes.get_ylim()
    order = sorted(ends, key=lambda name: ends[name])
    apart = (top - bottom) * 0.085
    middle = sum(ends.values()) / len(ends) if ends else 0.0
    if len(order) == 2 and abs(ends[order[0]] - ends[order[1]]) < 2 * apart:
        middle = min(max(middle, bottom + 0.05 * (top - bottom) + apart), bottom + 0.97 * (top - bottom) - apart)
        places = [middle - apart, middle + apart]
    else:
        places = [ends[name] for name in order]
    for y, name in zip(places, order, strict=True):
        axes.annotate(
            f"{name}\n{format_quantity(ends[name] * per, unit, decimal=problem.origin.decimal)}",
            (end, ends[name]),
            (1.02, min(max((y - bottom) / (top - bottom), 0.05), 0.97)),
            textcoords="axes fraction",
            va="center",
            fontsize=6,
            color=ink("bottleneck" if name == "plan" else "bound"),
            annotation_clip=False,
        )
