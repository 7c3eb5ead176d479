"""Search plans whose devices hold ranges of a chain: branch on windows, and shift those of the best plan."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.partition.copies.branch import CopiesBranch, CopiesSearch, used
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.shares import Mix

__all__ = ["windows"]

MAX_FAILED = 60
"""So many times two windows are put anywhere in vain before shifting ends."""

Windows = list[tuple[int, int]]
"""Largest ranges that fit: the place where each begins, and that behind it."""


def windows(search: CopiesSearch) -> None:
    """Search plans whose devices hold ranges: branch on where the windows of devices begin.

    A window is a largest range that fits; a choice (lo, hi) lets stages of a type lie from the begin of window lo to
    the end of window hi. A branch says how many devices of a type have a window of its first half.
    """
    whole: ChainInstance = search.instance
    lists = [_windows(whole, kind) for kind in range(whole.types)]

    def ends(instance: ChainInstance, boxes: Sequence[tuple[int, int]]) -> Ints:
        its = [lists[kind] for kind in search.types_of(instance)]
        lowest = np.array([own[lo][0] if own else whole.n for own, (lo, _) in zip(its, boxes, strict=True)])
        behind = np.array([own[hi][1] if own else 0 for own, (_, hi) in zip(its, boxes, strict=True)])
        return instance.within(lowest, behind).end

    def split(branch: CopiesBranch) -> Iterator[tuple[ChainInstance, tuple[tuple[int, int], ...]]]:
        instance, boxes = branch.instance, branch.choice
        on = used(instance, branch.mix) > 0
        over = []
        for kind in range(instance.types):
            where = np.flatnonzero(on[:, kind])
            if where.size and not instance.fits_range(kind, int(where[0]), int(where[-1]) + 1):
                over.append((int(where[-1]) - int(where[0]), kind, int(where[0]), int(where[-1]) + 1))
        if not over:
            search.take(instance, branch.mix)
            return
        _, kind, begin, stop = max(over)
        (lo, hi), own = boxes[kind], lists[search.types_of(instance)[kind]]
        parts = [m for m in range(lo, hi) if own[m][1] < stop and own[m + 1][0] > begin]
        parts = parts or [m for m in range(lo, hi) if own[m][1] < stop or own[m + 1][0] > begin]
        if not parts:
            return
        middle, total = parts[len(parts) // 2], int(instance.count[kind])
        for early in range(total + 1):
            divided = instance.divided(kind, early) if 0 < early < total else instance
            new = [(lo, middle)] * (early > 0) + [(middle + 1, hi)] * (early < total)
            yield divided, (*boxes[:kind], *new, *boxes[kind + 1 :])

    shifting = _Shifting(search, lists)
    shifting.round(search.root)
    shifting.climb()
    search.polish = shifting.climb
    first = tuple((0, max(len(own) - 1, 0)) for own in lists)
    search.run(CopiesBranch(whole, first, search.root), split, ends)


def _windows(instance: ChainInstance, kind: int) -> Windows:
    """Return the largest ranges that a device may hold, whatever stages are allowed."""
    ranges: Windows = []
    stop = 0
    for begin in range(instance.n):
        stop = max(stop, begin)
        while stop < instance.n and instance.fits_range(kind, begin, stop + 1):
            stop += 1
        if stop > begin and (not ranges or stop > ranges[-1][1]):
            ranges.append((begin, stop))
    return ranges


class _Shifting:
    """Gives every device a window, and shifts windows.

    Args:
        search: with the whole instance.
        lists: the windows of each of its types.
    """

    def __init__(self, search: CopiesSearch, lists: list[Windows]) -> None:
        self.search, self.lists = search, lists
        self.devices = [(d, kind) for kind, group in enumerate(search.instance.members) for d in group]
        self.seen: set[tuple[tuple[int, int], ...]] = set()

    def better(self, at: Sequence[int]) -> bool:
        """Take the best shares where every device has this window; return whether they are the best so far.

        Args:
            at: [devices] the number of the window of each, in the list of its type.
        """
        search, whole = self.search, self.search.instance
        search.pause()
        groups: dict[tuple[int, int], list[int]] = {}
        for (d, kind), own in zip(self.devices, at, strict=True):
            groups.setdefault((kind, own), []).append(d)
        key = tuple(sorted((d, own) for (d, _), own in zip(self.devices, at, strict=True)))
        if key in self.seen:
            return False
        self.seen.add(key)
        kept = {group: its for group, its in groups.items() if self.lists[group[0]]}
        if not kept:
            return False
        narrow = whole.chosen([kind for kind, _ in kept], [tuple(its) for its in kept.values()])
        pairs = np.array([self.lists[kind][own] for kind, own in kept])
        narrow = narrow.within(pairs[:, 0], pairs[:, 1])
        mix = search.bounded(narrow, narrow.end)
        before = search.upper()
        if mix.routes and mix.period < before:
            search.take(narrow, mix)
        return search.upper() < before

    def round(self, mix: Mix) -> None:
        """Take the best plan in which every device has the window that it is used in most.

        The work of a type is cut into as many equal parts as it has devices.
        """
        whole = self.search.instance
        time = np.where(np.isfinite(whole.time), whole.time, 0.0)
        at = []
        for kind, own in enumerate(self.lists):
            work = np.append(0.0, np.cumsum(used(whole, mix)[:, kind] * (time[:, kind] + 1e-9 * time.max(initial=1.0))))
            parts = int(whole.count[kind])
            edges = work[-1] * np.arange(parts + 1) / parts
            for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                shares = [min(work[stop], high) - max(work[begin], low) for begin, stop in own]
                at.append(int(np.argmax(shares)) if own else 0)
        self.better(at)

    def climb(self) -> None:
        """Shift the windows of the best plan, one or two at a time, as long as that makes it better."""
        at = self._climbed(self._windows_of_best())
        movable = [i for i, (_, kind) in enumerate(self.devices) if len(self.lists[kind]) > 1]
        draw, failed = random.Random(0), 0
        while len(movable) > 1 and failed < MAX_FAILED:
            there = list(at)
            for i in draw.sample(movable, 2):
                there[i] = draw.randrange(len(self.lists[self.devices[i][1]]))
            failed += 1
            if self.better(there):
                at, failed = self._climbed(there), 0

    def _windows_of_best(self) -> list[int]:
        ranges = self.search.ranges()
        at = []
        for d, kind in self.devices:
            own = self.lists[kind]
            low, high = ranges.get(d, (0, 0))
            inside = [i for i, (begin, stop) in enumerate(own) if d in ranges and begin <= low and high <= stop]
            at.append(inside[len(inside) // 2] if inside else 0)
        return at

    def _climbed(self, at: list[int]) -> list[int]:
        n = self.search.instance.n
        steps = sorted({1, 3, max(1, n // 8)}, reverse=True)
        movable = [i for i, (_, kind) in enumerate(self.devices) if len(self.lists[kind]) > 1]
        moves = [(i, sign * step) for step in steps for i in movable for sign in (-1, 1)]
        tried, last = 0, 0
        while moves and tried - last < len(moves):
            i, step = moves[tried % len(moves)]
            tried += 1
            moved = list(at)
            moved[i] = min(max(at[i] + step, 0), len(self.lists[self.devices[i][1]]) - 1)
            if self._first_of_equals(at, i) and moved != at and self.better(moved):
                at, last = moved, tried
        return at

    def _first_of_equals(self, at: Sequence[int], i: int) -> bool:
        """Return whether no device before is of the same type and has the same window."""
        kind, own = self.devices[i][1], at[i]
        return not any(self.devices[j][1] == kind and at[j] == own for j in range(i))
