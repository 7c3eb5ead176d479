"""Which supernodes no device can have together below a target: pairs, and the pins of whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, islice

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.slicing.orders import orders
from mtpp_dsl.solvers.algorithms.slicing.segments import SegmentCosts
from mtpp_dsl.solvers.bounds.partition.around import Around, arcs_of, reached
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance

__all__ = ["Apart"]

MAX_PINS = 64
"""Of a tensor with more, pairs of the heaviest are looked at."""
MAX_SETS = 100_000
STARTS = 4
ORDERS, MAX_NODES = 7, 2_000


class Apart:
    """The least cost of a device that holds given supernodes together, by minimum cuts made when needed.

    Args:
        problem: what is asked.
        instance: its supernodes.
        scale: units per time.
        top: units of the highest target that will be asked for.
        stopped: whether to make no more cuts; what is not known then is taken to fit.
    """

    def __init__(
        self, problem: Problem, instance: BoundInstance, scale: float, top: int, stopped: Callable[[], bool]
    ) -> None:
        self._instance, self._top, self._stopped = instance, top, stopped
        self._sets: list[tuple[int, ...]] = []
        self.pins: list[tuple[int, ...]] = []
        self._pairs: list[Ints] = []
        self._collect()
        kinds = range(len(instance.counts))
        arcs = [arcs_of(problem, instance, kind) for kind in kinds]
        self._around = [Around(instance, kind, arcs[kind], scale, len(self._sets)) for kind in kinds]
        self._low = np.zeros(len(self._sets), np.int64)
        self._high = np.full(len(self._sets), top, np.int64)
        self._ranks = (
            _Ranks(problem, instance.n, self._around[0].work, arcs[0]) if _pipeline(problem, instance) else None
        )
        self._first_look(problem, scale)

    def _collect(self) -> None:
        """Number the pairs within tensors, and the tensors themselves."""
        number: dict[tuple[int, ...], int] = {}
        time = np.where(np.isfinite(self._instance.time), self._instance.time, 0.0).min(axis=1)
        for pins, _ in self._instance.nets:
            chosen = sorted(sorted(pins, key=lambda g: -time[g])[:MAX_PINS])
            table = np.full((len(chosen), len(chosen)), -1, np.int64)
            if len(number) < MAX_SETS:
                for i, j in combinations(range(len(chosen)), 2):
                    table[i, j] = table[j, i] = number.setdefault((chosen[i], chosen[j]), len(number))
            self.pins.append(tuple(chosen))
            self._pairs.append(table)
        pairs = list(number)
        self._wholes = [number.setdefault(pins, len(number)) for pins, _ in self._instance.nets]
        self._sets = list(number)
        self._ends = np.array(pairs, np.int64).reshape(-1, 2)

    def _first_look(self, problem: Problem, scale: float) -> None:
        """Bound what sets cost: by their work from below, by the windows of some orders that hold them from above."""
        work = np.min([around.work for around in self._around], axis=0)
        self._low[:] = [min(int(work[list(held)].sum()), self._top) for held in self._sets]
        graph, instance = problem.graph, self._instance
        if instance.n < graph.n or graph.n > MAX_NODES or not self._sets:
            return
        first_pin = np.array([held[0] for held in self._sets])
        for order in islice(orders(graph, instance.types.tensor, seed=0), ORDERS):
            if self._stopped():
                return
            place = np.empty(graph.n, np.int64)
            place[instance.of[order]] = np.arange(graph.n)
            first, last = place[first_pin], place[first_pin]
            for i, held in enumerate(self._sets):
                if len(held) > 2:
                    first[i], last[i] = place[list(held)].min(), place[list(held)].max()
            pairs = place[self._ends]
            first[: len(pairs)], last[: len(pairs)] = pairs.min(axis=1), pairs.max(axis=1)
            costs = SegmentCosts(graph, instance.types, order)
            for kind in range(len(instance.counts)):
                window = np.minimum.accumulate(costs.on(kind), axis=0)
                window = np.minimum.accumulate(window[:, ::-1], axis=1)[:, ::-1]
                cheapest = np.minimum(window[first, last + 1] * scale + 1, self._top).astype(np.int64)
                self._high = np.minimum(self._high, cheapest)

    def decide(self, target: int, wanted: Ints) -> None:
        """Make the cuts that tell which of the sets *wanted* no device holds below *target*."""
        for s in wanted.tolist():
            if self._low[s] < target <= self._high[s] and not self._stopped():
                self._cut(s)

    def _cut(self, s: int) -> None:
        least = self._top
        for around in self._around:
            value, side = around.least(list(self._sets[s]), least)
            if value < least and around.holds(side):
                together = side[self._ends[:, 0]] & side[self._ends[:, 1]]
                self._high[: len(together)][together] = np.minimum(self._high[: len(together)][together], value)
            least = min(least, value)
        self._low[s] = self._high[s] = least

    def unknown(self, tensor: int, target: int) -> Ints:
        """Return the sets of a tensor of which nothing is known at a target."""
        mine = np.unique(np.append(self._pairs[tensor], self._wholes[tensor]))
        mine = mine[mine >= 0]
        unknown: Ints = mine[(self._low[mine] < target) & (target <= self._high[mine])]
        return unknown

    def parts(self, tensor: int, target: int, *, hopeful: bool = False) -> tuple[int, tuple[int, ...]]:
        """Return on how many devices a tensor is at least below a target, and the supernodes that show it, if any.

        Where *hopeful*, what is not known counts as what would be best.
        """
        known = self._high if hopeful else self._low
        table, pins = self._pairs[tensor], self.pins[tensor]
        apart = (known[table] >= target) & (table >= 0)
        if self._ranks is not None:
            apart |= self._ranks.apart(np.array(pins, np.int64), target)
        clique = _clique(apart)
        if len(clique) >= 2:
            return len(clique), tuple(pins[i] for i in clique)
        return (2, ()) if known[self._wholes[tensor]] >= target else (1, ())

    def least(self, tensor: int, shown: tuple[int, ...], target: int) -> int:
        """Return a target, no lower, up to which what was shown at *target* stays."""
        if not shown:
            return int(self._low[self._wholes[tensor]])
        places = [self.pins[tensor].index(g) for g in shown]
        table = self._pairs[tensor][np.ix_(places, places)]
        off = ~np.eye(len(places), dtype=np.bool_)
        low = self._low[table][off]
        return int(low.min()) if (low >= target).all() else target


class _Ranks:
    """At which places of a pipeline of k blocks a supernode may stand: its ancestors' work needs blocks before it."""

    def __init__(self, problem: Problem, n: int, work: Ints, arcs: Ints) -> None:
        reach = reached(n, arcs) | np.eye(n, dtype=np.bool_)
        self._k = problem.k
        self._upto: Ints = work @ reach
        self._onward: Ints = reach @ work

    def apart(self, chosen: Ints, target: int) -> Bools:
        """Return [supernodes, supernodes] which cannot stand at one place."""
        first, last = self._upto[chosen] // target, self._k - 1 - self._onward[chosen] // target
        later = first[:, None] > last
        return np.asarray((later | later.T) & ~np.eye(len(chosen), dtype=np.bool_), np.bool_)


def _pipeline(problem: Problem, instance: BoundInstance) -> bool:
    """Return whether the devices are equal and stand in an order."""
    return len(instance.counts) == 1 and problem.acyclic and not problem.graph.backward.any()


def _clique(apart: Bools) -> list[int]:
    """Return numbers of which every two are apart, by a greedy search from several starts."""
    degree = apart.sum(axis=1)
    if not degree.any():
        return []
    order = np.argsort(-degree, kind="stable").tolist()
    best: list[int] = []
    for start in order[:STARTS]:
        left, clique = apart[start].copy(), [start]
        for other in order:
            if left[other]:
                clique.append(other)
                left &= apart[other]
        best = max(best, clique, key=len)
    return best
