"""Anneal schedules, of one sample or of batches: rounds of annealings side by side, from the best so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from time import monotonic
from typing import Generic, Protocol, TypeVar

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.labelled_rows import LabelledRows, rows_of
from mtpp_dsl.core.views.tasks import BatchInstance, ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn
from mtpp_dsl.solvers.runtime.reduced import Aside
from mtpp_dsl.solvers.schedule.search.batch_moves import BATCH_SEARCH, BatchMoves, BestBatch, most_draws
from mtpp_dsl.solvers.schedule.search.replica_starts import replica_starts
from mtpp_dsl.solvers.schedule.search.sample_moves import SAMPLE_DRAWS, SAMPLE_SEARCH, BestSample, SampleMoves
from mtpp_dsl.solvers.schedule.search.sample_state import (
    SampleField,
    sample_field_of,
    sample_order_of,
    sample_plan_of,
    sample_state_of,
)
from mtpp_dsl.solvers.schedule.search.schedule_starts import (
    batch_incumbent,
    batch_starts,
    result_of,
    sample_incumbent,
    somewhere,
    take_starts,
)
from mtpp_dsl.solvers.schedule.state.batch_state import (
    BatchField,
    batch_field_of,
    batch_order_of,
    batch_plan_of,
    batch_state_of,
    recount,
)
from mtpp_dsl.solvers.schedule.state.batch_timing import trial_of
from mtpp_dsl.solvers.schedule.state.chunk_moves import ChunkShares

__all__ = ["anneal_batches", "anneal_sample", "improve"]

TEMPERATURES = ((1e-2, 1e-5), (3e-3, 1e-5), (2e-2, 1e-4), (1e-3, 1e-6), (5e-2, 1e-3))
"""First and last temperature of annealings side by side, as shares of the makespan, in turn."""
CHAINS = 2
"""Annealings side by side: always as many, so that the answer does not depend on the processors."""
MAX_CHUNK = 2_000
"""Moves between two looks at the clock, at most."""
MIN_SECONDS = 0.5
"""Between two plans that an annealing reports: each is checked anew."""
PENALTY = 0.2
"""Of a device twice over its limit, as a share of the makespan, nearly."""


class BestSchedule(Protocol):
    """The best schedule that an annealing has met."""

    @property
    def cost(self) -> Floats:
        """Return [1] its makespan, ``inf`` before there is one."""


B = TypeVar("B", bound=BestSchedule)


class Trajectory(ABC, Generic[B]):
    """One annealing under way: the schedule that it is at, and the best that it has met.

    Attributes:
        best: what it starts from, then the best plan met.
        draws: random numbers in [0, 1), drawn anew for each call of :meth:`move`.
        first: the makespan that it starts from.
        share: the first temperature is multiplied by this.
    """

    best: B
    draws: Floats
    first: float
    share: float = 1.0

    @property
    def cost(self) -> float:
        """The least makespan of any plan met, ``inf`` if there was none."""
        return float(self.best.cost[0])

    @abstractmethod
    def plan(self) -> Plan:
        """Return the plan of the least makespan that was met."""

    @abstractmethod
    def move(self, steps: int, temperature: float, penalty: float) -> int:
        """Try at most so many moves, as far as the random numbers go; return how many were tried."""

    @abstractmethod
    def recount(self) -> None:
        """Compute sums anew: those that change by differences drift."""


def anneal(trajectory: Trajectory[B], turn: Turn, incumbent: Incumbent) -> Trajectory[B]:
    """Anneal once, and return the same trajectory at its end.

    Args:
        trajectory: at its start.
        turn: how many moves, and random numbers.
        incumbent: takes better plans, twice a second at most, and says when to stop.
    """
    penalty = PENALTY * trajectory.first or 1.0
    hot, cold = TEMPERATURES[(turn.number + turn.chain) % len(TEMPERATURES)]
    hot = max(cold, hot * trajectory.share)
    chunk = chunk_of(turn.steps)
    known, reported = trajectory.cost, monotonic()
    done = 0
    while done < turn.steps and not incumbent.done and not incumbent.closed(trajectory.cost):
        end = min(turn.steps, done + chunk)
        temperature = trajectory.first * hot * (cold / hot) ** (done / turn.steps)
        while done < end:
            turn.random.random(out=trajectory.draws)
            done += trajectory.move(end - done, temperature, penalty)
        trajectory.recount()
        if trajectory.cost < min(known, incumbent.cost) and monotonic() >= reported + MIN_SECONDS:
            known, reported = trajectory.cost, monotonic()
            incumbent.take(trajectory.plan())
    return trajectory


def chunk_of(steps: int) -> int:
    """Return how many moves of *steps* are tried at one temperature."""
    return max(1, min(MAX_CHUNK, steps // 50))


def anneal_in_rounds(
    rounds: MultiStart,
    start: B,
    begin: Callable[[B, Turn], Trajectory[B]],
    incumbent: Incumbent,
    rate: float = float("inf"),
) -> None:
    """Anneal until done; every other annealing goes on from the best of the round before, the others from their own.

    Args:
        rounds: of :data:`CHAINS` annealings.
        start: where all of them start.
        begin: returns a new trajectory from a schedule.
        incumbent: takes plans, and says when to stop.
        rate: moves in a second, where known.
    """
    begins = [start] * CHAINS

    def search(turn: Turn) -> Trajectory[B]:
        return anneal(begin(begins[turn.chain], turn), turn, incumbent)

    def keep(ended: list[Trajectory[B]]) -> None:
        lead = min(ended, key=lambda one: one.cost)
        if lead.cost < float("inf"):
            incumbent.take(lead.plan())
        begins[:] = [lead.best if c % 2 == 0 else one.best for c, one in enumerate(ended)]

    rounds.run(search, keep, cost=lambda: incumbent.cost, done=lambda: incumbent.done, rate=rate)


def _rate(rounds: MultiStart, search: Callable[[Turn], object]) -> float:
    """Return how many moves there are in a second; any number without a limit of time, which then needs none."""
    if rounds.limits.remaining == float("inf"):
        return float("inf")
    for _ in range(2):  # the first may compile
        began = monotonic()
        search(rounds.turn(0, 0, TIMED_MOVES))
    return TIMED_MOVES / max(monotonic() - began, 1e-6)


# One sample.

SAMPLE_MOVES = SampleMoves(orders=0.3, near=0.5, critical=0.5, blocks=0.4, grown=16.0, swaps=0.1, along=0.5)
MIN_SAMPLE_MOVES, MAX_FIRST_MOVES = 2_000, 200_000
"""Moves that an annealing tries: at least, and at most in the first round."""
MAX_DRAWS = 1 << 16
MANY_NODES, FEW_SAMPLE_MOVES = 400, 1_000
"""In graphs of more nodes than the first, a first temperature is lower in proportion with fewer moves a node than the
second. In 20 s: 17.62 in place of 17.66 (1,374 nodes), 1.851 in place of 1.886 (2,000); with 320 nodes 1 % worse."""


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
    incumbent = sample_incumbent("annealing", instance, limits, progress)
    field = sample_field_of(instance)
    rows = rows_of(problem, instance.together, time=instance.supernodes.time)
    plan = take_starts(incumbent, instance, limits)
    if plan is not None and instance.n:
        first = min(MAX_FIRST_MOVES, max(MIN_SAMPLE_MOVES, moves * instance.n * instance.k))
        SAMPLE_SEARCH.pick(first * (instance.n + instance.m), progress.say)

        def begin(start: BestSample, turn: Turn) -> SampleTrajectory:
            return SampleTrajectory(instance, field, rows, start, turn, progress)

        start = BestSample(sample_order_of(instance, plan), plan.assignment.copy(), np.full(1, np.inf))
        rounds, rate = MultiStart(limits, CHAINS, patience, first, MIN_SAMPLE_MOVES), float("inf")
        if instance.n > MANY_NODES:
            rate = _rate(rounds, lambda turn: anneal(begin(start, turn), turn, incumbent))
        anneal_in_rounds(rounds, start, begin, incumbent, rate)
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
        self._state = sample_state_of(field, start.order, start.device)
        self._rows = None if rows is None else rows.fresh(self._state.home)
        self.best = BestSample(start.order.copy(), start.device.copy(), np.full(1, np.inf))
        self._run = SAMPLE_SEARCH.pick(turn.steps * (instance.n + instance.m), progress.say)
        self.draws = np.empty(max(SAMPLE_DRAWS, min(MAX_DRAWS, 32 * turn.steps)))
        turn.random.random(out=self.draws)
        self.move(1, 0.0, 0.0)
        self.first = float(self._state.cost[0])
        if instance.n > MANY_NODES:
            self.share = min(1.0, turn.steps / (FEW_SAMPLE_MOVES * instance.n))

    def move(self, steps: int, temperature: float, penalty: float) -> int:
        """Try at most so many moves, as far as the random numbers go; return how many were tried."""
        field, rows = self._field, self._rows
        return self._run(self.draws, steps, temperature, penalty, SAMPLE_MOVES, field, self._state, self.best, rows)

    def recount(self) -> None:
        """Count memory and rows anew."""
        if self._rows is not None:
            self._rows.recount(self._state.home)
        need = self._field.need
        self._state.used[:] = np.bincount(self._state.home, weights=need, minlength=self._instance.k)

    def plan(self) -> Plan:
        """Return the plan of the least makespan that was met."""
        return sample_plan_of(self._instance, self.best.order, self.best.device)


# Batches.

BATCH_MOVES = BatchMoves(
    orders=0.2,
    near=0.5,
    critical=0.5,
    blocks=0.4,
    grown=16.0,
    swaps=0.05,
    rows=ChunkShares(whole=0.1, moved=0.25, parted=0.5, copied=0.75, swapped=0.8, turned=0.9),
)
MIN_BATCH_MOVES = 500
"""Moves that an annealing tries: at least, and at most in the first round."""
FEW_MOVES = 100
"""With fewer moves per supernode, the first temperature is lower in proportion: a hot start would end worse."""
TIMED_MOVES = 100
"""Moves that show how many there are in a second, where there is a limit of time."""
BATCH_DRAWS = 24
"""Random numbers of one move, on average."""
PATIENCE, STEPS = 10, 200
LISTS_SHARE = 0.1
"""Of the time, for list schedules where another one is known."""
SAMPLE_PATIENCE = 4
"""Rounds without a better plan after which the annealing of a schedule to start from ends."""


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
    incumbent = batch_incumbent("annealing", instance, limits, progress)
    field = batch_field_of(instance)
    incumbent.take_start()

    def sample(one: Problem, until: Limits) -> Plan | None:
        return anneal_sample(one, until, Aside(progress), SAMPLE_PATIENCE, STEPS).plan

    for plan in replica_starts(instance, limits, sample) if incumbent.plan is None else ():
        incumbent.take(plan)
    lists = limits if incumbent.plan is None else limits.within(LISTS_SHARE * limits.remaining)
    for plan in batch_starts(instance, lists, progress):
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
    incumbent = batch_incumbent("annealing", instance, own, progress)
    field = batch_field_of(instance)
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

    first = min(MAX_FIRST_MOVES, max(MIN_BATCH_MOVES, moves * instance.n * instance.k))
    rounds = MultiStart(limits, CHAINS, patience, first, MIN_BATCH_MOVES)
    start = _start(field, instance, incumbent.plan)
    BATCH_SEARCH.pick(CHAINS * patience * first * (instance.n + instance.m), progress.say)
    rate = _rate(rounds, lambda turn: anneal(begin(start, turn), turn, incumbent))
    anneal_in_rounds(rounds, start, begin, incumbent, rate)


def _start(field: BatchField, instance: BatchInstance, plan: Plan | None) -> BestBatch:
    """Return where to start: *plan*, or else any rows that sizes and pins allow."""
    if plan is None:
        home = somewhere(field, instance)
        return BestBatch(home, np.zeros(instance.n * instance.k, np.int64), np.full(1, np.inf))
    where, begun = batch_order_of(instance, plan)
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    home[field.group] = where
    return BestBatch(home, batch_state_of(field, home, begun).place, np.full(1, np.inf))


class BatchTrajectory(Trajectory[BestBatch]):
    """An annealing of batches under way; it starts from any devices of chunks, and any order of batches."""

    def __init__(
        self, instance: BatchInstance, field: BatchField, start: BestBatch, turn: Turn, progress: Progress
    ) -> None:
        self._instance, self._field = instance, field
        place = start.place.reshape(instance.n, instance.k).astype(np.float64)
        self._state = batch_state_of(field, start.home, place)
        self._trial = trial_of(field, self._state)
        self.best = BestBatch(start.home.copy(), start.place.copy(), np.full(1, np.inf))
        self._run = BATCH_SEARCH.pick(turn.steps * (instance.n + instance.m), progress.say)
        self.draws = np.empty(most_draws(instance.k) + BATCH_DRAWS * chunk_of(turn.steps))
        turn.random.random(out=self.draws)
        self.move(1, 0.0, 1.0)
        self.first = float(self._trial.cost[0])
        self.share = min(1.0, turn.steps / (FEW_MOVES * len(field.may)))
        self._state.cost[0] = np.inf  # to be timed anew, with the penalty that follows from the first makespan

    def move(self, steps: int, temperature: float, penalty: float) -> int:
        """Try at most so many moves, as far as the random numbers go; return how many were tried."""
        values = (
            self.draws,
            steps,
            temperature,
            penalty,
            BATCH_MOVES,
            self._field,
            self._state,
            self._trial,
            self.best,
        )
        return self._run(*values)

    def recount(self) -> None:
        """Count what devices hold anew."""
        recount(self._field, self._state)

    def plan(self) -> Plan:
        """Return the plan of the least makespan that was met."""
        return batch_plan_of(self._instance, self.best.home, self.best.place)
