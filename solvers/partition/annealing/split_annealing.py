"""One run of method ``annealing``: rounds of annealings, and what their splits mean for the problem."""

from __future__ import annotations

from threading import Lock

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.colocation import colocated
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.partition.annealing.one_annealing import anneal
from mtpp_dsl.solvers.partition.annealing.recipes import CHAINS, Origin, recipe
from mtpp_dsl.solvers.partition.annealing.split_held import FEWEST, NO_LOAD, Holding
from mtpp_dsl.solvers.partition.annealing.split_moves import ANNEAL, Best
from mtpp_dsl.solvers.partition.annealing.split_starts import along_order, ordered, scattered, sliced
from mtpp_dsl.solvers.partition.annealing.split_state import broken, loads_of, state_of
from mtpp_dsl.solvers.partition.annealing.whole_nets import instance_of
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

__all__ = ["Run"]

MOST = 32_000_000
"""Moves that an annealing tries at most."""


class Run(Holding):
    """Solves one problem.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per class and device.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        patience: int,
        moves: int,
        ideals: Method,
        slices: Method,
    ) -> None:
        super().__init__(problem, limits, progress, colocated(problem), moves)
        self._patience, self._ideals, self._slices = patience, ideals, slices
        self._lock = Lock()

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        self._begin()
        if (~self._instance.allowed).all(axis=1).any():
            return self._answer()
        MultiStart(self._limits, CHAINS, self._patience, self._steps, FEWEST, MOST).run(
            self._chain,
            self._keep_best,
            cost=lambda: int(self._best.load[0]),
            done=lambda: self._ended is not None or self._closed(self._cost),
            prepare=self._prepare,
        )
        return self._answer()

    def _begin(self) -> None:
        """Take the plan to start from and the best split along an order, and set up what the annealings share."""
        self._take_start()
        self._order = along_order(self._problem)
        if self._plan is None:
            self._slice()
        done = self._ended is not None or self._closed(self._cost)
        found = None if done else ordered(self._problem, self._limits, self._progress, self._ideals, self._slices)
        if found is not None and not verify(self._problem, found):
            self._keep(found)
        self._instance = instance_of(self._problem, self._cost or 1.0)
        self._ordered = None if found is None else found.assignment[self._first]
        self._best = Best(np.zeros(len(self._first), np.int64), np.array([NO_LOAD]))
        if self._plan is not None:
            self._best.device[:] = self._plan.assignment[self._first]
            self._best.load[0] = loads_of(self._instance, state_of(self._instance, self._best.device)).max(initial=0)

    def _slice(self) -> None:
        """Take slices of about equal work, if they are a plan: something to hold, at once."""
        instance = instance_of(self._problem)
        state = state_of(instance, sliced(instance, self._order, np.random.default_rng(self._limits.seed)))
        if instance.allowed.any(axis=1).all() and not broken(instance, state):
            self._keep(Plan.create(self._problem, state.device[self._group]))

    def _prepare(self, steps: int) -> None:
        """Compile the moves if a round of annealings of so many *steps* is worth it; no annealing has ended it yet."""
        ANNEAL.pick(CHAINS * steps, self._progress.say)
        self._closer = CHAINS

    def _keep_best(self, found: list[Best]) -> None:
        """Keep the best split of a round; of those close enough to the bound, that of the first chain."""
        best = found[self._closer] if self._closer < CHAINS else min(found, key=lambda one: int(one.load[0]))
        if best.load[0] < self._best.load[0]:
            self._best = best
            self._keep(self._plan_of(best))

    def _chain(self, turn: Turn) -> Best:
        """Anneal once; what this does depends on the turn and on the best split before the round alone."""
        chosen = recipe(turn.chain, len(self._first), turn.random)
        device = self._start(chosen.origin, turn.random)
        least = int(self._best.load[0])

        def pause(best: Best) -> bool:
            nonlocal least
            if best.load[0] < least:
                least = int(best.load[0])
                self._report(best, turn.chain)
            return self._ended is not None or self._closer <= turn.chain

        best = anneal(self._instance, device, self._best, chosen, turn.steps, turn.random, self._progress.say, pause)
        pause(best)
        return best

    def _start(self, origin: Origin, random: np.random.Generator) -> Ints:
        if origin == "best" and self._best.load[0] < NO_LOAD:
            return self._best.device
        if origin in ("best", "ordered") and self._ordered is not None:
            return self._ordered
        if origin == "random":
            return scattered(self._instance, random)
        return sliced(self._instance, self._order, random)

    def _report(self, best: Best, chain: int) -> None:
        """Tell of a plan better than that before the round, and see whether it is good enough to end with."""
        plan = self._plan_of(best)
        cost = evaluate(self._problem, plan).cost
        self._progress.report_plan(plan, cost)
        if self._closed(cost):
            with self._lock:
                self._closer = min(self._closer, chain)

    def _plan_of(self, best: Best) -> Plan:
        return Plan.create(self._problem, best.device[self._group])
