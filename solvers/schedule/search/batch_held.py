"""What a run of a search for schedules of batches holds, and what its devices hold."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Bools
from mtpp_dsl.solvers.algorithms.windows.batch_bounds import batch_bound
from mtpp_dsl.solvers.runtime import schedule_incumbent as holding
from mtpp_dsl.solvers.schedule.state.batch_state import ROUNDING, field_of
from mtpp_dsl.views.batch_tasks import BatchInstance

__all__ = ["Holding", "within"]

SHARE = 0.1
"""Of the time for the bound that ends a search."""


class Holding(holding.Holding):
    """The best plan of a run for a batch; see :class:`mtpp_dsl.solvers.runtime.schedule_incumbent.Holding`."""

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress) -> None:
        brief = limits.within(SHARE * limits.remaining)
        proved = batch_bound(problem, "simple", "none", brief, Progress()).bound
        super().__init__(name, problem, limits, progress, 0.0 if proved is None else proved.cost)
        self._instance = BatchInstance.of(problem)
        self._field = field_of(self._instance)

    def fits(self, plan: Plan) -> bool:
        """Return whether every device holds what *plan* puts there."""
        return plan.batches is not None and bool(within(self._instance, plan).all())

    def answer(self) -> Result:
        """Return the best plan, and why the run ended."""
        if self.plan is None:
            self._incumbent.note("no schedule was found; this does not prove that there is none")
        return super().answer()


def within(instance: BatchInstance, plan: Plan) -> Bools:
    """Return [k] whether every device holds what a plan puts there."""
    assert plan.batches is not None
    size = plan.batches.sizes // instance.batching.chunk
    used = instance.batching.weights @ (size > 0) + instance.batching.share @ size
    return np.asarray(used <= instance.limit * (1 + ROUNDING))
