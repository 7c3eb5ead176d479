"""One run of method ``annealing`` where the devices must stand in an order: one annealing after the other."""

from __future__ import annotations

from functools import partial

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.colocation import together
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.partition.annealing.device_order import arcs_of
from mtpp_dsl.solvers.partition.annealing.one_ordered_annealing import anneal_in_order
from mtpp_dsl.solvers.partition.annealing.ordered_recipes import recipe
from mtpp_dsl.solvers.partition.annealing.ordered_starts import starts
from mtpp_dsl.solvers.partition.annealing.split_held import FEWEST, NO_LOAD, Holding
from mtpp_dsl.solvers.partition.annealing.split_moves import Best
from mtpp_dsl.solvers.partition.annealing.split_state import loads_of, state_of
from mtpp_dsl.solvers.partition.annealing.whole_nets import instance_of
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn
from mtpp_dsl.views.symmetry import interchangeable, numbered

__all__ = ["OrderedRun"]

MOST = 16_000_000
"""Moves that an annealing tries at most."""


class OrderedRun(Holding):
    """Solves one problem.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: annealings without a better plan after which it ends.
        moves: of the first annealing, per class and device.
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
        super().__init__(problem, limits, progress, together(problem), moves)
        self._patience, self._ideals, self._slices = patience, ideals, slices
        self._arcs = arcs_of(problem, self._group)
        self._alike = interchangeable(problem)

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        start = self._begin()
        if start is not None:
            MultiStart(self._limits, 1, self._patience, self._steps, FEWEST, MOST).run(
                partial(self._anneal, start),
                lambda found: self._take(found[0]),
                cost=lambda: int(self._best.load[0]),
                done=lambda: self._done,
            )
        return self._answer()

    def _anneal(self, start: Ints, turn: Turn) -> Best:
        """Anneal once from the best state, or from *start* if there is none yet."""
        return anneal_in_order(
            self._instance,
            self._arcs,
            self._best.device if self._best.load[0] < NO_LOAD else start,
            self._best,
            recipe(turn.random),
            turn.steps,
            turn.random,
            self._progress.say,
            self._pause,
        )

    def _begin(self) -> Ints | None:
        """Take the plan to start from, set up the instance, and return a state to start from, if there is any."""
        self._take_start()
        self._best = Best(np.zeros(len(self._first), np.int64), np.array([NO_LOAD]))
        self._instance = instance_of(self._problem)
        device: Ints | None = None
        if not self._done:
            found = starts(
                self._problem,
                self._instance,
                self._arcs,
                self._group,
                self._limits,
                self._progress,
                self._ideals,
                self._slices,
            )
            device, plan = next(found, (None, None))
            if plan is not None and not verify(self._problem, plan):
                self._keep(plan)
        if self._plan is None:
            return device
        self._instance = instance_of(self._problem, self._cost or 1.0)
        device = self._plan.assignment[self._first]
        state = state_of(self._instance, device)
        self._best = Best(device, loads_of(self._instance, state).max(initial=0, keepdims=True))
        return device

    def _pause(self, best: Best) -> bool:
        self._take(best)
        return self._done

    def _take(self, best: Best) -> None:
        if best.load[0] < self._best.load[0]:
            self._best = Best(best.device.copy(), best.load.copy())
            plan = Plan.create(self._problem, best.device[self._group])
            self._keep(numbered(self._problem, plan, self._alike))

    @property
    def _done(self) -> bool:
        return self._ended is not None or self._closed(self._cost)
