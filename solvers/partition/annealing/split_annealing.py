"""One run of method ``annealing`` where the devices need no order: rounds of annealings side by side."""

from __future__ import annotations

from threading import Lock

import numpy as np

from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.partition.annealing.one_annealing import anneal
from mtpp_dsl.solvers.partition.annealing.recipes import CHAINS, Origin, recipe
from mtpp_dsl.solvers.partition.annealing.split_moves import ANNEAL, BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import broken, instance_of, state_of
from mtpp_dsl.solvers.partition.annealing.starts import (
    MIN_MOVES,
    NO_LOAD,
    WholeRun,
    along_order,
    first_moves,
    scattered,
    sliced,
    sliced_plan,
)
from mtpp_dsl.solvers.partition.annealing.two_devices import TwoDevices
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

MAX_MOVES = 32_000_000
"""Moves that an annealing tries at most."""
CELLS = 500
"""Of the tables of two devices, filled for each move that an annealing of a round tries: about as much time again."""


class SplitAnnealing(WholeRun):
    """Solves one problem; *methods* find plans with an acyclic quotient graph to start from."""

    def _prepare(self) -> Ints:
        self._lock = Lock()
        self._pairs: TwoDevices | None = None
        self._rounds = 0
        return colocated(self._problem)

    def _begin(self) -> bool:
        incumbent = self._incumbent
        self._order = along_order(self._problem, self._supernode)
        if incumbent.plan is None:
            self._slice()
        ordered = None
        if not incumbent.done:
            ordered = sliced_plan(self._problem, self._methods, self._limits, self._progress)
        if ordered is not None:
            incumbent.take(ordered)
        if incumbent.plan is None and self._problem.hard_rows and self._problem.graph.n:
            self._mend(ordered or Plan.create(self._problem, np.zeros(self._problem.graph.n, np.int64)))
        self._set_up()
        self._ordered = None if ordered is None else ordered.assignment[self._first]
        return bool(self._instance.allowed.any(axis=1).all())

    def _anneal(self) -> None:
        first = first_moves(self._moves, len(self._first), self._problem.k)
        MultiStart(self._limits, CHAINS, self._patience, first, MIN_MOVES, MAX_MOVES).run(
            self._chain,
            self._keep_best,
            cost=lambda: int(self._best.load[0]),
            done=lambda: self._incumbent.done,
            prepare=self._compile,
        )

    def _slice(self) -> None:
        """Keep slices of about equal work if they are a plan, so that there is one at once."""
        instance = instance_of(self._problem)
        state = state_of(instance, sliced(instance, self._order, np.random.default_rng(self._limits.seed)))
        if instance.allowed.any(axis=1).all() and not broken(instance, state):
            self._incumbent.take(self._plan_of(state.device))

    def _compile(self, steps: int) -> None:
        """Compile the moves if a round of annealings of so many *steps* is worth it; none has closed the gap yet."""
        ANNEAL.pick(CHAINS * steps, self._progress.say)
        self._closer, self._steps = CHAINS, steps

    def _keep_best(self, splits: list[BestSplit]) -> None:
        """Keep the best split of a round; of those close enough to the bound, that of the first chain."""
        best = splits[self._closer] if self._closer < CHAINS else min(splits, key=lambda one: int(one.load[0]))
        if best.load[0] < self._best.load[0] and self._keeps_rows(self._plan_of(best.device)):
            self._best = best
            self._incumbent.keep(self._plan_of(best.device))
        if self._rows is None and self._best.load[0] < NO_LOAD and not self._incumbent.done:
            self._divide_anew()

    def _divide_anew(self) -> None:
        """Go on from the best split, where the graph allows that, with what two devices hold divided anew."""
        self._rounds += 1
        if self._pairs is None:
            self._pairs = TwoDevices(self._instance)
        if self._pairs.able:
            random = np.random.default_rng((self._limits.seed, self._rounds))
            cells = CHAINS * CELLS * self._steps
            self._pairs.improve(self._best.device, cells, random, self._take, lambda: self._incumbent.done)

    def _take(self, device: Ints, load: int) -> None:
        """Keep a split that is a plan and better than the best one known."""
        self._best = BestSplit(device.copy(), np.array([load]))
        self._incumbent.keep(self._plan_of(device))

    def _chain(self, turn: Turn) -> BestSplit:
        """Anneal once; what this does depends on the turn and on the best split before the round alone."""
        chosen = recipe(turn.chain, len(self._first), turn.random)
        device = self._start(chosen.origin, turn.random)
        least = int(self._best.load[0])

        def pause(best: BestSplit) -> bool:
            nonlocal least
            if best.load[0] < least:
                least = int(best.load[0])
                self._report(best, turn.chain)
            return self._progress.ended(self._limits) is not None or self._closer <= turn.chain

        given = self._instance, self._rows, device, self._best, chosen, turn.steps, turn.random
        best = anneal(*given, self._progress.say, pause)
        pause(best)
        return best

    def _start(self, origin: Origin, random: np.random.Generator) -> Ints:
        """Return the state to start from: of the choices that a recipe has, one that is known, else slices."""
        if origin == "best" and self._best.load[0] < NO_LOAD:
            return self._best.device
        if origin in ("best", "ordered") and self._ordered is not None:
            return self._ordered
        if origin == "random":
            return scattered(self._instance, random)
        return sliced(self._instance, self._order, random)

    def _report(self, best: BestSplit, chain: int) -> None:
        """Report a plan better than that before the round, and note the chain if it closes the gap.

        The incumbent takes the best plan when the round is over: what it is must not depend on the order of threads.
        """
        plan = self._plan_of(best.device)
        if not self._keeps_rows(plan):
            return
        cost = evaluate(self._problem, plan).cost
        self._progress.report_plan(plan, cost)
        if self._incumbent.closed(cost):
            with self._lock:
                self._closer = min(self._closer, chain)
