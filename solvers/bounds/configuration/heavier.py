"""Sets of nodes below a target at one place in the order: heavy ones, and whether there is a heavier one."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import scratch_for
from mtpp_dsl.solvers.bounds.configuration.by_row import improve_each
from mtpp_dsl.solvers.bounds.configuration.convex_branching import BRANCH
from mtpp_dsl.solvers.bounds.configuration.grow import GROW
from mtpp_dsl.solvers.bounds.configuration.ordered_sets import Ordered, PositionRange, Units

BUDGET = 2
"""What the search returns when it has searched as many nodes as it was given."""
CHUNK = 100
"""Nodes of the search between looks at the clock."""
SMALL = 300
"""In a graph of so many nodes and pins plain Python makes as many steps in a second as the kernel says, in larger ones
fewer."""
FLAGS = 5
MAX_SETS = 8
"""Sets found before the search pauses."""


class Heavier:
    """Search for convex sets below the target, at a place, that weigh more than is asked.

    Args:
        ordered: the graph.
        units: loads at the target.
        place: where the set stands.
        say: told when code has to be compiled.
    """

    def __init__(self, ordered: Ordered, units: Units, place: PositionRange, say: Callable[[str], None]) -> None:
        self._ordered, self._units, self._place, self._say = ordered, units, place, say
        n = ordered.instance.n
        self._scratch = scratch_for(n, len(units.cost), len(ordered.pins), len(ordered.edges), more=1)
        self._flags = np.zeros((FLAGS, n), np.bool_)
        self._found = np.zeros((MAX_SETS + 1, n), np.bool_)
        self._stack = np.zeros((n + 6, n), np.int8)
        self._rates = np.zeros(n + 6, np.int64)
        self._cursor = np.zeros(4, np.int64)
        self._weights: Ints = np.zeros(n, np.int64)
        self._size = 1 + (n + len(ordered.pins)) // SMALL

    def begin(self, weights: Ints, than: int) -> None:
        """Ask for sets that weigh more than *than*."""
        self._weights = weights
        self._stack[0] = 0
        self._cursor[:] = 1, 0, 0, than
        self._limits = self._units.limits(self._place, int(weights.sum()))
        rate = self._units.unit * self._units.capacity // max(than, 1)
        self._rates[0] = min(max(rate, 1), int(self._limits[7]))

    @property
    def most(self) -> int:
        """The weight asked for, or of the heaviest set found; when the search is complete, no set weighs more."""
        return int(self._cursor[3])

    def run(
        self, nodes: int, seconds: float, stopped: Callable[[], bool], *, first: bool = False
    ) -> tuple[bool, list[Bools]]:
        """Search on; return whether the search is complete, and sets found, each heavier than the one before.

        With *first*, stop when there are any.
        """
        deadline, enough = monotonic() + seconds, int(self._cursor[2]) + nodes
        sets: list[Bools] = []
        while monotonic() < deadline and self._cursor[2] < enough and not stopped():
            self._cursor[1] = 0
            status = self._step()
            sets += [in_set.copy() for in_set in self._found[: int(self._cursor[1])]]
            if status == 0:
                return True, sets
            if first and sets:
                break
        return False, sets

    def _step(self) -> int:
        ordered, units = self._ordered, self._units
        run: Any = BRANCH.pick(0.0, self._say)
        loads = (self._weights, units.work, units.extra, units.memory, units.cost, ordered.starts, ordered.pins)
        sides = (ordered.edges, ordered.reach, units.above, units.below, self._limits)
        search = (self._stack, self._rates, self._cursor, self._scratch, self._flags, self._found)
        status, stop = BUDGET, int(self._cursor[2]) + CHUNK
        while status == BUDGET and self._cursor[2] < stop:
            portion = max(1, BRANCH.portion(self._size * (stop - int(self._cursor[2]))) // self._size)
            status = int(run(*loads, *sides, units.unit, portion, *search))
        return status


def heavy_convex(
    ordered: Ordered,
    units: Units,
    place: PositionRange,
    weights: Ints,
    starts: Bools,
    *,
    repeats: int,
    seed: int,
    say: Callable[[str], None],
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[Bools, Floats]:
    """Return [rounds, n] convex sets below the target at a place, and their weights; fewer where *stopped* says so."""
    grow: Any = GROW.pick(float(len(starts) * repeats * ordered.instance.n**2), say)
    work = units.work + units.extra if units.extra.any() else units.work
    loads = (weights.astype(np.float64), work, units.memory, units.cost)
    tensors = (ordered.starts, ordered.pins, ordered.first, ordered.at)
    edges = (ordered.into, ordered.tails, ordered.out, ordered.heads, ordered.reach)
    given = (*loads, *tensors, *edges, units.above, units.below, units.limits(place, 1))
    sets = starts.copy()
    heaviest = improve_each(lambda own, *row: grow(*given, own, repeats, *row), sets, seed, stopped)
    return sets[heaviest > 0], heaviest[heaviest > 0]
