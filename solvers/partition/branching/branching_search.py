"""Begin and end both searches of method ``branching``."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

PLAN_SHARE, PLAN_SECONDS, PATIENCE = 0.3, 3.0, 3
MAX_WITHOUT_ANNEALING = 12
"""In graphs of so many nodes or fewer the search itself is faster than moving nodes."""
EXACT = 1e-6
"""A gap of no more than this asks for the optimum, but for what rounding may hide."""


class Doubtful(Exception):
    """A split that is found does not fit a memory by less than the units it is counted in."""


DOUBT = "a split misses a memory by less than memory is counted in here: the search ends with what it has proved so far"


class BranchingSearch:
    """One run of a search; a derived class adds :meth:`_search`.

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
        self._incumbent = Incumbent("branching", problem, limits, progress)
        self._infeasibility: Infeasibility | None = None

    def _search(self) -> None:
        raise NotImplementedError

    def result(self, known: Bound | None, plan: Plan | None = None) -> Result:
        """Search until done or stopped, and return the best plan and bound, those *known* before included."""
        incumbent = self._incumbent
        incumbent.bound = known
        termination: Termination = "complete"
        try:
            if plan is None:
                self._begin()
            else:
                incumbent.take(plan)
            self._search()
        except SearchEnded:
            termination = self._progress.ended(self._limits) or "time_limit"
        except Doubtful:
            termination = "limit"
            incumbent.note(DOUBT)
        return incumbent.result("gap" if self._closed else termination, infeasibility=self._infeasibility)

    def _begin(self) -> None:
        """Take the plan to start from, and what a short annealing makes of it."""
        incumbent = self._incumbent
        incumbent.take_start()
        incumbent.pause()
        annealing = self._annealing(patience=PATIENCE if self._problem.graph.n > MAX_WITHOUT_ANNEALING else 1)
        if not self._closed and annealing.accepts(self._problem) is None:
            self._anneal(annealing, min(PLAN_SECONDS, PLAN_SHARE * self._limits.remaining))

    def _anneal(self, annealing: Method, seconds: float) -> None:
        """Take the plan that *annealing* finds from the best one."""
        limits = self._limits.within(seconds, start=self._incumbent.plan)
        plan = annealing.solve(self._problem, limits, self._progress).plan
        if plan is not None:
            self._incumbent.take(plan)

    def _prove_units(self, lower: int, detail: str) -> None:
        """Report that no plan has all loads, in whole units, below *lower*."""
        self._incumbent.prove(Bound(lower * self._unit, "branching", "checked", "mtpp", detail))

    @property
    def _best(self) -> float:
        """The least cost of any plan that somebody knows."""
        known = self._progress.incumbent
        return self._incumbent.cost if known is None else min(self._incumbent.cost, known)

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
        return self._infeasibility is not None or self._incumbent.closed(self._best)
