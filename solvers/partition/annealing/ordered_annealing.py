"""One run of method ``annealing`` where the devices must stand in an order: one annealing after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.views.labelled_rows import LabelledRows
from mtpp_dsl.core.views.symmetry import interchangeable, numbered
from mtpp_dsl.solvers.partition.annealing.annealing_run import chunks, falling
from mtpp_dsl.solvers.partition.annealing.device_order import QuotientArcs, arcs_of, order_of
from mtpp_dsl.solvers.partition.annealing.heavy_tensors import joined
from mtpp_dsl.solvers.partition.annealing.one_annealing import begun, charged, energies
from mtpp_dsl.solvers.partition.annealing.ordered_moves import DRAWS, ORDERED
from mtpp_dsl.solvers.partition.annealing.recipes import OrderedRecipe, ordered_recipe
from mtpp_dsl.solvers.partition.annealing.split_moves import BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import (
    BITS,
    WholeInstance,
    instance_of,
    state_of,
)
from mtpp_dsl.solvers.partition.annealing.starts import MIN_MOVES, NO_LOAD, WholeRun, first_moves, ordered_start
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn
from mtpp_dsl.solvers.runtime.reduced import Aside

__all__ = ["OrderedRun", "anneal_in_order"]

MAX_MOVES = 16_000_000
"""Moves that an annealing tries at most."""
JOINED_SHARE, JOINED_PATIENCE = 0.6, 2
"""Of the time left, what annealing has with nodes held together, and after how many idle rounds it ends."""


class OrderedRun(WholeRun):
    """Solves one problem: one annealing in each round, each in an order of the devices."""

    def _prepare(self) -> Ints:
        supernode = together(self._problem)
        self._arcs = arcs_of(self._problem, supernode)
        self._alike = interchangeable(self._problem)
        return supernode

    def _begin(self) -> bool:
        incumbent, problem = self._incumbent, self._problem
        self._start: Ints | None = None
        if not incumbent.done:
            setting = (problem, instance_of(problem), self._arcs, self._methods, self._limits, self._progress)
            self._start, plan = ordered_start(*setting)
            if plan is not None:
                incumbent.take(plan)
                if incumbent.plan is None and problem.hard_rows:
                    self._mend(plan)
        self._set_up()
        return self._start is not None or incumbent.plan is not None

    def _anneal(self) -> None:
        self._anneal_joined()
        first = first_moves(self._moves, len(self._first), self._problem.k)
        MultiStart(self._limits, 1, self._patience, first, MIN_MOVES, MAX_MOVES).run(
            self._chain,
            lambda splits: self._take(splits[0]),
            cost=lambda: int(self._best.load[0]),
            done=lambda: self._incumbent.done,
        )

    def _anneal_joined(self) -> None:
        """Anneal first with the nodes at heavy tensors held together, and go on from what that finds."""
        strict = None if self._incumbent.done else joined(self._problem)
        if strict is None:
            return
        self._progress.say("annealing with the nodes at heavy tensors held together")
        limits = self._limits.within(JOINED_SHARE * self._limits.remaining, start=None)
        aside = Aside(self._progress)
        plan = OrderedRun(strict, limits, aside, JOINED_PATIENCE, self._moves, self._methods).result().plan
        if plan is not None and self._incumbent.take(plan):
            self._set_up()

    def _chain(self, turn: Turn) -> BestSplit:
        """Anneal once from the best state, or from that to start from if there is no best one yet."""
        start = self._best.device if self._start is None or self._best.load[0] < NO_LOAD else self._start
        return anneal_in_order(
            self._instance,
            self._rows,
            self._arcs,
            start,
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
            plan = self._plan_of(best.device)
            if not self._keeps_rows(plan):
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
    best, own = begun(instance, rows, state, known)
    unit = float(min(max(best.load[0], 1), 2**BITS))
    energy = energies(instance, state, recipe.power, unit)
    scale = energy_alone(instance, recipe.power, unit)
    run = ORDERED.pick(steps, say)
    draws = np.empty(CHUNK * DRAWS)
    for begin, end in chunks(steps, CHUNK, lambda: pause(best) or best.load[0] <= 0):
        hot, cold = (falling(recipe.hot, recipe.cold, part / steps) * scale for part in (begin, end))
        random.random(out=draws)
        charged(instance, state, own)
        heat = hot, cold, recipe.power, unit, recipe.moves
        run(draws, end - begin, *heat, instance, state, arcs, order, energy, best, own)
    return best


def energy_alone(instance: WholeInstance, power: int, unit: float) -> float:
    """Return what a device near the largest load gains in energy by one supernode more, on average."""
    time = np.where(instance.allowed, instance.time, 0).max(axis=1, initial=0).astype(np.float64)
    nets = np.repeat(np.arange(len(time)), np.diff(instance.nets_at))
    alone = time + np.bincount(nets, weights=instance.cost[instance.net], minlength=len(time))
    return float(max(power * alone.mean() / unit, 1e-12))
