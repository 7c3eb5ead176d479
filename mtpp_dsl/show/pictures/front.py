"""A front of two objectives, with the bounds of both at each point."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.base.units import display_unit
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.result import Reached
from mtpp_dsl.show.pictures.canvas import COLUMN, Picture, headed, ink, legend, new_picture, short


def draw_front(front: Front, width: float | None = None) -> Picture:
    """Draw the points of a front, the plans that they rule out, and lines down to the bounds.

    Args:
        front: with points.
        width: in inches; None for that of a column.
    """
    from matplotlib.lines import Line2D

    first, second = front.problem.objectives
    figure = new_picture(width or COLUMN, 2.6)
    axes = figure.subplots()
    bases = (first.unit(front.problem.time_unit), second.unit(front.problem.time_unit))
    decimal = front.problem.origin.decimal
    units = [display_unit((pair[i] for pair in front.values), base, decimal=decimal) for i, base in enumerate(bases)]
    (name_x, per_x), (name_y, per_y) = units
    values = [(x / per_x, y / per_y) for x, y in front.values]
    _steps(axes, values)
    for point, (x, y) in zip(front.points, values, strict=True):
        low, below = (_bound(one, per) for one, per in zip(point.objectives, (per_x, per_y), strict=True))
        for xs, ys in (([x if low is None else low, x], [y, y]), ([x, x], [y if below is None else below, y])):
            axes.plot(xs, ys, color=ink("bound"), linewidth=1.0, linestyle=(0, (2, 1)), zorder=2)
    axes.plot([x for x, _ in values], [y for _, y in values], "o", markersize=3.5, color=ink("bottleneck"), zorder=3)
    axes.set_xlabel(_axis(first.shown, name_x))
    axes.set_ylabel(_axis(second.shown, name_y))
    axes.grid()
    title = f"{short(first.shown, 24)} and {short(second.shown, 24)}"
    title += ", complete" if front.complete else ""
    figure.suptitle(headed(front.problem.origin.path, title), x=0.01, ha="left", fontsize=7.5)
    keys: list[Any] = [
        Line2D([], [], marker="o", linestyle="none", markersize=3.5, color=ink("bottleneck"), label="plan")
    ]
    if any(one.gap for point in front.points for one in point.objectives):
        keys.append(Line2D([], [], color=ink("bound"), linewidth=1.0, linestyle=(0, (2, 1)), label="down to the bound"))
    legend(figure, keys)
    return figure


def _steps(axes: Any, values: list[tuple[float, float]]) -> None:
    """Join the points by steps: what lies beyond them is no better in both objectives."""
    axes.plot(
        [x for x, _ in values],
        [y for _, y in values],
        drawstyle="steps-post",
        color=ink("muted"),
        linewidth=0.8,
        zorder=1,
    )


def _bound(one: Reached, per: float) -> float | None:
    return None if one.bound is None else one.objective.value(one.bound.cost) / per


def _axis(name: str, unit: str) -> str:
    name = short(name, 32)
    return f"{name} ({short(unit, 12)})" if unit else name
