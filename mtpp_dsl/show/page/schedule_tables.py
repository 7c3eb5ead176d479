"""Write what the chart of a schedule shows as tables: the critical path and its slack, and how busy tracks are."""

from __future__ import annotations

from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.show.page.layout.gantt import Timed, together
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.tables import fold, table
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.activities import Timeline
from mtpp_dsl.show.report.names import fold_names

__all__ = ["busy_table", "critical_table"]

STEPS, OTHERS, TRACKS = 200, 12, 200
"""Rows of the tables."""
SHORT = 24
"""A path of no more steps is not folded."""
MAX_NAME = 60
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
    told = f"Of {len(timeline.slack):,} nodes and transfers, {tight:,} may not be late at all."
    return fold(
        f"{told} Those that come next",
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
    return tag("span", name(text, MAX_NAME), class_="unbroken")


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return for how long at least one of the spans, given by start, lasts."""
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
