"""What a run of a search for schedules holds: the best plan, and when there is no more to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import RLock

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result, relative_gap
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.runtime.results import Taker

__all__ = ["Holding"]


class Holding(ABC):
    """The best plan of a run; threads may share it.

    Args:
        name: of the method.
        problem: a makespan on links, of one sample or of a batch.
        limits: when to stop, and where to start.
        progress: told of plans.
        floor: what no plan costs less than.
    """

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress, floor: float) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._taker = Taker(name, problem, limits, progress)
        self._lock = RLock()
        self._floor = floor

    @abstractmethod
    def fits(self, plan: Plan) -> bool:
        """Return whether every device holds what *plan* puts there, to the last byte."""

    def begin(self) -> None:
        """Keep the plan to start from, as far as it breaks nothing."""
        start = self._limits.start
        if start is not None and not self.keep(start):
            why = self._taker.broken or "a device holds more than its memory, by less than the check of plans lets pass"
            self._taker.note(f"the start was dropped, it is no plan: {why}")

    def keep(self, plan: Plan) -> bool:
        """Keep *plan* if it is the best; return whether it breaks no constraint."""
        if not self.fits(plan):
            return False
        with self._lock:
            return self._taker.take(plan)

    def closed(self, cost: float) -> bool:
        """Return whether a cost is close enough to the bound known."""
        proved = self._progress.bound
        bound = max(self._floor, 0.0 if proved is None else proved.cost)
        return relative_gap(cost, bound) <= self._limits.gap

    def answer(self) -> Result:
        """Return the best plan, and why the run ended."""
        return self._taker.result("gap" if self.closed(self.cost) else "complete")

    @property
    def plan(self) -> Plan | None:
        """The best plan."""
        return self._taker.plan

    @property
    def cost(self) -> float:
        """The least makespan."""
        return self._taker.cost

    @property
    def done(self) -> bool:
        """Whether there is no more time, or no need for more."""
        return self._progress.stopped or self._limits.remaining <= 0 or self.closed(self.cost)
