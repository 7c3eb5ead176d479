"""Blocks that are known, and what each costs: kept from one largest load to the next."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance
from mtpp_dsl.solvers.partition.branching.positions import Position

__all__ = ["BlockPool", "bits", "sums"]


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
