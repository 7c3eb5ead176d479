"""Keep the best bound proved and the cost of the best plan known, while targets between them are tried."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import Protocol

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Termination, relative_gap
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.bounds.configuration.pricing_loop import Verdict

CLOSE = 1e-4
"""Relative: targets closer to one that failed are not tried."""
LONGEST = 300.0
"""Seconds for one target where there is no limit."""


class _Attempt(Protocol):
    """An attempt to prove one target."""

    def run(self, seconds: float) -> Verdict:
        """Go on for at most so long."""
        ...


class TargetSearch(ABC):
    """Raises the target from the bound known towards the cost of the best plan known.

    Args:
        problem: what is asked.
        bound: the best one known.
        limits: how long.
        progress: told of bounds; asked for plans and bounds of others.

    Attributes:
        bound: the best one proved.
    """

    def __init__(self, problem: Problem, bound: Bound, limits: Limits, progress: Progress) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self.bound = bound
        self._plan_cost = inf
        self._attempts = 0

    @abstractmethod
    def _keep(self, plan: Plan) -> None:
        """Keep the sets that the devices of a plan hold."""

    def _see(self, plan: Plan | None) -> None:
        """Aim at the cost of a plan, and keep its sets."""
        if plan is not None:
            self._plan_cost = min(self._plan_cost, evaluate(self._problem, plan).cost)
            self._keep(plan)

    def _look(self) -> bool:
        """Take a better bound of somebody else; return whether somebody has found a better plan."""
        cost, proved = self._progress.incumbent, self._progress.bound
        if proved is not None and proved.cost > self.bound.cost:
            self.bound = proved
        if cost is None or cost >= self._plan_cost:
            return False
        self._see(self._progress.plan)
        self._plan_cost = min(self._plan_cost, cost)
        return True

    def _idle(self, target: float) -> bool:
        """Return whether a target is of no use any more: somebody has proved more, or found a plan below it."""
        progress = self._progress
        proved, cost = progress.bound, progress.incumbent
        beaten = proved is not None and proved.cost >= target
        return progress.stopped or beaten or (cost is not None and cost < target)

    @property
    def _closed(self) -> bool:
        return self._plan_cost < inf and relative_gap(self._plan_cost, self.bound.cost) <= self._limits.gap

    @property
    def _ended(self) -> Termination | None:
        if self._progress.stopped:
            return "interrupted"
        return "time_limit" if self._limits.remaining <= 0 else None

    def _run(self, attempt: _Attempt, target: float, share: float, least: float) -> Verdict:
        """Try to prove a target, for a share of the time left, and at least *least* seconds."""
        remaining = self._limits.remaining
        verdict = attempt.run(min(remaining, max(share * remaining, least), LONGEST))
        self._progress.say(f"target {target:.6g}: {verdict}")
        return verdict

    def _raise(self, bound: Bound) -> None:
        self.bound = bound
        self._progress.report_bound(bound)
