"""Plans and bounds at the same time, for splits without an order between the devices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Result, relative_gap
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.solvers.bounds.anchor import Anchor
from mtpp_dsl.solvers.bounds.configuration import Configuration

__all__ = ["anneal_and_bound"]

ALONE_SHARE, ALONE_SECONDS = 0.15, 10.0
"""The annealing has the machine to itself at first: the bound needs the cost of a good plan to aim at."""
QUICK_PATIENCE = 4


def anneal_and_bound(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Report plans and bounds until they meet, neither gets better, or the limits end it.

    The annealing and the solver of the bound's pricing problems both let other threads run.

    Args:
        problem: what :class:`Annealing` accepts.
        limits: when to end, and the plan to start from.
        progress: of both: each sees what the other has found.

    Returns:
        The result of the bound, which may prove that there is no plan.
    """
    if Configuration().accepts(problem) is not None:
        return Annealing().solve(problem, limits, progress)
    progress.say(f"bounding and annealing {problem.graph.n} nodes")
    bounded = Anchor().solve(problem, limits, progress)
    if bounded.infeasibility is not None or _done(limits, progress):
        return bounded
    alone = limits.within(min(ALONE_SECONDS, ALONE_SHARE * limits.remaining))
    Annealing(QUICK_PATIENCE).solve(problem, alone, progress)
    if _done(limits, progress):
        return bounded
    best = replace(limits.within(limits.remaining), start=progress.plan or limits.start)
    with ThreadPoolExecutor(1) as pool:
        annealed = pool.submit(Annealing().solve, problem, best, progress)
        bounded = Configuration().solve(problem, best, progress)
        annealed.result()
    return bounded


def _done(limits: Limits, progress: Progress) -> bool:
    if progress.stopped or limits.remaining <= 0:
        return True
    plan, bound = progress.cost, progress.bound
    return plan is not None and bound is not None and relative_gap(plan, bound.cost) <= limits.gap
