"""Schedule a module by a list scheduler with insertion, or complete a schedule of some tasks to one of all."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["Arrangement", "arrange", "completions", "on_one_device", "placed", "urgency"]


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A schedule of a module from the end of its entry on.

    Attributes:
        device, start: [s] of every task. sent: [e] of every edge.
        length: when the module ends.
    """

    device: Ints
    start: Floats
    sent: Floats
    length: float


def urgency(piece: ModulePiece) -> Floats:
    """Return [s] the upward rank of every task: its mean time and the longest path after it (Topcuoglu et al. 2002)."""
    time, ways = _mean(piece.time, 0), _mean(piece.carry.reshape(len(piece.edges), piece.k**2), piece.k)
    rank = np.zeros(piece.size)
    for v in range(piece.size - 1, -1, -1):
        rank[v] = time[v] + max((ways[e] + rank[piece.heads[e]] for e in piece.out_of[v]), default=0.0)
    return rank


def _mean(times: Floats, zeros: int) -> Floats:
    """Return the mean of the finite entries of every row, leaving out so many *zeros*."""
    finite = np.isfinite(times)
    mean: Floats = np.where(finite, times, 0.0).sum(axis=1) / np.maximum(1, finite.sum(axis=1) - zeros)
    return mean


def arrange(
    piece: ModulePiece,
    first: int,
    last: int,
    priority: Sequence[float] | Floats,
    devices: Sequence[int] | Ints | None = None,
) -> Arrangement | None:
    """Return a schedule with the entry on device *first* and the exit on *last*; None if a task fits nowhere.

    The task of least priority among those whose predecessors are placed is next. It goes into the gap in which it ends
    earliest, on the device that *devices* gives (:data:`NONE` for any).
    """
    return _Arranging(piece, first, last, devices).run(priority)


class _Arranging:
    """The state of one run of the list scheduler."""

    def __init__(self, piece: ModulePiece, first: int, last: int, devices: Sequence[int] | Ints | None) -> None:
        self.piece = piece
        self.allowed = [np.flatnonzero(row).tolist() for row in piece.allowed]
        for v, d in enumerate([] if devices is None else devices):
            if d != NONE:
                self.allowed[v] = [int(d)] if piece.allowed[v, d] else []
        if piece.entry:
            self.allowed[0] = [first] if piece.allowed[0, first] else []
        if piece.exit:
            self.allowed[-1] = [last] if piece.allowed[-1, last] else []
        self.time = piece.time.tolist()
        self.tails, self.heads = piece.tails.tolist(), piece.heads.tolist()
        self.carry = piece.carry.tolist()
        self.work, self.out, self.inn = ([ReservedTimes() for _ in range(piece.k)] for _ in range(3))
        self.device, self.end = [NONE] * piece.size, [0.0] * piece.size
        self.start, self.sent = [0.0] * piece.size, [0.0] * len(piece.edges)
        self.room = piece.limit.tolist()
        self.home = dict[int, int]()
        self.away: list[list[set[int]]] = [[] for _ in range(piece.size)]
        for group in piece.apart:
            taken = set[int]()
            for v in group:
                self.away[v].append(taken)

    def run(self, priority: Sequence[float] | Floats) -> Arrangement | None:
        piece = self.piece
        waiting = [len(edges) for edges in piece.into]
        queue = [(float(priority[v]), v) for v in range(piece.size) if not waiting[v]]
        heapify(queue)
        while queue:
            _, v = heappop(queue)
            if not self._place(v):
                return None
            for e in piece.out_of[v]:
                w = self.heads[e]
                waiting[w] -= 1
                if not waiting[w]:
                    heappush(queue, (float(priority[w]), w))
        length = max(self.end, default=0.0)
        return Arrangement(np.array(self.device, np.int64), np.array(self.start), np.array(self.sent), length)

    def _place(self, v: int) -> bool:
        """Place task *v* where it ends first; return whether there is such a place."""
        best: tuple[float, float, int, list[tuple[int, float]]] | None = None
        for d in self._open(v):
            ready, moves = self._arrivals(v, d)
            if ready == float("inf"):
                continue
            start = self.work[d].gap(ready, self.time[v][d])
            if best is None or start + self.time[v][d] < best[0]:
                best = (start + self.time[v][d], start, d, moves)
        if best is None:
            return False
        end, start, d, moves = best
        self.device[v], self.start[v], self.end[v] = d, start, end
        self.work[d].add(start, self.time[v][d])
        self.room[d] -= float(self.piece.memory[v])
        self.home[int(self.piece.together[v])] = d
        for taken in self.away[v]:
            taken.add(d)
        for e, at in moves:
            self.sent[e] = at
            if self.piece.exclusive:
                self._hold(e, at, d)
        return True

    def _open(self, v: int) -> list[int]:
        home = self.home.get(int(self.piece.together[v]), NONE)
        return [
            d
            for d in self.allowed[v]
            if home in (NONE, d)
            and self.piece.memory[v] <= self.room[d]
            and not any(d in taken for taken in self.away[v])
        ]

    def _arrivals(self, v: int, d: int) -> tuple[float, list[tuple[int, float]]]:
        """Return when the inputs of task *v* arrive on device *d*, and when each transfer starts."""
        ready, moves = 0.0, []
        edges = sorted(self.piece.into[v], key=lambda e: self.end[self.tails[e]])
        for e in edges:
            u = self.tails[e]
            f = self.device[u]
            takes = self.carry[e][f][d] if f != d else 0.0
            if takes == float("inf"):
                ready = takes
                break
            at = self.end[u]
            if self.piece.exclusive and takes > 0:
                at = common_gap(self.out[f], self.inn[d], at, takes)
                self.out[f].add(at, takes)
                self.inn[d].add(at, takes)
            moves.append((e, at))
            ready = max(ready, at + takes)
        if self.piece.exclusive:
            for e, at in moves:
                self._release(e, at, d)
        return ready, moves

    def _hold(self, e: int, at: float, d: int) -> None:
        f = self.device[self.tails[e]]
        if f != d:
            self.out[f].add(at, self.carry[e][f][d])
            self.inn[d].add(at, self.carry[e][f][d])

    def _release(self, e: int, at: float, d: int) -> None:
        f = self.device[self.tails[e]]
        if f != d:
            self.out[f].drop(at, self.carry[e][f][d])
            self.inn[d].drop(at, self.carry[e][f][d])


