"""Annealing of schedules on links: rounds of annealings side by side, each twice as long as two rounds before."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.schedule.search.sample_held import Holding
from mtpp_dsl.solvers.schedule.search.sample_moves import DRAWS, SEARCH, Best, Moves
from mtpp_dsl.solvers.schedule.search.sample_state import State, order_of, plan_of, state_of

__all__ = ["Schedules"]

MOVES = Moves(orders=0.3, near=0.5, critical=0.5, blocks=0.4, grown=16.0, swaps=0.1, along=0.5)
HEATS = ((1e-2, 1e-5), (3e-3, 1e-5), (2e-2, 1e-4), (1e-3, 1e-6), (5e-2, 1e-3))
"""First and last temperature of annealings side by side, as shares of the makespan, in turn."""
CHAINS = 2
"""Annealings side by side: always as many, so that the answer does not depend on the processors."""
FEWEST, MOST_AT_FIRST = 2_000, 200_000
"""Moves that an annealing of the first round tries, per its length."""
CHUNK = 2_000
PAUSE = 0.5
"""Seconds between two plans that an annealing reports: each is checked anew."""
NOISE = 1 << 16
CHARGE = 0.2
"""Of a device twice over its limit, as a share of the makespan, nearly."""


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
        self._patience = patience
        self._steps = min(MOST_AT_FIRST, max(FEWEST, moves * self._instance.n * self._instance.k))

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        self.begin()
        if self.plan is None or self._instance.n == 0:
            return self.answer()
        first = self.plan
        best = Best(order_of(self._instance, first), first.assignment.copy(), np.full(1, np.inf))
        held = [best] * CHAINS
        quiet = number = 0
        rate = float("inf")
        SEARCH.pick(self._steps * (self._instance.n + self._instance.m), self._progress.say)
        with ThreadPoolExecutor(min(CHAINS, self._limits.threads or os.cpu_count() or 1)) as pool:
            while quiet < self._patience and not self.done:
                began, least = monotonic(), self.cost
                fit = max(FEWEST, rate * self._limits.remaining)
                steps = int(min(self._steps * 2 ** (number // 2), fit))
                jobs = [pool.submit(self._chain, number, c, steps, held[c]) for c in range(CHAINS)]
                held = [job.result() for job in jobs]
                best = min(held, key=lambda one: float(one.cost[0]))
                self.keep(plan_of(self._instance, best.order, best.device))
                held = [best if c % 2 == 0 else one for c, one in enumerate(held)]
                rate = steps / max(monotonic() - began, 1e-3)
                number += 1
                quiet = 0 if self.cost < least else quiet + 1
        return self.answer()

    def _chain(self, number: int, chain: int, steps: int, start: Best) -> Best:
        """Anneal once. Without a time limit it depends on the seed, its number and where it starts alone."""
        random = np.random.default_rng((self._limits.seed, number, chain))
        state = state_of(self._field, start.order, start.device)
        best = Best(start.order.copy(), start.device.copy(), np.full(1, np.inf))
        run = SEARCH.pick(steps * (self._instance.n + self._instance.m), self._progress.say)
        noise = np.empty(max(DRAWS, min(NOISE, 32 * steps)))
        random.random(out=noise)
        run(noise, 1, 0.0, 0.0, MOVES, self._field, state, best)
        unit, known, told = float(state.cost[0]), float(state.cost[0]), monotonic()
        hot, cold = HEATS[(number + chain) % len(HEATS)]
        done = 0
        while done < steps and not self.done and not self.closed(float(best.cost[0])):
            end = min(steps, done + max(1, min(CHUNK, steps // 50)))
            heat = unit * hot * (cold / hot) ** (done / steps)
            while done < end:
                random.random(out=noise)
                done += run(noise, end - done, heat, CHARGE * unit, MOVES, self._field, state, best)
            self._recount(state)
            if best.cost[0] < min(known, self.cost) and monotonic() >= told + PAUSE:
                known, told = float(best.cost[0]), monotonic()
                self.keep(plan_of(self._instance, best.order, best.device))
        return best

    def _recount(self, state: State) -> None:
        """Count memory anew: sums that change by differences drift."""
        need = self._field.need
        state.used[:] = np.bincount(state.home, weights=need, minlength=self._instance.k)
