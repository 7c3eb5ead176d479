"""Chains of ideals, device by device, of which only those are kept that the devices left may complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance
from mtpp_dsl.solvers.partition.branching.block_pool import bits, sums
from mtpp_dsl.solvers.partition.branching.blocks import BLOCKS, COUNT, DONE, INF, STEPS, BlockQuestion, walk_of
from mtpp_dsl.solvers.partition.branching.weights import Spent, WeightsRow, WeightsSearch

__all__ = ["ChainAnswer", "Chains"]

Outcome: TypeAlias = Literal["found", "none", "unknown"]
CHUNK = 20_000
ROOM = 1 << 16
MAX_IDEALS_BEFORE_WEIGHTS = 2_000
"""With more ideals than this after a device, further weights are found for them."""
MIN_PRUNED_SHARE = 0.2
"""Weights that put away fewer ideals than this share are the last ones found after a device."""


class ChainAnswer(NamedTuple):
    """What a search came to: the blocks of a split, in order; the proof that there is ``none``; or neither."""

    outcome: Outcome
    blocks: list[int]


class Level(NamedTuple):
    """The ideals that so many devices hold, as bits, and the place of the one before each on the level before."""

    ideals: Ints
    parents: Ints


class Chains:
    """One search for a split whose loads are at most a cap.

    Args:
        data: the graph.
        k: how many devices.
        cap: the largest load.
        row: weights found for this cap, or a larger one.
        weights: finds more; its effort is spent here too.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
    """

    def __init__(
        self, data: BitsetInstance, k: int, cap: int, row: WeightsRow, weights: WeightsSearch,
        say: Callable[[str], None], pause: Callable[[], None],
    ) -> None:  # fmt: skip
        self._data, self._k, self._cap, self._weights, self._pause = data, k, cap, weights, pause
        self._run = BLOCKS.compiled(say)
        self._every = (1 << len(data.work)) - 1
        self._rows = [row]
        self._seen = np.zeros(1, np.int64)

    def search(self, width: int | None = None) -> ChainAnswer:
        """Return a split, or that there is none.

        Args:
            width: go on from no more ideals than this after each device, those with the least left to weigh; then
                nothing is proved.

        Raises:
            Spent: the effort that the weights have left was not enough to tell.
        """
        levels = [Level(np.zeros(1, np.int64), np.zeros(1, np.int64))]
        missed = False
        for used in range(1, self._k + 1):
            ideals, parents = self._next(levels[-1].ideals, used)
            whole = np.flatnonzero(ideals == self._every)
            if len(whole):
                return ChainAnswer("found", _trace(levels, self._every, int(parents[whole[0]])))
            ideals, first = np.unique(ideals, return_index=True)
            new = ~np.isin(ideals, self._seen, assume_unique=True)
            level = Level(ideals[new], parents[first][new])
            if width is None:
                level = self._thin(level, used)
            elif len(level.ideals) > width:
                missed = True
                order = np.argsort(self._slack(level.ideals, used)[0], kind="stable")[-width:]
                level = Level(level.ideals[order], level.parents[order])
            if not len(level.ideals):
                break
            levels.append(level)
            self._seen = np.union1d(self._seen, level.ideals)
        return ChainAnswer("unknown" if missed else "none", [])

    def _slack(self, ideals: Ints, used: int) -> tuple[Floats, Ints, Ints]:
        """Return of each ideal how much more the devices left can hold, at least, as a share of all that they can.

        And the row of weights that tells, and [rows, ideals] what is left weighs.
        """
        left = np.array([sums(row.weight, ~ideals & self._every) for row in self._rows])
        rest = np.array([[max(int(row.most[used:].sum()), 1)] for row in self._rows])
        slack = (rest - left) / rest
        main = np.asarray(slack.argmin(axis=0), np.int64)
        return slack.min(axis=0), main, left

    def _next(self, ideals: Ints, used: int) -> tuple[Ints, Ints]:
        """Return the ideals that one more block leads to, and the place of the one that it follows."""
        rest = np.array([int(row.most[used:].sum()) for row in self._rows], np.int64)
        rows = np.array([row.weight for row in self._rows], np.int64)
        _, mains, left = self._slack(ideals, used - 1)
        needs = left[mains, np.arange(len(ideals))] - rest[mains] - 1
        ask = BlockQuestion(1, 0, self._cap, INF, INF, (self._k - used) * self._cap, rest)
        walk = walk_of(len(self._data.work), ROOM)
        grown, parents = [], []
        why = -1
        while why != DONE:
            before = int(walk.at[STEPS])
            why = self._run(ideals, mains, needs, CHUNK, ask, self._data, rows, walk)
            self._weights.effort -= int(walk.at[STEPS]) - before
            count = int(walk.at[COUNT])
            parents.append(walk.source[:count].copy())
            grown.append(walk.block[:count] | ideals[parents[-1]])
            walk.at[COUNT] = 0
            self._pause()
            if why != DONE and self._weights.effort <= 0:
                raise Spent
            if (grown[-1] == self._every).any():
                break
        return np.concatenate(grown), np.concatenate(parents)

    def _thin(self, level: Level, used: int) -> Level:
        """Put away ideals that the devices left cannot complete, by weights found for those that are there."""
        while len(level.ideals) > MAX_IDEALS_BEFORE_WEIGHTS and used < self._k:
            share = bits(~level.ideals & self._every, len(self._data.work)).mean(axis=0)
            row = self._weights.row_for(self._cap, used, share)
            kept = sums(row.weight, ~level.ideals & self._every) <= int(row.most[used:].sum())
            thinner = Level(level.ideals[kept], level.parents[kept])
            if len(thinner.ideals) < len(level.ideals):
                self._rows.append(row)
            if len(thinner.ideals) > (1 - MIN_PRUNED_SHARE) * len(level.ideals):
                return thinner
            level = thinner
        return level


def _trace(levels: list[Level], ideal: int, place: int) -> list[int]:
    """Return the blocks on the way to an ideal from that at a place on the last level."""
    blocks = []
    for level in levels[::-1]:
        smaller = int(level.ideals[place])
        blocks.append(ideal & ~smaller)
        ideal, place = smaller, int(level.parents[place])
    return blocks[::-1]
