"""A chart of time: the schedule of a plan, or a pipeline over several microbatches; devices above, links below."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.base.units import display_unit, format_quantity
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.stages import stage_numbers
from mtpp_dsl.show.pictures.canvas import PAGE, Picture, bar, ink, key, legend, new_picture, short
from mtpp_dsl.show.pictures.loads import text_size, title_of
from mtpp_dsl.show.report.activities import Activity, Timeline
from mtpp_dsl.show.report.palette import BESIDE, Tint, paler, stage_tint
from mtpp_dsl.show.report.steady import Steady, steady
from mtpp_dsl.show.report.trace import lanes

__all__ = ["draw_gantt"]

MAX_DEVICES, MAX_LINKS, MAX_CHANNELS = 64, 16, 8
"""A picture shows the busiest of more; channels: of a pipeline."""
THIN = 0.003
"""Shorter bars, as a share of the whole time, have no edge and no hatch, which would be all that is seen of them."""
MANY = 4000
"""More bars are one image within a file of lines."""
LETTER = 0.0085
"""What a letter takes of the width of a page, about."""
_NAMES = {
    "node": "runs, in the colour of its stage",
    "read": "reads or receives",
    "write": "writes or sends",
    "transfer": "is sent",
    "stream": "streams parameters",
    "reserve": "in reserve",
    "exchange": "exchanges weights",
    "forward": "forward pass, in the colour of its stage",
    "backward": "backward pass, in a paler one",
}
_TINTS = {
    "node": stage_tint(0),
    "read": BESIDE["read"],
    "write": BESIDE["write"],
    "transfer": BESIDE["read"],
    "stream": BESIDE["read"],
    "reserve": BESIDE["reserve"],
    "exchange": BESIDE["exchange"],
    "forward": stage_tint(0),
    "backward": paler(stage_tint(0)),
}
"""The tints of what is done; of passes and of what a stage runs as in the legend, where they stand for all stages."""


def draw_gantt(
    problem: Problem, result: Result, width: float | None = None, microbatches: int | None = None
) -> Picture:
    """Draw when every device and the busiest links do what; the critical path of a schedule has a heavy frame.

    Args:
        problem: what was asked.
        result: with a plan; one without a schedule is drawn as a pipeline over several microbatches.
        width: in inches; None for that of a page.
        microbatches: of a pipeline; None for as many as :func:`mtpp_dsl.show.report.steady.steady` takes.
    """
    assert result.plan is not None
    assert result.evaluation is not None
    timeline: Timeline | Steady
    if result.plan.timed:
        timeline = Timeline(problem, result.plan)
    else:
        timeline = steady(problem, result.plan, result.evaluation, microbatches)
    tracks, links, left_out = _tracks(timeline)
    rows = len(tracks) + len(links)
    wide = width or PAGE
    figure = new_picture(wide, 0.95 + rows * (0.24 if rows <= 24 else 0.16 if rows <= 48 else 0.12))
    axes = figure.subplots()
    unit, per = display_unit([timeline.makespan], problem.time_unit)
    critical = {id(step.activity) for step in timeline.critical}
    chart = _Chart(axes, timeline, per, wide, critical, stage_numbers(problem, result.plan))
    for row, track in enumerate((*tracks, *links)):
        chart.track(row, track)
    axes.set_yticks(range(rows), [short(track, 22) for track in (*tracks, *links)], fontsize=text_size(rows))
    axes.set_ylim(rows - 0.45, -0.55)
    axes.set_xlim(0, timeline.makespan / per * 1.003 or 1)
    axes.set_xlabel(f"time ({unit})" if unit else "time")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    if links:
        axes.axhline(len(tracks) - 0.5, color=ink("muted"), linewidth=0.6)
    said = title_of(problem, result) + _said(problem, timeline)
    figure.suptitle(f"{said}\n{left_out}" if left_out else said, x=0.01, ha="left", fontsize=7.5)
    legend(figure, chart.keys(), 3 if wide < 5 else 6)
    return figure


def _said(problem: Problem, timeline: Timeline | Steady) -> str:
    """Return what the title says beside the objective."""
    if isinstance(timeline, Steady):
        every = "" if timeline.period is None else f", one every {format_quantity(timeline.period, problem.time_unit)}"
        return f"; {timeline.microbatches} microbatches{every}"
    if problem.objective.kind == "makespan":
        return ""
    return f"; makespan {format_quantity(timeline.makespan, problem.time_unit)}"


def _tracks(timeline: Timeline | Steady) -> tuple[list[str], list[str], str]:
    """Return the devices and the links to draw, and what is said of the others."""
    busy = {track: sum(a.end - a.start for a in activities) for track, activities in timeline.on.items()}
    working = [name for name in timeline.devices if timeline.on[name]]
    kept = set(sorted(working, key=lambda name: -busy[name])[:MAX_DEVICES])
    devices = [name for name in working if name in kept]
    links = timeline.links[: MAX_LINKS if isinstance(timeline, Timeline) else MAX_CHANNELS]
    told = [
        f"{count} {what}"
        for count, what in (
            (len(timeline.devices) - len(working), "devices without nodes"),
            (len(working) - len(devices), "devices with less to do"),
            (len(timeline.links) - len(links), "links with less to do"),
        )
        if count
    ]
    return devices, links, f"not shown: {', '.join(told)}" if told else ""


@dataclass(eq=False)
class _Chart:
    """Bars on the tracks of one panel; devices have the colour of their stage, as on the page."""

    axes: Any
    timeline: Timeline | Steady
    per: float
    width: float
    critical: set[int]
    stage_of: dict[str, int]

    def __post_init__(self) -> None:
        self.span = self.timeline.makespan or 1.0
        self.seen: set[str] = set()
        self.images = len(self.timeline.activities) > MANY

    def track(self, row: int, track: str) -> None:
        """Draw one row; activities that overlap share its height."""
        rows = lanes(self.timeline.on[track])
        thick = 0.8 / max(len(rows), 1)
        for i, lane in enumerate(rows):
            bottom = row - 0.4 + i * thick
            looks: dict[tuple[Tint, bool, bool], list[tuple[float, float]]] = defaultdict(list)
            for a in lane:
                self.seen.add(a.kind)
                thin = a.end - a.start < THIN * self.span
                bars = looks[self._tint(a), id(a) in self.critical, thin]
                bars.append((a.start / self.per, (a.end - a.start) / self.per))
            for (tint, critical, thin), bars in looks.items():
                self._bars(bars, bottom, thick, tint, critical, thin)
            if len(rows) == 1:
                self._names(row, lane)

    def _tint(self, activity: Activity) -> Tint:
        """Return the tint of an activity: that of its stage where a device runs something of it."""
        if activity.kind not in ("node", "forward", "backward"):
            return _TINTS[activity.kind]
        tint = stage_tint(self.stage_of.get(activity.track, 0))
        return paler(tint) if activity.kind == "backward" else tint

    def _bars(
        self, bars: list[tuple[float, float]], bottom: float, thick: float, tint: Tint, critical: bool, thin: bool
    ) -> None:
        looks = bar(tint) | {"linewidth": 0.3}
        if thin:
            looks |= {"hatch": "", "edgecolor": tint.fill(), "linewidth": 0.0}
        self.axes.broken_barh(bars, (bottom, thick), rasterized=self.images, **looks)
        if critical:
            frame = {"facecolor": "none", "edgecolor": ink("critical"), "linewidth": 0.8 if thin else 1.4}
            self.axes.broken_barh(bars, (bottom, thick), rasterized=self.images, zorder=3, **frame)

    def _names(self, row: int, lane: Sequence[Activity]) -> None:
        """Name the bars that have room for it: microbatches by their numbers."""
        letter = LETTER * 7.16 / self.width
        for a in lane:
            share = (a.end - a.start) / self.span
            numbered = a.microbatch is not None and a.kind in ("node", "forward", "backward")
            if a.microbatch is not None and not numbered:
                continue
            name = str((a.microbatch or 0) + 1) if numbered else short(a.name, 40)
            if share > letter * len(name) + 0.004 and not self.images:
                self.axes.text(
                    (a.start + a.end) / 2 / self.per,
                    row,
                    name,
                    ha="center",
                    va="center",
                    fontsize=5.5,
                    zorder=4,
                    color=ink("text"),
                    bbox={"boxstyle": "square,pad=0.1", "facecolor": self._tint(a).fill(), "edgecolor": "none"},
                )

    def keys(self) -> list[Any]:
        """Return the lines of the legend."""
        found = [key(_TINTS[kind], said) for kind, said in _NAMES.items() if kind in self.seen]
        if self.critical:
            from matplotlib.patches import Patch

            found.append(Patch(facecolor="none", edgecolor=ink("critical"), linewidth=1.3, label="critical path"))
        return found
