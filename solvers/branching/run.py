"""One run of method ``branching``: a plan, then proofs that there is none below ever larger loads, or better plans."""

from __future__ import annotations

from math import inf

import numpy as np

from mtpp_dsl.constraints import Acyclic, Memory
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.solvers.branching.chains import Chains
from mtpp_dsl.solvers.branching.instance import instance_of, unit_of
from mtpp_dsl.solvers.branching.weights import Row, Spent, Weights
from mtpp_dsl.verification import verify

__all__ = ["Ended", "Run"]

PLAN_SHARE, PLAN_SECONDS = 0.1, 5.0
FEW = 12
"""In graphs of so many nodes or fewer the search itself is faster than moving nodes."""
WIDTH = 300
"""Ideals after each device that a search for plans goes on from."""
EFFORT = 2_000_000
"""Steps of the first attempts; four times that when they settle nothing any more."""
NEAR = 2e-3
"""Relative: a cap no further than this above what is refuted is near."""
EXACT = 1e-6
"""A gap of no more than this asks for the optimum, but for what rounding may hide."""
DETAIL = (
    "no chain of ideals has all blocks below this: blocks were branched on, and weights of the nodes showed what the "
    "devices left cannot hold; loads were added up in whole numbers, rounded down"
)


class Ended(Exception):
    """Time is up, or somebody asked to stop."""


class Run:
    """Solves one problem of few nodes.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._plan: Plan | None = None
        self._cost = inf
        self._bound: Bound | None = None
        self._infeasibility: Infeasibility | None = None
        self._notes: tuple[str, ...] = ()
        self._unit = unit_of(problem)
        self._data = instance_of(problem, self._unit)
        self._k = min(problem.k, max(problem.graph.n, 1))
        n, tensors = len(self._data.work), len(self._data.cost)
        self._rounding = n + tensors + 4
        self._top = int(self._data.work.sum() + self._data.cost.sum() + self._data.params.sum())

    def result(self, known: Bound | None) -> Result:
        """Search until done or stopped, and return what is known, the bound *known* included."""
        self._bound = known
        termination: Termination = "complete"
        try:
            self._begin()
            self._climb(-1 if known is None else int(known.cost / self._unit) - 2)
        except Ended:
            termination = "interrupted" if self._progress.stopped else "time_limit"
        if self._infeasibility is not None:
            termination = "infeasible"
        elif self._closed:
            termination = "gap"
        return Result(
            termination=termination,
            plan=self._plan,
            bound=self._bound,
            evaluation=None if self._plan is None else evaluate(self._problem, self._plan),
            method="branching",
            seed=self._limits.seed,
            time={"total": self._progress.elapsed},
            log=tuple(self._progress.log),
            infeasibility=self._infeasibility,
            notes=self._notes,
        )

    def _begin(self) -> None:
        start = self._limits.start
        if start is not None and not self._keep(start):
            self._notes = ("the start was dropped, it is no plan",)
        self._pause()
        annealing = Annealing() if self._problem.graph.n > FEW else Annealing(patience=1)
        if not self._closed and annealing.accepts(self._problem) is None:
            seconds = min(PLAN_SECONDS, PLAN_SHARE * self._limits.remaining)
            limits = self._limits.within(seconds, start=self._plan)
            found = annealing.solve(self._problem, limits, self._progress).plan
            if found is not None:
                self._keep(found)

    def _climb(self, lower: int) -> None:
        """Settle caps between *lower*, up to which there is no split, and the best plan, until they meet.

        The largest cap that matters comes first. One that takes more effort than allowed is followed by one half-way to
        *lower*; where that is near, more effort is allowed, or the largest cap is next.
        """
        weights = Weights(self._data, self._k, self._progress.say, self._pause)
        self._learn(weights)
        effort, ceiling = EFFORT, inf
        while not self._closed and lower < self._last:
            self._pause()
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

    @property
    def _last(self) -> int:
        """The largest cap that matters: a plan below it is better than the best by more than rounding, or the gap."""
        if self._plan is None:
            return self._top
        gap = self._limits.gap if self._limits.gap > EXACT else 0.0
        return min(int(self._cost * (1 - gap) / self._unit), int(self._cost / self._unit) - self._rounding)

    def _settle(self, weights: Weights, cap: int) -> int | None:
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

    def _chains(self, cap: int, row: Row, weights: Weights) -> Chains:
        return Chains(self._data, self._k, cap, row, weights, self._progress.say, self._pause)

    def _prove(self, cap: int) -> None:
        if cap >= self._top:
            kinds = (Acyclic, Memory)
            clash = tuple(str(c) for c in self._problem.constraints if isinstance(c, kinds))
            self._infeasibility = Infeasibility("no chain of ideals fits on the devices; all were tried", clash)
            return
        cost = (cap + 1) * self._unit
        if self._bound is None or cost > self._bound.cost:
            self._bound = Bound(cost, method="branching", proof="checked", by="mtpp", detail=DETAIL)
            self._progress.report_bound(self._bound)

    def _take(self, blocks: list[int]) -> None:
        assignment = np.zeros(self._problem.graph.n, np.int64)
        for device, block in enumerate(blocks):
            assignment[[v for v in range(len(assignment)) if block >> v & 1]] = device
        assert self._keep(Plan.create(self._problem, assignment)), "a split that is no plan, or no better one"

    def _keep(self, plan: Plan) -> bool:
        """Keep a plan if it is one, and the best; return whether it is."""
        if verify(self._problem, plan):
            return False
        cost = evaluate(self._problem, plan).cost
        if cost < self._cost:
            self._plan, self._cost = plan, cost
            self._progress.report_plan(plan, cost)
        return True

    def _learn(self, weights: Weights) -> None:
        """Tell of the blocks of the best plan."""
        if self._plan is not None:
            device = self._plan.assignment
            sets = [sum(1 << int(v) for v in np.flatnonzero(device == d)) for d in range(self._problem.k)]
            weights.pool.add(block for block in sets if block)

    @property
    def _closed(self) -> bool:
        if self._infeasibility is not None:
            return True
        bound = self._bound
        return bound is not None and relative_gap(self._cost, bound.cost) <= self._limits.gap

    def _pause(self) -> None:
        if self._progress.stopped or self._limits.remaining <= 0:
            raise Ended
