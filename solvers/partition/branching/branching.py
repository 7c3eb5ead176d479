"""Method ``branching``: the best split over equal devices, proved, for graphs of a few dozen nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.branching.bitsets import MAX_NODES
from mtpp_dsl.solvers.reductions.all_reductions import reduce
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

NAME = "branching"
PART_SHARE = 0.2
"""The share of the time for parting the devices in two, before the search that proves more."""


def branching(problem: Problem, limits: Limits, progress: Progress, annealing: Callable[..., Method]) -> Result:
    """Return an optimal plan and its proof, or the best of both within the limits; *annealing* makes a search."""
    infeasibility = quick(problem)
    if infeasibility is not None:
        return progress.result(NAME, limits, "infeasible", infeasibility=infeasibility)
    from mtpp_dsl.solvers.algorithms.least_load import least_load

    known = least_load(problem, limits, progress).bound
    small, lift = as_small(problem)
    if lift is identity:
        return _run(problem, limits, progress, known, annealing)
    if limits.start is not None:
        progress.report_plan(limits.start, evaluate(problem, limits.start).cost)
    outer = Reduced(problem, small, lift, progress)
    result = _run(small, replace(limits, start=None), outer.listener(), known, annealing)
    plan = progress.plan if result.plan is None else _better(problem, lift(result.plan), limits.start)
    return replace(
        result,
        plan=plan,
        evaluation=None if plan is None else evaluate(problem, plan),
        log=tuple(progress.log),
    )


def _run(
    problem: Problem, limits: Limits, progress: Progress, known: Bound | None, annealing: Callable[..., Method]
) -> Result:
    """Return the result for a problem that is as small as it gets, and the bound *known*."""
    from mtpp_dsl.solvers.partition.branching.branching_search import MAX_WITHOUT_ANNEALING
    from mtpp_dsl.solvers.partition.branching.chains_run import ChainsRun
    from mtpp_dsl.solvers.partition.branching.halves_run import HalvesRun, halved

    n = problem.graph.n
    if n > MAX_NODES or halved(problem):
        return HalvesRun(problem, limits, progress, annealing).result(known)
    if n <= MAX_WITHOUT_ANNEALING:
        return ChainsRun(problem, limits, progress, annealing).result(known)
    first = limits.within(PART_SHARE * limits.remaining)
    parted = HalvesRun(problem, first, progress, annealing, alone=False).result(known)
    if parted.termination in ("gap", "interrupted"):
        return parted
    return ChainsRun(problem, limits, progress, annealing).result(parted.bound, parted.plan)


def as_small(problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
    """Return a smaller problem with the same optimum, and the way back."""
    if any(problem.of(Colocate)):
        return reduce(problem)
    if Contract().accepts(problem) is not None:
        return problem, identity
    small, lift = Contract().apply(problem)
    return (small, lift) if small.graph.n < problem.graph.n else (problem, identity)


def _better(problem: Problem, plan: Plan, start: Plan | None) -> Plan:
    if start is not None and evaluate(problem, start).cost < evaluate(problem, plan).cost:
        return start
    return plan
