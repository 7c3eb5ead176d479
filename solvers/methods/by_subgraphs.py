"""Methods for the latency of one sample by subgraphs (tarnawski2020)."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.constraints import BatchSizes
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import DECISIONS, EVERY, Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result, relative_gap
from mtpp_dsl.core.plans.subgraphs import unclear, undefined
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.shared_scopes import SUBGRAPHS

PATIENCE = 24
BOUND_SHARE = 0.3
BOUND_SECONDS = 20.0
BESIDE_SHARE = 0.3
"""Of the time, what is kept for the bound with chains beside a path, which takes the cost of the plan found."""


class LatencySearch(Scoped, MethodBase):
    """Method ``latency-search``: the problem of tarnawski2020's latency programme, by search.

    First the bound ``path-hull`` without chains beside its paths, unless it is known; with these, at the end. Then
    parts of topological orders, each the cheapest by a dynamic programme if all took place in a row, and annealings
    from these, from everything on devices with ``io = free``, and from the best plan: two side by side in a round,
    rounds ever longer. They move a node, a part of a subgraph or a whole one, with what is between and what is
    colocated, and may exceed memories on the way.

    Args:
        patience: it ends after so many rounds without a better plan.
    """

    name = "latency-search"
    gives: Gives = "plan and bound"
    summary = "latency by contiguous subgraphs: simulated annealing and the bound path-hull (tarnawski2020, section 4)"
    scopes = (SUBGRAPHS,)

    def __init__(self, patience: int = PATIENCE) -> None:
        self.patience = patience

    def beyond(self, problem: Problem) -> str | None:
        """Return what the problem leaves open, or asks for that is not kept together, or None."""
        return unclear(self.name, problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any, and a bound."""
        from mtpp_dsl.solvers.latency.latency_rounds import LatencyRounds

        bound = progress.bound
        if bound is not None and bound.method == PathHull.name:
            return replace(LatencyRounds(self.name, problem, limits, progress, self.patience).result(), bound=bound)
        share = limits.within(min(BOUND_SHARE * limits.remaining, BOUND_SECONDS))
        bounded = PathHull(sides=False).solve(problem, share, progress)
        if bounded.infeasibility is not None or bounded.bound is None:
            return replace(bounded, method=self.name)
        search = limits.within((1 - BESIDE_SHARE) * limits.remaining)
        result = LatencyRounds(self.name, problem, search, progress, self.patience).result()
        bound = bounded.bound
        if result.cost is not None and relative_gap(result.cost, bound.cost) > limits.gap and not progress.stopped:
            bound = PathHull().solve(problem, limits, progress).bound
        return replace(result, bound=bound)


class PathHull(Scoped, MethodBase):
    """Method ``path-hull``: no search for plans, only a bound; constraints that take plans away cannot lower it.

    See :mod:`mtpp_dsl.solvers.latency.path_hull`. Paths are the longest by several weights of their nodes, then by
    weights with noise. The certificate is the path: another implementation finds the least cost along it again.

    Args:
        sides: whether to say more of the nodes beside the best path. It is of most use when a good plan is known.
    """

    name = "path-hull"
    gives: Gives = "bound"
    summary = "bound on a latency by subgraphs: what the subgraphs along a path must hold, read and write"
    scopes = (replace(SUBGRAPHS, constraints=EVERY, without=(BatchSizes,), decisions=DECISIONS, soft=True),)

    def __init__(self, sides: bool = True) -> None:
        self.sides = sides
        self.step = "beside" if sides else "along"

    def beyond(self, problem: Problem) -> str | None:
        """Return what the problem leaves open, or None."""
        return undefined(problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best bound of some paths."""
        from mtpp_dsl.solvers.latency.path_hull import path_hull

        return path_hull(problem, limits, progress, sides=self.sides)


class PublishedGreedy(Scoped, MethodBase):
    """Method ``published-greedy``: fill one accelerator after another along a topological order, the rest on CPUs.

    As ``greedy.cpp`` of the published code: units (colocated nodes, and those that cycles of these join) in a
    topological order; each goes to the current accelerator, or, where its memory is full, to the next; when the last is
    full, to the devices with ``io = free``. Times and tensors play no part. It ignores what a device supports; here a
    unit that the current device may not run goes beside host memory. The published order follows a hash table; this one
    is depth first from the sources in the order of the file: values differ where the order matters.
    """

    name = "published-greedy"
    gives: Gives = "plan"
    baseline = True
    summary = "fills accelerators one after another in topological order (tarnawski2020's greedy for latency)"
    scopes = (SUBGRAPHS,)

    def beyond(self, problem: Problem) -> str | None:
        """Return what the problem leaves open, or asks for that is not kept together, or None."""
        return unclear(self.name, problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the plan, if it is one."""
        from mtpp_dsl.solvers.latency.published_greedy import published_greedy

        return published_greedy(problem, limits, progress)
