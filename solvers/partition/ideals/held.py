"""What a run of method ``ideals`` holds, keeps and returns."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.problem import Problem

__all__ = ["Ended", "Holding"]


class Ended(Exception):
    """Time is up, or somebody asked to stop."""


class Holding:
    """The best plan and bound of one run, and why it ends; a run adds :meth:`_go`.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        patience: seconds after which it ends, before its limits, unless :attr:`_few`.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, patience: float = float("inf")) -> None:
        self._patience = limits.within(patience)
        self._few = False  # whether the ideals are counted, and so few that the search is near its end
        self._original, self._limits, self._progress = problem, limits, progress
        self._plan: Plan | None = None
        self._cost = np.inf
        self._bound: Bound | None = None
        self._infeasibility: Infeasibility | None = None
        self._termination: Termination = "complete"
        self._notes: dict[str, None] = {}

    def result(self) -> Result:
        """Search until done or stopped, and return what is known."""
        try:
            self._start()
            self._pause()
            self._go()
        except Ended:
            self._termination = "interrupted" if self._progress.stopped else "time_limit"
        plan = self._plan
        if self._infeasibility is not None:
            self._termination = "infeasible"
        elif self._closed:
            self._termination = "gap"
        return self._progress.result(
            "ideals",
            self._limits,
            self._termination,
            plan=plan,
            bound=self._bound,
            evaluation=None if plan is None else evaluate(self._original, plan),
            infeasibility=self._infeasibility,
            notes=self._notes,
        )

    def _go(self) -> None:
        raise NotImplementedError

    def _start(self) -> None:
        start = self._limits.start
        if start is not None and self._keep(start) == np.inf:
            self._note("the start was dropped, it is no plan")

    @property
    def _closed(self) -> bool:
        if self._infeasibility is not None:
            return True
        bound = self._bound
        return self._plan is not None and bound is not None and relative_gap(self._cost, bound.cost) <= self._limits.gap

    def _keep(self, plan: Plan) -> float:
        """Keep a plan if it is one, and the best; return its cost, ``inf`` if it breaks a constraint."""
        if verify(self._original, plan):
            return np.inf
        cost = evaluate(self._original, plan).cost
        if cost < self._cost:
            self._plan, self._cost = plan, cost
            self._progress.report_plan(plan, cost)
        return cost

    def _raise(self, lower: float, detail: str) -> None:
        if self._bound is None or lower > self._bound.cost:
            self._bound = Bound(lower, method="ideals", proof="checked", by="mtpp", detail=detail)
            self._progress.report_bound(self._bound)

    def _pause(self) -> None:
        patience = self._limits if self._few else self._patience
        if self._progress.stopped or patience.remaining <= 0:
            raise Ended

    def _note(self, note: str) -> None:
        self._notes.setdefault(note)
