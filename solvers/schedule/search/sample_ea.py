"""One run of method ``ea``, for one sample."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.schedule.list.list_rules import met, upward_ranks
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import in_order
from mtpp_dsl.solvers.schedule.search.sample_held import Holding
from mtpp_dsl.solvers.schedule.search.sample_mutation import EVOLVE
from mtpp_dsl.solvers.schedule.search.sample_state import plan_of

__all__ = ["Run"]

CHUNK = 1_000
FEWEST = 2_000


class Run(Holding):
    """One call: mutations of the parent until none has helped for long."""

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, patience: int) -> None:
        super().__init__("ea", problem, limits, progress)
        self._quiet = max(FEWEST, patience * len(self._field.need) * problem.k)

    def result(self) -> Result:
        """Mutate until done or stopped, and return the best plan."""
        first = self._first()
        if first is None:
            return self.answer()
        instance = self._instance
        order = in_order(instance.graph, upward_ranks(instance))
        if self.plan is None:
            self.keep(plan_of(instance, order, first))
        home = np.zeros(len(self._field.need), np.int64)
        home[self._field.group] = first
        random = np.random.default_rng(self._limits.seed)
        noise = np.empty(max(1 << 16, 8 * len(home)))
        run = EVOLVE.pick(self._quiet * (instance.n + instance.m), self._progress.say)
        cost, known, quiet = np.full(1, np.inf), np.inf, 0
        while quiet < self._quiet and instance.n and not self.done:
            random.random(out=noise)
            quiet += run(noise, CHUNK, self._field, order, home, cost)
            if cost[0] < known:
                known, quiet = float(cost[0]), 0
                self.keep(plan_of(instance, order, home[self._field.group]))
        return self.answer()

    def _first(self) -> Ints | None:
        """Return the devices of the plan to start from, if it is one, else the fastest of every node, within memory."""
        start = self._limits.start
        if start is not None and self.keep(start):
            return np.array(start.assignment)
        lister = Lister.of(self._instance)
        if lister is None:
            self._incumbent.note(
                "no way was found to give every node a device within memory, links and the constraints"
            )
            return None
        plan = met(lister)
        return np.array(plan.assignment) if self.keep(plan) else None
