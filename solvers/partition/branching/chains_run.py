"""One run of method ``branching`` on few nodes: proofs that there is no plan below some load, or better plans."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.branching.bitsets import instance_of, unit_of
from mtpp_dsl.solvers.partition.branching.branching_search import BranchingSearch, Doubtful
from mtpp_dsl.solvers.partition.branching.chains import Chains
from mtpp_dsl.solvers.partition.branching.weights import Spent, WeightsRow, WeightsSearch

__all__ = ["ChainsRun"]

WIDTH = 300
"""Ideals after each device that a search for plans goes on from."""
EFFORT = 2_000_000
"""Steps of the first attempts; four times that when they settle nothing any more."""
NEAR = 2e-3
"""Relative: a cap no further than this above what is refuted is near."""
DETAIL = (
    "no chain of ideals has all blocks below this: blocks were branched on, and weights of the nodes showed what the "
    "devices left cannot hold; loads were added up in whole numbers, rounded down"
)


class ChainsRun(BranchingSearch):
    """Solves one problem of few nodes.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, annealing: Callable[..., Method]) -> None:
        unit = unit_of(problem)
        self._data = data = instance_of(problem, unit)
        super().__init__(problem, limits, progress, annealing, unit, rounding=len(data.work) + len(data.cost) + 4)
        self._k = min(problem.k, max(problem.graph.n, 1))
        self._top = int(data.work.sum() + data.cost.sum() + data.params.sum())

    def _search(self) -> None:
        """Settle caps between one up to which there is no split and the best plan, until they meet.

        The largest cap that matters comes first. One that takes more effort than allowed is followed by one half-way to
        what is refuted; where that is near, more effort is allowed, or the largest cap is next.
        """
        lower = -1 if self._incumbent.bound is None else int(self._incumbent.bound.cost / self._unit) - 2
        weights = WeightsSearch(self._data, self._k, self._progress.say, self._incumbent.pause)
        self._learn(weights)
        effort, ceiling = EFFORT, inf
        while not self._closed and lower < self._last:
            self._incumbent.pause()
            high = min(self._last, ceiling)
            far = ceiling < inf and high - lower > NEAR * lower
            cap = (lower + int(high) + 1) // 2 if far or high < self._last else self._last
            weights.effort = effort
            try:
                refuted = self._settle(weights, cap)
            except Spent:
                ceiling = cap
                if cap - lower <= NEAR * lower:
                    effort, ceiling = 4 * effort, inf
                continue
            if refuted is None:
                self._learn(weights)
                continue
            lower = refuted
            self._prove(lower)
            if ceiling < inf and ceiling - lower <= NEAR * lower:
                effort, ceiling = 4 * effort, inf

    def _settle(self, weights: WeightsSearch, cap: int) -> int | None:
        """Return a cap up to which there is no split, *cap* or more; None if better plans were found."""
        row = weights.row(cap)
        if row.refutes:
            return cap
        improved = False
        while (answer := self._chains(cap, row, weights).search(WIDTH)).outcome == "found":
            self._take(answer.blocks)
            improved, cap = True, min(cap, self._last)
        if improved:  # other weights are better now
            return None
        if answer.outcome == "unknown":
            answer = self._chains(cap, row, weights).search()
        if answer.outcome == "none":
            return cap
        self._take(answer.blocks)
        return None

    def _chains(self, cap: int, row: WeightsRow, weights: WeightsSearch) -> Chains:
        return Chains(self._data, self._k, cap, row, weights, self._progress.say, self._incumbent.pause)

    @property
    def _last(self) -> int:
        return self._below(self._top)

    def _prove(self, cap: int) -> None:
        """Report that there is no split up to a cap."""
        if cap < self._top:
            self._prove_units(cap + 1, DETAIL)
            return
        clash = tuple(str(c) for c in self._problem.constraints if isinstance(c, (Acyclic, Memory)))
        self._infeasibility = Infeasibility("no chain of ideals fits on the devices; all were tried", clash)

    def _take(self, blocks: list[int]) -> None:
        assignment = np.zeros(self._problem.graph.n, np.int64)
        for device, block in enumerate(blocks):
            assignment[[v for v in range(len(assignment)) if block >> v & 1]] = device
        if not self._incumbent.take(Plan.create(self._problem, assignment)):
            raise Doubtful

    def _learn(self, weights: WeightsSearch) -> None:
        """Tell of the blocks of the best plan."""
        if self._incumbent.plan is not None:
            device = self._incumbent.plan.assignment
            sets = [sum(1 << int(v) for v in np.flatnonzero(device == d)) for d in range(self._problem.k)]
            weights.pool.add(block for block in sets if block)
