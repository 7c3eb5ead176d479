"""Results for people: what every device does, the objective, the bound, the gap."""

from __future__ import annotations

import sys
from typing import IO

from rich.text import Text

from mtpp_dsl.core.base.units import counted, format_gap, format_quantity, format_share, times
from mtpp_dsl.core.plans.cache_pool import CachePool, cache_pool
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.pipeline import Iteration, iteration_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result
from mtpp_dsl.core.plans.target_cost import TargetCost
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.show.report.activities import Timeline
from mtpp_dsl.show.report.columns import facts, wrapped
from mtpp_dsl.show.report.gantt import critical_path, gantt
from mtpp_dsl.show.report.loads import loads, memory
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.reached import headed, paid, reached
from mtpp_dsl.show.report.times import sources_in_words

__all__ = ["show", "summary"]

_ENDED = {
    "gap": "within the requested gap",
    "complete": "ran to its end",
    "time_limit": "stopped at the time limit",
    "interrupted": "interrupted",
    "infeasible": "no plan exists",
    "limit": "stopped at a limit of the solver",
    "error": "ended by a failure",
    "running": "still running",
}


def summary(problem: Problem, result: Result, width: int | None = None, *, whole: bool = False) -> list[Text]:
    """Return the lines that ``mtpp solve`` prints.

    Args:
        problem: what was asked.
        result: what was found.
        width: of the terminal; None leaves no device out and breaks no line, as for a file or another program.
        whole: name every node of a critical path.
    """
    lines = [*wrapped(_heading(problem), width, hanging=2), Text()]
    if result.infeasibility is not None:
        lines += [*_why_infeasible(result.infeasibility, width), Text()]
    timeline = None
    if result.plan is not None and result.evaluation is not None and result.plan.timed:
        timeline = Timeline(problem, result.plan)
        used = [memory(problem, result.evaluation, d) for d in range(problem.k)]
        lines += [*gantt(problem, timeline, used, width), Text()]
    elif result.plan is not None and result.evaluation is not None:
        lines += [*loads(problem, result.plan, result.evaluation, width), Text()]
        lines += [*routes(problem, result.plan, width), Text()] if result.plan.routes else []
    return lines + facts(_facts(problem, result, timeline, width, whole=whole), width)


def _heading(problem: Problem) -> Text:
    name = problem.origin.path or "problem"
    graph = f"{counted(problem.graph.n, 'node')}, {counted(problem.graph.m, 'edge')}"
    devices = f"{counted(problem.k, 'device')}, {problem.interconnect.keyword}"
    return Text.assemble((name, "bold"), f"  {headed(problem)} · {graph} · {devices}")


def _why_infeasible(reason: Infeasibility, width: int | None) -> list[Text]:
    lines = wrapped(Text.assemble(("No plan exists: ", "bold red"), reason.reason), width, hanging=2)
    if reason.clash:
        how = (
            "these cannot all hold; dropping any one resolves the conflict"
            if reason.minimal
            else "these cannot all hold"
        )
        lines += wrapped(Text(f"{how}:"), width, 2)
        for constraint in times(reason.clash):
            lines += wrapped(Text(constraint), width, 4, 6)
    return lines


