"""Make simple splits of items over devices in their order, for searches to start from: nothing is proved of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.targets import Split
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem


def sizes_of(problem: Problem, items: Sequence[Sequence[int]], devices: Sequence[int]) -> tuple[Floats, Floats]:
    """Return [items] the memory that each takes, and [items, positions in *devices*] its work; inf: not there."""
    times = np.where(problem.allowed, problem.time, np.inf)[:, list(devices)]
    weights = np.array([float(problem.graph.memory[list(nodes)].sum()) for nodes in items])
    return weights, np.array([times[list(nodes)].sum(axis=0) for nodes in items]).reshape(len(items), len(devices))


def improving(
    made: Callable[[Sequence[int]], Iterator[Split]], begin: Iterable[Sequence[int]], cost: Callable[[Split], float]
) -> Iterator[Split]:
    """Yield the splits of counts, and then of those near the best of them, until none near it is better.

    Near are counts of which one device has given some items to another: half of all at first, and FEW or less at last.

    Args:
        made: yields the splits of counts.
        begin: the counts to begin with.
        cost: of a split.
    """
    had, least = set[tuple[int, ...]](), inf
    best: tuple[int, ...] = ()
    queue: Iterable[Sequence[int]] = begin
    size = -1
    while True:
        known = least
        for counts in map(tuple, queue):
            if counts in had:
                continue
            had.add(counts)
            for split in made(counts):
                yield split
                price = cost(split)
                if price < least:
                    best, least = counts, price
        if least == known:  # none near is better: look nearer
            if not best or 0 <= size <= FEW:
                return
            size //= 2
        if size < 0:
            size = max(FEW, sum(best) // 2)
        queue = [changed for moved in _amounts(size) for changed in _near(best, moved)]


def _amounts(size: int) -> Iterable[int]:
    return (size,) if size > FEW else range(1, FEW + 1)


def _near(counts: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """Yield counts of which one device has given at most *size* items to another."""
    for giver, taker in permutations(range(len(counts)), 2):
        moved = min(size, counts[giver])
        if moved:
            changed = list(counts)
            changed[giver] -= moved
            changed[taker] += moved
            yield tuple(changed)


def first_counts(problem: Problem, weights: Floats, devices: Sequence[int], work: Floats) -> Iterator[list[int]]:
    """Yield how many items each device takes, one after the other, in several simple ways.

    All items go to one device; they are shared out by the memories of the devices, by their speeds, and evenly; and the
    last devices are filled as far as their memories go. Shares are also tried on fewer devices, the fastest ones.

    Args:
        problem: whose memories count.
        weights: [items] the memory that each takes.
        devices: in the order of the items.
        work: [items, positions in *devices*] what each item takes; inf where it may not be.
    """
    items, k = work.shape
    room = np.minimum(problem.memory_room[list(devices)], max(float(problem.graph.memory.sum()), 1e-300))
    total = np.where(np.isfinite(work), work, 0.0).sum(axis=0)
    speed = 1 / np.maximum(total, 1e-12 * max(float(total.max()), 1e-300))
    fastest = np.argsort(-speed, kind="stable").tolist()
    for place in fastest:
        yield [items if p == place else 0 for p in range(k)]
    sizes = np.maximum(weights, 1e-9 * max(float(weights.sum()), 1e-300))
    typical = np.where(np.isfinite(work), work, np.inf).min(axis=1, initial=np.inf)
    typical = np.where(np.isfinite(typical), typical, 0.0) + 1e-9
    for few in range(k, 1, -1):
        chosen = np.isin(np.arange(k), fastest[:few])
        yield _shared(sizes, np.where(chosen, room, 0.0))
        yield _shared(typical, np.where(chosen, speed, 0.0))
        yield _shared(np.ones(items), chosen.astype(np.float64))
        yield _filled(weights, np.where(chosen, room, 0.0))


def _shared(sizes: Floats, shares: Floats) -> list[int]:
    """Return counts whose sums of sizes are about in proportion to *shares*."""
    middle = (np.cumsum(sizes) - sizes / 2) / float(sizes.sum())
    ends = np.cumsum(shares) / max(float(shares.sum()), 1e-300)
    places = np.minimum(np.searchsorted(ends, middle), len(shares) - 1)
    counts: list[int] = np.bincount(places, minlength=len(shares)).tolist()
    return counts


def _filled(weights: Floats, room: Floats) -> list[int]:
    """Return counts that fill the last devices first; what is left over goes to the first."""
    counts, left = [0] * len(room), len(weights)
    for place in range(len(room) - 1, 0, -1):
        free = float(room[place])
        while left and weights[left - 1] <= free:
            left -= 1
            free -= float(weights[left])
            counts[place] += 1
    counts[0] = left
    return counts


FEW = 3
"""So few items, and any fewer, are moved at last."""


class Rooms:
    """What is still free on devices while a split is made: parts of layers are put where they fit.

    Args:
        problem: its memories, its times, and where nodes may be.
        device_of: the device of every node that is placed already.
    """

    def __init__(self, problem: Problem, device_of: dict[int, int]) -> None:
        self._problem, self.device_of = problem, dict(device_of)
        self._free = np.array(problem.memory_room, np.float64)
        for v, d in device_of.items():
            self._free[d] -= problem.graph.memory[v]

    def fastest(self, nodes: Sequence[int]) -> list[int]:
        """Return the devices, those where *nodes* take the least time first."""
        order: list[int] = np.argsort(self._problem.time[list(nodes)].sum(axis=0), kind="stable").tolist()
        return order

    def put(self, nodes: Sequence[int], devices: Iterable[int]) -> None:
        """Put nodes on the first of *devices* that has room for them and runs them; the last where none does."""
        members, home = list(nodes), -1
        needed = float(self._problem.graph.memory[members].sum())
        for home in devices:
            if needed <= self._free[home] and self._problem.allowed[members, home].all():
                break
        self._free[home] -= needed
        self.device_of |= dict.fromkeys(members, home)
