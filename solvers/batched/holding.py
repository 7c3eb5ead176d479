"""What a run of a search for schedules of batches holds: the best plan, and when there is no more to do."""

from __future__ import annotations

from threading import RLock

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.graph import Bools
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Result, relative_gap
from mtpp_dsl.solvers.baselines.common import Taker
from mtpp_dsl.solvers.batched.field import ROUNDING, field_of
from mtpp_dsl.solvers.batched.instance import BatchInstance
from mtpp_dsl.solvers.bounds.simple import Simple

__all__ = ["Holding", "within"]

SHARE = 0.1
"""Of the time for the bound that ends a search."""


class Holding:
    """The best plan of a run; threads may share it.

    Args:
        name: of the method.
        problem: a batched throughput.
        limits: when to stop, and where to start.
        progress: told of plans.
    """

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._instance = BatchInstance.of(problem)
        self._field = field_of(self._instance)
        self._taker = Taker(name, problem, limits, progress)
        self._lock = RLock()
        simple = Simple()
        brief = limits.within(SHARE * limits.remaining)
        proved = None if simple.accepts(problem) else simple.solve(problem, brief, Progress()).bound
        self._simple = 0.0 if proved is None else proved.cost

    def begin(self) -> None:
        """Keep the plan to start from, as far as it breaks nothing."""
        start = self._limits.start
        if start is not None and not self.keep(start):
            why = self._taker.broken or "a device holds more than its memory, by less than the check of plans lets pass"
            self._taker.note(f"the start was dropped, it is no plan: {why}")

    def keep(self, plan: Plan) -> bool:
        """Keep *plan* if it is the best; return whether it breaks no constraint."""
        if plan.batches is None or not within(self._instance, plan).all():
            return False
        with self._lock:
            return self._taker.take(plan)

    def closed(self, cost: float) -> bool:
        """Return whether a cost is close enough to the bound known."""
        proved = self._progress.bound
        bound = max(self._simple, 0.0 if proved is None else proved.cost)
        return relative_gap(cost, bound) <= self._limits.gap

    def answer(self) -> Result:
        """Return the best plan, and why the run ended."""
        if self.plan is None:
            self._taker.note("no schedule was found; this does not prove that there is none")
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


def within(instance: BatchInstance, plan: Plan) -> Bools:
    """Return [k] whether every device holds what a plan puts there."""
    assert plan.batches is not None
    size = plan.batches.sizes // instance.batching.chunk
    used = instance.batching.weights @ (size > 0) + instance.batching.share @ size
    return np.asarray(used <= instance.limit * (1 + ROUNDING))
