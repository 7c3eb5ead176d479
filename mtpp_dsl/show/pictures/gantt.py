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
from mtpp_dsl.show.pictures.canvas import PAGE, Picture, bar_style, ink, key, legend, new_picture, short
from mtpp_dsl.show.pictures.loads import text_size, title_of
from mtpp_dsl.show.report.activities import Timeline
from mtpp_dsl.show.report.bars import TINTS, ChartBar, ChartRow, chart_rows
from mtpp_dsl.show.report.palette import Tint
from mtpp_dsl.show.report.steady import Steady, steady

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
    devices, links, left_out = _shown_rows(timeline, chart_rows(timeline, stage_numbers(problem, result.plan)))
    rows = [*devices, *links]
    wide, count = width or PAGE, len(rows)
    figure = new_picture(wide, 0.95 + count * (0.24 if count <= 24 else 0.16 if count <= 48 else 0.12))
    axes = figure.subplots()
    unit, per = display_unit([timeline.makespan], problem.time_unit)
    chart = _Chart(axes, timeline, per, wide)
    for number, row in enumerate(rows):
        chart.row(number, row)
    axes.set_yticks(range(count), [short(row.name, 22) for row in rows], fontsize=text_size(count))
    axes.set_ylim(count - 0.45, -0.55)
    axes.set_xlim(0, timeline.makespan / per * 1.003 or 1)
    axes.set_xlabel(f"time ({unit})" if unit else "time")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    if links:
        axes.axhline(len(devices) - 0.5, color=ink("muted"), linewidth=0.6)
    title = title_of(problem, result) + _length(problem, timeline)
    figure.suptitle(f"{title}\n{left_out}" if left_out else title, x=0.01, ha="left", fontsize=7.5)
    legend(figure, _keys(rows, critical=bool(timeline.critical)), 3 if wide < 5 else 6)
    return figure


def _length(problem: Problem, timeline: Timeline | Steady) -> str:
    """Return what the title says beside the objective."""
    if isinstance(timeline, Steady):
        every = "" if timeline.period is None else f", one every {format_quantity(timeline.period, problem.time_unit)}"
        return f"; {timeline.microbatches} microbatches{every}"
    if problem.objective.kind == "makespan":
        return ""
    return f"; makespan {format_quantity(timeline.makespan, problem.time_unit)}"


def _shown_rows(timeline: Timeline | Steady, rows: Sequence[ChartRow]) -> tuple[list[ChartRow], list[ChartRow], str]:
    """Return the rows of devices and of links to draw, and what is said of the others."""
    working = [row for row in rows if row.of_device and row.bars]
    kept = {row.names for row in sorted(working, key=lambda row: -row.busy)[:MAX_DEVICES]}
    devices = [row for row in working if row.names in kept]
    links = [row for row in rows if not row.of_device]
    shown_links = links[: MAX_LINKS if isinstance(timeline, Timeline) else MAX_CHANNELS]
    busy, drawn = (sum(len(row.names) for row in chosen) for chosen in (working, devices))
    left_out = [
        f"{count} {what}"
        for count, what in (
            (len(timeline.devices) - busy, "devices without nodes"),
            (busy - drawn, "devices with less to do"),
            (len(links) - len(shown_links), "links with less to do"),
        )
        if count
    ]
    return devices, shown_links, f"not shown: {', '.join(left_out)}" if left_out else ""


@dataclass(eq=False)
class _Chart:
    """Draws the bars of the rows of one panel."""

    axes: Any
    timeline: Timeline | Steady
    per: float
    width: float

    def __post_init__(self) -> None:
        self.span = self.timeline.makespan or 1.0
        self.images = len(self.timeline.activities) > MANY

    def row(self, number: int, row: ChartRow) -> None:
        """Draw one row; activities that overlap share its height."""
        thick = 0.8 / row.lanes
        looks: dict[tuple[int, Tint, bool, bool], list[tuple[float, float]]] = defaultdict(list)
        for bar in row.bars:
            start, length = bar.activity.start, bar.activity.end - bar.activity.start
            looks[bar.lane, bar.tint, bar.critical, length < THIN * self.span].append(
                (start / self.per, length / self.per)
            )
        for (lane, tint, critical, thin), spans in sorted(looks.items(), key=lambda item: item[0][0]):
            self._bars(spans, number - 0.4 + lane * thick, thick, tint, critical, thin)
        if row.lanes == 1:
            for bar in row.bars:
                self._name(number, bar)

    def _bars(
        self, spans: list[tuple[float, float]], bottom: float, thick: float, tint: Tint, critical: bool, thin: bool
    ) -> None:
        looks = bar_style(tint) | {"linewidth": 0.3}
        if thin:
            looks |= {"hatch": "", "edgecolor": tint.fill(), "linewidth": 0.0}
        self.axes.broken_barh(spans, (bottom, thick), rasterized=self.images, **looks)
        if critical:
            frame = {"facecolor": "none", "edgecolor": ink("critical"), "linewidth": 0.8 if thin else 1.4}
            self.axes.broken_barh(spans, (bottom, thick), rasterized=self.images, zorder=3, **frame)

    def _name(self, row: int, bar: ChartBar) -> None:
        """Write into a bar what it is, if there is room."""
        start, end = bar.activity.start, bar.activity.end
        label = short(bar.label, 40)
        letter = LETTER * PAGE / self.width
        if not label or self.images or (end - start) / self.span <= letter * len(label) + 0.004:
            return
        self.axes.text(
            (start + end) / 2 / self.per,
            row,
            label,
            ha="center",
            va="center",
            fontsize=5.5,
            zorder=4,
            color=ink("text"),
            bbox={"boxstyle": "square,pad=0.1", "facecolor": bar.tint.fill(), "edgecolor": "none"},
        )


def _keys(rows: Sequence[ChartRow], *, critical: bool) -> list[Any]:
    """Return the lines of the legend."""
    seen = {bar.activity.kind for row in rows for bar in row.bars}
    keys = [key(TINTS[kind], words) for kind, words in _NAMES.items() if kind in seen]
    if critical:
        from matplotlib.patches import Patch

        keys.append(Patch(facecolor="none", edgecolor=ink("critical"), linewidth=1.3, label="critical path"))
    return keys
