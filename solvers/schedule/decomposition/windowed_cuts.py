"""Bound a module by minimum cuts around one device: nodes on it take its time, edges that leave or enter it its ports.

Suppose that a module takes less than some time. Then nodes that would make it longer anywhere else are on the device,
those that would make it longer there are not, and some edges cannot be cut. Under these conditions a minimum cut is the
least weighted sum of the device's load, its sending and its receiving. All three fit into the time of the module, and
transfers into what is left between the first end of a node that may send and the last moment at which one must have
arrived. So the time is at least a weighted mean. This is done for windows of the time, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, OUT
from mtpp_dsl.solvers.algorithms.directed_cut import DirectedCuts
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["CutWeights", "ModuleCuts", "Neighbours", "TimeWindow"]

MOST = 1 << 42
"""Weighted units of what cannot be. All work and transfers one after another take less than 1 << 31 units."""
WINDOWS = 8
"""Windows of the time that are told apart, at most: those between the most distant thresholds."""
CUTS = 1_000
"""About how many cuts are asked of one module."""


class CutWeights(NamedTuple):
    """Whole numbers: what a unit of a device's load counts, of its sending, and of its receiving."""

    load: int
    out: int
    into: int


FOR_TIMES = tuple(
    CutWeights(*weights)
    for weights in (
        *((100, 0, 0), (100, 4, 0), (100, 0, 4), (100, 9, 0), (100, 0, 9), (100, 20, 0), (100, 0, 20)),
        *((100, 50, 0), (100, 0, 50), (100, 100, 100), (20, 100, 0), (20, 0, 100), (0, 1, 0), (0, 0, 1)),
    )
)
"""The weights that are tried for the time of a module on exclusive links."""
LOAD_ALONE = (CutWeights(1, 0, 0),)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nodes beside a module that count for loads and links, but not for its time, and the edges that join them.

    Nodes of the module are numbered first, then these.

    Attributes:
        time: [b, k] of each node on each device, ``inf`` where it cannot be.
        tails, heads: [e] of edges. carry: [e, k, k] times of their transfers.
        hub: the number of the node whose device a case fixes, or -1.
    """

    time: Floats
    tails: Ints
    heads: Ints
    carry: Floats
    hub: int = -1


class TimeWindow(NamedTuple):
    """What must be if the module takes at least *low* and less than *high*, seen from one device.

    Attributes:
        inside, outside: [s] nodes of the module that are on the device, and not on it.
        no_out, no_into: [e] edges of the module that cannot leave the device, and not enter it.
    """

    low: float
    high: float
    inside: Bools
    outside: Bools
    no_out: Bools
    no_into: Bools


class ModuleCuts:
    """The cuts of one module around each device.

    Args:
        piece: the module.
        ahead: [entries, s, k] the least time from the end of the entry to that of each node, wherever it is.
        behind: [exits, s, k] the least time from the end of each node to the end of the module.
        near: nodes beside it; None for none.
    """

    def __init__(self, piece: ModulePiece, ahead: Floats, behind: Floats, near: Neighbours | None = None) -> None:
        self.piece, self._ahead, self._behind, self._near = piece, ahead, behind, near
        self._others = [np.delete(np.arange(piece.k), d) for d in range(piece.k)]

    def least_time(self, entry: int, exit_: int, known: float, enough: float = np.inf) -> float:
        """Return a lower bound on the time of the module between two states of its ends.

        *known* is one. It is not raised beyond *enough* by much.
        """
        best = known
        if np.isfinite(known) and self.piece.size > 1 + self.piece.entry + self.piece.exit:
            for d in range(self.piece.k):
                if best < enough:
                    best = max(best, self._least_about(entry, exit_, d, best, enough))
        return best

    def options(
        self, entry: int, exit_: int, d: int, weights: CutWeights, known: float, hub: int | None
    ) -> list[tuple[float, float]]:
        """Return pairs of a time and a weighted sum: the module takes at least both of one of them.

        *known* is a bound on its time. Nodes beside it count for the sum; the hub is on device *hub*.
        """
        kept: list[tuple[float, float]] = []
        least = np.inf
        for window in self._windows(entry, exit_, d, known) if np.isfinite(known) else ():
            sum_ = self._cut(entry, exit_, d, window, weights, with_near=True, hub=hub)
            if sum_ < least:
                kept.append((window.low, sum_))
                least = sum_
        return kept

    def _least_about(self, entry: int, exit_: int, d: int, known: float, enough: float) -> float:
        """Return the bound by cuts around device *d*, or *enough* or more."""
        best = np.inf
        for window in self._windows(entry, exit_, d, known):
            if window.low >= best:
                break
            value = window.low
            first = self._first_and_last(entry, exit_, d, window)
            for weights in FOR_TIMES if self.piece.exclusive else LOAD_ALONE:
                sum_ = self._cut(entry, exit_, d, window, weights)
                free = sum(weight * min(time, window.low) for weight, time in zip(weights[1:], first, strict=True))
                value = max(value, (sum_ + free) // sum(weights) if np.isfinite(sum_) else np.inf)
                if value >= min(window.high, enough):
                    break
            if value < window.high:
                best = min(best, value)
        return best

    def _windows(self, entry: int, exit_: int, d: int, known: float) -> Iterator[TimeWindow]:
        """Yield the windows of the time from *known* on, seen from device *d*."""
        piece = self.piece
        paths = self._ahead[entry] + self._behind[exit_]
        here = paths[:, d]
        elsewhere = paths[:, self._others[d]].min(axis=1, initial=np.inf)
        rest = piece.time + self._behind[exit_]
        others, tail, head = self._others[d], piece.tails, piece.heads
        ends = self._ahead[entry]
        out = (ends[tail, d, None] + piece.carry[:, d, others] + rest[head][:, others]).min(axis=1, initial=np.inf)
        into = (ends[tail][:, others] + piece.carry[:, others, d] + rest[head, d, None]).min(axis=1, initial=np.inf)
        levels = _levels(np.concatenate((here, elsewhere)), known)
        for low, high in zip((known, *levels), (*levels, np.inf), strict=True):
            yield TimeWindow(low, high, elsewhere >= high, here >= high, out >= high, into >= high)

    def _first_and_last(self, entry: int, exit_: int, d: int, window: TimeWindow) -> tuple[float, float]:
        """Return how much of the module's time no transfer leaves the device in, and none enters it in, at least."""
        piece, others = self.piece, self._others[d]
        tail, head = piece.tails, piece.heads
        ends, rest = self._ahead[entry], piece.time + self._behind[exit_]
        out, into = self._own.out(d), self._own.into(d)
        sends = (out > 0) & ~window.no_out & ~window.outside[tail] & ~window.inside[head]
        gets = (into > 0) & ~window.no_into & ~window.inside[tail] & ~window.outside[head]
        first = [0.0, 0.0]
        if sends.any():
            last = rest[head[sends]][:, others].min(initial=np.inf)
            first[0] = float(ends[tail[sends], d].min() + last)
        if gets.any():
            first[1] = float(ends[tail[gets]][:, others].min(initial=np.inf) + rest[head[gets], d].min())
        return first[0], first[1]

    def _cut(
        self,
        entry: int,
        exit_: int,
        d: int,
        window: TimeWindow,
        weights: CutWeights,
        *,
        with_near: bool = False,
        hub: int | None = None,
    ) -> float:
        """Return the least weighted sum in a window, ``inf`` where nothing fits into it."""
        piece, near = self.piece, self._near if with_near else None
        inside, outside = window.inside.copy(), window.outside.copy()
        if piece.entry:
            inside[0] = piece.entries[entry] == d
            outside[0] = not inside[0]
        if piece.exit:
            inside[-1] = piece.exits[exit_] == d
            outside[-1] = not inside[-1]
        if (inside & outside).any():
            return np.inf
        graph = self._own if near is None else self._joined
        price, leaves, enters, state = graph.charged(d, weights)
        if (state[: piece.size][inside] == OUT).any():
            return np.inf
        state = state.copy()
        own = state[: piece.size]
        own[inside], own[outside] = IN, OUT
        if near is not None and near.hub >= piece.size:
            state[near.hub] = IN if hub == d else OUT
        if window.no_out.any() or window.no_into.any():
            leaves, enters = leaves.copy(), enters.copy()
            leaves[: len(window.no_out)][window.no_out] = MOST
            enters[: len(window.no_into)][window.no_into] = MOST
        value, _ = graph.cuts.least(state, price, enters, leaves)
        return float(value) if value < MOST else np.inf

    @cached_property
    def _own(self) -> CutGraph:
        return CutGraph(self.piece.time, self.piece.tails, self.piece.heads, self.piece.carry)

    @cached_property
    def _joined(self) -> CutGraph:
        """The module with the nodes beside it."""
        piece, near = self.piece, self._near
        if near is None or not len(near.time):
            return self._own
        return CutGraph(
            np.concatenate((piece.time, near.time)),
            np.concatenate((piece.tails, near.tails)),
            np.concatenate((piece.heads, near.heads)),
            np.concatenate((piece.carry, near.carry)),
        )


