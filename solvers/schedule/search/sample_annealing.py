"""Annealing of schedules of one sample on links."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn
from mtpp_dsl.solvers.schedule.search.sample_held import Holding
from mtpp_dsl.solvers.schedule.search.sample_moves import DRAWS, SEARCH, Best, Moves
from mtpp_dsl.solvers.schedule.search.sample_state import Field, order_of, plan_of, state_of
from mtpp_dsl.solvers.schedule.search.schedule_annealing import CHAINS, Trajectory, anneal_in_rounds
from mtpp_dsl.views.tasks import Instance

__all__ = ["Schedules"]

MOVES = Moves(orders=0.3, near=0.5, critical=0.5, blocks=0.4, grown=16.0, swaps=0.1, along=0.5)
MIN_MOVES, MAX_FIRST_MOVES = 2_000, 200_000
"""Moves that an annealing tries: at least, and at most in the first round."""
MAX_DRAWS = 1 << 16


class Schedules(Holding):
    """One run.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per node and device.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> None:
        super().__init__("annealing", problem, limits, progress)
        first = min(MAX_FIRST_MOVES, max(MIN_MOVES, moves * self._instance.n * self._instance.k))
        self._rounds = MultiStart(limits, CHAINS, patience, first, MIN_MOVES)

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        self.begin()
        instance = self._instance
        if self.plan is not None and instance.n:
            SEARCH.pick(self._rounds.first * (instance.n + instance.m), self._progress.say)
            start = Best(order_of(instance, self.plan), self.plan.assignment.copy(), np.full(1, np.inf))
            anneal_in_rounds(self._rounds, start, self._trajectory, self)
        return self.answer()

    def _trajectory(self, start: Best, turn: Turn) -> SampleTrajectory:
        return SampleTrajectory(self._instance, self._field, start, turn, self._progress)


class SampleTrajectory(Trajectory[Best]):
    """An annealing of one sample under way; it starts from an order and devices that keep to all limits."""

    def __init__(self, instance: Instance, field: Field, start: Best, turn: Turn, progress: Progress) -> None:
        self._instance, self._field = instance, field
        self._state = state_of(field, start.order, start.device)
        self.best = Best(start.order.copy(), start.device.copy(), np.full(1, np.inf))
        self._run = SEARCH.pick(turn.steps * (instance.n + instance.m), progress.say)
        self.draws = np.empty(max(DRAWS, min(MAX_DRAWS, 32 * turn.steps)))
        turn.random.random(out=self.draws)
        self.move(1, 0.0, 0.0)
        self.first = float(self._state.cost[0])

    def move(self, steps: int, temperature: float, penalty: float) -> int:
        """Try at most so many moves, as far as the random numbers go; return how many were tried."""
        return self._run(self.draws, steps, temperature, penalty, MOVES, self._field, self._state, self.best)

    def recount(self) -> None:
        """Count memory anew."""
        need = self._field.need
        self._state.used[:] = np.bincount(self._state.home, weights=need, minlength=self._instance.k)

    def plan(self) -> Plan:
        """Return the plan of the least makespan that was met."""
        return plan_of(self._instance, self.best.order, self.best.device)
