"""Keep blocks that the search has met, and where the nodes of a block may stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance


class BlockPool:
    """Convex sets of nodes that a device may hold, each once.

    Attributes:
        blocks: [blocks] as bits.
        inside: [blocks, n] 1 where a node is in the block.
    """

    def __init__(self, data: BitsetInstance) -> None:
        self._data = data
        self._index: dict[int, int] = {}
        self.blocks = np.zeros(0, np.int64)
        self.inside = np.zeros((0, len(data.work)), np.int64)
        self._load, self._early, self._late = (np.zeros(0, np.int64) for _ in range(3))

    def add(self, blocks: Iterable[int]) -> Ints:
        """Take in blocks; return the places of all."""
        blocks = list(blocks)
        fresh = [block for block in dict.fromkeys(blocks) if block not in self._index]
        if fresh:
            self._index.update({block: len(self.blocks) + i for i, block in enumerate(fresh)})
            masks = np.array(fresh, np.int64)
            self.blocks = np.concatenate((self.blocks, masks))
            self._measure(masks)
        return np.array([self._index[block] for block in blocks], np.int64)

    def fit(self, position: Position, cap: int) -> Bools:
        """Return [blocks] which of them may be at a position, for loads up to *cap*."""
        return np.asarray(
            (self._load <= cap)
            & (self.blocks & position.shut == 0)
            & (self._early <= position.before)
            & (self._late <= position.after),
            np.bool_,
        )

    def _measure(self, masks: Ints) -> None:
        data = self._data
        inside = bits(masks, len(data.work))
        above, below = np.zeros_like(masks), np.zeros_like(masks)
        for v in range(len(data.work)):
            above |= np.where(inside[:, v] > 0, data.before[v], 0)
            below |= np.where(inside[:, v] > 0, data.after[v], 0)
        load = inside @ data.work + np.maximum(inside @ data.params - data.kept, 0)
        for pins, cost in zip(data.pins.tolist(), data.cost.tolist(), strict=True):
            load += np.where((masks & pins != 0) & (masks & pins != pins), cost, 0)
        self.inside = np.concatenate((self.inside, inside))
        self._load = np.concatenate((self._load, load))
        self._early = np.concatenate((self._early, sums(data.work, above & ~masks)))
        self._late = np.concatenate((self._late, sums(data.work, below & ~masks)))


def bits(masks: Ints, n: int) -> Ints:
    """Return [sets, n] 1 where a node is in a set."""
    return np.asarray(masks[:, None] >> np.arange(n) & 1, np.int64)


def sums(weight: Ints, masks: Ints) -> Ints:
    """Return [sets] what the nodes of each weigh."""
    total = np.zeros(len(masks), np.int64)
    for v, w in enumerate(weight.tolist()):
        total += (masks >> v & 1) * w
    return total


# Where in a chain of blocks a node can be: what comes before it fills the devices before it.

MAX_APART = 8
"""With more devices than this, those in the middle are taken together."""


@dataclass(frozen=True)
class Position:
    """Positions *first* to *last* of a chain of k blocks.

    Attributes:
        first, last: counted from 1.
        shut: the nodes that no block there holds.
        before, after: the most work of the nodes outside of a block there that come before it, and after it.
    """

    first: int
    last: int
    shut: int
    before: int
    after: int

    def count(self, used: int = 0) -> int:
        """Return how many there are after the first *used* of the chain."""
        return max(0, self.last - max(self.first - 1, used))


def positions(data: BitsetInstance, k: int, cap: int) -> list[Position]:
    """Return all positions, some of them together, for loads up to *cap*.

    If the first i blocks hold a node and with it all before it, that work is less than i times the next load above the
    cap, so the node is at no earlier position than that lets it be; likewise from the end. Plans of fewer blocks stand
    at the first positions.
    """
    cap += 1
    n, work = len(data.work), [int(w) for w in data.work]
    lowest, highest = [], []
    for v in range(n):
        early, late = (
            work[v] + sum(work[u] for u in range(n) if int(sets[v]) >> u & 1) for sets in (data.before, data.after)
        )
        lowest.append(max(1, _devices(early, cap, k)))
        highest.append(k + 1 - max(1, _devices(late, cap, k)))
    ends = range(1, k + 1)
    spans = [(i, i) for i in ends] if k <= MAX_APART else [(1, 1), (2, 2), (3, k - 2), (k - 1, k - 1), (k, k)]
    return [
        Position(
            a,
            b,
            shut=sum(1 << v for v in range(n) if lowest[v] > b or highest[v] < a or lowest[v] > highest[v]),
            before=(b - 1) * cap,
            after=(k - a) * cap,
        )
        for a, b in spans
    ]


def _devices(work: int, cap: int, k: int) -> int:
    """Return how many devices so much work takes, k + 1 for more than there are."""
    return min(-(-work // cap), k + 1)
