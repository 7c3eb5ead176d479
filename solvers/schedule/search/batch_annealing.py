"""Annealing of schedules of batches: rounds of annealings side by side, each twice as long as two rounds before."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.schedule.search.batch_held import Holding
from mtpp_dsl.solvers.schedule.search.batch_moves import SEARCH, Best, Moves, most_draws
from mtpp_dsl.solvers.schedule.search.batch_starts import somewhere, starts
from mtpp_dsl.solvers.schedule.state.batch_state import Field, order_of, plan_of, recount, state_of
from mtpp_dsl.solvers.schedule.state.batch_timing import trial_of
from mtpp_dsl.solvers.schedule.state.chunk_moves import Shares

__all__ = ["BatchSchedules", "improve"]

MOVES = Moves(
    orders=0.2,
    near=0.5,
    critical=0.5,
    blocks=0.4,
    grown=16.0,
    swaps=0.05,
    rows=Shares(whole=0.1, moved=0.25, parted=0.5, copied=0.75, swapped=0.8, turned=0.9),
)
HEATS = ((1e-2, 1e-5), (3e-3, 1e-5), (2e-2, 1e-4), (1e-3, 1e-6), (5e-2, 1e-3))
"""First and last temperature of annealings side by side, as shares of the makespan, in turn."""
SLOW = 100
"""Moves per class below which an annealing begins so much colder: a hot one would end worse than it began."""
PROBE = 100
"""Moves that tell how fast they go, where there is a limit of time."""
CHAINS = 2
"""Annealings side by side: always as many, so that the answer does not depend on the processors."""
FEWEST, MOST_AT_FIRST = 500, 200_000
"""Moves that an annealing of the first round tries, per its length."""
CHUNK = 2_000
PAUSE = 0.5
"""Seconds between two plans that an annealing reports: each is checked anew."""
DRAWS = 24
"""Numbers that one move takes, more or less."""
CHARGE = 0.2
"""Of a device twice over its limit, as a share of the makespan, nearly."""
PATIENCE, STEPS = 10, 200


class BatchSchedules(Holding):
    """One run.

    Args:
        problem: a batched throughput.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per node and device.
        lists: whether to start from list schedules too.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        patience: int = PATIENCE,
        moves: int = STEPS,
        *,
        lists: bool = True,
    ) -> None:
        super().__init__("annealing", problem, limits, progress)
        self._patience, self._lists = patience, lists
        self._steps = min(MOST_AT_FIRST, max(FEWEST, moves * self._instance.n * self._instance.k))

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        self.begin()
        if self._lists:
            for plan in starts(self._instance, self._limits, self._progress):
                self.keep(plan)
        field = self._field
        if field is None or self._instance.n == 0:
            return self.answer()
        held = [self._first(field)] * CHAINS
        quiet = number = 0
        work = self._instance.n + self._instance.m
        SEARCH.pick(CHAINS * self._patience * self._steps * work, self._progress.say)
        rate = self._rate(field, held[0])
        with ThreadPoolExecutor(min(CHAINS, self._limits.threads or os.cpu_count() or 1)) as pool:
            while quiet < self._patience and not self.done:
                began, least = monotonic(), self.cost
                fit = max(FEWEST, rate * self._limits.remaining)
                steps = int(min(self._steps * 2 ** (number // 2), fit))
                jobs = [pool.submit(self._chain, field, number, c, steps, held[c]) for c in range(CHAINS)]
                held = [job.result() for job in jobs]
                best = min(held, key=lambda one: float(one.cost[0]))
                if np.isfinite(best.cost[0]):
                    self.keep(plan_of(self._instance, best.home, best.place))
                held = [best if c % 2 == 0 else one for c, one in enumerate(held)]
                rate = steps / max(monotonic() - began, 1e-3)
                number += 1
                quiet = 0 if self.cost < least else quiet + 1
        return self.answer()

    def _rate(self, field: Field, start: Best) -> float:
        """Return how many moves a second there are, ``inf`` where time does not matter; the first try may compile."""
        began = monotonic()
        for _ in range(2 if np.isfinite(self._limits.remaining) else 0):
            began = monotonic()
            self._chain(field, 0, 0, PROBE, start)
        return PROBE / max(monotonic() - began, 1e-6) if np.isfinite(self._limits.remaining) else float("inf")

    def _first(self, field: Field) -> Best:
        """Return where to start: the best plan known, else any rows that sizes and pins allow."""
        if self.plan is None:
            home = somewhere(field, self._instance)
            return Best(home, np.zeros(self._instance.n * self._instance.k, np.int64), np.full(1, np.inf))
        where, begun = order_of(self._instance, self.plan)
        home = np.zeros((len(field.may), self._instance.chunks), np.int64)
        home[field.group] = where
        state = state_of(field, home, begun)
        return Best(home, state.place, np.full(1, np.inf))

    def _chain(self, field: Field, number: int, chain: int, steps: int, start: Best) -> Best:
        """Anneal once. Without a time limit it depends on the seed, its number and where it starts alone."""
        instance = self._instance
        random = np.random.default_rng((self._limits.seed, number, chain))
        state = state_of(field, start.home, start.place.reshape(instance.n, instance.k).astype(np.float64))
        trial = trial_of(field, state)
        best = Best(start.home.copy(), start.place.copy(), np.full(1, np.inf))
        run = SEARCH.pick(steps * (instance.n + instance.m), self._progress.say)
        chunk = max(1, min(CHUNK, steps // 50))
        noise = np.empty(most_draws(instance.k) + DRAWS * chunk)
        random.random(out=noise)
        run(noise, 1, 0.0, 1.0, MOVES, field, state, trial, best)
        unit, told = float(trial.cost[0]), monotonic()
        known, charge = float(best.cost[0]), CHARGE * unit if unit > 0 else 1.0
        hot, cold = HEATS[(number + chain) % len(HEATS)]
        hot = max(cold, hot * min(1.0, steps / (SLOW * len(field.may))))
        state.cost[0] = np.inf  # timed anew, with the charge that is now known
        done = 0
        while done < steps and not self.done and not self.closed(float(best.cost[0])):
            end = min(steps, done + chunk)
            heat = unit * hot * (cold / hot) ** (done / steps)
            while done < end:
                random.random(out=noise)
                done += run(noise, end - done, heat, charge, MOVES, field, state, trial, best)
            recount(field, state)
            if best.cost[0] < min(known, self.cost) and monotonic() >= told + PAUSE:
                known, told = float(best.cost[0]), monotonic()
                self.keep(plan_of(instance, best.home, best.place))
        return best


def improve(problem: Problem, plan: Plan, limits: Limits, progress: Progress | None = None) -> Plan:
    """Return *plan*, a plan for a batch, or a better one that annealing from it comes to.

    The same seed gives the same plan, where no limit of time cuts it off.

    Args:
        problem: a batched throughput without constraints but those of ``solvers.batched.instance.HONOURS``.
        plan: breaks no constraint.
        limits: when to stop, and the seed; its own ``start`` is not looked at.
        progress: told of better plans, and asked whether to stop.
    """
    own = limits.within(limits.remaining, start=None)
    run = BatchSchedules(problem, own, progress or Progress(), lists=False)
    run.keep(plan)
    run.result()
    return run.plan or plan
