"""Hold what the search for heavy convex sets reads, and the sets found: loads in whole units, paths, places of sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from mtpp_dsl.core.base.lazy import sparse
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.bounds.configuration.greedy_sets import incidence
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, whole_loads

__all__ = ["ConvexPool", "Ordered", "PositionRange", "Units"]

BITS = 30
LARGEST = 2**40
MAX_FREE = 2.0**44
"""Units: sums of what streams stay below the capacities of endless arcs."""


@dataclass(frozen=True)
class PositionRange:
    """Consecutive positions in the order of the devices, counted from 1, of which a set takes one.

    Attributes:
        start, end: the first and the last of them.
        k: how many positions there are.
    """

    start: int
    end: int
    k: int

    @property
    def count(self) -> int:
        """How many positions."""
        return self.end - self.start + 1


class Ordered:
    """A graph whose nodes devices hold in convex sets.

    Args:
        instance: nodes that are all by themselves.

    Attributes:
        edges: [edges, 2] those beside which no other path leads, in a topological order of their tails.
        reach: [n, n] whether a path leads from the one to the other.
        into, tails, out, heads: all edges by head, and by tail.
        starts, pins, first, at: tensors by pin, and by node.
    """

    def __init__(self, instance: BoundInstance) -> None:
        n = instance.n
        self.instance = instance
        edges: Ints = np.array(instance.parts[0], np.int64).reshape(-1, 2)
        self.out, self.heads = _listed(n, edges[:, 0], edges[:, 1])
        self.into, self.tails = _listed(n, edges[:, 1], edges[:, 0])
        self.reach: Bools = np.zeros((n, n), np.bool_)
        for v in np.argsort(-instance.rank).tolist():
            for w in self.heads[self.out[v] : self.out[v + 1]].tolist():
                self.reach[v] |= self.reach[w]
                self.reach[v, w] = True
        kept = [_needed(self.reach, self.heads[self.out[v] : self.out[v + 1]]) for v in range(n)]
        order = [v for v in np.argsort(instance.rank).tolist() if len(kept[v])]
        tails = np.repeat(np.array(order, np.int64), [len(kept[v]) for v in order])
        heads = np.concatenate([np.zeros(0, np.int64), *(kept[v] for v in order)])
        self.edges: Ints = np.stack((tails, heads), axis=1)
        self.starts, self.pins, self.first, self.at = incidence(n, instance.nets)


class Units:
    """Loads, memory and streams in whole units for one target, rounded so that no set below the target is lost.

    Args:
        ordered: the graph.
        target: the target.

    Attributes:
        work, cost, memory, extra: [n], [tensors], [n], [n]; extra is what streaming a node's parameters takes.
        above, below: [n] work of all that comes before, and after, a node.
        capacity, room, free: of load, memory, and streams that cost nothing.
        unit: what loads are multiplied with in cuts.
    """

    def __init__(self, ordered: Ordered, target: float) -> None:
        instance = ordered.instance
        sizes = whole_loads(instance, target, bits=BITS, room=0.0)[0]
        self.target, self.work, self.cost, self.capacity = target, sizes.work, sizes.nets, sizes.capacity
        self.memory, self.room = _memory(instance)
        self.extra, self.free = _streams(instance, sizes.scale, self.capacity)
        reach = ordered.reach.astype(np.int64)
        self.above: Ints = self.work @ reach
        self.below: Ints = reach @ self.work
        self.unit = max(2**BITS // max(self.capacity, 1), 1)

    def limits(self, place: PositionRange, total: int) -> Ints:
        """Return the limits of a set at a place, as the kernels take them; *total* is what all nodes weigh."""
        return np.array(
            [
                self.capacity,
                self.room,
                (place.end - 1) * (self.capacity + 1),
                (place.k - place.start) * (self.capacity + 1),
                place.end == 1,
                place.start == place.k,
                self.free,
                max(LARGEST // max(total, 1), 1),
            ],
            np.int64,
        )


def _needed(reach: Bools, heads: Ints) -> Ints:
    """Return those of the *heads* of a node's edges that no other of them reaches, each once."""
    heads = np.unique(heads)
    needed: Ints = heads[~reach[np.ix_(heads, heads)].any(axis=0)]
    return needed


