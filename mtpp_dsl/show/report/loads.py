"""Write what every device of a plan holds, and the bar of what its load consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
from rich.text import Text

from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.stages import stages_after
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.columns import ColumnsRow, table, wrapped
from mtpp_dsl.show.report.names import fold_modules, fold_names, module_sizes

__all__ = ["MOST_SHARE", "busiest", "drawn_as_shares", "loads", "memory"]

MAX_DEVICES = 64
"""A terminal shows the busiest of more devices."""
MAX_IDLE = 8
"""A terminal shows devices that do nothing where there are no more of them."""
MAX_NAMES = 6
"""A terminal shows so many nodes of a device, or families of them."""
_BAR, _LEAST_BAR = 28, 10
_PARTS = (
    ("work", "█", "green"),
    ("input", "▓", "yellow"),
    ("output", "▒", "magenta"),
    ("overflow", "░", "red"),
    ("deviation", "▞", "blue"),
)
_SYNC = ("▚", "cyan")


def loads(problem: Problem, plan: Plan, evaluation: Evaluation, width: int | None) -> list[Text]:
    """Return a row a device, in the plan's order: its load as a bar and in figures, its memory, its nodes; a legend.

    Args:
        problem: what was asked.
        plan: without a schedule.
        evaluation: of the plan.
        width: of the terminal; None shows every device and every node, each device in one line.
    """
    shown, others = busiest(evaluation.load.tolist(), width)
    names = None if width is None else MAX_NAMES
    leads = plan.leads(problem.k).tolist()
    sizes = cache(partial(module_sizes, problem.graph.names))
    with_memory = any(device.memory is not None for device in problem.devices)
    rows = []
    for d in (d for d in plan.order or range(problem.k) if d in shown):
        peak = "bold" if evaluation.load[d] >= evaluation.bottleneck * (1 - 1e-9) > 0 else ""
        load = Text(format_quantity(float(evaluation.load[d]), problem.time_unit), peak)
        used = Text(_kept(problem, evaluation, d) if with_memory else "", "dim")
        nodes = Text(_placed(problem, plan, leads, d, names, sizes), "dim")
        rows.append(ColumnsRow(Text(problem.devices[d].name, peak), partial(_bar, evaluation, d), (load, used), nodes))
    lines = table(rows, width, _BAR, _LEAST_BAR)
    said = [others, channels(problem, evaluation), streamed(problem, evaluation)]
    notes = [*(Text(text, "dim") for text in said), _legend(evaluation)]
    return [*lines, *(line for text in notes for line in wrapped(text, width))]


def channels(problem: Problem, evaluation: Evaluation, most: int = 3) -> str:
    """Return what to say of the busiest channels of a split on links or a tree; "" where none carries anything."""
    if not evaluation.channels.any():
        return ""
    order = sorted(range(len(evaluation.channels)), key=lambda c: -evaluation.channels[c])
    busy = [c for c in order if evaluation.channels[c] > 0]
    listed = [
        f"{problem.network.channels[c]} {format_quantity(float(evaluation.channels[c]), problem.time_unit)}"
        for c in busy[:most]
    ]
    more = f", and {counted(len(busy) - most, 'channel')} with less" if len(busy) > most else ""
    return f"channels: {', '.join(listed)}{more}"


def streamed(problem: Problem, evaluation: Evaluation, most: int = 3) -> str:
    """Return what to say of the parameters that do not fit and are streamed; "" where all fit."""
    beyond = evaluation.params - problem.overflow_limit
    order = sorted(np.flatnonzero(beyond > 1e-9 * evaluation.params).tolist(), key=lambda d: -beyond[d])
    listed = [f"{problem.devices[d].name} {problem.size(float(beyond[d]))}" for d in order[:most]]
    more = f", and {counted(len(order) - most, 'device')} with less" if len(order) > most else ""
    return f"streamed: {', '.join(listed)}{more}" if listed else ""


def busiest(busy: Sequence[float], width: int | None) -> tuple[set[int], str]:
    """Return the devices to show, and what to say of the others: a terminal has no room for hundreds.

    Args:
        busy: [devices] how much each does.
        width: of the terminal; None shows all.

    >>> busiest([2.0, 1.0, *[0.0] * 20], 80)
    ({0, 1}, 'and 20 devices that do nothing')
    """
    order = sorted(range(len(busy)), key=lambda d: -busy[d])
    if width is None:
        return set(order), ""
    working = sum(share > 0 for share in busy)
    kept = working if len(busy) - working > MAX_IDLE else len(busy)
    shown = order[: min(kept, MAX_DEVICES)]
    left_out = [f"{counted(kept - len(shown), 'device')} with less to do"] if len(shown) < kept else []
    left_out += [f"{len(order) - kept:,} devices that do nothing"] if kept < len(order) else []
    return set(shown), f"and {' and '.join(left_out)}" if left_out else ""


def memory(problem: Problem, evaluation: Evaluation, d: int) -> str:
    """Return what the nodes of device *d* take, what is kept free, and what there is."""
    limit, reserve = problem.devices[d].memory, problem.devices[d].reserve
    used = problem.size(float(evaluation.memory[d]))
    if reserve:
        used += f" + {problem.size(reserve)}"
    return used if limit is None else f"{used} of {problem.size(limit)}"


def _kept(problem: Problem, evaluation: Evaluation, d: int) -> str:
    """Return the same as :func:`memory`, or where parameters that do not fit are streamed, what these alone take."""
    if np.isinf(problem.overflow_limit[d]):
        return memory(problem, evaluation, d)
    return f"params {memory(problem, replace(evaluation, memory=evaluation.params), d)}"


def _placed(
    problem: Problem,
    plan: Plan,
    leads: Sequence[int],
    d: int,
    most: int | None,
    sizes: Callable[[], Mapping[str, int]],
) -> str:
    """Return the nodes of a device, and the further devices that run them, or whose replica it is.

    Args:
        problem: what was asked.
        plan: without a schedule.
        leads: [devices] the device that leads the stage of each.
        d: the device.
        most: so many nodes or families are shown; None shows all.
        sizes: gives how many nodes each module has.
    """
    if leads[d] != d:
        word = "shard" if plan.shards.get(leads[d], 1) > 1 else "replica"
        return f"{word} of {problem.devices[leads[d]].name}"
    nodes_here = (plan.assignment == d).nonzero()[0] if not plan.routes else sorted(plan.nodes_on(problem.k)[d])
    nodes = fold_modules([problem.graph.names[v] for v in nodes_here], sizes, most)
    further = fold_names([problem.devices[e].name for e in plan.replicas.get(d, (d,))[1:]], most)
    parts = [nodes] if nodes else []
    parts += [f"also on {further}"] if further else []
    return "; ".join([*parts, *_keeps(problem, plan, d)])


def _keeps(problem: Problem, plan: Plan, d: int) -> Iterator[str]:
    """Yield how the nodes of a stage are split, how much it keeps, and whether it computes its forward pass again."""
    if d not in plan.assignment:
        return
    shards, rule = plan.shards.get(d, 1), problem.stage_memory[d]
    copies = len(plan.replicas.get(d, (d,))) // shards
    if shards > 1:
        yield f"{shards} shards" + (f" x {copies} replicas" if copies > 1 else "")
    if rule is not None:
        after = stages_after(plan.order, plan.assignment, problem.k)
        yield f"keeps {counted(rule.kept(int(after[d])), 'microbatch')}"
    if d in plan.recomputed:
        yield "recomputes"


def _time(evaluation: Evaluation, part: str, d: int) -> float:
    """Return one part of the load of a device; 0 of one that the evaluation does not have."""
    times = getattr(evaluation, part)
    return float(times[d]) if len(times) else 0.0


def _bar(evaluation: Evaluation, d: int, width: int) -> Text:
    """Return a bar in proportion to the bottleneck, coloured by what the load consists of."""
    bar = Text()
    scale = width / evaluation.bottleneck if evaluation.bottleneck > 0 else 0.0
    total, drawn = 0.0, 0
    parts: Sequence[tuple[str, str, str]] = _PARTS
    if overlapped(evaluation):
        parts = sorted(_PARTS, key=lambda part: -_time(evaluation, part[0], d))[:1]
    for name, glyph, style in parts:
        total += _time(evaluation, name, d) * scale
        cells = round(total) - drawn
        bar.append(glyph * cells, style)
        drawn += cells
    waiting = max(0, round(float(evaluation.load[d]) * scale) - drawn)
    bar.append(_SYNC[0] * waiting, _SYNC[1])
    drawn += waiting
    bar.append("·" * (width - drawn), "dim")
    return bar


def overlapped(evaluation: Evaluation) -> bool:
    """Return whether devices send, receive and work at once, so that a load is the largest of the three."""
    alone = evaluation.alone
    parts = evaluation.input + evaluation.output
    return alone is not None and bool((evaluation.load < (alone + parts) * (1 - 1e-9)).any())


def _legend(evaluation: Evaluation) -> Text:
    """Return what the colours of the bars in use stand for."""
    legend = Text("", "dim")
    for name, glyph, style in _PARTS:
        if name == "work" or getattr(evaluation, name).any():
            legend.append(f"{glyph} ", style)
            legend.append(f"{name}  ")
    if overlapped(evaluation):
        legend.append("at the same time: the bar is the largest")
    if (evaluation.sync >= evaluation.load).any() and evaluation.sync.any():
        legend.append(f"{_SYNC[0]} ", _SYNC[1])
        legend.append("sync at the same time  ")
    return legend


# Bars of memories whose limits differ by much.

UNLIKE = 10.0
"""The largest amount is so many times the least limit: the bars of a small device would hardly be seen beside it."""
MOST_SHARE = 2.0
"""Bars of devices that hold more than so many times their memory are cut there: what is streamed has no limit."""


def drawn_as_shares(problem: Problem, evaluation: Evaluation, devices: Iterable[int]) -> bool:
    """Return whether the limits of *devices* are so unlike that bars of amounts would hide the small ones."""
    shown = list(devices)
    limits = [limit for d in shown if (limit := problem.devices[d].memory)]
    most = max(
        [*limits, *(float(evaluation.memory[d]) for d in shown if problem.devices[d].memory is None)], default=0.0
    )
    return bool(limits) and most > UNLIKE * min(limits)