def on_one_device(piece: ModulePiece) -> Floats:
    """Return [k, entries, exits] the length if all inner tasks run on device d, one after another.

    ``inf`` where that is no schedule.
    """
    length = np.full((piece.k, len(piece.entries), len(piece.exits)), np.inf)
    edges, tasks = np.arange(len(piece.edges)), np.arange(piece.size)
    for d in np.flatnonzero(piece.allowed[piece.inner].all(axis=0)).tolist():
        for i, a in enumerate(piece.entries):
            for j, b in enumerate(piece.exits):
                device = placed(piece, a, b, d)
                if keeps(piece, device):
                    moved = piece.carry[edges, device[piece.tails], device[piece.heads]].sum()
                    length[d, i, j] = piece.time[tasks, device].sum() + moved
    return length


def placed(piece: ModulePiece, a: int, b: int, d: int) -> Ints:
    """Return [s] devices: the entry on *a*, the exit on *b*, the rest on *d*."""
    device = np.full(piece.size, d)
    if piece.entry:
        device[0] = a
    if piece.exit:
        device[-1] = b
    return device


def keeps(piece: ModulePiece, device: Ints) -> bool:
    """Return whether an assignment keeps colocation classes, conflict sets and memory limits."""
    first = np.full(piece.size, NONE)
    first[piece.together[::-1]] = device[::-1]
    if (first[piece.together] != device).any():
        return False
    if any(len(set(device[list(group)].tolist())) < len(group) for group in piece.apart):
        return False
    used = np.bincount(device, weights=piece.memory, minlength=piece.k)
    return bool((used <= piece.limit).all())


# Reserved intervals of one device, or of one end of its links, and the gaps between them.


class ReservedTimes:
    """Intervals that do not overlap; those of no length leave no trace."""

    __slots__ = ("_busy",)

    def __init__(self) -> None:
        self._busy: list[tuple[float, float]] = []

    def gap(self, ready: float, takes: float) -> float:
        """Return the first time from *ready* on at which an interval of length *takes* is free."""
        busy = self._busy
        if takes <= 0 or not busy:
            return ready
        i = bisect_right(busy, (ready, float("inf")))
        if i and busy[i - 1][1] > ready:
            ready = busy[i - 1][1]
        while i < len(busy) and busy[i][0] < ready + takes:
            ready = busy[i][1]
            i += 1
        return ready

    def add(self, start: float, takes: float) -> None:
        """Reserve the interval from *start*, which must be free."""
        if takes > 0:
            insort(self._busy, (start, start + takes))

    def drop(self, start: float, takes: float) -> None:
        """Release an interval."""
        if takes > 0:
            self._busy.remove((start, start + takes))


def common_gap(one: ReservedTimes, other: ReservedTimes, ready: float, takes: float) -> float:
    """Return the first time from *ready* on at which an interval of length *takes* is free in both."""
    while True:
        first = one.gap(ready, takes)
        ready = other.gap(first, takes)
        if ready == first:
            return ready


# Complete a schedule of some tasks to one of all tasks: the others go into the gaps.


def completions(piece: ModulePiece, kept: Bools, device: Ints, start: Floats) -> Iterator[Arrangement]:
    """Yield schedules of all of *piece* with the *kept* tasks on their devices and, where possible, in their order.

    The other tasks are placed by their latest start, so that those needed soon come first: all on one device, for every
    device; then each where it ends first; and last with the kept tasks free to move too.

    Args:
        piece: a whole graph.
        kept: [s] whether a task is in the given schedule.
        device: [s] of these.
        start: [s] of these.
    """
    fixed = np.where(kept, device, NONE)
    for d in [] if kept.all() else np.flatnonzero(piece.allowed[~kept].all(axis=0)).tolist():
        latest = _latest(piece, kept, device, start, d)
        yield from _arranged(piece, latest, np.where(kept, device, d))
        yield from _arranged(piece, latest, fixed)
    yield from _arranged(piece, _latest(piece, kept, device, start, None), None)


def _arranged(piece: ModulePiece, priority: Floats, devices: Ints | None) -> Iterator[Arrangement]:
    arrangement = arrange(piece, NONE, NONE, priority, devices)
    if arrangement is not None:
        yield arrangement


def _latest(piece: ModulePiece, kept: Bools, device: Ints, start: Floats, d: int | None) -> Floats:
    """Return [s] the start of the kept tasks, and the latest start of the others if they are on device *d*.

    Without a device, the others take their least time and have no transfers.
    """
    end = float((start + piece.time[np.arange(piece.size), device])[kept].max(initial=0.0))
    takes = piece.time.min(axis=1) if d is None else piece.time[:, d]
    latest = np.where(kept, start, end - takes)
    for v in range(piece.size - 1, -1, -1):
        if kept[v]:
            continue
        for e in piece.out_of[v]:
            w = int(piece.heads[e])
            way = float(piece.carry[e, d, device[w]]) if d is not None and kept[w] else 0.0
            if np.isfinite(way):
                latest[v] = min(latest[v], latest[w] - way - takes[v])
    return latest
