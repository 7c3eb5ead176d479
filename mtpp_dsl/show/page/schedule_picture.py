"""A schedule as SVG: the whole of it. ``schedule.js`` draws its parts in the same way."""

from __future__ import annotations

from mtpp_dsl.core.base.units import display_unit
from mtpp_dsl.show.page.layout.axis import marks
from mtpp_dsl.show.page.layout.gantt import AXIS, Bar, Chart, Timed, bars
from mtpp_dsl.show.page.markup import Markup, short, tag
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.activities import Activity

__all__ = ["drawn"]

WIDTH, LABEL = 1000, 130
"""Of the chart as it stands in the page; of the names of its tracks."""
LETTER, MIN_LETTERS = 7.0, 6
LETTERS = 17
"""Of the name of a track."""
TEXT_ROW = 14
"""Lower bars have no name in them."""
LABELLED = ("node", "forward", "backward")


def drawn(view: View, timeline: Timed, found: Chart, tints: list[int]) -> Markup:
    """Return the chart of the whole time."""
    width = WIDTH - LABEL - 10
    critical = {id(step.activity) for step in timeline.critical}
    marked = {i for i, activity in enumerate(timeline.activities) if id(activity) in critical}
    every = timeline.activities
    parts = [
        _bar(bar, every[bar.activity] if bar.activity >= 0 else None, tints, bar.activity in marked)
        for bar in bars(found, every, 0.0, timeline.makespan, width)
    ]
    return tag(
        "svg",
        tag("g", _axis(view, timeline, found, width), class_="axis"),
        tag("g", [_name(track.name, track.top, track.height) for track in found.tracks], class_="names"),
        tag("g", parts, class_="bars", transform=f"translate({LABEL},0)"),
        viewBox=f"0 0 {WIDTH} {found.height}",
        width=WIDTH,
        height=found.height,
        class_="gantt",
        id="gantt",
        role="img",
        tabindex="0",
        aria_label="The schedule: a row for each device and link, a bar for what it does when",
        aria_describedby="gantt-help",
    )


def _axis(view: View, timeline: Timed, found: Chart, width: float) -> list[Markup]:
    unit, factor = display_unit([timeline.makespan], view.problem.time_unit)
    shown = []
    for time, text in marks(0.0, timeline.makespan, factor):
        x = LABEL + (time / timeline.makespan * width if timeline.makespan > 0 else 0.0)
        shown.append(tag("line", x1=_n(x), x2=_n(x), y1=AXIS - 6, y2=found.height, class_="grid"))
        shown.append(tag("text", f"{text} {unit}".strip(), x=_n(x), y=14, class_="tick"))
    return shown


def _name(name: str, top: int, height: int) -> Markup:
    return tag("text", short(name, LETTERS), tag("title", name), x=4, y=_n(top + height / 2 + 4))


def _bar(bar: Bar, activity: Activity | None, tints: list[int], critical: bool) -> Markup:
    where = {"x": _n(bar.x), "y": _n(bar.y), "width": _n(bar.width), "height": _n(bar.height - 1)}
    tint = f" s{tints[bar.track]}" if tints[bar.track] >= 0 else ""
    if activity is None:
        return tag("rect", **where, class_=f"many{tint}", fill_opacity=_n(0.2 + 0.8 * bar.share))
    kind = f"act {activity.kind}{tint}{' critical' if critical else ''}"
    parts = [tag("rect", tag("title", activity.name), **where, class_=kind)]
    if critical:
        parts.append(tag("rect", x=_n(bar.x), y=_n(bar.y), width=_n(bar.width), height=3, class_="edge"))
    letters = int((bar.width - 6) / LETTER)
    label = bar_label(activity)
    if bar.height >= TEXT_ROW and label and (letters >= len(label) or letters >= MIN_LETTERS):
        middle = {"x": _n(bar.x + 4), "y": _n(bar.y + bar.height / 2 + 4)}
        parts.append(tag("text", short(label, letters), **middle, class_=f"inside{tint}"))
    return tag("", parts)


def bar_label(activity: Activity) -> str:
    """Return what stands in a bar: the name of what runs, or in a pipeline the number of the microbatch."""
    if activity.kind not in LABELLED:
        return ""
    return activity.name if activity.microbatch is None else str(activity.microbatch + 1)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
