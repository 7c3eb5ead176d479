"""The loads of the stages of a split against the bottleneck and the bound, with memory beside where it is limited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.base.units import counted, display_unit, format_gap, format_quantity
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.pictures.canvas import COLUMN, PAGE, Picture, bar_style, headed, ink, key, legend, new_picture, short
from mtpp_dsl.show.report.loads import MOST_SHARE, drawn_as_shares, memory
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.palette import PARTS

MOST_ROWS = 64
"""A picture shows the busiest stages of more."""
LABEL = 18
"""A row's name has so many characters at most."""


@dataclass(frozen=True)
class PictureRow:
    """A row: the device that leads a stage, the name of its devices, and its place in the plan's order.

    Attributes:
        device: the number of the lead.
        name: of all devices of the stage, folded.
        place: of the stage, from 0: its colour.
    """

    device: int
    name: str
    place: int


def stage_rows(problem: Problem, plan: Plan, evaluation: Evaluation) -> tuple[list[PictureRow], str]:
    """Return the rows in the plan's order, and what is to be said of devices that have none."""
    used = evaluation.used if evaluation.used.size else np.ones(problem.k, np.bool_)
    leads = plan.leads(problem.k)
    order = [d for d in (plan.order or range(problem.k)) if leads[d] == d]
    working = [d for d in order if used[d] or evaluation.load[d] > 0]
    idle = int(problem.k - sum(len(plan.replicas.get(d, (d,))) for d in working))
    busy = set(sorted(working, key=lambda d: -evaluation.load[d])[:MOST_ROWS])
    rows = []
    for place, d in enumerate(working):
        if d in busy:
            members = plan.replicas.get(d, (d,))
            rows.append(PictureRow(d, fold_names([problem.devices[e].name for e in members], 2), place))
    left_out = [f"{counted(len(working) - len(rows), 'stage')} with less to do"] if len(rows) < len(working) else []
    left_out += [f"{counted(idle, 'device')} without nodes"] if idle else []
    return rows, f"not shown: {', '.join(left_out)}" if left_out else ""


def text_size(rows: int) -> float:
    """Return the size of the text of so many rows, in points."""
    return 6.5 if rows <= 24 else 5.5 if rows <= 40 else 4.5


def height(rows: int) -> float:
    """Return the height of so many rows in inches."""
    return rows * (0.2 if rows <= 24 else 0.15 if rows <= 40 else 0.115)


MAX_CHANNELS = 8
NAMES = {
    "work": "work",
    "input": "input",
    "output": "output",
    "overflow": "streamed parameters",
    "deviation": "reserve for deviations",
    "sync": "exchange of weights",
    "forward": "forward pass",
    "backward": "backward pass",
}
Bars = list[list[tuple[str, float]]]
"""Bars below each other in one row, each of parts that are stacked."""


def draw_loads(problem: Problem, result: Result, width: float | None = None) -> Picture:
    """Draw a row for each stage: what its load consists of; a panel for each phase; memory in one more.

    Args:
        problem: what was asked.
        result: with a plan without a schedule.
        width: in inches; None for that of a column, or of a page where there are several panels.
    """
    assert result.plan is not None
    assert result.evaluation is not None
    evaluation = result.evaluation
    rows, left_out = stage_rows(problem, result.plan, evaluation)
    panels = list(evaluation.phases.items()) or [("", evaluation)]
    memory = has_memory(problem, evaluation)
    count = len(panels) + memory
    channels = [] if evaluation.phases else _channels(problem, evaluation)
    wide = width if width is not None else COLUMN if count == 1 else PAGE
    figure = new_picture(wide, max(1.0, height(len(rows) + len(channels))) + 1.0)
    axes = figure.subplots(1, count, sharey=not channels, squeeze=False, width_ratios=[2] * len(panels) + [1] * memory)[
        0
    ]
    shown: set[str] = set()
    for panel, (name, part) in zip(axes, panels, strict=False):
        shown |= _panel(panel, problem, result, rows, part, channels)
        if name:
            panel.set_title(short(name, 30), fontsize=7)
    if memory:
        memory_panel(axes[-1], problem, evaluation, rows, named=bool(channels))
        if channels:
            axes[-1].set_ylim(axes[0].get_ylim())
    title = title_of(problem, result)
    figure.suptitle(f"{title}\n{left_out}" if left_out else title, x=0.01, ha="left", fontsize=7.5)
    keys = [key(PARTS[name], NAMES[name]) for name in NAMES if name in shown]
    legend(figure, [*keys, limit_key()] if memory else keys, 3 if wide < 5 else 6)
    return figure


