"""The schedule of a plan, or the steady state of its pipeline: a chart with tracks for devices and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.base.units import counted, display_unit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.show.page.layout.gantt import Chart, Timed, chart
from mtpp_dsl.show.page.layout.stages import stage_numbers
from mtpp_dsl.show.page.markup import Markup, data_block, short, tag
from mtpp_dsl.show.page.packed import packed
from mtpp_dsl.show.page.schedule_picture import drawn
from mtpp_dsl.show.page.schedule_tables import busy_table, critical_table
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.activities import Activity, Timeline
from mtpp_dsl.show.report.palette import STAGES
from mtpp_dsl.show.report.steady import Steady, steady

__all__ = ["section"]

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
    found = chart(timeline)
    tints = _tints(view, found)
    body = tag(
        "",
        tag("p", _introduction(view, timeline, found)),
        _controls(critical=bool(timeline.critical)),
        tag("div", drawn(view, timeline, found, tints), class_="gantt-frame", id="gantt-frame"),
        _legend(timeline),
        tag("p", HELP if timeline.critical else HELP.replace(CRITICAL_KEY, "."), class_="hint", id="gantt-help"),
        tag(
            "div", tag("p", "Choose a bar for its figures."), class_="chosen-figures", id="gantt-details", role="status"
        ),
        critical_table(view, timeline),
        busy_table(view, timeline),
        data_block("gantt-data", _data(view, timeline, found, tints)),
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
    found = steady(view.problem, view.plan, view.evaluation)
    if len(found.activities) > MOST:
        fewer = max(1, found.microbatches * MOST // len(found.activities))
        found = steady(view.problem, view.plan, view.evaluation, fewer)
    return found


def _introduction(view: View, timeline: Timeline | Steady, found: Chart) -> str:
    end = view.time(timeline.makespan)
    nodes = sum(activity.kind in ("node", "forward", "backward") for activity in timeline.activities)
    told = f"{counted(nodes, timeline.runs)} and {counted(len(timeline.activities) - nodes, 'transfer')} in {end}."
    if isinstance(timeline, Steady):
        told = f"{counted(timeline.microbatches, 'microbatch')} in {end}."
        if timeline.period is not None:
            told += f" In the steady state an input leaves every {view.time(timeline.period)}, which is the bottleneck."
        many = view.problem.objective.microbatches
        if many is not None and timeline.microbatches < many:
            told += f" The iteration has {many:,}; no more are drawn."
    else:
        told += " What makes it as long as it is, the critical path, has a thick edge and a line above."
    if found.hidden:
        told += f" {counted(found.hidden, 'link')} with less to do {'is' if found.hidden == 1 else 'are'} not drawn."
    return told


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


def _tints(view: View, found: Chart) -> list[int]:
    """Return [tracks] the tint of each: of devices that of their stage in the graph, -1 of links."""
    assert view.plan is not None
    stage = stage_numbers(view.problem, view.plan)
    return [stage.get(track.names[0], 0) % len(STAGES) if track.of_device else -1 for track in found.tracks]


def _data(view: View, timeline: Timed, found: Chart, tints: list[int]) -> dict[str, Any]:
    """Return what the script draws: tracks, and activities by number."""
    order = [i for track in found.tracks for i in track.activities]
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
        "height": found.height,
        "tracks": [
            [short(track.name, MAX_NAME), track.top, track.height, track.lanes, tint, len(track.activities)]
            for track, tint in zip(found.tracks, tints, strict=True)
        ],
        "lane": packed([float(lane) for track in found.tracks for lane in track.lane]),
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
        said = graph.names[own[0]] if own[0] >= 0 else ""
        if own[1] >= 0:
            said += f" -> {graph.names[own[1]]}"
        if own[0] >= 0 and not activity.name.startswith(said):
            own, said = (-1, -1), ""
        ends.append(own)
        beside.append(short(activity.name[len(said) :], MAX_NAME))
    return {"of": [a for a, _ in ends], "to": packed([float(b) for _, b in ends]), "beside": packed(beside)}


def _exact(time: float) -> float:
    return float(f"{time:.9g}")
