"""The reach bound: how far chains of ideals get with the memories and the speeds of the devices."""

from __future__ import annotations

from math import inf

from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.algorithms.reach.measures import measured
from mtpp_dsl.solvers.algorithms.reach.targets import DETAIL, NONE, raise_bound
from mtpp_dsl.solvers.algorithms.reach.trade_off import Unfinished
from mtpp_dsl.solvers.bounds.partition.bound_instance import finished

NAME = "reach"
PAIRS_A_SECOND = 1e8
"""So many pairs of nodes are counted in a second, about: what is before a node, and what depends on it."""


def reach(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound; stopped early, that of the largest target refuted so far."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None or simple.bound is None:
        return progress.result(NAME, limits, simple.termination, infeasibility=simple.infeasibility)
    best = simple.bound
    if limits.remaining < problem.graph.n**2 / PAIRS_A_SECOND:
        return finished(NAME, limits, progress, best, complete=False)

    def report(cost: float) -> None:
        nonlocal best
        best = Bound(cost, method=NAME, proof="checked", by="mtpp", detail=DETAIL)
        progress.report_bound(best)

    try:
        low = raise_bound(
            measured(problem), simple.bound.cost, report, lambda: progress.stopped or limits.remaining <= 0
        )
    except Unfinished:
        return finished(NAME, limits, progress, best, complete=False)
    if low == inf:
        clash = tuple(str(rule) for rule in problem.of(Memory))
        return progress.result(NAME, limits, "infeasible", infeasibility=Infeasibility(NONE, clash))
    return finished(NAME, limits, progress, best, complete=True)
