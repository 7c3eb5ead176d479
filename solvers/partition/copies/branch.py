"""Branch and bound over what devices hold: windows of a chain, or single nodes on single devices."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.pricing import Pricer
from mtpp_dsl.solvers.partition.copies.shares import Mix, priced

__all__ = ["CopiesSearch", "holdings", "windows"]

MAX_COLUMNS = 300
MAX_FAILED = 60
"""So many times two windows are put anywhere in vain before shifting ends."""
DIVE_EVERY = 40
"""So often a branch is followed down to a plan, and not the one of least bound taken."""


@dataclass(eq=False)
class CopiesSearch:
    """What both searches are given.

    Attributes:
        pricer: of the whole instance.
        root: the best shares without any branch.
        most: devices that may hold one node.
        gap: of period and bound that is small enough.
        upper: returns the period of the best plan so far.
        take: told of shares that keep everything.
        prove: told of periods that nothing is below.
        pause: raises where the time is up.
    """

    pricer: Pricer
    root: Mix
    most: int
    gap: float
    upper: Callable[[], float]
    take: Callable[[Mix], None]
    prove: Callable[[float], None]
    pause: Callable[[], None]

    def __post_init__(self) -> None:
        self.pool: list[Ints] = list(self.root.columns)
        self.best: Mix | None = None
        self.polish: Callable[[], None] = lambda: None  # called after a plan was found on the way down

    @property
    def instance(self) -> ChainInstance:
        """The whole instance."""
        return self.pricer.instance

    def cutoff(self) -> float:
        """Return the period from which on a branch is of no use."""
        return self.upper() * (1 - self.gap)

    def keep(self, mix: Mix) -> bool:
        """Take shares that keep everything; return whether they are the best so far."""
        before = self.upper()
        self.take(mix)
        if self.upper() < before:
            self.best = mix
            return True
        return False

    def bounded(self, end: Ints) -> Mix:
        """Return the best shares where stages may end there; remember their routes."""
        mix = priced(self.pricer, end, self.pool, cutoff=self.cutoff(), pause=self.pause)
        self.pool = (self.pool + mix.columns[-5:])[-MAX_COLUMNS:]
        return mix

    def run(self, first: Any, mix: Mix, split: Callable[[Any, Mix], list[Any]], ends: Callable[[Any], Ints]) -> None:
        """Split the open branch of least bound again and again, until none is below the cutoff.

        At first, and now and then, the better part is split at once, down to a plan.

        Args:
            first: the branch of everything.
            mix: its shares.
            split: returns the parts of a branch; none where its shares keep everything.
            ends: where stages may end in a branch.
        """
        order = count()
        heap = [(mix.lower, next(order), first, mix)]
        lowest = inf  # of branches that are left alone
        dive, seen = True, 0
        while heap:
            self.pause()
            lower, _, branch, mix = heappop(heap)
            self.prove(min(lower, lowest, self.upper()))
            if lower >= self.cutoff():
                lowest = min(lowest, lower)
                break
            while True:
                self.pause()
                seen += 1
                parts = split(branch, mix)
                if not parts:
                    lowest, dive = min(lowest, mix.lower), False
                    self.polish()
                    break
                fresh = []
                for part in parts:
                    part_mix = self.bounded(ends(part))
                    if part_mix.lower < self.cutoff():
                        fresh.append((part_mix.lower, next(order), part, part_mix))
                    else:
                        lowest = min(lowest, part_mix.lower)
                dive = (dive or seen % DIVE_EVERY == 0) and bool(fresh)
                if dive:
                    fresh.sort(key=lambda entry: entry[:2])
                    _, _, branch, mix = fresh.pop(0)
                for entry in fresh:
                    heappush(heap, entry)
                if not dive:
                    break
        self.prove(min(lowest, self.upper()))


def used(instance: ChainInstance, mix: Mix) -> Floats:
    """Return [n, k] the share of the inputs that each device runs each node for."""
    use = np.zeros((instance.n, instance.k))
    for route, share in zip(mix.routes, mix.shares.tolist(), strict=True):
        use[np.arange(instance.n), route] += share
    return use


def windows(search: CopiesSearch) -> None:
    """Search plans whose devices hold ranges: branch on where the window of each device begins.

    A window is a largest range that fits; [lo, hi] lets stages lie from the begin of window lo to the end of window hi.
    """
    instance = search.instance
    lists = [_windows(instance, d) for d in range(instance.k)]
    whole = tuple((0, max(len(its) - 1, 0)) for its in lists)

    def ends(box: tuple[tuple[int, int], ...]) -> Ints:
        lowest = np.array([its[lo][0] if its else instance.n for its, (lo, _) in zip(lists, box, strict=True)])
        behind = np.array([its[hi][1] if its else 0 for its, (_, hi) in zip(lists, box, strict=True)])
        return instance.within(lowest, behind).end

    def split(box: tuple[tuple[int, int], ...], mix: Mix) -> list[tuple[tuple[int, int], ...]]:
        on = used(instance, mix) > 0
        over = []
        for d in range(instance.k):
            where = np.flatnonzero(on[:, d])
            if where.size and not instance.fits_range(d, int(where[0]), int(where[-1]) + 1):
                over.append((int(where[-1]) - int(where[0]), d, int(where[0]), int(where[-1]) + 1))
        if not over:
            search.keep(mix)
            return []
        _, d, begin, stop = max(over)
        lo, hi = box[d]
        parts = [m for m in range(lo, hi) if lists[d][m][1] < stop and lists[d][m + 1][0] > begin]
        parts = parts or [m for m in range(lo, hi) if lists[d][m][1] < stop or lists[d][m + 1][0] > begin]
        if not parts:
            return []
        middle = parts[len(parts) // 2]
        return [(*box[:d], part, *box[d + 1 :]) for part in ((lo, middle), (middle + 1, hi))]

    _round_windows(search, lists, search.root)
    search.polish = partial(_shift_windows, search, lists)
    search.run(whole, search.root, split, ends)


def _windows(instance: ChainInstance, d: int) -> list[tuple[int, int]]:
    """Return the largest ranges that a device may hold, whatever stages are allowed."""
    ranges: list[tuple[int, int]] = []
    stop = 0
    for begin in range(instance.n):
        stop = max(stop, begin)
        while stop < instance.n and instance.fits_range(d, begin, stop + 1):
            stop += 1
        if stop > begin and (not ranges or stop > ranges[-1][1]):
            ranges.append((begin, stop))
    return ranges


def _round_windows(search: CopiesSearch, lists: list[list[tuple[int, int]]], mix: Mix) -> None:
    """Take the best plan in which every device has the window that it is used in most."""
    instance = search.instance
    share = np.vstack([np.zeros(instance.k), np.cumsum(used(instance, mix), axis=0)])
    lowest, behind = np.full(instance.k, instance.n), np.zeros(instance.k, np.int64)
    for d, its in enumerate(lists):
        if its:
            lowest[d], behind[d] = max(its, key=lambda w, d=d: (share[w[1], d] - share[w[0], d], -w[0]))  # type: ignore[misc]
    rounded = search.bounded(instance.within(lowest, behind).end)
    if rounded.routes:
        search.keep(rounded)


def _shift_windows(search: CopiesSearch, lists: list[list[tuple[int, int]]]) -> None:
    """Shift the windows of the best plan, one or two at a time, as long as that makes it better."""
    instance, best = search.instance, search.best
    if best is None:
        return
    on = used(instance, best) > 0
    at = []
    for d, its in enumerate(lists):
        where = np.flatnonzero(on[:, d])
        inside = [i for i, (begin, stop) in enumerate(its) if where.size and begin <= where[0] and where[-1] < stop]
        at.append(inside[len(inside) // 2] if inside else 0)
    steps = sorted({1, 3, max(1, instance.n // 8)}, reverse=True)
    moves = [(d, sign * step) for step in steps for d in range(instance.k) for sign in (-1, 1) if len(lists[d]) > 1]
    movable = [d for d in range(instance.k) if len(lists[d]) > 1]
    draw = random.Random(0)

    def better(there: list[int]) -> bool:
        search.pause()
        pairs = [its[i] if its else (instance.n, 0) for its, i in zip(lists, there, strict=True)]
        shifted = search.bounded(instance.within(*np.array(pairs).T).end)
        return bool(shifted.routes) and search.keep(shifted)

    def climbed(at: list[int]) -> list[int]:
        tried, last = 0, 0
        while moves and tried - last < len(moves):
            d, step = moves[tried % len(moves)]
            tried += 1
            moved = min(max(at[d] + step, 0), len(lists[d]) - 1)
            if moved != at[d] and better([*at[:d], moved, *at[d + 1 :]]):
                at, last = [*at[:d], moved, *at[d + 1 :]], tried
        return at

    at = climbed(at)
    failed = 0
    while len(movable) > 1 and failed < MAX_FAILED:
        there = list(at)
        for d in draw.sample(movable, 2):
            there[d] = draw.randrange(len(lists[d]))
        failed += 1
        if better(there):
            at, failed = climbed(there), 0


def holdings(search: CopiesSearch) -> None:
    """Search plans with any nodes on any devices: branch on whether a device holds a node."""
    instance = search.instance

    def ends(holding: Ints) -> Ints:
        return instance.holding(holding).end

    def split(holding: Ints, mix: Mix) -> list[Ints]:
        share = used(instance, mix)
        needed: Bools = (share > 0) | (holding == 1)
        over = instance.memory @ needed > instance.room
        many = needed.sum(axis=1) > search.most
        if not over.any() and not many.any():
            search.keep(mix)
            return []
        least = np.minimum(share, 1 - share) + 1e-6
        least = np.where((holding == -1) & (share > 0) & (over | many[:, None]), least, -1.0)
        if least.max() < 0:
            return []
        if over.any():
            d = int(np.argmax(np.where(over, instance.memory @ needed / np.maximum(instance.room, 1e-300), -1.0)))
            column = np.where(instance.memory > 0, least[:, d], -1.0)
            v = int(column.argmax())
            if column[v] < 0:
                v, d = divmod(int(least.argmax()), instance.k)
        else:
            v, d = divmod(int(least.argmax()), instance.k)
        parts = []
        for value in (0, 1):
            part = holding.copy()
            part[v, d] = value
            if value == 1 and (part[v] == 1).sum() >= search.most:
                part[v, part[v] == -1] = 0
            parts.append(part)
        return parts

    first = np.full((instance.n, instance.k), -1, np.int8)
    search.run(first, search.root, split, ends)
