"""Annealing of schedules of batches."""

from __future__ import annotations

from time import monotonic

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn
from mtpp_dsl.solvers.schedule.search.batch_moves import SEARCH, BatchMoves, BestBatch, most_draws
from mtpp_dsl.solvers.schedule.search.batch_starts import incumbent_of, result_of, somewhere, starts
from mtpp_dsl.solvers.schedule.search.schedule_annealing import CHAINS, Trajectory, anneal, anneal_in_rounds, chunk_of
from mtpp_dsl.solvers.schedule.state.batch_state import BatchField, field_of, order_of, plan_of, recount, state_of
from mtpp_dsl.solvers.schedule.state.batch_timing import trial_of
from mtpp_dsl.solvers.schedule.state.chunk_moves import ChunkShares

__all__ = ["anneal_batches", "improve"]

MOVES = BatchMoves(
    orders=0.2,
    near=0.5,
    critical=0.5,
    blocks=0.4,
    grown=16.0,
    swaps=0.05,
    rows=ChunkShares(whole=0.1, moved=0.25, parted=0.5, copied=0.75, swapped=0.8, turned=0.9),
)
MIN_MOVES, MAX_FIRST_MOVES = 500, 200_000
"""Moves that an annealing tries: at least, and at most in the first round."""
FEW_MOVES = 100
"""With fewer moves per supernode, the first temperature is lower in proportion: a hot start would end worse."""
TIMED_MOVES = 100
"""Moves that show how many there are in a second, where there is a limit of time."""
DRAWS = 24
"""Random numbers of one move, on average."""
PATIENCE, STEPS = 10, 200


def anneal_batches(problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> Result:
    """Anneal schedules of a batch until done or stopped, and return the best.

    Args:
        problem: a batched throughput.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per node and device.
    """
    instance = BatchInstance.of(problem)
    incumbent = incumbent_of("annealing", instance, limits, progress)
    field = field_of(instance)
    incumbent.take_start()
    for plan in starts(instance, limits, progress):
        incumbent.take(plan)
    _anneal(incumbent, instance, field, limits, progress, patience, moves)
    return result_of(incumbent)


def improve(problem: Problem, plan: Plan, limits: Limits, progress: Progress | None = None) -> Plan:
    """Return *plan*, a plan for a batch, or a better one that annealing from it comes to.

    The same seed gives the same plan, where no limit of time cuts it off.

    Args:
        problem: a batched throughput, of constraints that :class:`mtpp_dsl.core.views.tasks.BatchInstance`
            carries.
        plan: breaks no constraint.
        limits: when to stop, and the seed; its own ``start`` is not looked at.
        progress: told of better plans, and asked whether to stop.
    """
    own, progress = limits.within(limits.remaining, start=None), progress or Progress()
    instance = BatchInstance.of(problem)
    incumbent = incumbent_of("annealing", instance, own, progress)
    field = field_of(instance)
    incumbent.take(plan)
    _anneal(incumbent, instance, field, own, progress, PATIENCE, STEPS)
    return incumbent.plan or plan


def _anneal(
    incumbent: Incumbent,
    instance: BatchInstance,
    field: BatchField | None,
    limits: Limits,
    progress: Progress,
    patience: int,
    moves: int,
) -> None:
    """Anneal from the best plan known, or from any devices; without a *field*, no batches add up to all inputs."""
    if field is None or instance.n == 0:
        return

    def begin(start: BestBatch, turn: Turn) -> BatchTrajectory:
        return BatchTrajectory(instance, field, start, turn, progress)

    first = min(MAX_FIRST_MOVES, max(MIN_MOVES, moves * instance.n * instance.k))
    rounds = MultiStart(limits, CHAINS, patience, first, MIN_MOVES)
    start = _start(field, instance, incumbent.plan)
    SEARCH.pick(CHAINS * patience * first * (instance.n + instance.m), progress.say)
    rate = float("inf")
    if limits.remaining < rate:
        for _ in range(2):  # the first may compile
            began = monotonic()
            turn = rounds.turn(0, 0, TIMED_MOVES)
            anneal(begin(start, turn), turn, incumbent)
        rate = TIMED_MOVES / max(monotonic() - began, 1e-6)
    anneal_in_rounds(rounds, start, begin, incumbent, rate)


def _start(field: BatchField, instance: BatchInstance, plan: Plan | None) -> BestBatch:
    """Return where to start: *plan*, or else any rows that sizes and pins allow."""
    if plan is None:
        home = somewhere(field, instance)
        return BestBatch(home, np.zeros(instance.n * instance.k, np.int64), np.full(1, np.inf))
    where, begun = order_of(instance, plan)
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    home[field.group] = where
    return BestBatch(home, state_of(field, home, begun).place, np.full(1, np.inf))


class BatchTrajectory(Trajectory[BestBatch]):
    """An annealing of batches under way; it starts from any devices of chunks, and any order of batches."""

    def __init__(
        self, instance: BatchInstance, field: BatchField, start: BestBatch, turn: Turn, progress: Progress
    ) -> None:
        self._instance, self._field = instance, field
        place = start.place.reshape(instance.n, instance.k).astype(np.float64)
        self._state = state_of(field, start.home, place)
        self._trial = trial_of(field, self._state)
        self.best = BestBatch(start.home.copy(), start.place.copy(), np.full(1, np.inf))
        self._run = SEARCH.pick(turn.steps * (instance.n + instance.m), progress.say)
        self.draws = np.empty(most_draws(instance.k) + DRAWS * chunk_of(turn.steps))
        turn.random.random(out=self.draws)
        self.move(1, 0.0, 1.0)
        self.first = float(self._trial.cost[0])
        self.share = min(1.0, turn.steps / (FEW_MOVES * len(field.may)))
        self._state.cost[0] = np.inf  # to be timed anew, with the penalty that follows from the first makespan

    def move(self, steps: int, temperature: float, penalty: float) -> int:
        """Try at most so many moves, as far as the random numbers go; return how many were tried."""
        values = (self.draws, steps, temperature, penalty, MOVES, self._field, self._state, self._trial, self.best)
        return self._run(*values)

    def recount(self) -> None:
        """Count what devices hold anew."""
        recount(self._field, self._state)

    def plan(self) -> Plan:
        """Return the plan of the least makespan that was met."""
        return plan_of(self._instance, self.best.home, self.best.place)
