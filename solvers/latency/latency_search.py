"""Method ``latency-search``: plans for the latency of one sample by subgraphs."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.latency.subgraph_arrays import why_not

__all__ = ["LatencySearch"]

PATIENCE = 24
BOUND_SHARE = 0.3
BOUND_SECONDS = 20.0


class LatencySearch:
    """Method ``latency-search``: the problem of tarnawski2020's latency programme, by search.

    First the bound ``path-hull``, unless it is known. Then parts of topological orders, each the cheapest by a dynamic
    programme if all took place in a row, and annealings from these, from everything on devices with ``io = free``, and
    from the best plan: two side by side in a round, rounds ever longer. They move a node, a part of a subgraph or a
    whole one, with what is between and what is colocated, and may exceed memories on the way.

    Args:
        patience: it ends after so many rounds without a better plan.
    """

    name = "latency-search"
    gives: Gives = "plan and bound"
    summary = "latency by contiguous subgraphs: simulated annealing and the bound path-hull (tarnawski2020, section 4)"

    def __init__(self, patience: int = PATIENCE) -> None:
        self.patience = patience

    def accepts(self, problem: Problem) -> str | None:
        """Return why the search cannot honour the problem, or None."""
        return why_not(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any, and a bound."""
        from mtpp_dsl.solvers.latency.latency_rounds import Run
        from mtpp_dsl.solvers.latency.path_hull import PathHull

        bound = progress.bound
        if bound is None or bound.method != PathHull.name:
            share = limits.within(min(BOUND_SHARE * limits.remaining, BOUND_SECONDS))
            bounded = PathHull().solve(problem, share, progress)
            if bounded.infeasibility is not None:
                return replace(bounded, method=self.name)
            bound = bounded.bound
        return replace(Run(self.name, problem, limits, progress, self.patience).result(), bound=bound)
