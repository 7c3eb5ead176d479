"""The biased (1+1) evolutionary algorithm on batches."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.list.batch_run import BatchLister, mean_carry, mean_time
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward
from mtpp_dsl.solvers.schedule.search.batch_held import Holding
from mtpp_dsl.solvers.schedule.search.batch_mutation import EVOLVE, noise_of
from mtpp_dsl.solvers.schedule.search.batch_starts import somewhere
from mtpp_dsl.solvers.schedule.state.batch_state import Field, is_plan, order_of, recount, state_of
from mtpp_dsl.solvers.schedule.state.batch_timing import trial_of

__all__ = ["BatchEa"]

CHUNK = 1_000
FEWEST = 2_000
CHARGE = 0.2
"""Of a device twice over its limit, as a share of the first makespan, nearly."""


class BatchEa(Holding):
    """One run: the parent is at first what ``met`` makes, or any spreads of supported sizes.

    Args:
        problem: a batched throughput.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: children in a row, per class and device, without a shorter schedule, after which it ends.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, patience: int) -> None:
        super().__init__("ea", problem, limits, progress)
        self._quiet = max(FEWEST, patience * (int(self._instance.together.max(initial=-1)) + 1) * problem.k)

    def result(self) -> Result:
        """Mutate until done or stopped, and return the best plan."""
        field, instance = self._field, self._instance
        self.begin()
        if field is None or instance.n == 0 or self.done:
            return self.answer()
        order = in_order(instance.graph, upward(instance.graph, mean_time(instance), mean_carry(instance)))
        state = state_of(field, self._first(field), np.zeros((instance.n, instance.k)))
        trial = trial_of(field, state)
        random = np.random.default_rng(self._limits.seed)
        noise = np.empty(max(1 << 16, 4 * noise_of(instance.k, instance.chunks)))
        run = EVOLVE.pick(self._quiet * (instance.n + instance.m), self._progress.say)
        run(noise, 1, 1.0, field, state, trial, order)
        charge = CHARGE * float(trial.cost[0]) or 1.0
        state.cost[0] = np.inf
        known, quiet = np.inf, 0
        while quiet < self._quiet and not self.done:
            random.random(out=noise)
            quiet += run(noise, CHUNK, charge, field, state, trial, order)
            recount(field, state)
            if state.cost[0] < known:
                known, quiet = float(state.cost[0]), 0
                if is_plan(field, state):
                    self.keep(instance.plan(state.home[field.group], self._priority(order)))
        return self.answer()

    def _first(self, field: Field) -> Ints:
        """Return the devices of the plan to start from, if it is one, else as ``met`` places nodes."""
        if self.plan is None:
            lister = BatchLister.of(self._instance, lambda: None, self._progress.say)
            plan = lister if isinstance(lister, str) else lister.schedule("met")
            if isinstance(plan, str) or not self.keep(plan):
                return somewhere(field, self._instance)
        assert self.plan is not None
        home = np.zeros((len(field.may), self._instance.chunks), np.int64)
        home[field.group] = order_of(self._instance, self.plan)[0]
        return home

    def _priority(self, order: Ints) -> Floats:
        place = np.empty(self._instance.n)
        place[order] = np.arange(self._instance.n)
        return np.repeat(place[:, None], self._instance.k, axis=1)
