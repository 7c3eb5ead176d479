"""What a run of method ``branching`` holds, keeps and returns."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.problem import Problem

__all__ = ["FEW", "Doubtful", "Holding"]

PLAN_SHARE, PLAN_SECONDS, PATIENCE = 0.3, 3.0, 3
FEW = 12
"""In graphs of so many nodes or fewer the search itself is faster than moving nodes."""
EXACT = 1e-6
"""A gap of no more than this asks for the optimum, but for what rounding may hide."""


class Ended(Exception):
    """Time is up, or somebody asked to stop."""


class Doubtful(Exception):
    """A split that is found does not fit a memory by less than the units it is counted in."""


DOUBT = "a split misses a memory by less than memory is counted in here: the search ends with what it has proved so far"


class Holding:
    """The best plan and bound of one run, and why it ends; a run adds :meth:`_search`.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        annealing: makes the method that looks for plans.
        unit: the time of one unit of loads.
        rounding: how many roundings there are in a load, at most.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        annealing: Callable[..., Method],
        unit: float,
        rounding: int,
    ) -> None:
        self._problem, self._limits, self._progress, self._annealing = problem, limits, progress, annealing
        self._unit, self._rounding = unit, rounding
        self._plan: Plan | None = None
        self._cost = inf
        self._bound: Bound | None = None
        self._infeasibility: Infeasibility | None = None
        self._notes: tuple[str, ...] = ()

    def _search(self) -> None:
        raise NotImplementedError

    def result(self, known: Bound | None, plan: Plan | None = None) -> Result:
        """Search until done or stopped, and return what is known, the bound *known* and a good *plan* included."""
        self._bound = known
        termination: Termination = "complete"
        try:
            if plan is None:
                self._begin()
            else:
                self._keep(plan)
            self._search()
        except Ended:
            termination = "interrupted" if self._progress.stopped else "time_limit"
        except Doubtful:
            termination, self._notes = "limit", (*self._notes, DOUBT)
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
        annealing = self._annealing(patience=PATIENCE if self._problem.graph.n > FEW else 1)
        if not self._closed and annealing.accepts(self._problem) is None:
            seconds = min(PLAN_SECONDS, PLAN_SHARE * self._limits.remaining)
            limits = self._limits.within(seconds, start=self._plan)
            found = annealing.solve(self._problem, limits, self._progress).plan
            if found is not None:
                self._keep(found)

    def _keep(self, plan: Plan) -> bool:
        """Keep a plan if it is one, and the best; return whether it is."""
        if verify(self._problem, plan):
            return False
        cost = evaluate(self._problem, plan).cost
        if cost < self._cost:
            self._plan, self._cost = plan, cost
            self._progress.report_plan(plan, cost)
        return True

    def _raise(self, lower: int, detail: str) -> None:
        """Report that no plan has all loads, in whole units, below *lower*."""
        cost = lower * self._unit
        if self._bound is None or cost > self._bound.cost:
            self._bound = Bound(cost, method="branching", proof="checked", by="mtpp", detail=detail)
            self._progress.report_bound(self._bound)

    @property
    def _best(self) -> float:
        """The least cost of any plan that somebody knows."""
        known = self._progress.incumbent
        return self._cost if known is None else min(self._cost, known)

    def _below(self, top: int) -> int:
        """Return the largest load that matters, in units, *top* at most.

        A plan below it is better than the best by more than rounding, and the gap.
        """
        if self._best == inf:
            return top
        gap = self._limits.gap if self._limits.gap > EXACT else 0.0
        return min(top, int(self._best * (1 - gap) / self._unit), int(self._best / self._unit) - self._rounding)

    @property
    def _closed(self) -> bool:
        if self._infeasibility is not None:
            return True
        bound = self._bound
        return bound is not None and relative_gap(self._best, bound.cost) <= self._limits.gap

    def _pause(self) -> None:
        if self._progress.stopped or self._limits.remaining <= 0:
            raise Ended