def title_of(problem: Problem, result: Result) -> str:
    """Return the name of the spec, the objective's value, and the gap."""
    objective = problem.objective
    title = short(objective.shown, 24)
    if result.cost is not None:
        title += f" {problem.valued(result.cost)}"
    if result.gap is not None:
        title += ", optimal" if result.status == "optimal" else f", gap {format_gap(result.gap)}"
    return headed(problem.origin.path, title)


def _channels(problem: Problem, evaluation: Evaluation) -> list[tuple[str, float]]:
    """Return the busiest channels and their loads."""
    if not evaluation.channels.size:
        return []
    busiest = np.argsort(-evaluation.channels, kind="stable")[:MAX_CHANNELS].tolist()
    return [(problem.network.channels[c], float(evaluation.channels[c])) for c in busiest if evaluation.channels[c] > 0]


def _bars(problem: Problem, evaluation: Evaluation, training: bool) -> Callable[[int], Bars]:
    """Return what gives the bars of a device: what is done at the same time is in bars of its own."""
    overlapped = problem.networked and problem.network.overlap == "full"
    apart = problem.objective.parts == "separate"

    def parts(d: int, *names: str) -> list[tuple[str, float]]:
        return [(name, float(values[d])) for name in names if (values := getattr(evaluation, name)).size]

    def bars(d: int) -> Bars:
        if overlapped:
            rows = [parts(d, "work"), parts(d, "input"), parts(d, "output")]
        else:
            rows = [parts(d, "work", "input", "output", "overflow", "deviation")]
        if training:
            rows += [parts(d, "forward"), parts(d, "backward")] if apart else [parts(d, "forward", "backward")]
        if evaluation.sync.any():
            rows.append(parts(d, "sync"))
        return rows

    return bars


def _panel(
    axes: Any,
    problem: Problem,
    result: Result,
    rows: list[PictureRow],
    evaluation: Evaluation,
    channels: list[tuple[str, float]],
) -> set[str]:
    """Draw the loads of one phase, and return the names of the parts that are seen."""
    training = bool(problem.graph.backward.any()) or problem.objective.is_iteration
    bars_of = _bars(problem, evaluation, training)
    every = [bars_of(row.device) for row in rows] + [[[("sync", load)]] for _, load in channels]
    longest = max([sum(value for _, value in one) for values in every for one in values], default=0.0)
    limits = list(_lines(problem, result, evaluation, longest))
    unit, per = display_unit([longest, *(value for _, value, _ in limits)], problem.time_unit)
    shown: set[str] = set()
    for y, bars in enumerate(every):
        thick = 0.8 / len(bars)
        for i, stacked in enumerate(bars):
            left = 0.0
            for name, value in stacked:
                if value > 0:
                    looks = bar_style(PARTS[name]) if y < len(rows) else {**bar_style(PARTS["sync"]), "hatch": ""}
                    axes.barh(y - 0.4 + thick * (i + 0.5), value / per, thick, left=left / per, **looks)
                    shown |= {name} if y < len(rows) else set()
                    left += value
    _rows_named(axes, [*(row.name for row in rows), *(name for name, _ in channels)])
    if channels:
        axes.axhline(len(rows) - 0.5, color=ink("muted"), linewidth=0.6)
    edge = max([longest, *(value for _, value, _ in limits)]) / per or 1.0
    axes.set_xlim(0, edge * 1.04)
    for line, (name, value, dashed) in enumerate(limits):
        _line(axes, name, value, per, edge, dashed, line, problem.time_unit)
    what = "microbatch" if problem.objective.is_iteration else "input"
    axes.set_xlabel(f"time per {what} ({unit})" if unit else f"time per {what}")
    axes.grid(axis="x")
    return shown


def _rows_named(axes: Any, names: list[str]) -> None:
    """Name the rows, the first above."""
    labels = [short(name, LABEL + 4 if " -> " in name else LABEL) for name in names]
    axes.set_yticks(range(len(names)), labels, fontsize=text_size(len(names)))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _lines(
    problem: Problem, result: Result, evaluation: Evaluation, longest: float
) -> Iterator[tuple[str, float, bool]]:
    """Yield the lines that loads are held against: name, place, and whether it is dashed."""
    objective = problem.objective
    if evaluation.separate or objective.quantity == "sum of bottlenecks":
        return
    yield ("bottleneck" if not objective.is_iteration else "largest"), max(evaluation.bottleneck, longest), False
    if (
        objective.quantity == "bottleneck"
        and result.bound is not None
        and not evaluation.paid
        and evaluation is result.evaluation
    ):
        yield "bound", result.bound.cost, True


