"""What a run of a search for schedules of one sample holds, and where it starts."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import nowhere
from mtpp_dsl.solvers.algorithms.windows.shortest import shortest
from mtpp_dsl.solvers.runtime import schedule_incumbent as holding
from mtpp_dsl.solvers.schedule.search.sample_state import field_of, starts
from mtpp_dsl.views.tasks import Instance

__all__ = ["Holding"]


class Holding(holding.Holding):
    """The best plan of a run for a makespan on links."""

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress) -> None:
        impossible = nowhere(problem, Limits(), Progress())
        proved = (impossible or shortest(problem, "simple", Limits(), Progress())).bound
        super().__init__(name, problem, limits, progress, 0.0 if proved is None else proved.cost)
        self._instance = Instance.of(problem)
        self._field = field_of(self._instance)

    def fits(self, plan: Plan) -> bool:
        """Return whether every device holds what *plan* puts there, to the last byte."""
        used = np.bincount(plan.assignment, weights=self._instance.memory, minlength=self._instance.k)
        return bool((used <= self._instance.limit).all())

    def begin(self) -> None:
        """Keep the plan to start from and those of list schedulers, as far as they break nothing."""
        super().begin()
        for plan in starts(self._instance, self._limits, self._progress):
            self.keep(plan)
        if self.plan is None:
            self._incumbent.note("no schedule to start from was found; this does not prove that there is none")
