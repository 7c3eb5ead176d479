"""What the chart of a schedule shows as tables: the critical path with the slack beside it, and how busy tracks are."""

from __future__ import annotations

from mtpp_dsl.base.units import counted
from mtpp_dsl.page.layout.gantt import Timed
from mtpp_dsl.page.markup import Markup, name, tag
from mtpp_dsl.page.view import View
from mtpp_dsl.report.activities import Timeline

__all__ = ["busy_table", "critical_table"]

STEPS, OTHERS, TRACKS = 100, 12, 200
"""Rows of the tables."""
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
    rows = [
        [
            tag("th", name(step.activity.name, 60), scope="row"),
            tag("td", name(step.activity.track, 60)),
            tag("td", view.time(step.activity.start), class_="number"),
            tag("td", view.time(step.activity.end - step.activity.start), class_="number"),
            tag("td", REASONS[step.waited]),
        ]
        for step in steps[:STEPS]
    ]
    more = f"… and {counted(len(steps) - STEPS, 'step')} more, marked in the chart." if len(steps) > STEPS else None
    return tag(
        "",
        tag("h3", "The critical path"),
        tag("p", "Nothing of this may take longer, or the schedule does: its slack is 0."),
        _table("The critical path", ["Step", "On", "Start", "Takes", "Waited for"], rows),
        tag("p", more) if more else None,
        _spare(view, timeline),
    )


def _spare(view: View, timeline: Timeline) -> Markup | None:
    """Return the activities that come next: those that may be late by the least amount."""
    spare = sorted((slack, i) for i, slack in enumerate(timeline.slack) if slack > 0)[:OTHERS]
    if not spare:
        return tag("p", "Nothing else has any slack either.")
    rows = [
        [
            tag("th", name(timeline.activities[i].name, 60), scope="row"),
            tag("td", name(timeline.activities[i].track, 60)),
            tag("td", view.time(slack), class_="number"),
        ]
        for slack, i in spare
    ]
    tight = sum(slack == 0 for slack in timeline.slack)
    return tag(
        "",
        tag(
            "p",
            f"{counted(tight, 'activity').replace('activitys', 'activities')} of {len(timeline.slack):,} may not "
            "be late at all. These come next:",
        ),
        _table("Activities with the least slack", ["Activity", "On", "May be late by"], rows),
    )


def busy_table(view: View, timeline: Timed) -> Markup:
    """Return what the chart shows of every track: how many activities, how long it is busy, from when to when."""
    names = [*timeline.devices, *timeline.links]
    rows = []
    for track in names[:TRACKS]:
        on = timeline.on[track]
        busy = _covered([(activity.start, activity.end) for activity in on])
        share = f"{busy / timeline.makespan:.0%}" if timeline.makespan > 0 else ""
        first, last = (view.time(on[0].start), view.time(max(a.end for a in on))) if on else ("", "")
        rows.append(
            [
                tag("th", name(track, 60), scope="row"),
                *(tag("td", text, class_="number") for text in (f"{len(on):,}", view.time(busy), share, first, last)),
            ]
        )
    more = f"… and {len(names) - TRACKS:,} more." if len(names) > TRACKS else None
    heads = ["Device or link", "Activities", "Busy", "Of the time", "First start", "Last end"]
    return tag(
        "details",
        tag("summary", "The same as a table: how busy devices and links are"),
        _table("How busy devices and links are", heads, rows),
        tag("p", more) if more else None,
        class_="outline",
    )


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return for how long at least one of the spans, given by start, lasts."""
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _table(caption: str, heads: list[str], rows: list[list[Markup]]) -> Markup:
    head = tag("thead", tag("tr", [tag("th", text, scope="col") for text in heads]))
    table = tag("table", tag("caption", caption), head, tag("tbody", [tag("tr", row) for row in rows]))
    return tag("div", table, class_="scroll", tabindex="0", role="group", aria_label=caption)
