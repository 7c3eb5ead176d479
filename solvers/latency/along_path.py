"""The cheapest way to cut a path into subgraphs, whose minimum cuts are taken where they matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.solvers.latency.hulls import Hulls
from mtpp_dsl.solvers.latency.places import Places

NEAR = 1e-3
"""Runs on ways to cut a path that cost no more than the cheapest by this share are looked at more closely."""
AT_ONCE = 100


class Cuts(NamedTuple):
    """What is known of a path.

    Attributes:
        cost: what no latency is below; ``inf`` if no plan exists, 0 when stopped before anything was known.
        cuts: runs of nodes of the path for which a minimum cut was needed to show it, and the rent of memory there.
        runs: [items, items] what the run from each place to behind each item takes at least.
        places: where the path may be cut.
    """

    cost: float
    cuts: list[tuple[int, int, float]]
    runs: Floats
    places: Places


class AlongPath:
    """The ways to cut one path.

    Args:
        hulls: those of the problem.
        path: nodes, each of which reads the tensor of the one before it.
    """

    def __init__(self, hulls: Hulls, path: Sequence[int]) -> None:
        self.hulls, self.path = hulls, list(path)
        self.places = Places.of(path, None if hulls.single else hulls.instance.group)
        self.cuts: list[tuple[int, int, float]] = []
        self._runs: list[tuple[int, int, float, float]] = []
        # Of runs that have been looked at: what they had used and room for, and what they take and hold at least.
        self._known: dict[tuple[int, int], list[tuple[float, float, float, float]]] = {}

    def least(self, stopped: Callable[[], bool]) -> Cuts:
        """Return what no latency is below, with what shows it."""
        hulls, length = self.hulls, len(self.path)
        for i in range(length):
            if stopped():
                return Cuts(0.0, [], np.full((length, length), np.inf), self.places)
            self._runs += [(i, *run) for run in hulls.runs(self.path, i)]
        alone, most = hulls.alone[list(self.path)], min(hulls.instance.pieces, length)
        cost, memory, done = self._spread()
        while True:
            places = self.places
            through, value = through_each(cost, places.items(alone), most, places.tied)
            wanted = np.argwhere((through <= value * (1 + NEAR)) & ~done)
            parted = {}
            if np.isfinite(value) and not len(wanted) and not stopped():
                parted = self._too_full(through, memory, value)
            if parted:
                cost, memory, done = self.part(parted)
                continue
            if not np.isfinite(value) or not len(wanted) or stopped():
                return Cuts(value * (1 - 8e-16 * (hulls.graph.n + 100)), self.cuts, cost, places)
            nearest = np.argsort(through[wanted[:, 0], wanted[:, 1]], kind="stable")[:AT_ONCE]
            for a, b in wanted[nearest].tolist():
                (i, j), (used, room) = places.ends(a, b), places.within(a, b)
                found = hulls.cheapest(self.path, i, j, (), used, room)
                done[a, b] = True
                self._known.setdefault((i, j), []).append((used, room, found.cost, found.memory))
                memory[a, b] = max(memory[a, b], found.memory)
                if found.cost > cost[a, b]:
                    cost[a, b] = found.cost
                    self.cuts.append((i, j, found.rent))

    def part(self, parted: dict[int, float]) -> tuple[Floats, Floats, Bools]:
        """Part places; return as :meth:`_spread`."""
        self.places = self.places.parted(parted)
        return self._spread()

    def _spread(self) -> tuple[Floats, Floats, Bools]:
        """Return [items, items] what each run takes and holds at least, and whether it has been looked at."""
        places, starts = self.places, self.places.starts
        shape = (len(places) - 1, len(places) - 1)
        cost, memory, done = np.full(shape, np.inf), np.zeros(shape), np.zeros(shape, np.bool_)
        for i, j, time, held in self._runs:
            for a in range(starts[i], starts[i + 1]):
                for b in range(starts[j + 1] - 1, starts[j + 2] - 1):
                    used, room = places.within(a, b)
                    if not self.hulls.fits(held, used, room):
                        continue
                    cost[a, b], memory[a, b] = time, held
                    for before, most, least, more in self._known.get((i, j), ()):
                        if before <= used and most >= room:
                            cost[a, b] = max(cost[a, b], least)
                            same = before == used and most == room
                            done[a, b] |= same
                            memory[a, b] = max(memory[a, b], more if same else 0.0)
        return cost, memory, done

    def _too_full(self, through: Floats, memory: Floats, value: float) -> dict[int, float]:
        """Return tied places where the memory of subgraphs on cheap ways is exceeded, and an amount between both."""
        places, parted = self.places, {}
        for p in np.flatnonzero(places.tied).tolist():
            a, b = int(through[:, p - 1].argmin()), int(through[p].argmin())
            if max(through[a, p - 1], through[p, b]) > value * (1 + NEAR):
                continue
            left = places.most(self.hulls.largest, b) - float(memory[p, b])
            amount = places.amount(a, p, float(memory[a, p - 1]), left)
            if amount is not None:
                parted[p] = amount
        return parted


def through_each(cost: Floats, alone: Floats, most: int, tied: Bools) -> tuple[Floats, float]:
    """Return [items, items] the least cost of all ways to cut a path that have each run, and the least of all.

    Args:
        cost: [items, items] of the run from each place to behind each item.
        alone: [items] of each by itself.
        most: how many runs there may be.
        tied: [places] where runs end and begin at once.
    """
    length = len(alone)
    # At each place: behind or before a run, and behind or before an item by itself.
    ahead = np.full((2, length + 1, most + 1), np.inf)
    behind = np.full((2, length + 1, most + 1), np.inf)
    ahead[:, 0, 0] = 0.0
    behind[:, length] = 0.0
    for i in range(length):
        if not tied[i]:
            ahead[:, i] = ahead[:, i].min(axis=0)
        np.minimum(ahead[1, i + 1], ahead[1, i] + alone[i], out=ahead[1, i + 1])
        np.minimum(ahead[0, i + 1 :, 1:], ahead[0, i, :-1] + cost[i, i:, None], out=ahead[0, i + 1 :, 1:])
    ahead[:, length] = ahead[:, length].min(axis=0)
    for i in range(length - 1, -1, -1):
        behind[1, i] = behind[1, i + 1] + alone[i]
        behind[0, i, 1:] = (cost[i, i:, None] + behind[0, i + 1 :, :-1]).min(axis=0)
        if not tied[i]:
            behind[:, i] = behind[:, i].min(axis=0)
    through = np.full((length, length), np.inf)
    for r in range(most):
        np.minimum(through, ahead[0, :-1, r, None] + behind[0, 1:, most - 1 - r], out=through)
    return through + cost, float(ahead[0, length].min())