def _line(axes: Any, name: str, value: float, per: float, edge: float, dashed: bool, line: int, unit: str) -> None:
    """Draw a line across all rows, and name it above them, each name on a line of its own."""
    colour = ink("bound" if dashed else "bottleneck")
    axes.axvline(value / per, color=colour, linewidth=1.0, linestyle=(0, (4, 2)) if dashed else "-", zorder=5)
    before = value / per > 0.5 * edge
    axes.annotate(
        f"{name} {format_quantity(value, unit)}",
        (value / per, 1.0),
        (1 if before else -1, 1.5 + 7 * line),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if before else "left",
        va="bottom",
        fontsize=6,
        color=colour,
        annotation_clip=False,
    )


# What each stage takes of the memory of its devices.


def has_memory(problem: Problem, evaluation: Evaluation) -> bool:
    """Return whether any device has a memory that something is kept in."""
    return any(device.memory is not None for device in problem.devices) and bool(evaluation.memory.any())


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
    title = headed(problem.origin.path, "memory of each device")
    figure.suptitle(f"{title}\n{left_out}" if left_out else title, x=0.01, ha="left", fontsize=7.5)
    if any(problem.devices[row.device].memory is not None for row in rows):
        legend(figure, [limit_key()])
    return figure


def limit_key() -> Any:
    """Return the line of a legend that explains the marks."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=ink("limit"), linewidth=1.4, label="memory of the device")


def memory_panel(
    axes: Any, problem: Problem, evaluation: Evaluation, rows: list[PictureRow], *, named: bool = False
) -> None:
    """Draw what each row takes, with a mark at the memory of its devices; *named*: with the names of the rows.

    Where limits are so unlike that small ones would not be seen, each bar is a share of its own device's limit.
    """
    if drawn_as_shares(problem, evaluation, [row.device for row in rows]):
        _shares(axes, problem, evaluation, rows)
    else:
        _amounts(axes, problem, evaluation, rows)
    if named:
        axes.set_yticks(range(len(rows)), [short(row.name, LABEL) for row in rows], fontsize=text_size(len(rows)))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0)
    axes.grid(axis="x")


def _amounts(axes: Any, problem: Problem, evaluation: Evaluation, rows: list[PictureRow]) -> None:
    """Draw bars of amounts."""
    limits = [problem.devices[row.device].memory for row in rows]
    taken = [float(evaluation.memory[row.device]) for row in rows]
    every = [*taken, *(limit for limit in limits if limit is not None)]
    unit, per = display_unit(every, problem.graph.memory_unit, decimal=problem.origin.decimal)
    for y, (value, limit) in enumerate(zip(taken, limits, strict=True)):
        axes.barh(y, value / per, 0.62, **bar_style(PARTS["memory"]))
        if limit is not None:
            _mark(axes, y, limit / per)
    axes.set_xlabel(f"memory ({unit})" if unit else "memory")


def _shares(axes: Any, problem: Problem, evaluation: Evaluation, rows: list[PictureRow]) -> None:
    """Draw bars of shares, with the amounts in words; a device without a limit has the words alone."""
    shares: list[float | None] = []
    for row in rows:
        limit, taken = problem.devices[row.device].memory, float(evaluation.memory[row.device])
        shares.append(None if limit is None else taken / limit if limit > 0 else MOST_SHARE * (taken > 0))
    edge = max(1.0, *(min(share, MOST_SHARE) for share in shares if share is not None))
    for y, (row, share) in enumerate(zip(rows, shares, strict=True)):
        text = memory(problem, evaluation, row.device)
        if share is not None:
            axes.barh(y, 100 * min(share, edge), 0.62, **bar_style(PARTS["memory"]))
            _mark(axes, y, 100.0)
        beside = edge > 1.5 and share is not None and share <= 1.0  # there is room behind the limit
        before = share is not None and share > edge / 2 and not beside
        axes.annotate(
            text if share is not None else f"{text}, no limit",
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
