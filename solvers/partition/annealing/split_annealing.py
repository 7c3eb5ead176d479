"""One run of method ``annealing`` where the devices need no order: rounds of annealings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.rows import rows_of
from mtpp_dsl.solvers.algorithms.mending import Mender
from mtpp_dsl.solvers.partition.annealing.one_annealing import anneal
from mtpp_dsl.solvers.partition.annealing.recipes import CHAINS, Origin, recipe
from mtpp_dsl.solvers.partition.annealing.split_moves import ANNEAL, BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import broken, instance_of, loads_of, state_of
from mtpp_dsl.solvers.partition.annealing.starts import (
    MIN_MOVES,
    NO_LOAD,
    along_order,
    first_moves,
    incumbent_of,
    result_of,
    scattered,
    sliced,
    sliced_plan,
)
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

__all__ = ["SplitAnnealing"]

MEND_SHARE, MEND_SECONDS = 0.2, 5.0
"""Of the time left, and at most, for a first plan under labelled rows."""
MAX_MOVES = 32_000_000
"""Moves that an annealing tries at most."""


class SplitAnnealing:
    """Solves one problem.

    Args:
        problem: the problem.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per supernode and device.
        methods: find plans with an acyclic quotient graph to start from, the first choice first.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        patience: int,
        moves: int,
        methods: Sequence[Method],
    ) -> None:
        self._problem, self._limits, self._progress, self._methods = problem, limits, progress, methods
        self._incumbent = incumbent_of(problem, limits, progress)
        self._supernode = colocated(problem)
        self._first = np.unique(self._supernode, return_index=True)[1]
        first = first_moves(moves, len(self._first), problem.k)
        self._rounds = MultiStart(limits, CHAINS, patience, first, MIN_MOVES, MAX_MOVES)
        self._lock = Lock()

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        self._begin()
        if self._instance.allowed.any(axis=1).all():
            self._rounds.run(
                self._chain,
                self._keep_best,
                cost=lambda: int(self._best.load[0]),
                done=lambda: self._incumbent.done,
                prepare=self._prepare,
            )
        return result_of(self._incumbent)

    def _begin(self) -> None:
        """Take the plan to start from and the best split along an order, and set up what the annealings share."""
        incumbent = self._incumbent
        incumbent.take_start()
        self._order = along_order(self._problem)
        if incumbent.plan is None:
            self._slice()
        found = None
        if not incumbent.done:
            found = sliced_plan(self._problem, self._methods, self._limits, self._progress)
        if found is not None:
            incumbent.take(found)
        if incumbent.plan is None:
            self._mend(found)
        self._instance = instance_of(self._problem, incumbent.cost or 1.0)
        self._rows = rows_of(self._problem, self._supernode, self._instance.unit)
        self._ordered = None if found is None else found.assignment[self._first]
        self._best = BestSplit(np.zeros(len(self._first), np.int64), np.array([NO_LOAD]))
        if incumbent.plan is not None:
            self._best.device[:] = incumbent.plan.assignment[self._first]
            self._best.load[0] = loads_of(self._instance, state_of(self._instance, self._best.device)).max(initial=0)

    def _slice(self) -> None:
        """Keep slices of about equal work if they are a plan, so that there is one at once."""
        instance = instance_of(self._problem)
        state = state_of(instance, sliced(instance, self._order, np.random.default_rng(self._limits.seed)))
        if instance.allowed.any(axis=1).all() and not broken(instance, state):
            self._incumbent.take(Plan.create(self._problem, state.device[self._supernode]))

    def _mend(self, plan: Plan | None) -> None:
        """Keep what comes of a plan, or of everything on one device, when nodes move until the rows hold."""
        if self._problem.hard_rows and self._problem.graph.n:
            near = plan or Plan.create(self._problem, np.zeros(self._problem.graph.n, np.int64))
            mended = Mender(self._problem).mended(near, min(MEND_SECONDS, MEND_SHARE * self._limits.remaining))
            if mended is not None:
                self._incumbent.take(mended)

    def _prepare(self, steps: int) -> None:
        """Compile the moves if a round of annealings of so many *steps* is worth it; none has closed the gap yet."""
        ANNEAL.pick(CHAINS * steps, self._progress.say)
        self._closer = CHAINS

    def _keep_best(self, found: list[BestSplit]) -> None:
        """Keep the best split of a round; of those close enough to the bound, that of the first chain."""
        best = found[self._closer] if self._closer < CHAINS else min(found, key=lambda one: int(one.load[0]))
        if best.load[0] < self._best.load[0] and self._held(self._plan_of(best)):
            self._best = best
            self._incumbent.keep(self._plan_of(best))

    def _held(self, plan: Plan) -> bool:
        """Return whether a plan keeps the rows exactly; the moves sum them up with rounding."""
        return self._rows is None or not verify(self._problem, plan)

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
        plan = self._plan_of(best)
        if not self._held(plan):
            return
        cost = evaluate(self._problem, plan).cost
        self._progress.report_plan(plan, cost)
        if self._incumbent.closed(cost):
            with self._lock:
                self._closer = min(self._closer, chain)

    def _plan_of(self, best: BestSplit) -> Plan:
        return Plan.create(self._problem, best.device[self._supernode])
