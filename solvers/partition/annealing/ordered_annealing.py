"""One run of method ``annealing`` where the devices must stand in an order: one annealing after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.rows import LabelledRows, rows_of
from mtpp_dsl.core.views.symmetry import interchangeable, numbered
from mtpp_dsl.solvers.algorithms.mending import Mender
from mtpp_dsl.solvers.partition.annealing.device_order import QuotientArcs, arcs_of, order_of
from mtpp_dsl.solvers.partition.annealing.one_annealing import charged, energies
from mtpp_dsl.solvers.partition.annealing.ordered_moves import DRAWS, ORDERED
from mtpp_dsl.solvers.partition.annealing.recipes import OrderedRecipe, ordered_recipe
from mtpp_dsl.solvers.partition.annealing.split_moves import BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import (
    BITS,
    WholeInstance,
    broken,
    instance_of,
    loads_of,
    state_of,
)
from mtpp_dsl.solvers.partition.annealing.starts import (
    MIN_MOVES,
    NO_LOAD,
    first_moves,
    incumbent_of,
    ordered_start,
    result_of,
)
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

__all__ = ["OrderedRun", "anneal_in_order"]

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
            ordered_recipe(turn.random),
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


# One annealing from one state, in chunks.

CHUNK = 20_000


def anneal_in_order(
    instance: WholeInstance,
    rows: LabelledRows | None,
    arcs: QuotientArcs,
    device: Ints,
    known: BestSplit,
    recipe: OrderedRecipe,
    steps: int,
    random: np.random.Generator,
    say: Callable[[str], None],
    pause: Callable[[BestSplit], bool],
) -> BestSplit:
    """Return the best valid state met, or *known* if none is better.

    Args:
        instance: what is to be split.
        rows: labelled rows, of loads in the unit of *instance*; not changed.
        arcs: the edges that the order of the devices has to respect.
        device: [n] the state to start from, in such an order; it may break other constraints.
        known: the best valid state known; its load is the largest whole number without one. Not changed.
        recipe: temperature and moves.
        steps: moves to try.
        random: where they come from.
        say: told when code has to be compiled.
        pause: called with the best state after each chunk; True ends the annealing.
    """
    k = instance.time.shape[1]
    state, order = state_of(instance, device), order_of(arcs, device, k)
    assert order is not None
    best = BestSplit(known.device.copy(), known.load.copy())
    peak = int(loads_of(instance, state).max(initial=0))
    own = None if rows is None else rows.fresh(device)
    if peak < best.load[0] and not broken(instance, state) and not charged(instance, state, own):
        best.device[:] = device
        best.load[0] = peak
    unit = float(min(max(best.load[0], 1), 2**BITS))
    energy = energies(instance, state, recipe.power, unit)
    scale = energy_alone(instance, recipe.power, unit)
    run = ORDERED.pick(steps, say)
    draws = np.empty(CHUNK * DRAWS)
    for done in range(0, steps, CHUNK):
        if pause(best) or best.load[0] <= 0:
            break
        end = min(steps, done + CHUNK)
        hot, cold = (recipe.hot * (recipe.cold / recipe.hot) ** (part / steps) * scale for part in (done, end))
        random.random(out=draws)
        charged(instance, state, own)
        heat = hot, cold, recipe.power, unit, recipe.moves
        run(draws, end - done, *heat, instance, state, arcs, order, energy, best, own)
    return best


def energy_alone(instance: WholeInstance, power: int, unit: float) -> float:
    """Return what a device near the largest load gains in energy by one supernode more, on average."""
    time = np.where(instance.allowed, instance.time, 0).max(axis=1, initial=0).astype(np.float64)
    nets = np.repeat(np.arange(len(time)), np.diff(instance.nets_at))
    alone = time + np.bincount(nets, weights=instance.cost[instance.net], minlength=len(time))
    return float(max(power * alone.mean() / unit, 1e-12))
