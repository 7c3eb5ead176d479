"""What a run of a search for schedules holds: the incumbent, and the memory that its plans keep to."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

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
        self._incumbent = Incumbent(name, problem, limits, progress, known=floor, misfit=self._misfit)
        self.keep, self.closed = self._incumbent.take, self._incumbent.closed

    @abstractmethod
    def fits(self, plan: Plan) -> bool:
        """Return whether every device holds what *plan* puts there, to the last byte."""

    def _misfit(self, plan: Plan) -> str | None:
        if self.fits(plan):
            return None
        return "a device holds more than its memory, by less than the check of plans lets pass"

    def begin(self) -> None:
        """Keep the plan to start from, as far as it breaks nothing."""
        self._incumbent.take_start()

    def answer(self) -> Result:
        """Return the best plan, and why the run ended."""
        return self._incumbent.result()

    @property
    def plan(self) -> Plan | None:
        """The best plan."""
        return self._incumbent.plan

    @property
    def cost(self) -> float:
        """The least makespan."""
        return self._incumbent.cost

    @property
    def done(self) -> bool:
        """Whether there is no more time, or no need for more."""
        return self._incumbent.done
