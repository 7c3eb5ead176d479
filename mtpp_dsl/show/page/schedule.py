"""The schedule of a plan, or the steady state of its pipeline: a chart with tracks for devices and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.base.units import counted, display_unit, format_share
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.show.page.layout.axis import marks
from mtpp_dsl.show.page.layout.gantt import AXIS, Bar, Chart, Timed, bars, chart, together
from mtpp_dsl.show.page.layout.stages import stage_numbers
from mtpp_dsl.show.page.markup import Child, Markup, data_block, name, packed, short, tag
from mtpp_dsl.show.page.tables import fold, table
from mtpp_dsl.show.page.view import Section, View
from mtpp_dsl.show.report.activities import Activity, Timeline
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.palette import STAGES
from mtpp_dsl.show.report.steady import Steady, steady

__all__ = ["busy_table", "critical_table", "drawn", "section"]

MOST = 40_000
"""A pipeline is shown over fewer microbatches where it would have more activities."""
MAX_NAME = 300
HELP = (
    "Arrow keys move from bar to bar, plus and minus zoom, 0 shows the whole, and Shift with an arrow key moves the "
    "chart; C follows the critical path. The wheel zooms while the chart has the focus."
)
CRITICAL_KEY = "; C follows the critical path."
KINDS = {
    "node": "what a device runs, in the colour of its stage",
    "forward": "forward pass, in the colour of its stage",
    "backward": "backward pass, in a paler one",
    "transfer": "a transfer",
    "read": "reads tensors",
    "write": "writes tensors",
    "stream": "streams parameters",
    "reserve": "time in reserve",
    "exchange": "exchanges weights",
}
"""What the colours of bars stand for, by the kinds of activities."""


def section(view: View) -> Section | None:
    """Return the section; None without a plan."""
    if view.plan is None or view.evaluation is None:
        return None
    try:
        timeline = Timeline(view.problem, view.plan) if view.plan.timed else _steady(view)
    except UsageError as error:
        return Section("schedule", "The pipeline", tag("p", f"There is no chart of the pipeline: {error}."))
    if not timeline.activities:
        return None
    picture = chart(timeline)
    tints = _tints(view, picture)
    body = tag(
        "",
        tag("p", _introduction(view, timeline, picture)),
        _controls(critical=bool(timeline.critical)),
        tag("div", drawn(view, timeline, picture, tints), class_="gantt-frame", id="gantt-frame"),
        _legend(timeline),
        tag("p", HELP if timeline.critical else HELP.replace(CRITICAL_KEY, "."), class_="hint", id="gantt-help"),
        tag(
            "div", tag("p", "Choose a bar for its figures."), class_="chosen-figures", id="gantt-details", role="status"
        ),
        critical_table(view, timeline),
        busy_table(view, timeline),
        data_block("gantt-data", _data(view, timeline, picture, tints)),
    )
    if isinstance(timeline, Timeline):
        return Section("schedule", "The schedule", body)
    return Section(
        "schedule", f"The pipeline over {counted(timeline.microbatches, 'microbatch')}", body, "The pipeline"
    )


def _steady(view: View) -> Steady:
    """Return the steady state over as many microbatches as the problem says, or as the page has room for."""
    assert view.plan is not None
    assert view.evaluation is not None
    pipeline = steady(view.problem, view.plan, view.evaluation)
    if len(pipeline.activities) > MOST:
        fewer = max(1, pipeline.microbatches * MOST // len(pipeline.activities))
        pipeline = steady(view.problem, view.plan, view.evaluation, fewer)
    return pipeline


def _introduction(view: View, timeline: Timeline | Steady, picture: Chart) -> str:
    end = view.time(timeline.makespan)
    nodes = sum(activity.kind in ("node", "forward", "backward") for activity in timeline.activities)
    sentence = f"{counted(nodes, timeline.runs)} and {counted(len(timeline.activities) - nodes, 'transfer')} in {end}."
    if isinstance(timeline, Steady):
        sentence = f"{counted(timeline.microbatches, 'microbatch')} in {end}."
        if timeline.period is not None:
            sentence += (
                f" In the steady state an input leaves every {view.time(timeline.period)}, which is the bottleneck."
            )
        many = view.problem.objective.microbatches
        if many is not None and timeline.microbatches < many:
            sentence += f" The iteration has {many:,}; no more are drawn."
    else:
        sentence += " What makes it as long as it is, the critical path, has a thick edge and a line above."
    if picture.hidden:
        sentence += (
            f" {counted(picture.hidden, 'link')} with less to do {'is' if picture.hidden == 1 else 'are'} not drawn."
        )
    return sentence


def _controls(*, critical: bool) -> Markup:
    """Return the buttons, which are hidden until the script runs."""
    buttons = {"in": "Zoom in", "out": "Zoom out", "whole": "Whole", "earlier": "Earlier", "later": "Later"}
    if critical:
        buttons["critical"] = "Next on the critical path"
    return tag(
        "div",
        [tag("button", text, type="button", id=f"gantt-{what}") for what, text in buttons.items()],
        class_="controls",
        id="gantt-controls",
        hidden=True,
    )


def _legend(timeline: Timed) -> Markup:
    """Return what the colours of the chart stand for, and the marks of the critical path."""
    shown = {activity.kind for activity in timeline.activities}
    items = [_entry(f"act {kind} s0", words) for kind, words in KINDS.items() if kind in shown]
    if timeline.critical:
        items.append(_entry("act critical s0", "on the critical path"))
    return tag("ul", items, class_="legend")


def _entry(kind: str, words: str) -> Markup:
    parts = [tag("rect", x=1, y=2, width=20, height=12, class_=kind)]
    if "critical" in kind:
        parts.append(tag("rect", x=1, y=2, width=20, height=3, class_="edge"))
    swatch = tag("svg", parts, width=22, height=16, class_="gantt swatch", aria_hidden="true", focusable="false")
    return tag("li", swatch, words)


def _tints(view: View, picture: Chart) -> list[int]:
    """Return [tracks] the tint of each: of devices that of their stage in the graph, -1 of links."""
    assert view.plan is not None
    stage = stage_numbers(view.problem, view.plan)
    return [stage.get(track.names[0], 0) % len(STAGES) if track.of_device else -1 for track in picture.tracks]


def _data(view: View, timeline: Timed, picture: Chart, tints: list[int]) -> dict[str, Any]:
    """Return what the script draws: tracks, and activities by number."""
    order = [i for track in picture.tracks for i in track.activities]
    number = {i: place for place, i in enumerate(order)}
    every = timeline.activities
    known = {id(activity): i for i, activity in enumerate(every)}
    critical = [(number.get(known[id(step.activity)]), step.waited) for step in timeline.critical]
    unit, factor = display_unit([timeline.makespan], view.problem.time_unit)
    slack = getattr(timeline, "slack", None)
    sizes = [float(view.problem.graph.sizes[every[i].number]) if every[i].kind == "transfer" else 0.0 for i in order]
    timed = view.plan is not None and view.plan.timed
    return {
        "unit": {"time": view.problem.time_unit, "size": view.problem.graph.size_unit, "axis": unit, "factor": factor}
        | {"decimal": view.problem.origin.decimal},
        "end": timeline.makespan,
        "height": picture.height,
        "tracks": [
            [short(track.name, MAX_NAME), track.top, track.height, track.lanes, tint, len(track.activities)]
            for track, tint in zip(picture.tracks, tints, strict=True)
        ],
        "lane": packed([float(lane) for track in picture.tracks for lane in track.lane]),
        **_names(view, [every[i] for i in order]),
        "kind": packed([every[i].kind for i in order]),
        "start": [_exact(every[i].start) for i in order],
        "length": packed([_exact(every[i].end - every[i].start) for i in order]),
        "slack": packed([slack[i] for i in order]) if slack is not None else None,
        "batch": packed(
            [float("nan") if every[i].microbatch is None else float(every[i].microbatch or 0) for i in order]
        )
        if not timed
        else None,
        "size": packed(sizes) if timed and any(sizes) else None,
        "critical": [place for place, _ in critical if place is not None],
        "waited": packed([waited for place, waited in critical if place is not None]),
    }


def _names(view: View, activities: Sequence[Activity]) -> dict[str, Any]:
    """Return names by numbers of nodes, in the block of the graph, with what is said beside; others as they are."""
    graph = view.problem.graph
    ends: list[tuple[int, int]] = []
    beside: list[str] = []
    for activity in activities:
        own = (-1, -1)
        if activity.kind == "node" and not activity.nodes and activity.microbatch is None:
            own = activity.number, -1
        elif activity.kind == "transfer" and activity.microbatch is None:
            own = int(graph.tails[activity.number]), int(graph.heads[activity.number])
        beginning = graph.names[own[0]] if own[0] >= 0 else ""
        if own[1] >= 0:
            beginning += f" -> {graph.names[own[1]]}"
        if own[0] >= 0 and not activity.name.startswith(beginning):
            own, beginning = (-1, -1), ""
        ends.append(own)
        beside.append(short(activity.name[len(beginning) :], MAX_NAME))
    return {"of": [a for a, _ in ends], "to": packed([float(b) for _, b in ends]), "beside": packed(beside)}


def _exact(time: float) -> float:
    return float(f"{time:.9g}")


# The chart as SVG: the whole of it. schedule.js draws its parts in the same way.

WIDTH, LABEL = 1000, 130
"""Of the chart as it stands in the page; of the names of its tracks."""
LETTER, MIN_LETTERS = 7.0, 6
LETTERS = 17
"""Of the name of a track."""
TEXT_ROW = 14
"""Lower bars have no name in them."""
LABELLED = ("node", "forward", "backward")


def drawn(view: View, timeline: Timed, picture: Chart, tints: list[int]) -> Markup:
    """Return the chart of the whole time."""
    width = WIDTH - LABEL - 10
    critical = {id(step.activity) for step in timeline.critical}
    marked = {i for i, activity in enumerate(timeline.activities) if id(activity) in critical}
    every = timeline.activities
    parts = [
        _bar(bar, every[bar.activity] if bar.activity >= 0 else None, tints, bar.activity in marked)
        for bar in bars(picture, every, 0.0, timeline.makespan, width)
    ]
    return tag(
        "svg",
        tag("g", _axis(view, timeline, picture, width), class_="axis"),
        tag("g", [_name(track.name, track.top, track.height) for track in picture.tracks], class_="names"),
        tag("g", parts, class_="bars", transform=f"translate({LABEL},0)"),
        viewBox=f"0 0 {WIDTH} {picture.height}",
        width=WIDTH,
        height=picture.height,
        class_="gantt",
        id="gantt",
        role="img",
        tabindex="0",
        aria_label="The schedule: a row for each device and link, a bar for what it does when",
        aria_describedby="gantt-help",
    )


def _axis(view: View, timeline: Timed, picture: Chart, width: float) -> list[Markup]:
    unit, factor = display_unit([timeline.makespan], view.problem.time_unit)
    shown = []
    for time, text in marks(0.0, timeline.makespan, factor):
        x = LABEL + (time / timeline.makespan * width if timeline.makespan > 0 else 0.0)
        shown.append(tag("line", x1=_n(x), x2=_n(x), y1=AXIS - 6, y2=picture.height, class_="grid"))
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


# What the chart shows as tables: the critical path and its slack, and how busy tracks are.

STEPS, OTHERS, TRACKS = 200, 12, 200
"""Rows of the tables."""
SHORT = 24
"""A path of no more steps is not folded."""
MAX_CELL = 60
REASONS = {
    "first": "nothing: it is the first",
    "data": "its data",
    "device": "its device",
    "link": "its link",
    "nothing": "nothing",
}


def critical_table(view: View, timeline: Timed) -> Markup | None:
    """Return the critical path, and the activities beside it with the least slack; None where there is no path."""
    if not isinstance(timeline, Timeline) or not timeline.critical:
        return None
    steps = timeline.critical
    rows: list[list[Child]] = [
        [
            _whole(step.activity.name),
            _whole(step.activity.track),
            REASONS[step.waited],
            view.time(step.activity.start),
            view.time(step.activity.end - step.activity.start),
        ]
        for step in steps[:STEPS]
    ]
    heads = ["Step", "On", "Waited for", "Start", "Takes"]
    more = f"… and {len(steps) - STEPS:,} more steps, which the chart marks." if len(steps) > STEPS else None
    return tag(
        "",
        tag("h3", "The critical path"),
        tag("p", "Nothing of it may be late, or the schedule ends later: its slack is 0."),
        fold(
            f"All {len(steps):,} steps, with what each waited for",
            table("The critical path", heads, rows, figures=3),
            tag("p", more) if more else None,
            is_open=len(steps) <= SHORT,
        ),
        _spare(view, timeline),
    )


def _spare(view: View, timeline: Timeline) -> Markup | None:
    """Return the activities that come next: those that may be late by the least amount."""
    spare = sorted((slack, i) for i, slack in enumerate(timeline.slack) if slack > 0)[:OTHERS]
    if not spare:
        return tag("p", "Nothing else may be late either.")
    rows: list[list[Child]] = [
        [
            _whole(timeline.activities[i].name),
            _whole(timeline.activities[i].track),
            view.time(slack),
        ]
        for slack, i in spare
    ]
    tight = sum(slack == 0 for slack in timeline.slack)
    sentence = f"Of {len(timeline.slack):,} nodes and transfers, {tight:,} may not be late at all."
    return fold(
        f"{sentence} Those that come next",
        table("The least slack above 0", ["Node or transfer", "On", "May be late by"], rows, figures=2),
    )


def busy_table(view: View, timeline: Timed) -> Markup:
    """Return what the chart shows of every track: how many activities, how long it is busy, from when to when."""
    tracks = [*together(timeline), *((link,) for link in timeline.links)]
    rows: list[list[Child]] = []
    for names in tracks[:TRACKS]:
        on = timeline.on[names[0]]
        busy = _covered([(activity.start, activity.end) for activity in on])
        share = format_share(busy / timeline.makespan) if timeline.makespan > 0 else ""
        first, last = (view.time(on[0].start), view.time(max(a.end for a in on))) if on else ("", "")
        rows.append([_whole(fold_names(names)), f"{len(on):,}", view.time(busy), share, first, last])
    heads = ["Device or link", "Bars", "Busy", "Of the time", "First start", "Last end"]
    return fold(
        "The same as a table: how busy devices and links are",
        table("How busy devices and links are", heads, rows),
        tag("p", f"… and {len(tracks) - TRACKS:,} more.") if len(tracks) > TRACKS else None,
    )


def _whole(text: str) -> Markup:
    """Return a name that is not broken at its arrow."""
    return tag("span", name(text, MAX_CELL), class_="unbroken")


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return for how long at least one of the spans, given by start, lasts."""
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