def _facts(
    problem: Problem, result: Result, timeline: Timeline | None, width: int | None, *, whole: bool
) -> list[tuple[str, Text]]:
    objective = problem.objective
    rows: list[tuple[str, Text]] = []
    if result.objectives:
        rows += reached(problem, result)
    elif result.cost is not None:
        rows.append((objective.shown, Text(problem.valued(result.cost), "bold")))
    rows += paid(problem, result)
    if result.cost is not None and objective.batch is not None:
        rows.append(("makespan", Text(_makespan(problem, result.cost))))
    if result.evaluation is not None and result.evaluation.separate:
        rows.append(("parts", Text(_parts(problem, result.evaluation))))
    if result.plan is not None and result.evaluation is not None and objective.is_iteration:
        rows.append(("pass by pass", Text(_passes(problem, iteration_of(problem, result.plan, result.evaluation)))))
    for name, phase in result.evaluation.phases.items() if result.evaluation is not None else ():
        bottleneck, latency = (format_quantity(x, problem.time_unit) for x in (phase.bottleneck, phase.latency))
        rows.append((name, Text(f"bottleneck {bottleneck}, latency {latency}")))
    pool = None if result.plan is None else cache_pool(problem, result.plan)
    if pool is not None:
        rows.append(("cache", Text(held_by_caches(problem, pool))))
    if timeline is not None:
        room = None if width is None else width - len("critical path  ")
        rows.append(("critical path", critical_path(problem, timeline, room, whole=whole)))
    if result.bound is not None and not result.objectives:
        rows.append(("bound", _bound(problem, result.bound)))
    if result.objectives and result.plan is not None:
        ended = "optimal" if result.status == "optimal" else _ended(problem, result)
        rows.append(("ended", Text(ended)))
    elif result.gap is not None:
        rows.append(("gap", _gap(result)))
    elif result.infeasibility is None:
        missing = [name for name, part in (("plan", result.plan), ("bound", result.bound)) if part is None]
        rows.append(("ended", Text(f"{_ended(problem, result)}, without a {' or a '.join(missing)}")))
    if result.target is not None:
        rows.append(("target", limits_cost(problem, result.target, result)))
    if result.largest is not None:
        rows.append(("largest", Text(result.largest.in_words())))
    if result.plan is not None:
        hard = "every constraint without a penalty" if problem.soft_rows else "every constraint"
        verified = f"{hard} and every load, independently" if result.verified else "no"
        rows.append(("verified", Text(verified)))
    sources = sources_in_words(problem)
    if result.plan is not None and sources:
        rows.append(("times", Text(sources)))
    solver = f" with {result.solver}" if result.solver else ""
    rows.append(("method", Text(f"{result.method}{solver}, {_seconds(result.time.get('total', 0.0))}")))
    return [*rows, *(("note", Text(note)) for note in result.notes)]


def _makespan(problem: Problem, cost: float) -> str:
    batching = problem.batching
    inputs = counted(batching.inputs, "input")
    chunks = f", {batching.count} chunks of {batching.chunk}" if 1 < batching.count < batching.inputs else ""
    carried = "per input" if batching.per_input else "per batch"
    return f"{format_quantity(cost, problem.time_unit)} for {inputs}{chunks}; transfers {carried}"


def _parts(problem: Problem, evaluation: Evaluation) -> str:
    unit = problem.time_unit
    forward, backward = (float(part.max()) for part in (evaluation.forward, evaluation.backward))
    return f"forward {format_quantity(forward, unit)}, backward {format_quantity(backward, unit)}: the largest loads"


def _passes(problem: Problem, iteration: Iteration) -> str:
    """Return what an iteration takes where its passes are simulated, and what none of these stages is faster than."""
    unit, schedule = problem.time_unit, problem.objective.schedule
    least = format_quantity(iteration.bound, unit)
    if iteration.simulated is None:
        return f"not simulated, as there are too many; {least} at least with these stages"
    time = format_quantity(iteration.simulated, unit)
    return f"{time} as {schedule} orders them; {least} at least with these stages"


def held_by_caches(problem: Problem, pool: CachePool) -> str:
    """Return what the caches of a plan hold, in words."""
    fullest = f"{problem.devices[pool.device].name} is the fullest"
    block = 1 if problem.cache_blocks is None else problem.cache_blocks.block
    if pool.blocks is None or pool.tokens is None:
        return f"holds {pool.times:.4g} times what the nodes ask for; {fullest}"
    cut = f" in {counted(pool.blocks, 'block')} of {block}" if block > 1 else ""
    return f"{counted(pool.tokens, 'token')} on each device{cut}; {fullest}"


def _bound(problem: Problem, bound: Bound) -> Text:
    word = "no plan is below" if problem.objective.sense == "minimize" else "no plan is above"
    value = problem.valued(bound.cost)
    return Text.assemble((value, "bold"), f"  {word} this: {bound.method} by {bound.by}, {bound.proof}")


