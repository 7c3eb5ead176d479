"""A schedule in the terminal: a row per device and link, the critical path in bold, and what it consists of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.text import Text

from mtpp_dsl.core.base.units import counted, format_quantity, format_share
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.activities import Step, Timeline
from mtpp_dsl.show.report.bars import ChartRow, chart_rows
from mtpp_dsl.show.report.columns import ColumnsRow, table, wrapped
from mtpp_dsl.show.report.loads import busiest

WIDTH, LEAST_WIDTH = 64, 24
"""Cells of the chart: no more, and no fewer while there is another way to fit a terminal."""
MAX_LINKS = 8
MAX_STEPS, MAX_LINES = 12, 3
"""Nodes of the critical path that are named, and lines of a terminal that their names fill."""
PIPE_WIDTH, LEAST_NAMES = 120, 20
"""What counts as the width of lines where they go to no terminal, and the least that is left for names."""
_SHADES = "·░▒▓█"


def gantt(problem: Problem, timeline: Timeline, memory: Sequence[str], width: int | None) -> list[Text]:
    """Return the chart: every column is a share of the makespan, the darker the busier, red on the critical path.

    Args:
        problem: what was asked.
        timeline: of the plan.
        memory: [devices] in words what each device's nodes take; shown where a device has a memory.
        width: of the terminal; None shows every device and every link.
    """
    with_memory = any(device.memory is not None for device in problem.devices)
    chart = chart_rows(timeline, {}, each_device=True)
    devices, links = chart[: problem.k], chart[problem.k :]
    shown, others = busiest([row.busy for row in devices], width)
    if width is not None:
        links = links[:MAX_LINKS]

    def row(track: ChartRow, name: str, colour: str, holds: str) -> ColumnsRow:
        figures = (Text(_share(track.busy, timeline)), Text(holds, "dim"))
        return ColumnsRow(Text(track.name, name), partial(_row, timeline, track, colour), figures, Text())

    rows = []
    for d in sorted(shown):
        nodes = counted(sum(bar.activity.kind == "node" for bar in devices[d].bars), timeline.runs)
        rows.append(row(devices[d], "", "green", f"{nodes}, {memory[d]}" if with_memory else nodes))
    rows += [row(link, "dim", "yellow", counted(len(link.bars), "transfer")) for link in links]
    end = format_quantity(timeline.makespan, problem.time_unit)
    rows.append(ColumnsRow(Text(), lambda cells: Text(f"0{end:>{cells - 1}}", "dim"), (Text(), Text()), Text()))
    lines = table(rows, width, WIDTH, LEAST_WIDTH)
    if len(links) < len(timeline.links):
        more = f"{counted(len(timeline.links) - len(links), 'link')} with less to do"
        others = f"{others} and {more}" if others else f"and {more}"
    return lines + wrapped(Text(others, "dim"), width)


def critical_path(problem: Problem, timeline: Timeline, width: int | None, *, whole: bool) -> Text:
    """Return what the critical path consists of, in numbers and by name.

    Args:
        problem: what was asked.
        timeline: of the plan.
        width: of the lines that names are written into; None for those of a pipe.
        whole: name every step; else the middle of a path is left out that fills more than MAX_LINES lines.
    """
    steps = timeline.critical
    if timeline.makespan == 0:
        return Text("nothing takes any time")
    nodes = [step for step in steps if step.activity.kind == "node"]
    parts = []
    for what, kinds in (("running", ("node",)), ("sending", ("transfer",)), ("reading and writing", ("read", "write"))):
        times = [step.activity.end - step.activity.start for step in steps if step.activity.kind in kinds]
        if times:
            share = sum(times) / timeline.makespan
            parts.append(f"{what} {format_quantity(sum(times), problem.time_unit)} ({format_share(share)})")
    waits = [step for step in nodes if step.waited == "device"]
    if waits:
        parts.append(f"{len(waits)} of {counted(len(nodes), timeline.runs)} wait for their device")
    return Text.assemble("; ".join(parts), "\n", (_names(steps, PIPE_WIDTH if width is None else width, whole), "dim"))


def _names(steps: Sequence[Step], width: int, whole: bool) -> str:
    """Return the steps as ``node (device) -> node -> …``: the device where it changes, the middle left out if long."""
    words = _named(steps)
    text = " -> ".join(words)
    if whole:
        return text
    room = max(width, LEAST_NAMES)
    if len(words) > MAX_STEPS or len(wrapped(Text(text), room)) > MAX_LINES:
        for half in range(min(MAX_STEPS, len(words) - 1) // 2, 0, -1):
            text = " -> ".join([*words[:half], f"… {len(words) - 2 * half} more …", *words[-half:]])
            if len(wrapped(Text(text), room)) <= MAX_LINES:
                break
    return text


def _named(steps: Sequence[Step]) -> list[str]:
    """Return the names of the nodes, each with its device in brackets where that changes."""
    words, device = [], ""
    for step in steps:
        activity = step.activity
        if activity.kind == "node":
            words.append(activity.name if activity.track == device else f"{activity.name} ({activity.track})")
            device = activity.track
    return words


def _row(timeline: Timeline, track: ChartRow, style: str, width: int) -> Text:
    """Return one track in *width* columns: how much of each is busy; bold where the critical path passes."""
    row = Text()
    scale = width / timeline.makespan if timeline.makespan > 0 else 0.0
    busy, hot = [0.0] * width, [False] * width
    for bar in track.bars:
        first, last = bar.activity.start * scale, bar.activity.end * scale
        for column in range(min(int(first), width - 1), min(int(last), width - 1) + 1):
            part = min(last, column + 1) - max(first, column)
            if part > 0:
                busy[column] += part
                hot[column] |= bar.critical
    for share, bold in zip(busy, hot, strict=True):
        level = 0 if share <= 0 else min(4, 1 + int(min(share, 0.999) * 4))
        row.append(_SHADES[level], "dim" if level == 0 else f"bold {'red' if bold else style}" if bold else style)
    return row


def _share(busy: float, timeline: Timeline) -> str:
    return format_share(busy / timeline.makespan if timeline.makespan > 0 else 0.0)
