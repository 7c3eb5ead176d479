"""Strengthen the bound of a path by chains of nodes beside it, which its subgraphs share or which run by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.latency.along_path import AlongPath, Cuts
from mtpp_dsl.solvers.latency.hulls import Hulls
from mtpp_dsl.solvers.latency.side_chains import Bundle, bundles
from mtpp_dsl.solvers.latency.side_pass import CHEAPEST_WAY

WAYS = (4, 12, 27, 64)
"""Ways to share the chains of one place, ever more where the cheapest way to cut the path parts them."""
STRIDE = 5e-4
"""Ways that cost more than is known by this share do not matter in the next pass; twice that if there was none."""
MOST_CELLS, MOST_STATES = 30_000_000, 8_000_000
"""Runs times pairs of ways to share, and states of the dynamic programme, of which there is room for arrays."""
LEVELS, STATES = 32, 320
"""Levels of how late chains are, and options times levels, of one bundle at most."""
NEAR = 4
"""Runs whose ends are no more nodes away are looked at along with those of the cheapest way: passes take longer."""


@dataclass(frozen=True)
class Held:
    """A run of a path that has been looked at more closely, and what it takes.

    Attributes:
        i, j: its first place, and the item at its end.
        left, taken: how much of the chains before it is left to it, and how much of those after it it takes; None
            where nothing is known.
        rent: of memory in its minimum cut.
    """

    i: int
    j: int
    left: tuple[int, ...] | None
    taken: tuple[int, ...] | None
    rent: float


class SideBound:
    """The bound of one path.

    Args:
        hulls: those of the problem.
        ways: the ways to cut the path.
        along: what is known along it.
        limit: bounds need not be above.
        at: [places] chains at each.
    """

    @classmethod
    def of(cls, hulls: Hulls, ways: AlongPath, along: Cuts, limit: float) -> SideBound | None:
        """Return the bound by chains with few ways to share those of one place; None without any, or for too many."""
        each = bundles(hulls.graph, ways.path, reach_of(hulls, ways.path), hulls.weights)
        few = {b: b.fuller(hulls.weights, WAYS[0]) for b in each if b is not None}
        at = [each[x] for x in along.places.before.tolist()]
        return cls._fitting(hulls, ways, along, limit, [None if b is None else few[b] for b in at])

    @classmethod
    def _fitting(
        cls, hulls: Hulls, ways: AlongPath, along: Cuts, limit: float, at: Sequence[Bundle | None]
    ) -> SideBound | None:
        runs, most = int(np.isfinite(along.runs).sum()), max((len(b.options) for b in at if b is not None), default=0)
        if not most or runs * (most + 1) ** 2 > MOST_CELLS or most > _room(hulls, ways, len(at)):
            return None
        return cls(hulls, ways, along, limit, at)

    def fuller(self, limit: float) -> SideBound | None:
        """Return the bound with more ways to share the chains that the cheapest way parts, or else has beside it.

        It starts from what is known of the runs. None where there are no more ways, or too many. Where two runs of that
        way do not share a memory as they should, there are more places first.
        """
        amounts = self._too_full()
        if amounts:
            runs, *_ = self.ways.part(amounts)
            along = self._along._replace(runs=runs, places=self.ways.places)
            first = self.places.starts[along.places.before]
            at = [self.bundles[c] if c >= 0 else None for c in self.bundle[first].tolist()]
            return self._followed(self._fitting(self.hulls, self.ways, along, limit, at))
        free = self.cost.shape[1] - 1
        parted, beside = set(), set()
        for e, t, s in self.way.tolist():
            if e >= 0:
                before, behind = int(self.bundle[self.runs[e, 0]]), int(self.bundle[self.runs[e, 1] + 1])
                beside |= {before} if t < free else set()
                beside |= {behind} if s < free else set()
                parted |= {before} if t < free and t != len(self.options[before]) - 1 else set()
                parted |= {behind} if s < free and s else set()
        more = {c: self._more(self.bundles[c]) for c in beside}
        least = min((len(more[c].options) for c in beside if more[c] != self.bundles[c]), default=0)
        level = next((ways for ways in WAYS if least <= ways), 0)
        for some in (parted, beside):
            chosen = {c: more[c] for c in some if more[c] != self.bundles[c] and len(more[c].options) <= level}
            if chosen:
                at = [chosen.get(c, self.bundles[c]) if c >= 0 else None for c in self.bundle.tolist()]
                return self._followed(self._fitting(self.hulls, self.ways, self._along, limit, at))
        return None

    def _too_full(self) -> dict[int, float]:
        """Return where two runs of the cheapest way exceed the memory that they share, and an amount of it there."""
        parted = {}
        # Where the time has ended, runs of the way may not have been looked at.
        way = [(*self.runs[e].tolist(), self._memory.get((e, t, s), 0.0)) for e, t, s in self.way.tolist() if e >= 0]
        for (p, b, behind), (a, end, before) in pairwise(way):
            left = self.places.most(self.hulls.largest, b) - behind
            amount = self.places.amount(a, p, before, left) if end + 1 == p else None
            if amount is not None:
                parted[p] = amount
        return parted

    def _followed(self, fresh: SideBound | None) -> SideBound | None:
        if fresh is not None:
            fresh._take(self)
        return fresh

    def _more(self, bundle: Bundle) -> Bundle:
        """Return a bundle with the next number of ways that gives it more stops, or itself."""
        for ways in WAYS:
            more = bundle.fuller(self.hulls.weights, ways)
            if more != bundle:
                return more
        return bundle

    def _take(self, other: SideBound) -> None:
        """Take over what is known of runs from the bound with fewer stops, as options of these bundles."""
        for h, least in zip(other.held, other._leasts, strict=True):
            at, end = self.places.inside(other.places, h.i)[0], self.places.inside(other.places, h.j + 1)[0]
            before, behind = int(self.bundle[at]), int(self.bundle[end])
            left = None if h.left is None else self.bundles[before].left(other.bundles[other.bundle[h.i]], h.left)
            taken = None
            if h.taken is not None:
                taken = self.bundles[behind].taken(other.bundles[other.bundle[h.j + 1]], h.taken)
            ends = self.places.inside(other.places, h.j + 1)
            for i, j in product(self.places.inside(other.places, h.i), (end - 1 for end in ends)):
                if (i, j) in self._number:
                    self._keep(self._number[i, j], Held(i, j, left, taken, h.rent), least)

    def _keep(self, e: int, held: Held, least: float) -> None:
        """Note what a run takes at least with all options by which it holds no less."""
        every = np.ones(self.cost.shape[1], np.bool_)
        rows = every if held.left is None else self._no_less(int(self.bundle[held.i]), held.left, down=True)
        columns = every if held.taken is None else self._no_less(int(self.bundle[held.j + 1]), held.taken, down=False)
        which = np.ix_(rows, columns)
        if least > self.cost[e][which].min():
            self.cost[e][which] = np.maximum(self.cost[e][which], least)
            self.held.append(held)
            self._leasts.append(least)

    def __init__(self, hulls: Hulls, ways: AlongPath, along: Cuts, limit: float, at: Sequence[Bundle | None]) -> None:
        path = ways.path
        self.hulls, self.ways, self.path, self.limit = hulls, ways, path, limit
        cost, self.places = along.runs, along.places
        length = len(self.places) - 1
        self.alone: Floats = self.places.items(hulls.alone[list(path)])
        self.runs = np.argwhere(np.isfinite(cost))
        self.ends: Ints = self.runs[:, 1].copy()
        self.starts: Ints = np.searchsorted(self.runs[:, 0], np.arange(length + 1))
        self.bundles: list[Bundle] = list(dict.fromkeys(b for b in at if b is not None))
        number = {b: c for c, b in enumerate(self.bundles)}
        self.bundle = np.array([-1 if b is None else number[b] for b in at], np.int64)
        self.options = [b.options for b in self.bundles]
        size = max((len(o) for o in self.options), default=1)
        self.cost: Floats = np.repeat(cost[self.runs[:, 0], self.runs[:, 1]], (size + 1) ** 2)
        self.cost = self.cost.reshape(len(self.runs), size + 1, size + 1)
        self.delay = np.full((max(len(self.bundles), 1), size, size, 2), np.inf)
        own = cache(lambda part: hulls.beside(path, part))
        for c, b in enumerate(self.bundles):
            for s, t, beside, other in b.delays(hulls.alone, own):
                self.delay[c, s, t] = beside, other
        self.shape, self.step = self._levels()
        self.value = 0.0
        self._number = {(i, j): e for e, (i, j) in enumerate(self.runs.tolist())}
        self.way: Ints = np.full((length + 1, 3), -1, np.int64)
        self.held: list[Held] = []
        self._leasts: list[float] = []
        self._along = along
        self._done: set[tuple[int, int, int]] = set()
        self._based: dict[int, float] = {}
        self._memory: dict[tuple[int, int, int], float] = {}

    def least(self, known: float, stopped: Callable[[], bool]) -> float:
        """Return what no latency below the limit is below, from what is *known* without chains."""
        way = self.way
        most = min(self.hulls.instance.pieces, len(self.path) + self.beside)
        least_way = CHEAPEST_WAY.pick(0.0)
        limit, stride = min(known, self.limit), STRIDE
        while True:
            rest = self._rest()
            found = least_way(
                self.alone, self.bundle, self.shape, self.step, self.delay, self.starts, self.ends, self.cost, rest,
                self.places.tied, most, limit, way,
            )  # fmt: skip
            self.value = min(float(found), limit)
            fresh = [(e, t, s) for e, t, s in way.tolist() if e >= 0 and (e, t, s) not in self._done]
            if stopped() or self.value >= self.limit or (self.value < limit and not fresh):
                return self.value
            if self.value >= limit:
                limit, stride = min(self.limit, max(limit, float(rest[0])) * (1 + stride)), 2 * stride
            else:
                stride = STRIDE
            for e, t, s in fresh:
                self._look(e, t, s)
                for near in self._near(e):
                    if (near, t, s) not in self._done:
                        self._look(near, t, s)

    @property
    def beside(self) -> int:
        """How many nodes are in chains beside the path."""
        return sum(len(chain) for b in self.bundles for chain in b.chains)

    def _rest(self) -> Floats:
        """Return [places] what is behind each place takes at least."""
        rest = np.zeros(len(self.places))
        least = self.cost.min(axis=(1, 2))
        for i in range(len(self.places) - 2, -1, -1):
            own = slice(self.starts[i], self.starts[i + 1])
            through = (least[own] + rest[self.runs[own, 1] + 1]).min(initial=np.inf)
            rest[i] = min(self.alone[i] + rest[i + 1], through)
        return rest

    def _near(self, e: int) -> Iterator[int]:
        """Yield runs between the same chains that end and begin not many nodes earlier or later."""
        i, j = self.runs[e].tolist()
        for a, b in product(range(i - NEAR, i + NEAR + 1), range(j - NEAR, j + NEAR + 1)):
            near = self._number.get((a, b)) if abs(a - i) + abs(b - j) <= NEAR else None
            if (
                near is not None
                and near != e
                and self.bundle[a] == self.bundle[i]
                and self.bundle[b + 1] == self.bundle[j + 1]
            ):
                yield near

    def _look(self, e: int, t: int, s: int) -> None:
        """Find out what a run takes that has to hold something of the chains beside it."""
        i, j = self.runs[e].tolist()
        self._done.add((e, t, s))
        before, behind = int(self.bundle[i]), int(self.bundle[j + 1])
        free = self.cost.shape[1] - 1
        left = self.options[before][t] if t < free else None
        taken = self.options[behind][s] if s < free else None
        more: set[int] = set()
        if left is not None and taken is not None and before == behind:
            # Chains reach beyond it on both sides: what is left to it on one, and taken on the other.
            more.update(_nodes(self.bundles[before].between(left, taken)))
        else:
            if left is not None:
                more.update(_nodes(self.bundles[before].between(left, self.options[before][-1])))
            if taken is not None:
                more.update(_nodes(self.bundles[behind].between(self.options[behind][0], taken)))
        if not more:
            left = taken = None
            if e in self._based:
                self._memory[e, t, s] = self._based[e]
                return
        ends, within = self.places.ends(i, j), self.places.within(i, j)
        least, rent, memory = self.hulls.cheapest(self.path, *ends, sorted(more), *within)
        self._memory[e, t, s] = memory
        if not more:
            self._based[e] = memory
        self._keep(e, Held(i, j, left, taken, rent), least)

    def _no_less(self, c: int, option: tuple[int, ...], *, down: bool) -> Bools:
        """Return the options of a bundle by which a run holds no less."""
        given = np.zeros(self.cost.shape[1], np.bool_)
        options = np.array(self.options[c])
        given[: len(options)] = np.all(options <= option if down else options >= option, axis=1)
        return given

    def _levels(self) -> tuple[Ints, Floats]:
        """Return [bundles, 5] ends, options, levels and chains of each bundle, and [bundles] its steps."""
        states = min(STATES, _room(self.hulls, self.ways, len(self.places)))
        levels = [max(1, min(LEVELS, states // len(o))) for o in self.options]
        given = zip(self.bundles, self.options, levels, strict=True)
        item = self.places.item
        ends = [(item[b.first], item[b.last], len(o), k, len(b.chains)) for b, o, k in given]
        shape = np.array(ends, np.int64).reshape(-1, 5)
        least = self.delay.min(axis=3)
        farthest = np.where(np.isfinite(least), least, 0.0).max(axis=(1, 2), initial=0.0)
        step = np.array([float(farthest[c]) / (k - 1) if k > 1 else 1.0 for c, k in enumerate(levels)])
        step[step == 0] = 1.0
        return shape, step

    def data(self) -> dict[str, Any]:
        """Return what a certificate says of the chains, of runs that hold something of them, and of others."""
        names = self.hulls.graph.names
        sides = []
        for c, b in enumerate(self.bundles):
            where = sorted({*self.places.before[self.bundle == c].tolist()})
            chains = [[names[v] for v in chain] for chain in b.chains]
            stops = {"stops": [list(stops) for stops in b.stops]}
            given = {**stops, "levels": int(self.shape[c, 3]), "step": float(self.step[c])}
            sides.append({"from": b.first, "to": b.last, "at": where, "chains": chains, **given})
        held, cuts = [], []
        for h in self.held:
            if h.left is h.taken is None:
                cuts.append([*self.places.ends(h.i, h.j), h.rent])
            else:
                shared = [h.left and list(h.left), h.taken and list(h.taken)]
                held.append([*self.places.ends(h.i, h.j), *shared, h.rent])
        return {"sides": sides, "held": held, "target": self.value, "cuts": cuts}


def _room(hulls: Hulls, ways: AlongPath, places: int) -> int:
    """Return how many options times levels there may be at each place."""
    return MOST_STATES // (places * (min(hulls.instance.pieces, len(ways.path)) + 1))


def reach_of(hulls: Hulls, path: Sequence[int]) -> tuple[Ints, Ints]:
    """Return [n] the last index of a path that reaches each node, or -1, and the first that it reaches, or the length.

    The nodes of the path are not said to reach themselves.
    """
    count = np.arange(len(path))[:, None]
    lowest = np.where(hulls.after[list(path)], count, -1).max(axis=0, initial=-1)
    highest = np.where(hulls.before[list(path)], count, len(path)).min(axis=0, initial=len(path))
    return lowest, highest


def _nodes(parts: Sequence[tuple[int, ...]]) -> set[int]:
    return {v for part in parts for v in part}