def _ended(problem: Problem, result: Result) -> str:
    """Return why the search ended: of several objectives, each but the last has a share of the time."""
    if problem.later and result.termination == "time_limit":
        return "an objective used up its share of the time"
    return _ENDED["complete" if result.termination == "gap" and result.plan is None else result.termination]


def _gap(result: Result) -> Text:
    assert result.gap is not None
    if result.status == "optimal":
        return Text.assemble(("0 %", "bold green"), "  optimal")
    return Text.assemble((format_gap(result.gap), "bold"), f"  {_ENDED[result.termination]}")


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.95 else f"{seconds:.2f} s"


# Write what the limits of a runtime cost, for people.


def limits_cost(problem: Problem, target: TargetCost, result: Result) -> Text:
    """Return in a sentence what the limits of the target cost against the optimum without them, or what is known."""
    word = "below" if problem.objective.sense == "minimize" else "above"
    value, bound = (None if cost is None else problem.valued(cost) for cost in (target.cost, target.bound))
    if target.share is not None:
        what = f"cost {format_gap(target.share)}" if target.share else "cost nothing"
        return Text(f"the limits of {target.name} {what} against the free optimum ({value})")
    if value is None and bound is None:
        return Text(f"{target.name}; what its limits cost is not known")
    least = format_gap(target.least) if target.least else ""
    most = "" if target.most is None else format_gap(target.most)
    known = [f"at least {least}"] if least else []
    known += [f"at most {most}"] if most else []
    if least and least == most:
        known = [most]
    best = f"the best plan found without them has {value}" if value is not None else "no plan was found without them"
    proved = f", and none is {word} {bound}" if bound is not None else ""
    if result.infeasibility is not None:
        return Text(f"{target.name} can run no plan; {best}{proved}")
    cost = f"cost {' and '.join(known)}" if known else "cost an unknown share"
    return Text(f"the limits of {target.name} {cost}: {best}{proved}")


# The routes of a plan that has several, as lines of a report.

MAX_NAMES = 2
"""A terminal shows so many nodes of a stage, or families of them."""


def routes(problem: Problem, plan: Plan, width: int | None) -> list[Text]:
    """Return a line for each route: its share of the inputs, and its devices in the order in which it comes to them.

    Args:
        problem: what was asked.
        plan: with several routes.
        width: of the terminal; None shows every node, each route in one line.
    """
    lines: list[Text] = []
    most = None if width is None else MAX_NAMES
    for route in plan.routes:
        exact = f" ({route.share})" if route.share.denominator < 1000 else ""
        share = f"{format_share(float(route.share), 1)}{exact}"
        stages: list[tuple[int, list[str]]] = []
        for v in problem.graph.topological_order:
            d = int(route.assignment[v])
            members = next((names for e, names in stages if e == d), None)
            if members is None:
                stages.append((d, members := []))
            members.append(problem.graph.names[v])
        path = " -> ".join(f"{problem.devices[d].name} {fold_names(names, most)}" for d, names in stages)
        lines += wrapped(Text.assemble((f"{share}  ", "bold"), (path, "dim")), width, hanging=2)
    return lines


# Results in a Python session, printed as the command line prints them.

WIDTH = 100
"""Columns where there is no terminal that has a width."""


def show(problem: Problem, result: Result, width: int | None = None, file: IO[str] | None = None) -> None:
    """Print what ``mtpp solve`` prints: styled on a terminal, plain elsewhere.

    Args:
        problem: what was asked.
        result: what was found.
        width: of the lines; None for that of the terminal, or :data:`WIDTH`.
        file: where to; None for standard output.
    """
    from rich.console import Console

    out = sys.stdout if file is None else file
    screen = Console(file=out, markup=False, emoji=False, highlight=False, force_jupyter=False)
    if not screen.is_terminal:
        lines = summary(problem, result, WIDTH if width is None else width)
        out.write("".join(f"{visible(line.plain).rstrip()}\n" for line in lines))
        return
    for line in summary(problem, result, screen.width if width is None else width):
        line.plain = visible(line.plain)
        screen.print(line, soft_wrap=True)
