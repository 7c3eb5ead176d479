"""A schedule, or a pipeline over several microbatches, in the trace format that Perfetto and chrome://tracing open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.activities import Activity, Timeline
from mtpp_dsl.show.report.bars import lanes
from mtpp_dsl.show.report.steady import Steady

MICROSECONDS = 1e6
EXACT = 1e-12
"""Activities overlap by rounding alone if by no more than this share of the whole time."""
DEVICES, LINKS = 1, 2
"""Numbers of the two groups of tracks."""


def trace(problem: Problem, timeline: Timeline | Steady) -> dict[str, Any]:
    """Return the JSON object format of Chrome's traces: a track per device and per link, arrows from data to readers.

    A time without a unit is shown as if it were in seconds; ``otherData`` says so.
    """
    critical = {id(step.activity) for step in timeline.critical}
    events: list[dict[str, Any]] = [
        _label("process_name", DEVICES, 0, "devices"),
        _label("process_name", LINKS, 0, "links"),
    ]
    threads: dict[int, tuple[int, int]] = {}
    for group, tracks in ((DEVICES, timeline.devices), (LINKS, timeline.links)):
        number = 0
        for track in tracks:
            activities = timeline.on[track]
            chosen = lanes(activities, EXACT * max((activity.end for activity in activities), default=0.0))
            for lane in range(max(chosen, default=0) + 1):
                number += 1
                events.append(_label("thread_name", group, number, track if lane == 0 else f"{track} #{lane + 1}"))
                events.append({**_label("thread_sort_index", group, number, ""), "args": {"sort_index": number}})
                for activity, own in zip(activities, chosen, strict=True):
                    if own == lane:
                        threads[id(activity)] = group, number
                        events.append(_event(problem, activity, group, number, id(activity) in critical))
    events += (
        _arrows(timeline, threads) if isinstance(timeline, Timeline) else _arrows_between_tracks(timeline, threads)
    )
    unit = problem.time_unit or "none: one unit is shown as one second"
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"objective": str(problem.objective), **_lengths(timeline), "unit of time": unit},
    }


def _lengths(timeline: Timeline | Steady) -> dict[str, Any]:
    if isinstance(timeline, Timeline):
        return {"makespan": timeline.makespan}
    return {"microbatches": timeline.microbatches, "period": timeline.period, "end": timeline.makespan}


def _label(what: str, group: int, number: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": group, "tid": number, "args": {"name": name}}


def _event(problem: Problem, activity: Activity, group: int, number: int, critical: bool) -> dict[str, Any]:
    graph = problem.graph
    details: dict[str, Any] = {"critical": critical}
    if activity.microbatch is not None:
        details = {"round" if activity.kind == "exchange" else "microbatch": activity.microbatch + 1}
        if activity.nodes:
            details["nodes"] = [graph.names[v] for v in activity.nodes]
    elif activity.kind == "node":
        kind, label = graph.kinds[activity.number], graph.labels[activity.number]
        details |= {key: value for key, value in (("kind", kind), ("label", label)) if value}
        details["memory"] = float(graph.memory[activity.number])
    elif activity.kind == "transfer":
        details["size"] = float(graph.sizes[activity.number])
    return {
        "ph": "X",
        "name": activity.name,
        "cat": activity.kind,
        "pid": group,
        "tid": number,
        "ts": activity.start * MICROSECONDS,
        "dur": (activity.end - activity.start) * MICROSECONDS,
        "args": details,
    }


def _arrows(timeline: Timeline, threads: dict[int, tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Yield flow events from every producer to its transfer, and from there to the consumer."""
    every = timeline.activities
    readers = {i: activity for activity in every for i in activity.needs}
    for i, activity in enumerate(every):
        if activity.kind == "transfer":
            producer, consumer = every[activity.needs[0]], readers[i]
            ends = ((producer, "s", producer.end), (activity, "t", activity.start), (consumer, "f", consumer.start))
            for end, phase, at in ends:
                group, number = threads[id(end)]
                arrow = {
                    "ph": phase,
                    "name": "tensor",
                    "cat": "transfer",
                    "id": i,
                    "ts": at * MICROSECONDS,
                }
                yield {**arrow, "pid": group, "tid": number, **({"bp": "e"} if phase == "f" else {})}


def _arrows_between_tracks(timeline: Steady, threads: dict[int, tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Yield flow events from every activity to those on other tracks that wait for it."""
    every, number = timeline.activities, 0
    for activity in every:
        for i in activity.needs:
            if every[i].track != activity.track:
                number += 1
                for end, phase, at in ((every[i], "s", every[i].end), (activity, "f", activity.start)):
                    group, thread = threads[id(end)]
                    arrow = {"ph": phase, "name": "tensor", "cat": "transfer", "id": number, "ts": at * MICROSECONDS}
                    yield {**arrow, "pid": group, "tid": thread, **({"bp": "e"} if phase == "f" else {})}
