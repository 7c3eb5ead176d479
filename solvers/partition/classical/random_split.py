"""Random splits that keep the limits of memory, and what may be where."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.solvers.algorithms.slicing.orders import kahn
from mtpp_dsl.solvers.partition.classical.descent import Fixed

__all__ = ["random_split"]

MAX_TRIES = 20


def random_split(
    fixed: Fixed, apart: Sequence[set[int]], order: Graph | None, random: np.random.Generator
) -> Ints | None:
    """Return [units] random places, or None if none of some tries fits.

    Without an *order* each unit, the units in random order, goes to any place with room for it. With one, a random
    topological order is cut at random. Later tries leave less to chance: large units first, or places filled up.

    Args:
        fixed: units and places.
        apart: the units that must not be where each is.
        order: of the units, as a graph.
        random: where the splits come from.
    """
    for attempt in range(MAX_TRIES):
        late = attempt >= MAX_TRIES // 2
        found = _loose(fixed, apart, random, late) if order is None else _cut(fixed, apart, order, random, late)
        if found is not None:
            return found
    return None


class _Filling:
    """Places while they are filled."""

    def __init__(self, fixed: Fixed, apart: Sequence[set[int]]) -> None:
        self._fixed, self._apart = fixed, apart
        self._held = np.zeros(fixed.time.shape[1])
        self.place: Ints = np.full(len(fixed.size), -1, np.int64)

    def open(self, unit: int) -> Ints:
        """Return the places that can take *unit*."""
        can = np.isfinite(self._fixed.time[unit]) & (self._held + self._fixed.size[unit] <= self._fixed.room)
        taken = self.place[list(self._apart[unit])]
        can[taken[taken >= 0]] = False
        return np.flatnonzero(can)

    def put(self, unit: int, place: int) -> None:
        self.place[unit] = place
        self._held[place] += self._fixed.size[unit]


def _loose(fixed: Fixed, apart: Sequence[set[int]], random: np.random.Generator, large_first: bool) -> Ints | None:
    filling = _Filling(fixed, apart)
    units = random.permutation(len(fixed.size))
    if large_first:
        units = units[np.argsort(-fixed.size[units], kind="stable")]
    for unit in units.tolist():
        places = filling.open(unit)
        if not places.size:
            return None
        filling.put(unit, int(random.choice(places)))
    return filling.place


def _cut(fixed: Fixed, apart: Sequence[set[int]], order: Graph, random: np.random.Generator, full: bool) -> Ints | None:
    filling = _Filling(fixed, apart)
    n, k = len(fixed.size), len(fixed.room)
    cuts = np.sort(random.integers(0, n + 1, k - 1))
    wanted = np.zeros(n, np.int64) if full else np.searchsorted(cuts, np.arange(n), side="right")
    place = 0
    for unit, least in zip(kahn(order, random.random(n)).tolist(), wanted.tolist(), strict=True):
        places = filling.open(unit)
        places = places[places >= max(place, least)]
        if not places.size:
            return None
        place = int(places[0])
        filling.put(unit, place)
    return filling.place
