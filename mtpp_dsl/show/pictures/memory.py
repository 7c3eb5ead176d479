"""Draw what the stages of a plan take of the memory of their devices."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.base.units import display_unit
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.pictures.canvas import COLUMN, Picture, bar, headed, ink, legend, new_picture, short
from mtpp_dsl.show.pictures.rows import LABEL, PictureRow, height, stage_rows, text_size
from mtpp_dsl.show.report.loads import memory
from mtpp_dsl.show.report.memory_shares import MOST_SHARE, drawn_as_shares
from mtpp_dsl.show.report.palette import PARTS

__all__ = ["draw_memory", "has_memory", "limit_key", "memory_panel"]


def has_memory(problem: Problem, found: Evaluation) -> bool:
    """Return whether any device has a memory that something is kept in."""
    return any(device.memory is not None for device in problem.devices) and bool(found.memory.any())


def draw_memory(problem: Problem, result: Result, width: float | None = None) -> Picture:
    """Draw a row for each stage: what it takes of the memory of each of its devices, and the limit.

    Args:
        problem: what was asked.
        result: with a plan.
        width: in inches; None for that of a column.
    """
    assert result.plan is not None
    assert result.evaluation is not None
    rows, left_out = stage_rows(problem, result.plan, result.evaluation)
    figure = new_picture(width or COLUMN, max(1.0, height(len(rows))) + 0.9)
    axes = figure.subplots()
    memory_panel(axes, problem, result.evaluation, rows, named=True)
    said = headed(problem.origin.path, "memory of each device")
    figure.suptitle(f"{said}\n{left_out}" if left_out else said, x=0.01, ha="left", fontsize=7.5)
    if any(problem.devices[row.device].memory is not None for row in rows):
        legend(figure, [limit_key()])
    return figure


def limit_key() -> Any:
    """Return the line of a legend that explains the marks."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=ink("limit"), linewidth=1.4, label="memory of the device")


def memory_panel(
    axes: Any, problem: Problem, found: Evaluation, rows: list[PictureRow], *, named: bool = False
) -> None:
    """Draw what each row takes, with a mark at the memory of its devices; *named*: with the names of the rows.

    Where limits are so unlike that small ones would not be seen, each bar is a share of its own device's limit.
    """
    if drawn_as_shares(problem, found, [row.device for row in rows]):
        _shares(axes, problem, found, rows)
    else:
        _amounts(axes, problem, found, rows)
    if named:
        axes.set_yticks(range(len(rows)), [short(row.name, LABEL) for row in rows], fontsize=text_size(len(rows)))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0)
    axes.grid(axis="x")


def _amounts(axes: Any, problem: Problem, found: Evaluation, rows: list[PictureRow]) -> None:
    """Draw bars of amounts."""
    limits = [problem.devices[row.device].memory for row in rows]
    taken = [float(found.memory[row.device]) for row in rows]
    every = [*taken, *(limit for limit in limits if limit is not None)]
    unit, per = display_unit(every, problem.graph.memory_unit, decimal=problem.origin.decimal)
    for y, (value, limit) in enumerate(zip(taken, limits, strict=True)):
        axes.barh(y, value / per, 0.62, **bar(PARTS["memory"]))
        if limit is not None:
            _mark(axes, y, limit / per)
    axes.set_xlabel(f"memory ({unit})" if unit else "memory")


def _shares(axes: Any, problem: Problem, found: Evaluation, rows: list[PictureRow]) -> None:
    """Draw bars of shares, with the amounts in words; a device without a limit has the words alone."""
    shares: list[float | None] = []
    for row in rows:
        limit, taken = problem.devices[row.device].memory, float(found.memory[row.device])
        shares.append(None if limit is None else taken / limit if limit > 0 else MOST_SHARE * (taken > 0))
    edge = max(1.0, *(min(share, MOST_SHARE) for share in shares if share is not None))
    for y, (row, share) in enumerate(zip(rows, shares, strict=True)):
        said = memory(problem, found, row.device)
        if share is not None:
            axes.barh(y, 100 * min(share, edge), 0.62, **bar(PARTS["memory"]))
            _mark(axes, y, 100.0)
        beside = edge > 1.5 and share is not None and share <= 1.0  # there is room behind the limit
        before = share is not None and share > edge / 2 and not beside
        axes.annotate(
            said if share is not None else f"{said}, no limit",
            (100 * (1.0 if beside else min(share or 0.0, 1.0)), y),
            (-4 if before else 4, 0),
            textcoords="offset points",
            ha="right" if before else "left",
            va="center",
            fontsize=text_size(len(rows)) - 1,
            zorder=5,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": ink("paper"), "edgecolor": "none"} if before else None,
        )
    axes.set_xlim(0, 104 * edge)
    axes.set_xlabel("share of the device's memory (%)")


def _mark(axes: Any, y: int, x: float) -> None:
    """Draw the limit of a row."""
    axes.plot([x] * 2, [y - 0.42, y + 0.42], color=ink("limit"), linewidth=1.4, solid_capstyle="butt")
