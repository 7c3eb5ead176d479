"""One run of method ``branching`` on two devices, or on two parts of more devices than it can tell apart."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import fsum

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.partition.branching.bitsets import unit_of
from mtpp_dsl.solvers.partition.branching.branching_search import BranchingSearch
from mtpp_dsl.solvers.partition.branching.halves import Halves

__all__ = ["HalvesRun", "halved"]

BITS = 38
"""All work and tensors sum to about this power of two of the units that loads are counted in."""
STEP = 1e-4
"""Bounds are reported when they are better by this share."""
PARTINGS = 3
"""How many ways to part more than two devices are tried, the most even ones first."""
INF = 1 << 62
DETAIL = (
    "{first} of {k} devices hold an ideal and the others the rest, and no ideal leaves both below their share of this: "
    "branch and bound over the nodes of the ideal, with minimum cuts for the best multiplier between the two loads; "
    "all in whole numbers, loads rounded down"
)


def halved(problem: Problem) -> bool:
    """Whether the best ideal and its rest are an optimal plan: over two devices, whose memory does not matter."""
    devices, graph = device_types(problem), problem.graph
    binds = fsum(graph.memory) > devices.memory[0] or fsum(graph.params) > devices.overflow[0]
    return problem.k == 2 and not binds


class HalvesRun(BranchingSearch):
    """Splits a graph over two equal devices; over more, or with memory that matters, it bounds what others find.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        annealing: makes the method that looks for plans.
        alone: whether it looks for better plans to the end, as no other search follows.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        annealing: Callable[..., Method],
        *,
        alone: bool = True,
    ) -> None:
        super().__init__(problem, limits, progress, annealing, unit_of(problem, BITS), rounding=2 * problem.graph.n + 4)
        self._exact, self._alone = halved(problem), alone
        self._least = INF

    def _search(self) -> None:
        """Part the devices in the most even ways; then look for better plans, where that was not all."""
        k = self._problem.k
        for first in sorted(range(1, k), key=lambda j: abs(2 * j - k))[:PARTINGS]:
            self._part(first)
        annealing = self._annealing()
        if self._alone and not self._exact and not self._closed and annealing.accepts(self._problem) is None:
            self._anneal(annealing, self._limits.remaining)
            self._incumbent.pause()

    def _part(self, first: int) -> None:
        """Branch on the subproblem with the least bound, until that is reached by an ideal, or by the best plan."""
        self._least = INF
        halves = Halves(self._problem, first, self._unit, self._progress.say, self._take)
        detail = DETAIL.format(first=first, k=self._problem.k)
        left = [halves.root()]
        while left and not self._closed:
            self._incumbent.pause()
            node = heapq.heappop(left)
            if node.bound >= self._enough:
                break
            if self._incumbent.bound is None or node.bound * self._unit > self._incumbent.bound.cost * (1 + STEP):
                self._prove_units(node.bound, detail)
            for part in halves.children(node):
                heapq.heappush(left, part)
        if not self._closed:
            self._prove_units(self._enough, detail)

    @property
    def _enough(self) -> int:
        """The bound of a subproblem that need not be looked into."""
        below = self._below(INF)
        return below if self._exact else min(below, self._least)

    def _take(self, inside: Bools, load: int) -> None:
        """Keep the plan of an ideal, if it is one and better."""
        if load >= self._least:
            return
        self._least = load
        if self._exact and load < self._below(INF):
            self._incumbent.take(Plan.create(self._problem, (~inside).astype(int)))
