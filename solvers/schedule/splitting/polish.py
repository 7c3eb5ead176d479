"""Improve a plan in the time that is left, by searches that ignore modules."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.lns.lns import search
from mtpp_dsl.solvers.schedule.search.batch_annealing import improve

__all__ = ["polish"]

ANNEALING, SECONDS = 0.5, 60.0
"""Of the time, and at most, for annealing where large neighbourhoods follow."""


def polish(
    problem: Problem, plan: Plan, pool: ProcessPool | None, incumbent: Incumbent, limits: Limits, progress: Progress
) -> list[str]:
    """Hand *incumbent* better plans than *plan*, until the searches give up or time is up; return what was tried.

    Args:
        problem: a makespan on links, or a batched throughput.
        plan: to start from.
        pool: processes of CP-SAT for large neighbourhoods; None for annealing alone.
        incumbent: takes the plans.
        limits: when to stop, and the seed.
        progress: when to stop.
    """
    if problem.objective.batch is not None:
        share = limits.remaining if pool is None else min(SECONDS, ANNEALING * limits.remaining)
        found = improve(problem, plan, limits.within(share), progress)
        incumbent.take(found)
        if pool is None:
            return ["annealing"]
        with suppress(SearchEnded):
            search(problem, found, pool, incumbent, limits, progress)
        return ["annealing", "large neighbourhoods"]
    method: Method = registry.load(registry.METHODS, "annealing")()
    if method.accepts(problem) is not None:
        return []
    share = limits.remaining if pool is None else min(SECONDS, ANNEALING * limits.remaining)
    own = replace(limits.within(share), start=plan, solver="highs", solver_options={}, threads=None)
    better = method.solve(problem, own, progress).plan
    if better is not None and incumbent.take(better):
        plan = better
    if pool is None:
        return ["annealing"]
    with suppress(SearchEnded):
        search(problem, plan, pool, incumbent, limits, progress)
    return ["annealing", "large neighbourhoods"]
