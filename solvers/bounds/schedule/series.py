"""Bound makespans on links by modules between cut nodes, equal ones once: method ``series-bound``."""

from __future__ import annotations

from math import inf

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.windows.climbing import ROUNDING, no_way
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKinds
from mtpp_dsl.solvers.algorithms.windows.module_times import COUNTS, ModuleTimes
from mtpp_dsl.solvers.algorithms.windows.tighten import TimeUp

__all__ = ["series"]

NAME = "series-bound"


def series(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound of a chain of modules; if stopped early, of the largest count of nodes that was gone through.

    Everything in a module, transfers too, happens after the cut node before it has ended and before the one behind it
    starts. So with ``T_j(a, b)`` no more than the least time from the end of its entry on device a to the end of its
    exit on b, no schedule is shorter than the shortest way through all modules over the devices of the cut nodes.
    ``T_j(a, b)`` is when the exit can end at the earliest on b, if the entry ends on a at 0; see
    :func:`mtpp_dsl.solvers.algorithms.windows.earliest_starts.earliest`.
    """
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(NAME, limits, "infeasible", infeasibility=impossible)

    def pause() -> None:
        if progress.ended(limits) is not None:
            raise TimeUp

    best = Bound(0.0, NAME, "checked", "mtpp", "no time is negative")
    termination: Termination = "complete"
    chain: ModuleTimes | None = None
    try:
        chain = ModuleTimes(problem, ModuleKinds.of(problem, pause), pause, progress.say)
        for most in COUNTS:
            chain.deepen(most)
            cost = chain.length()
            if cost == inf:
                return no_way(problem, NAME, limits, progress)
            best = max(best, _bound(problem, cost, chain), key=lambda bound: bound.cost)
            progress.report_bound(best)
            incumbent = progress.incumbent
            if incumbent is not None and best.cost >= incumbent * (1 - limits.gap):
                termination = "gap"
                break
            if most >= chain.row.largest:
                break
    except TimeUp:
        termination = progress.ended(limits) or "time_limit"
        if chain is not None and chain.length() < inf:
            best = max(best, _bound(problem, chain.length(), chain), key=lambda bound: bound.cost)
            progress.report_bound(best)
    return progress.result(NAME, limits, termination, bound=best)


def _bound(problem: Problem, cost: float, chain: ModuleTimes) -> Bound:
    """Return the bound behind a length, less the possible rounding error of its sums."""
    row = chain.row
    detail = (
        f"the shortest way through {len(row.modules)} modules of {len(row.kinds)} kinds, of up to {row.largest} nodes"
    )
    return Bound(cost * (1 - ROUNDING * (1 + problem.graph.n / 1e3)), NAME, "checked", "mtpp", detail)
