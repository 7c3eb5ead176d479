"""Annealing of schedules of one sample on links."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.rows import LabelledRows, rows_of
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn
from mtpp_dsl.solvers.schedule.search.sample_moves import DRAWS, SEARCH, BestSample, SampleMoves
from mtpp_dsl.solvers.schedule.search.sample_starts import incumbent_of, take_starts
from mtpp_dsl.solvers.schedule.search.sample_state import SampleField, field_of, order_of, plan_of, state_of
from mtpp_dsl.solvers.schedule.search.schedule_annealing import CHAINS, Trajectory, anneal_in_rounds

__all__ = ["anneal_sample"]

MOVES = SampleMoves(orders=0.3, near=0.5, critical=0.5, blocks=0.4, grown=16.0, swaps=0.1, along=0.5)
MIN_MOVES, MAX_FIRST_MOVES = 2_000, 200_000
"""Moves that an annealing tries: at least, and at most in the first round."""
MAX_DRAWS = 1 << 16


def anneal_sample(problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> Result:
    """Anneal schedules of one sample on links until done or stopped, and return the best.

    Args:
        problem: a makespan on links.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per node and device.
    """
    instance = ScheduleInstance.of(problem)
    incumbent = incumbent_of("annealing", instance, limits, progress)
    field = field_of(instance)
    rows = rows_of(problem, instance.together, time=instance.supernodes.time)
    plan = take_starts(incumbent, instance, limits, progress)
    if plan is not None and instance.n:
        first = min(MAX_FIRST_MOVES, max(MIN_MOVES, moves * instance.n * instance.k))
        SEARCH.pick(first * (instance.n + instance.m), progress.say)

        def begin(start: BestSample, turn: Turn) -> SampleTrajectory:
            return SampleTrajectory(instance, field, rows, start, turn, progress)

        start = BestSample(order_of(instance, plan), plan.assignment.copy(), np.full(1, np.inf))
        anneal_in_rounds(MultiStart(limits, CHAINS, patience, first, MIN_MOVES), start, begin, incumbent)
    return incumbent.result()


class SampleTrajectory(Trajectory[BestSample]):
    """An annealing of one sample under way; it starts from an order and devices that keep to all limits but rows."""

    def __init__(
        self,
        instance: ScheduleInstance,
        field: SampleField,
        rows: LabelledRows | None,
        start: BestSample,
        turn: Turn,
        progress: Progress,
    ) -> None:
        self._instance, self._field = instance, field
        self._state = state_of(field, start.order, start.device)
        self._rows = None if rows is None else rows.fresh(self._state.home)
        self.best = BestSample(start.order.copy(), start.device.copy(), np.full(1, np.inf))
        self._run = SEARCH.pick(turn.steps * (instance.n + instance.m), progress.say)
        self.draws = np.empty(max(DRAWS, min(MAX_DRAWS, 32 * turn.steps)))
        turn.random.random(out=self.draws)
        self.move(1, 0.0, 0.0)
        self.first = float(self._state.cost[0])

    def move(self, steps: int, temperature: float, penalty: float) -> int:
        """Try at most so many moves, as far as the random numbers go; return how many were tried."""
        field, rows = self._field, self._rows
        return self._run(self.draws, steps, temperature, penalty, MOVES, field, self._state, self.best, rows)

    def recount(self) -> None:
        """Count memory and rows anew."""
        if self._rows is not None:
            self._rows.recount(self._state.home)
        need = self._field.need
        self._state.used[:] = np.bincount(self._state.home, weights=need, minlength=self._instance.k)

    def plan(self) -> Plan:
        """Return the plan of the least makespan that was met."""
        return plan_of(self._instance, self.best.order, self.best.device)
