"""One run of method ``branching`` on two devices."""

from __future__ import annotations

import heapq

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.graph import Bools
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.branching.halves import Halves
from mtpp_dsl.solvers.branching.holding import Holding
from mtpp_dsl.solvers.branching.instance import unit_of

__all__ = ["HalvesRun"]

BITS = 38
"""All work and tensors sum to about this power of two of the units that loads are counted in."""
STEP = 1e-4
"""Bounds are reported when they are better by this share."""
DETAIL = (
    "no ideal and its rest have both loads below this: branch and bound over the nodes of the ideal, with minimum cuts "
    "for the best multiplier between the two loads; all in whole numbers, loads rounded down"
)


class HalvesRun(Holding):
    """Splits a graph over two equal devices, neither of whose memory matters.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress) -> None:
        super().__init__(problem, limits, progress, unit_of(problem, BITS), rounding=2 * problem.graph.n + 4)
        self._least = 1 << 62

    def _search(self) -> None:
        """Branch on the subproblem with the least bound, until that is the best plan's load."""
        halves = Halves(self._problem, self._unit, self._progress.say, self._take)
        left = [halves.root()]
        while left and not self._closed:
            self._pause()
            node = heapq.heappop(left)
            if node.bound >= self._below(1 << 62):
                break
            if self._bound is None or node.bound * self._unit > self._bound.cost * (1 + STEP):
                self._raise(node.bound, DETAIL)
            for part in halves.children(node):
                heapq.heappush(left, part)
        if not self._closed:
            self._raise(self._below(1 << 62), DETAIL)

    def _take(self, inside: Bools, load: int) -> None:
        """Keep the plan of an ideal, if it is better."""
        if load < min(self._least, self._below(1 << 62)):
            self._least = load
            self._keep(Plan.create(self._problem, (~inside).astype(int)))