class CutGraph:
    """Nodes and edges that cuts go through.

    Args:
        time: [n, k]. tails, heads: [e]. carry: [e, k, k].
    """

    def __init__(self, time: Floats, tails: Ints, heads: Ints, carry: Floats) -> None:
        self.time = time
        self.cuts = DirectedCuts(len(time), tails, [[v] for v in heads.tolist()], CUTS)
        elsewhere = np.where(np.eye(time.shape[1], dtype=np.bool_), np.inf, carry)
        self._out = elsewhere.min(axis=2, initial=np.inf)
        self._into = elsewhere.min(axis=1, initial=np.inf)
        self._charged: dict[tuple[int, CutWeights], tuple[Ints, Ints, Ints, Ints]] = {}

    def charged(self, d: int, weights: CutWeights) -> tuple[Ints, Ints, Ints, Ints]:
        """Return what nodes cost on device *d*, edges that leave it, and edges that enter it; and what cannot be there.

        The last is [n] the states for :meth:`DirectedCuts.least` of nodes that nothing else is known of.
        """
        if (d, weights) not in self._charged:
            time = self.time[:, d]
            may = np.isfinite(time)
            price = np.where(may, time, 0.0).astype(np.int64) * weights.load
            leaves, enters = _charged(self.out(d), weights.out), _charged(self.into(d), weights.into)
            self._charged[d, weights] = price, leaves, enters, np.where(may, FREE, OUT).astype(np.int64)
        return self._charged[d, weights]

    def out(self, d: int) -> Floats:
        """Return [e] the least time of the transfer if the tail alone is on device *d*."""
        ports: Floats = self._out[:, d]
        return ports

    def into(self, d: int) -> Floats:
        """Return [e] the least time of the transfer if the head alone is on device *d*."""
        ports: Floats = self._into[:, d]
        return ports


def _charged(times: Floats, weight: int) -> Ints:
    """Return what edges cost at a weight; those that cannot be cut at all more than anything that can."""
    cut = np.isfinite(times)
    return np.where(cut, np.where(cut, times, 0.0).astype(np.int64) * weight, MOST)


def _levels(times: Floats, known: float) -> Sequence[float]:
    """Return at most :data:`WINDOWS` thresholds above *known*, those after the largest gaps."""
    levels = np.unique(times[np.isfinite(times) & (times > known)])
    if len(levels) > WINDOWS:
        gaps = np.diff(levels, prepend=known)
        levels = levels[np.sort(np.argsort(-gaps, kind="stable")[:WINDOWS])]
    return [float(level) for level in levels]
