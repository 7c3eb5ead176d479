"""Annealing of schedules, of one sample or of batches: rounds of annealings side by side, from the best so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from time import monotonic
from typing import Generic, Protocol, TypeVar

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

__all__ = ["CHAINS", "Trajectory", "anneal", "anneal_in_rounds", "chunk_of"]

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
    held = [start] * CHAINS

    def search(turn: Turn) -> Trajectory[B]:
        return anneal(begin(held[turn.chain], turn), turn, incumbent)

    def keep(found: list[Trajectory[B]]) -> None:
        lead = min(found, key=lambda one: one.cost)
        if lead.cost < float("inf"):
            incumbent.take(lead.plan())
        held[:] = [lead.best if c % 2 == 0 else one.best for c, one in enumerate(found)]

    rounds.run(search, keep, cost=lambda: incumbent.cost, done=lambda: incumbent.done, rate=rate)
