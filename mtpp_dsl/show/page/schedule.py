"""The schedule of a plan, or the steady state of its pipeline: a chart with tracks for devices and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.base.units import counted, display_unit, format_share
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.show.page.layout.axis import marks
from mtpp_dsl.show.page.layout.gantt import AXIS, MAX_LINKS, PlacedBar, Track, height_of, placed_bars, placed_tracks
from mtpp_dsl.show.page.layout.stages import stage_numbers
from mtpp_dsl.show.page.markup import Child, Markup, coordinate, data_block, name, packed, short, tag
from mtpp_dsl.show.page.tables import fold, table
from mtpp_dsl.show.page.view import Section, View
from mtpp_dsl.show.report.activities import Activity, Timeline, Tracks
from mtpp_dsl.show.report.bars import RUNS, ChartRow, chart_rows
from mtpp_dsl.show.report.steady import Steady, steady

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
    rows = chart_rows(timeline, stage_numbers(view.problem, view.plan))
    tracks = placed_tracks(rows)
    body = tag(
        "",
        tag("p", _introduction(view, timeline)),
        _controls(critical=bool(timeline.critical)),
        tag("div", drawn(view, timeline, tracks), class_="gantt-frame", id="gantt-frame"),
        _legend(timeline),
        tag("p", HELP if timeline.critical else HELP.replace(CRITICAL_KEY, "."), class_="hint", id="gantt-help"),
        tag(
            "div", tag("p", "Choose a bar for its figures."), class_="chosen-figures", id="gantt-details", role="status"
        ),
        critical_table(view, timeline),
        busy_table(view, timeline, rows),
        data_block("gantt-data", _data(view, timeline, tracks)),
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


def _introduction(view: View, timeline: Timeline | Steady) -> str:
    end = view.time(timeline.makespan)
    nodes = sum(activity.kind in RUNS for activity in timeline.activities)
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
    hidden = len(timeline.links) - MAX_LINKS
    if hidden > 0:
        sentence += f" {counted(hidden, 'link')} with less to do {'is' if hidden == 1 else 'are'} not drawn."
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


def _legend(timeline: Tracks) -> Markup:
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


def _data(view: View, timeline: Tracks, tracks: Sequence[Track]) -> dict[str, Any]:
    """Return what the script draws: tracks, and activities by number."""
    bars = [bar for track in tracks for bar in track.row.bars]
    activities = [bar.activity for bar in bars]
    number = {id(activity): i for i, activity in enumerate(activities)}
    steps = [(number[id(step.activity)], step.waited) for step in timeline.critical if id(step.activity) in number]
    unit, factor = display_unit([timeline.makespan], view.problem.time_unit)
    slack: list[float] | None = None
    if isinstance(timeline, Timeline):
        slack_of = {id(one): slack for one, slack in zip(timeline.activities, timeline.slack, strict=True)}
        slack = [slack_of[id(activity)] for activity in activities]
    sizes = [float(view.problem.graph.sizes[one.number]) if one.kind == "transfer" else 0.0 for one in activities]
    timed = view.plan is not None and view.plan.timed
    batches = [float("nan") if one.microbatch is None else float(one.microbatch) for one in activities]
    return {
        "unit": {"time": view.problem.time_unit, "size": view.problem.graph.size_unit, "axis": unit, "factor": factor}
        | {"decimal": view.problem.origin.decimal},
        "end": timeline.makespan,
        "height": height_of(tracks),
        "tracks": [
            [
                short(track.row.name, MAX_NAME),
                track.top,
                track.height,
                track.lanes,
                track.row.stage,
                len(track.row.bars),
            ]
            for track in tracks
        ],
        "lane": packed([float(min(bar.lane, track.lanes - 1)) for track in tracks for bar in track.row.bars]),
        **_names(view, activities),
        "kind": packed([one.kind for one in activities]),
        "start": [_exact(one.start) for one in activities],
        "length": packed([_exact(one.end - one.start) for one in activities]),
        "slack": None if slack is None else packed(slack),
        "batch": None if timed else packed(batches),
        "size": packed(sizes) if timed and any(sizes) else None,
        "critical": [place for place, _ in steps],
        "waited": packed([waited for _, waited in steps]),
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


def drawn(view: View, timeline: Tracks, tracks: Sequence[Track]) -> Markup:
    """Return the chart of the whole time."""
    width, height = WIDTH - LABEL - 10, height_of(tracks)
    bars = placed_bars(tracks, 0.0, timeline.makespan, width)
    return tag(
        "svg",
        tag("g", _axis(view, timeline, height, width), class_="axis"),
        tag("g", [_name(track.row.name, track.top, track.height) for track in tracks], class_="names"),
        tag("g", [_bar(bar, tracks[bar.track].row) for bar in bars], class_="bars", transform=f"translate({LABEL},0)"),
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
        class_="gantt",
        id="gantt",
        role="img",
        tabindex="0",
        aria_label="The schedule: a row for each device and link, a bar for what it does when",
        aria_describedby="gantt-help",
    )


def _axis(view: View, timeline: Tracks, height: int, width: float) -> list[Markup]:
    unit, factor = display_unit([timeline.makespan], view.problem.time_unit)
    shown = []
    for time, text in marks(0.0, timeline.makespan, factor):
        x = LABEL + (time / timeline.makespan * width if timeline.makespan > 0 else 0.0)
        shown.append(tag("line", x1=coordinate(x), x2=coordinate(x), y1=AXIS - 6, y2=height, class_="grid"))
        shown.append(tag("text", f"{text} {unit}".strip(), x=coordinate(x), y=14, class_="tick"))
    return shown


def _name(name: str, top: int, height: int) -> Markup:
    return tag("text", short(name, LETTERS), tag("title", name), x=4, y=coordinate(top + height / 2 + 4))


def _bar(placed: PlacedBar, row: ChartRow) -> Markup:
    where = {
        "x": coordinate(placed.x),
        "y": coordinate(placed.y),
        "width": coordinate(placed.width),
        "height": coordinate(placed.height - 1),
    }
    tint = f" s{row.stage}" if row.stage >= 0 else ""
    bar = placed.bar
    if bar is None:
        return tag("rect", **where, class_=f"many{tint}", fill_opacity=coordinate(0.2 + 0.8 * placed.share))
    kind = f"act {bar.activity.kind}{tint}{' critical' if bar.critical else ''}"
    parts = [tag("rect", tag("title", bar.activity.name), **where, class_=kind)]
    if bar.critical:
        parts.append(tag("rect", x=where["x"], y=where["y"], width=where["width"], height=3, class_="edge"))
    letters = int((placed.width - 6) / LETTER)
    label = bar.label if bar.activity.kind in RUNS else ""
    if placed.height >= TEXT_ROW and label and (letters >= len(label) or letters >= MIN_LETTERS):
        middle = {"x": coordinate(placed.x + 4), "y": coordinate(placed.y + placed.height / 2 + 4)}
        parts.append(tag("text", short(label, letters), **middle, class_=f"inside{tint}"))
    return tag("", parts)


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


def critical_table(view: View, timeline: Tracks) -> Markup | None:
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


def busy_table(view: View, timeline: Tracks, chart: Sequence[ChartRow]) -> Markup:
    """Return what the chart shows of every row: how many activities, how long it is busy, from when to when."""
    rows: list[list[Child]] = []
    for row in chart[:TRACKS]:
        share = format_share(row.busy / timeline.makespan) if timeline.makespan > 0 else ""
        first, last = "", ""
        if row.bars:
            first = view.time(row.bars[0].activity.start)
            last = view.time(max(bar.activity.end for bar in row.bars))
        rows.append([_whole(row.name), f"{len(row.bars):,}", view.time(row.busy), share, first, last])
    heads = ["Device or link", "Bars", "Busy", "Of the time", "First start", "Last end"]
    return fold(
        "The same as a table: how busy devices and links are",
        table("How busy devices and links are", heads, rows),
        tag("p", f"… and {len(chart) - TRACKS:,} more.") if len(chart) > TRACKS else None,
    )


def _whole(text: str) -> Markup:
    """Return a name that is not broken at its arrow."""
    return tag("span", name(text, MAX_CELL), class_="unbroken")
