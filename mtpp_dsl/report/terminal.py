"""Results for people: load bars per device, the bottleneck, the bound, the gap."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mtpp_dsl.evaluation import Evaluation
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.report.activities import Timeline
from mtpp_dsl.report.gantt import critical_path, gantt
from mtpp_dsl.result import Bound, Result
from mtpp_dsl.units import format_quantity

__all__ = ["fold_names", "summary"]

_BAR = 28
_MAX_DEVICES = 40
_PARTS = (("work", "█", "green"), ("input", "▓", "yellow"), ("output", "▒", "magenta"), ("overflow", "░", "red"))
_SYNC = ("▚", "cyan")
_ENDED = {
    "gap": "within the gap asked for",
    "complete": "ran to its end",
    "time_limit": "stopped at the time limit",
    "interrupted": "interrupted",
    "infeasible": "no plan exists",
    "limit": "stopped at a limit of the solver",
    "error": "the solver stopped early",
}


def summary(problem: Problem, result: Result) -> RenderableType:
    """Return what ``mtpp solve`` prints."""
    parts: list[RenderableType] = [_heading(problem), ""]
    if result.infeasibility is not None:
        parts += _why_infeasible(result)
    timeline = None
    if result.plan is not None and result.evaluation is not None and result.plan.timed:
        timeline = Timeline(problem, result.plan)
        memory = [_memory(problem, result.evaluation, d) for d in range(problem.k)]
        parts += [gantt(problem, timeline, memory), ""]
    elif result.plan is not None and result.evaluation is not None:
        parts += [_devices(problem, result, result.evaluation), _legend(result.evaluation), ""]
    parts.append(_facts(problem, result, timeline))
    return Group(*parts)


def _heading(problem: Problem) -> Text:
    name = problem.origin.path or "problem"
    graph = problem.graph
    devices = f"{problem.k} device{'s' if problem.k != 1 else ''}"
    return Text.assemble(
        (name, "bold"),
        f"  {problem.objective} · {graph.n} nodes, {graph.m} edges",
        f" · {devices}, {problem.interconnect.keyword}",
    )


def _why_infeasible(result: Result) -> list[RenderableType]:
    reason = result.infeasibility
    assert reason is not None
    lines: list[RenderableType] = [Text.assemble(("No plan exists: ", "bold red"), reason.reason)]
    if reason.clash:
        how = "drop any one of these and there is one" if reason.minimal else "these cannot all hold"
        lines.append(Text(f"  {how}:"))
        lines += [Text(f"    {constraint}") for constraint in reason.clash]
    return [*lines, ""]


def _devices(problem: Problem, result: Result, evaluation: Evaluation) -> Table:
    assert result.plan is not None
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, expand=False)
    with_memory = any(device.memory is not None for device in problem.devices)
    columns = 5 if with_memory else 4
    for i in range(columns):
        table.add_column(justify="right" if i == 2 else "left", no_wrap=i < columns - 1, overflow="ellipsis")
    order = result.plan.order or tuple(range(problem.k))
    leads = result.plan.leads(problem.k).tolist()
    for d in order[:_MAX_DEVICES]:
        device = problem.devices[d]
        load = format_quantity(float(evaluation.load[d]), problem.time_unit)
        peak = evaluation.load[d] >= evaluation.bottleneck * (1 - 1e-9) > 0
        row: list[RenderableType] = [Text(device.name, "bold" if peak else ""), _bar(evaluation, d)]
        row.append(Text(load, "bold" if peak else ""))
        if with_memory:
            row.append(Text(_memory(problem, evaluation, d), "dim"))
        row.append(Text(_placed(problem, result.plan, leads, d), "dim"))
        table.add_row(*row)
    if problem.k > _MAX_DEVICES:
        table.add_row(Text(f"… and {problem.k - _MAX_DEVICES} more", "dim"))
    return table


def _placed(problem: Problem, plan: Plan, leads: Sequence[int], d: int) -> str:
    """Return the nodes of a device, and the further devices that run them, or whose replica it is."""
    if leads[d] != d:
        return f"replica of {problem.devices[leads[d]].name}"
    nodes = fold_names([problem.graph.names[v] for v in (plan.assignment == d).nonzero()[0]])
    further = fold_names([problem.devices[e].name for e in plan.replicas.get(d, (d,))[1:]])
    return f"{nodes}; also on {further}" if further else nodes


def _bar(evaluation: Evaluation, d: int) -> Text:
    """Return a bar in proportion to the bottleneck, coloured by what the load consists of."""
    bar = Text()
    scale = _BAR / evaluation.bottleneck if evaluation.bottleneck > 0 else 0.0
    total, drawn = 0.0, 0
    for name, glyph, style in _PARTS:
        total += float(getattr(evaluation, name)[d]) * scale
        cells = round(total) - drawn
        bar.append(glyph * cells, style)
        drawn += cells
    waiting = max(0, round(float(evaluation.load[d]) * scale) - drawn)
    bar.append(_SYNC[0] * waiting, _SYNC[1])
    drawn += waiting
    bar.append("·" * (_BAR - drawn), "dim")
    return bar


def _legend(evaluation: Evaluation) -> Text:
    legend = Text("", "dim")
    for name, glyph, style in _PARTS:
        if name == "work" or getattr(evaluation, name).any():
            legend.append(f"{glyph} ", style)
            legend.append(f"{name}  ")
    if (evaluation.sync >= evaluation.load).any() and evaluation.sync.any():
        legend.append(f"{_SYNC[0]} ", _SYNC[1])
        legend.append("sync beside all that  ")
    return legend


def _memory(problem: Problem, evaluation: Evaluation, d: int) -> str:
    unit, limit = problem.graph.memory_unit, problem.devices[d].memory
    used = format_quantity(float(evaluation.memory[d]), unit)
    if problem.devices[d].reserve:
        used += f" + {format_quantity(problem.devices[d].reserve, unit)}"
    return used if limit is None else f"{used} of {format_quantity(limit, unit)}"


def _facts(problem: Problem, result: Result, timeline: Timeline | None) -> Table:
    objective, unit = problem.objective, problem.objective.unit(problem.time_unit)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim")
    table.add_column()
    if result.cost is not None:
        table.add_row(objective.name, Text(format_quantity(objective.value(result.cost), unit), "bold"))
    if result.cost is not None and objective.batch is not None:
        table.add_row("makespan", _makespan(problem, result.cost))
    if result.evaluation is not None and result.evaluation.separate:
        table.add_row("parts", _parts(problem, result.evaluation))
    if timeline is not None:
        table.add_row("critical path", critical_path(problem, timeline))
    if result.bound is not None:
        table.add_row("bound", _bound(problem, result.bound))
    if result.gap is not None:
        table.add_row("gap", _gap(result))
    elif result.infeasibility is None:
        missing = [name for name, found in (("plan", result.plan), ("bound", result.bound)) if found is None]
        table.add_row("ended", f"{_ENDED[result.termination]}, without a {' or a '.join(missing)}")
    if result.plan is not None:
        table.add_row("verified", "every constraint and every load, independently" if result.verified else "no")
    solver = f" with {result.solver}" if result.solver else ""
    table.add_row("method", f"{result.method}{solver}, {_seconds(result.time.get('total', 0.0))}")
    for note in result.notes:
        table.add_row("note", note)
    return table


def _makespan(problem: Problem, cost: float) -> str:
    batching = problem.batching
    inputs = f"{batching.inputs} input{'s' if batching.inputs != 1 else ''}"
    chunks = f", {batching.count} chunks of {batching.chunk}" if 1 < batching.count < batching.inputs else ""
    carried = "per input" if batching.per_input else "per batch"
    return f"{format_quantity(cost, problem.time_unit)} for {inputs}{chunks}; transfers {carried}"


def _parts(problem: Problem, evaluation: Evaluation) -> str:
    unit = problem.time_unit
    forward, backward = (float(part.max()) for part in (evaluation.forward, evaluation.backward))
    return f"forward {format_quantity(forward, unit)}, backward {format_quantity(backward, unit)}: the largest loads"


def _bound(problem: Problem, bound: Bound) -> Text:
    word = "no plan is below" if problem.objective.sense == "minimize" else "no plan is above"
    value = format_quantity(problem.objective.value(bound.cost), problem.objective.unit(problem.time_unit))
    return Text.assemble((value, "bold"), f"  {word} this: {bound.method} by {bound.by}, {bound.proof}")


def _gap(result: Result) -> Text:
    assert result.gap is not None
    if result.status == "optimal":
        return Text.assemble(("0 %", "bold green"), "  optimal")
    return Text.assemble((f"{100 * result.gap:.2g} %", "bold"), f"  {_ENDED[result.termination]}")


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.95 else f"{seconds:.2f} s"


def fold_names(names: Sequence[str], most: int = 6) -> str:
    """Return names with runs of a family folded, and cut after *most*.

    >>> fold_names(["embed", "attn[0]", "attn[1]", "attn[2]", "mlp[0]"])
    'embed, attn[0..2], mlp[0]'
    """
    families: dict[str, list[int]] = {}
    for name in names:
        match = re.fullmatch(r"(.*)\[(\d+)\]", name)
        families.setdefault(match[1] if match else name, []).append(int(match[2]) if match else -1)
    parts = []
    for base, numbers in families.items():
        parts += [base] if numbers == [-1] else [f"{base}[{run}]" for run in _runs(sorted(numbers))]
    if len(parts) > most:
        return f"{', '.join(parts[:most])}, … ({len(names)} nodes)"
    return ", ".join(parts)


def _runs(numbers: list[int]) -> list[str]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [f"{run[0]}..{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
