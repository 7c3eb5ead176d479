"""One run of method ``annealing`` where the devices must stand in an order: one annealing after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.rows import rows_of
from mtpp_dsl.core.views.symmetry import interchangeable, numbered
from mtpp_dsl.solvers.algorithms.mending import Mender
from mtpp_dsl.solvers.partition.annealing.device_order import arcs_of
from mtpp_dsl.solvers.partition.annealing.one_ordered_annealing import anneal_in_order
from mtpp_dsl.solvers.partition.annealing.ordered_recipes import recipe
from mtpp_dsl.solvers.partition.annealing.split_moves import BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import loads_of, state_of
from mtpp_dsl.solvers.partition.annealing.starts import (
    MIN_MOVES,
    NO_LOAD,
    first_moves,
    incumbent_of,
    ordered_start,
    result_of,
)
from mtpp_dsl.solvers.partition.annealing.whole_nets import instance_of
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

__all__ = ["OrderedRun"]

MEND_SHARE, MEND_SECONDS = 0.2, 5.0
"""Of the time left, and at most, for a first plan under labelled rows."""
MAX_MOVES = 16_000_000
"""Moves that an annealing tries at most."""


class OrderedRun:
    """Solves one problem.

    Args:
        problem: the problem.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: annealings without a better plan after which it ends.
        moves: of the first annealing, per supernode and device.
        methods: find plans to start from, the first choice first.
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
        self._supernode = together(problem)
        self._first = np.unique(self._supernode, return_index=True)[1]
        first = first_moves(moves, len(self._first), problem.k)
        self._rounds = MultiStart(limits, 1, patience, first, MIN_MOVES, MAX_MOVES)
        self._arcs = arcs_of(problem, self._supernode)
        self._alike = interchangeable(problem)

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        start = self._begin()
        if start is not None:
            self._rounds.run(
                partial(self._anneal, start),
                lambda found: self._take(found[0]),
                cost=lambda: int(self._best.load[0]),
                done=lambda: self._incumbent.done,
            )
        return result_of(self._incumbent)

    def _begin(self) -> Ints | None:
        """Take the plan to start from, set up the instance, and return a state to start from, if there is any."""
        incumbent = self._incumbent
        incumbent.take_start()
        self._best = BestSplit(np.zeros(len(self._first), np.int64), np.array([NO_LOAD]))
        self._instance = instance_of(self._problem)
        device: Ints | None = None
        if not incumbent.done:
            setting = (self._problem, self._instance, self._arcs, self._methods, self._limits, self._progress)
            device, plan = ordered_start(*setting)
            if plan is not None:
                incumbent.take(plan)
            if plan is not None and incumbent.plan is None and self._problem.hard_rows:
                mended = Mender(self._problem).mended(plan, min(MEND_SECONDS, MEND_SHARE * self._limits.remaining))
                if mended is not None:
                    incumbent.take(mended)
        self._rows = rows_of(self._problem, self._supernode, self._instance.unit)
        if incumbent.plan is None:
            return device
        self._instance = instance_of(self._problem, incumbent.cost or 1.0)
        self._rows = rows_of(self._problem, self._supernode, self._instance.unit)
        device = incumbent.plan.assignment[self._first]
        state = state_of(self._instance, device)
        self._best = BestSplit(device, loads_of(self._instance, state).max(initial=0, keepdims=True))
        return device

    def _anneal(self, start: Ints, turn: Turn) -> BestSplit:
        """Anneal once from the best state, or from *start* if there is none yet."""
        return anneal_in_order(
            self._instance,
            self._rows,
            self._arcs,
            self._best.device if self._best.load[0] < NO_LOAD else start,
            self._best,
            recipe(turn.random),
            turn.steps,
            turn.random,
            self._progress.say,
            self._pause,
        )

    def _pause(self, best: BestSplit) -> bool:
        """Take the best state so far, and return whether to stop."""
        self._take(best)
        return self._incumbent.done

    def _take(self, best: BestSplit) -> None:
        """Keep the plan of a state if it is better than the best."""
        if best.load[0] < self._best.load[0]:
            plan = Plan.create(self._problem, best.device[self._supernode])
            if self._rows is not None and verify(self._problem, plan):
                return
            self._best = BestSplit(best.device.copy(), best.load.copy())
            self._incumbent.keep(numbered(self._problem, plan, self._alike))
