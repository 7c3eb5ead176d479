"""Weights of the nodes of which no block can hold much: what is still to be placed shows whether it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.backends.mip.matrix import CoveringProgramme
from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance
from mtpp_dsl.solvers.partition.branching.block_pool import BlockPool, Position, positions
from mtpp_dsl.solvers.partition.branching.blocks import (
    BEST,
    BLOCKS,
    BUSY,
    COUNT,
    DONE,
    INF,
    STEPS,
    BlockQuestion,
    walk_of,
)

__all__ = ["Spent", "WeightsRow", "WeightsSearch"]

SCALE = float(1 << 30)
CHUNK = 20_000
TINY = 1e-6
"""Weights that sum to less are not scaled up."""
ROOM = 1_024
ROUNDS = 500
SMOOTH = 0.5
"""The share of the best weights so far in those that are tried next."""
NEAR = 1e-4
"""Relative: weights that could be heavier by no more than this are good enough."""


class Spent(Exception):
    """The effort allowed is used up."""


@dataclass(frozen=True, eq=False)
class WeightsRow:
    """Weights of the nodes, and [k] what a block at each position weighs at most, for loads up to some cap."""

    weight: Ints
    most: Ints

    @property
    def refutes(self) -> bool:
        """Whether the nodes weigh more than all blocks can: there is no split."""
        return int(self.weight.sum()) > int(self.most.sum())

    @property
    def ratio(self) -> float:
        """What the nodes weigh over what all blocks can."""
        most = int(self.most.sum())
        return int(self.weight.sum()) / most if most else np.inf


class WeightsSearch:
    """Finds weights by generating blocks; a block that was found is kept from one cap to the next.

    Args:
        data: the graph.
        k: how many devices.
        say: told when code has to be compiled.
        pause: called now and then; may raise.

    Attributes:
        pool: the blocks known.
        effort: steps that are left; :class:`Spent` is raised when there are none.
    """

    def __init__(self, data: BitsetInstance, k: int, say: Callable[[str], None], pause: Callable[[], None]) -> None:
        self._data, self._k, self._pause = data, k, pause
        self._run = BLOCKS.pick(0.0, say)
        self.pool = BlockPool(data)
        self.effort = 0

    def row(self, cap: int) -> WeightsRow:
        """Return a proof that there is no split of loads up to *cap*, or the weights that come nearest to one.

        Raises:
            Spent: as there.
        """
        return self._best(cap, 0, np.ones(len(self._data.work)))

    def row_for(self, cap: int, used: int, share: Floats) -> WeightsRow:
        """Return weights that are good where *used* devices are, and each node is left in a *share* of cases.

        Raises:
            Spent: as there.
        """
        return self._best(cap, used, share)

    def _best(self, cap: int, used: int, share: Floats) -> WeightsRow:
        places = [place for place in positions(self._data, self._k, cap) if place.count(used)]
        master = WeightsMaster(share, np.array([place.count(used) for place in places], np.int64))
        known = self._offer(master, places, cap, 0)
        best: WeightsRow | None = None
        height, smooth, centre = -1.0, 0.0, np.zeros(0)
        for _ in range(ROUNDS):
            weight, value = master.solve()
            if best is not None and value <= height * (1 + NEAR):
                break
            tried = weight / max(value, TINY)
            if smooth > 0:
                tried = (1 - smooth) * tried + smooth * centre
            row = self._price(tried, places, cap, used)
            ratio = float(share @ row.weight) / max(int(row.most.sum()), 1)
            if ratio > height:
                best, height, centre = row, ratio, tried
            if used == 0 and row.refutes:
                return row
            grown = self._offer(master, places, cap, known)
            if grown == known and smooth == 0:
                break
            smooth = SMOOTH if grown > known else 0.0
            known = grown
        assert best is not None
        return best

    def _offer(self, master: WeightsMaster, places: list[Position], cap: int, known: int) -> int:
        """Tell the master of the blocks that came after the first *known*, where they may be; return how many are."""
        for g, place in enumerate(places):
            fits = np.flatnonzero(self.pool.fit(place, cap)[known:]) + known
            master.add(g, self.pool.inside[fits])
        return len(self.pool.blocks)

    def _price(self, weight: Floats, places: list[Position], cap: int, used: int) -> WeightsRow:
        """Return the weights in whole numbers, and what blocks weigh at most; keep the heavy ones."""
        whole = np.floor(weight * SCALE).astype(np.int64)
        most = np.zeros(self._k, np.int64)
        for place in places:
            most[max(place.first - 1, used) : place.last] = self._heaviest(whole, place, cap)
        return WeightsRow(whole, most)

    def _heaviest(self, weight: Ints, place: Position, cap: int) -> int:
        """Return what a block at a place weighs at most; keep the heavy ones that are met."""
        fits = self.pool.fit(place, cap)
        known = int((self.pool.inside[fits] @ weight).max(initial=0))
        ask = BlockQuestion(0, 1, cap, place.before, place.after, INF, np.array([INF]))
        walk = walk_of(len(weight), ROOM)
        sources, mains, needs = np.array([place.shut]), np.zeros(1, np.int64), np.array([known])
        why = -1
        while why != DONE:
            before = int(walk.at[STEPS])
            why = BUSY
            while why == BUSY and walk.at[STEPS] < before + CHUNK:
                portion = BLOCKS.portion(before + CHUNK - int(walk.at[STEPS]))
                why = self._run(sources, mains, needs, portion, ask, self._data, weight[None, :], walk)
                self._pause()
            self.effort -= int(walk.at[STEPS]) - before
            self.pool.add(walk.block[: walk.at[COUNT]].tolist())
            walk.at[COUNT] = 0
            if why != DONE and self.effort <= 0:
                raise Spent
        return int(walk.at[BEST])


# The linear programme of the weights: as heavy a graph as can be, all of whose blocks are light.


class WeightsMaster:
    """Weights of the nodes, and what the heaviest block known at each place weighs.

    Maximises the sum of *share* times weight; no node weighs more than 1, and the heaviest blocks of all positions
    weigh 1 together. The weights are the dual values of covering every node as often as its share says, with all
    positions as few times as possible.

    Args:
        share: [n] what a node's weight counts.
        counts: [places] how many positions each stands for.
    """

    def __init__(self, share: Floats, counts: Ints) -> None:
        self._n, self._share = len(share), share
        places = len(counts)
        self._lp = CoveringProgramme(np.concatenate((share, np.zeros(places))))
        self._lp.add(1.0, np.arange(self._n, self._n + places), counts.astype(np.float64))
        for v in range(self._n):
            self._lp.add(1.0, np.array([v]), np.ones(1))

    def add(self, place: int, inside: Ints) -> None:
        """Take in [blocks, n] blocks that may be at a place."""
        for row in inside:
            at = np.append(np.flatnonzero(row), self._n + place)
            values = np.ones(len(at))
            values[-1] = -1.0
            self._lp.add(0.0, at, values)

    def solve(self) -> tuple[Floats, float]:
        """Return [n] the best weights, and the sum of share times weight."""
        _, duals = self._lp.solve()
        weight = duals[: self._n]
        return weight, float(self._share @ weight)
