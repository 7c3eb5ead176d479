"""Bound what a device pays for a set with given supernodes: minimum cuts, with what convexity and memory force."""

from __future__ import annotations

from math import ceil, floor, frexp, ldexp

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, OUT, CheapestSets
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance

BITS = 27
INF = 1 << 58
STEPS_PER_CUT = 2_000.0
MAX_REACHED = 1_500
NEARLY = 1e-12
ULPS = 1e-15
"""Relative: what sizes and rates lose where they are multiplied and rounded."""


def scale_for(ceiling: float) -> float:
    """Return the units per time, a power of two, in which targets up to *ceiling* are counted."""
    return ldexp(1.0, min(BITS - frexp(ceiling)[1], 1000))


class Around:
    """The loads of the sets that one device type may hold, in whole units, rounded down.

    Args:
        instance: what a device may hold.
        kind: of device.
        arcs: [arcs, 2] between supernodes: a set holds what lies on a path between two of its supernodes.
        scale: units per time.
        cuts: how many there may be.
    """

    def __init__(self, instance: BoundInstance, kind: int, arcs: Ints, scale: float, cuts: int) -> None:
        n = self._n = instance.n
        self._open = np.isfinite(instance.time[:, kind])
        self.work = _whole(np.where(self._open, instance.time[:, kind], 0.0), scale)
        self._memory, self._limit = instance.memory, float(instance.types.memory[kind]) * (1 + NEARLY)
        self._reach = reached(n, arcs) if len(arcs) else None  # large graphs come without arcs, and need no [n, n]
        self._back = None if self._reach is None else np.ascontiguousarray(self._reach.T)
        self._limited = bool(self._memory.sum() > self._limit) or not self._open.all()
        self._none = np.zeros(n, np.bool_)
        rate, free = scale / instance.types.bandwidth, float(instance.types.overflow[kind])
        streams = instance.overflows(kind)
        self._stream = _whole(instance.params * (1 - ULPS), rate) if streams else np.zeros(n, np.int64)
        self._free = ceil(free * rate + abs(free) * rate * ULPS) if streams else 0
        self._streams = bool(self._stream.any())
        tensors = instance.nets if instance.types.pays[kind] else ()
        nets = ((pins, floor(min(cost * scale, INF))) for pins, cost in tensors)
        self._sets = CheapestSets(n, nets, arcs, cuts * STEPS_PER_CUT * max(n / 50, 1))

    def least(self, given: list[int], enough: int) -> tuple[int, Bools]:
        """Return what sets with all of *given* cost at least, in units, and a set of a minimum cut.

        Anything from *enough* on is returned as *enough*, with the closure of *given* as the set.
        """
        falls, climbs = self._onward(given), self._before(given)
        inside: Bools = falls & climbs
        inside[given] = True
        if int(self.work[inside].sum()) >= enough:
            return enough, inside
        outside = self._shut(inside, falls, climbs) if self._limited else self._none
        if outside is None:
            return enough, inside
        streamed = max(int(self._stream[inside].sum()) - self._free, 0) if self._streams else 0
        value, side = self._value(inside, falls, climbs, outside, self.work, enough - streamed)
        value += streamed
        if self._streams and value < enough:
            other = self._value(inside, falls, climbs, outside, self.work + self._stream, enough + self._free)[0]
            value = max(value, other - self._free)
        return min(value, enough), side

    def holds(self, in_set: Bools) -> bool:
        """Return whether a set is convex, and fits into the memory."""
        between = self._onward(in_set) & self._before(in_set) & ~in_set
        return not between.any() and not (self._limited and self._memory[in_set].sum() > self._limit)

    def _shut(self, inside: Bools, falls: Bools, climbs: Bools) -> Bools | None:
        """Return what cannot be with a closed set; None if it cannot be itself."""
        used = float(self._memory[inside].sum())
        if used > self._limit or not self._open[inside].all():
            return None
        outside: Bools = ~inside & (~self._open | (used + self._memory > self._limit))
        outside |= falls & self._onward(outside & falls)
        outside |= climbs & self._before(outside & climbs)
        return outside

    def _onward(self, some: list[int] | Bools) -> Bools:
        """Return which supernodes lie on paths from *some*."""
        return self._none if self._reach is None else np.asarray(self._reach[some].any(axis=0))

    def _before(self, some: list[int] | Bools) -> Bools:
        """Return from which supernodes paths lead to *some*."""
        return self._none if self._back is None else np.asarray(self._back[some].any(axis=0))

    def _value(
        self, inside: Bools, falls: Bools, climbs: Bools, outside: Bools, work: Ints, enough: int
    ) -> tuple[int, Bools]:
        state = np.where(inside, IN, np.where(outside, OUT, FREE))
        return self._sets.least(state, falls, climbs, work, max(enough, 0))


def arcs_of(problem: Problem, instance: BoundInstance, kind: int) -> Ints:
    """Return [arcs, 2] between supernodes such that what a device of a kind holds is convex along their paths.

    Under ``acyclic``, of a graph without a backward part, whole supernodes are before and after each other. Else a path
    passes nodes, and where some are colocated none is given.
    """
    if problem.acyclic and not problem.graph.backward.any():
        arcs = instance.of[np.array(instance.parts[0], np.int64).reshape(-1, 2)]
    elif instance.n < problem.graph.n:
        arcs = np.zeros((0, 2), np.int64)
    else:
        chosen = [part for part, convex in zip(instance.parts, instance.convex[kind], strict=True) if convex]
        arcs = instance.of[np.array([arc for part in chosen for arc in part], np.int64).reshape(-1, 2)]
    if instance.n > MAX_REACHED:
        arcs = arcs[:0]
    unique: Ints = np.unique(arcs[arcs[:, 0] != arcs[:, 1]], axis=0)
    return unique


def reached(n: int, arcs: Ints) -> Bools:
    """Return [n, n] whether a path of one arc or more leads from one supernode to another."""
    reach = np.zeros((n, n), np.bool_)
    reach[arcs[:, 0], arcs[:, 1]] = True
    for middle in np.unique(arcs[:, 0]).tolist():
        reach[np.flatnonzero(reach[:, middle])] |= reach[middle]
    return reach


def _whole(values: Ints | np.ndarray[tuple[int], np.dtype[np.float64]], rate: float) -> Ints:
    return np.minimum(np.floor(values * rate), INF >> 8).astype(np.int64)
