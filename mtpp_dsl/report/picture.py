"""A schedule as a picture, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mtpp_dsl.base.units import format_quantity
from mtpp_dsl.errors import UsageError
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.report.activities import Activity, Timeline
from mtpp_dsl.report.trace import lanes

__all__ = ["SUFFIXES", "check_picture", "draw"]

SUFFIXES = (".pdf", ".png", ".svg")
MAX_LINKS = 24
THIN = 0.002
"""Shorter bars, as a share of the makespan, have no white edge, which would be all that is seen of them."""
_WORK, _SENT, _CRITICAL, _EDGE = "#7fb77e", "#e8c468", "#d1495b", "#ffffff"


def check_picture(path: Path) -> None:
    """Complain, before the work is done, about a picture that cannot be drawn.

    Raises:
        UsageError: a format that is not known, or matplotlib is missing.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot draw {path}: a picture ends in {', '.join(SUFFIXES)}")
    if find_spec("matplotlib") is None:
        raise UsageError("pictures need matplotlib: pip install 'mtpp-dsl[plots]'")


def draw(problem: Problem, plan: Plan, path: Path) -> None:
    """Write the Gantt chart of a plan with a schedule: devices above, links below, the critical path in red.

    Raises:
        UsageError: see :func:`check_picture`.
    """
    check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    timeline = Timeline(problem, plan)
    critical = {id(step.activity) for step in timeline.critical}
    tracks = [*timeline.devices, *timeline.links[:MAX_LINKS]]
    figure = Figure(figsize=(12, 1.6 + 0.42 * len(tracks)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for row, track in enumerate(tracks):
        of_device = row < len(timeline.devices)
        _track(axes, row, timeline.on[track], critical, _WORK if of_device else _SENT, timeline.makespan)
    axes.set_yticks(range(len(tracks)), tracks)
    axes.invert_yaxis()
    axes.set_xlim(0, timeline.makespan or 1)
    axes.set_xlabel(f"time ({problem.time_unit})" if problem.time_unit else "time")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    name = Path(problem.origin.path).name if problem.origin.path else "schedule"
    length = f"makespan {format_quantity(timeline.makespan, problem.time_unit)}"
    if problem.objective.batch is not None:
        length += f" for a batch of {problem.objective.batch}"
    axes.set_title(f"{name}: {length}", loc="left")
    legend = [Patch(color=_WORK, label="runs"), Patch(color=_SENT, label="is sent, read or written")]
    axes.legend(
        handles=[*legend, Patch(color=_CRITICAL, label="critical path")],
        ncols=3,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        frameon=False,
    )
    figure.savefig(path, dpi=150)


def _track(
    axes: Any, row: int, activities: Sequence[Activity], critical: set[int], colour: str, makespan: float
) -> None:
    """Draw one row; activities that overlap share its height."""
    rows = lanes(activities)
    height = 0.8 / max(len(rows), 1)
    for i, lane in enumerate(rows):
        bottom = row - 0.4 + i * height
        bars = [(a.start, a.end - a.start) for a in lane]
        colours = [
            _CRITICAL if id(a) in critical else colour if a.kind in ("node", "transfer") else _SENT for a in lane
        ]
        thin = makespan * THIN
        edges = [_EDGE if a.end - a.start > thin else c for a, c in zip(lane, colours, strict=True)]
        axes.broken_barh(bars, (bottom, height), facecolors=colours, edgecolors=edges, linewidth=0.4)
        for a in lane:
            share = (a.end - a.start) / makespan if makespan > 0 else 0.0
            if len(rows) == 1 and share > 0.011 * len(a.name):
                axes.text((a.start + a.end) / 2, row, a.name, ha="center", va="center", fontsize=7)
