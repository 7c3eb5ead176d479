"""A schedule in the terminal: a row per device and link, the critical path in bold, and what it consists of."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from mtpp_dsl.problem import Problem
from mtpp_dsl.report.activities import Activity, Step, Timeline
from mtpp_dsl.units import format_quantity

__all__ = ["critical_path", "gantt"]

WIDTH = 64
MOST_LINKS = 8
MOST_STEPS = 12
_SHADES = "·░▒▓█"


def gantt(problem: Problem, timeline: Timeline, memory: Sequence[str]) -> Table:
    """Return the chart: every column is a share of the makespan, the darker the busier, red on the critical path.

    Args:
        problem: what was asked.
        timeline: of the plan.
        memory: [devices] in words what each device's nodes take; shown where a device has a memory.
    """
    with_memory = any(device.memory is not None for device in problem.devices)
    critical = {id(step.activity) for step in timeline.critical}
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, expand=False)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    for d, device in enumerate(timeline.devices):
        on = timeline.on[device]
        nodes = _count(sum(a.kind == "node" for a in on), timeline.runs)
        holds = f"{nodes}, {memory[d]}" if with_memory else nodes
        table.add_row(device, _row(timeline, on, critical, "green"), _share(_covered(on), timeline), holds)
    for link in timeline.links[:MOST_LINKS]:
        on = timeline.on[link]
        busy = _covered(on)
        table.add_row(
            Text(link, "dim"),
            _row(timeline, on, critical, "yellow"),
            _share(busy, timeline),
            _count(len(on), "transfer"),
        )
    if len(timeline.links) > MOST_LINKS:
        table.add_row("", Text(f"and {len(timeline.links) - MOST_LINKS} more links, less busy", "dim"), "", "")
    end = format_quantity(timeline.makespan, problem.time_unit)
    table.add_row("", Text(f"0{end:>{WIDTH - 1}}", "dim"), "", "")
    return table


def critical_path(problem: Problem, timeline: Timeline) -> Text:
    """Return what the critical path consists of, in numbers and by name."""
    steps = timeline.critical
    if timeline.makespan == 0:
        return Text("nothing takes any time")
    nodes = [step for step in steps if step.activity.kind == "node"]
    parts = []
    for what, kinds in (("running", ("node",)), ("sending", ("transfer",)), ("reading and writing", ("read", "write"))):
        times = [step.activity.end - step.activity.start for step in steps if step.activity.kind in kinds]
        if times:
            share = sum(times) / timeline.makespan
            parts.append(f"{what} {format_quantity(sum(times), problem.time_unit)} ({share:.0%})")
    waits = [step for step in nodes if step.waited == "device"]
    if waits:
        parts.append(f"{len(waits)} of {_count(len(nodes), timeline.runs)} wait for their device")
    return Text.assemble("; ".join(parts), "\n", (_names(steps), "dim"))


def _names(steps: Sequence[Step]) -> str:
    """Return the steps as ``node (device) -> node -> …``: the device where it changes, the middle left out if long."""
    words, device = [], ""
    for step in steps:
        activity = step.activity
        if activity.kind == "node":
            words.append(activity.name if activity.track == device else f"{activity.name} ({activity.track})")
            device = activity.track
    if len(words) > MOST_STEPS:
        half = MOST_STEPS // 2
        words = [*words[:half], f"… {len(words) - 2 * half} more …", *words[-half:]]
    return " -> ".join(words)


def _row(timeline: Timeline, activities: Sequence[Activity], critical: set[int], style: str) -> Text:
    """Return one track: how much of each column is busy; bold where the critical path passes."""
    row = Text()
    scale = WIDTH / timeline.makespan if timeline.makespan > 0 else 0.0
    busy, hot = [0.0] * WIDTH, [False] * WIDTH
    for a in activities:
        first, last = a.start * scale, a.end * scale
        for column in range(min(int(first), WIDTH - 1), min(int(last), WIDTH - 1) + 1):
            part = min(last, column + 1) - max(first, column)
            if part > 0:
                busy[column] += part
                hot[column] |= id(a) in critical
    for share, bold in zip(busy, hot, strict=True):
        level = 0 if share <= 0 else min(4, 1 + int(min(share, 0.999) * 4))
        row.append(_SHADES[level], "dim" if level == 0 else f"bold {'red' if bold else style}" if bold else style)
    return row


def _covered(activities: Sequence[Activity]) -> float:
    """Return how long at least one of *activities*, given by start, goes on."""
    total, until = 0.0, 0.0
    for a in activities:
        total += max(0.0, a.end - max(a.start, until))
        until = max(until, a.end)
    return total


def _share(busy: float, timeline: Timeline) -> str:
    return f"{busy / timeline.makespan:.0%}" if timeline.makespan > 0 else "0%"


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}{plural if number != 1 else ''}"