def _listed(n: int, key: Ints, value: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(key, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(key, minlength=n)))).astype(np.int64)
    return starts, np.ascontiguousarray(value[order])


def _memory(instance: BoundInstance) -> tuple[Ints, int]:
    """Return memory in whole units, rounded down, and how many there are, rounded up."""
    limit = float(instance.types.memory[0])
    if not instance.memory_binds(0):
        return np.zeros(instance.n, np.int64), 0
    scale = 2.0**BITS / limit if limit > 0 else 2.0**BITS / float(instance.memory.max())
    room = ceil(limit * scale)
    whole = [min(floor(size * scale), room + 1) if size <= limit else room + 1 for size in instance.memory.tolist()]
    return np.array(whole, np.int64), room


def _streams(instance: BoundInstance, scale: float, capacity: int) -> tuple[Ints, int]:
    """Return what streaming takes in units of the load, rounded down, and how much of it is free, rounded up.

    Where that is more than numbers hold, nothing is free, and every node streams what is too much of its own: a set
    streams that, or more.
    """
    if not instance.overflows(0):
        return np.zeros(instance.n, np.int64), 0
    rate = scale / instance.types.bandwidth
    sizes, kept = instance.params, float(instance.types.overflow[0])
    if kept * rate > MAX_FREE:
        sizes, kept = np.maximum(sizes - kept, 0.0), 0.0
    free = ceil(kept * rate)
    most = free + 2 * capacity + 2
    return np.array([min(floor(min(size * rate, 2.0**51)), most) for size in sizes.tolist()], np.int64), free


# The convex sets found so far.


class ConvexPool:
    """Sets of nodes, each once, kept from target to target.

    Args:
        ordered: the graph.

    Attributes:
        table: [sets, n].
    """

    def __init__(self, ordered: Ordered) -> None:
        self._ordered = ordered
        n, many = ordered.instance.n, len(ordered.starts) - 1
        rows = np.repeat(np.arange(many), np.diff(ordered.starts))
        self._incidence = sparse.csr_array((np.ones(len(rows), np.int64), (rows, ordered.pins)), shape=(many, n))
        self._reach: Floats = ordered.reach.astype(np.float32)
        self._seen: dict[bytes, int] = {}
        self._room = np.zeros((1024, n), np.bool_)

    @property
    def table(self) -> Bools:
        """[sets, n] all sets."""
        return self._room[: len(self._seen)]

    def add(self, in_set: Bools) -> int:
        """Return the number of a set; new ones come last."""
        many = len(self._seen)
        number = self._seen.setdefault(np.packbits(in_set).tobytes(), many)
        if number == many:
            if many == len(self._room):
                self._room = np.concatenate((self._room, np.zeros_like(self._room)))
            self._room[many] = in_set
        return number

    def standing(self, units: Units, places: Sequence[PositionRange], first: int) -> Bools:
        """Return [sets, places] whether a set, from number *first* on, is below the target and may stand at a place."""
        rows = self.table[first:]
        whole = rows.astype(np.int64)
        count = self._incidence @ whole.T
        pins = np.diff(self._ordered.starts)
        load = whole @ units.work + units.cost @ ((count > 0) & (count < pins[:, None]))
        load += np.maximum(whole @ units.extra - units.free, 0)
        fits = (load <= units.capacity) & (whole @ units.memory <= units.room)
        dense = rows.astype(np.float32)
        before, after = dense @ self._reach.T > 0, dense @ self._reach > 0
        fits &= ~(before & after & ~rows).any(axis=1)
        before, after = before & ~rows, after & ~rows
        work_before, work_after = before @ units.work, after @ units.work
        stands = np.zeros((len(rows), len(places)), np.bool_)
        for p, place in enumerate(places):
            limits = units.limits(place, 1)
            if place.end == 1:
                stands[:, p] = fits & ~before.any(axis=1)
            elif place.start == place.k:
                stands[:, p] = fits & ~after.any(axis=1)
            else:
                stands[:, p] = fits & (work_before <= limits[2]) & (work_after <= limits[3])
        return stands


def weigh(table: Bools, weights: Ints) -> Floats:
    """Return [sets] what each weighs."""
    weight: Floats = np.asarray(table @ weights.astype(np.float64), np.float64)
    return weight
