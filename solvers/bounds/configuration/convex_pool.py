"""Convex sets found so far, and where in the order each may stand below a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.base.lazy import sparse
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.bounds.configuration.ordered_sets import Ordered, PositionRange, Units

__all__ = ["ConvexPool"]


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

    def add(self, held: Bools) -> int:
        """Return the number of a set; new ones come last."""
        many = len(self._seen)
        number = self._seen.setdefault(np.packbits(held).tobytes(), many)
        if number == many:
            if many == len(self._room):
                self._room = np.concatenate((self._room, np.zeros_like(self._room)))
            self._room[many] = held
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
        found = np.zeros((len(rows), len(places)), np.bool_)
        for p, place in enumerate(places):
            limits = units.limits(place, 1)
            if place.end == 1:
                found[:, p] = fits & ~before.any(axis=1)
            elif place.start == place.k:
                found[:, p] = fits & ~after.any(axis=1)
            else:
                found[:, p] = fits & (work_before <= limits[2]) & (work_after <= limits[3])
        return found


def weigh(table: Bools, weights: Ints) -> Floats:
    """Return [sets] what each weighs."""
    found: Floats = np.asarray(table @ weights.astype(np.float64), np.float64)
    return found
