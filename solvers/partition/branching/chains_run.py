"""Settle by chains of blocks whether graphs of few nodes have a plan below some load."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance, instance_of, unit_of
from mtpp_dsl.solvers.partition.branching.block_pool import bits, sums
from mtpp_dsl.solvers.partition.branching.blocks import BLOCKS, BUSY, COUNT, DONE, INF, STEPS, BlockQuestion, walk_of
from mtpp_dsl.solvers.partition.branching.branching_search import BranchingSearch, Doubtful
from mtpp_dsl.solvers.partition.branching.weights import Spent, WeightsRow, WeightsSearch

__all__ = ["ChainsRun"]

WIDTH = 300
"""Ideals after each device that a search for plans goes on from."""
EFFORT = 2_000_000
"""Steps of the first attempts; four times that when they settle nothing any more."""
NEAR = 2e-3
"""Relative: a cap no further than this above what is refuted is near."""
DETAIL = (
    "no chain of ideals has all blocks below this: blocks were branched on, and weights of the nodes showed what the "
    "devices left cannot hold; loads were added up in whole numbers, rounded down"
)


class ChainsRun(BranchingSearch):
    """Solves one problem of few nodes.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, annealing: Callable[..., Method]) -> None:
        unit = unit_of(problem)
        self._data = data = instance_of(problem, unit)
        super().__init__(problem, limits, progress, annealing, unit, rounding=len(data.work) + len(data.cost) + 4)
        self._k = min(problem.k, max(problem.graph.n, 1))
        self._top = int(data.work.sum() + data.cost.sum() + data.params.sum())

    def _search(self) -> None:
        """Settle caps between one up to which there is no split and the best plan, until they meet.

        The largest cap that matters comes first. One that takes more effort than allowed is followed by one half-way to
        what is refuted; where that is near, more effort is allowed, or the largest cap is next.
        """
        lower = -1 if self._incumbent.bound is None else int(self._incumbent.bound.cost / self._unit) - 2
        weights = WeightsSearch(self._data, self._k, self._progress.say, self._incumbent.pause)
        self._learn(weights)
        effort, ceiling = EFFORT, inf
        while not self._closed and lower < self._last:
            self._incumbent.pause()
            high = min(self._last, ceiling)
            far = ceiling < inf and high - lower > NEAR * lower
            cap = (lower + int(high) + 1) // 2 if far or high < self._last else self._last
            weights.effort = effort
            try:
                refuted = self._settle(weights, cap)
            except Spent:
                ceiling = cap
                if cap - lower <= NEAR * lower:
                    effort, ceiling = 4 * effort, inf
                continue
            if refuted is None:
                self._learn(weights)
                continue
            lower = refuted
            self._prove(lower)
            if ceiling < inf and ceiling - lower <= NEAR * lower:
                effort, ceiling = 4 * effort, inf

    def _settle(self, weights: WeightsSearch, cap: int) -> int | None:
        """Return a cap up to which there is no split, *cap* or more; None if better plans were found."""
        row = weights.row(cap)
        if row.refutes:
            return cap
        improved = False
        while (answer := self._chains(cap, row, weights).search(WIDTH)).outcome == "found":
            self._take(answer.blocks)
            improved, cap = True, min(cap, self._last)
        if improved:  # other weights are better now
            return None
        if answer.outcome == "unknown":
            answer = self._chains(cap, row, weights).search()
        if answer.outcome == "none":
            return cap
        self._take(answer.blocks)
        return None

    def _chains(self, cap: int, row: WeightsRow, weights: WeightsSearch) -> Chains:
        return Chains(self._data, self._k, cap, row, weights, self._progress.say, self._incumbent.pause)

    @property
    def _last(self) -> int:
        return self._below(self._top)

    def _prove(self, cap: int) -> None:
        """Report that there is no split up to a cap."""
        if cap < self._top:
            self._prove_units(cap + 1, DETAIL)
            return
        clash = tuple(str(c) for c in self._problem.constraints if isinstance(c, (Acyclic, Memory)))
        self._infeasibility = Infeasibility("no chain of ideals fits on the devices; all were tried", clash)

    def _take(self, blocks: list[int]) -> None:
        assignment = np.zeros(self._problem.graph.n, np.int64)
        for device, block in enumerate(blocks):
            assignment[[v for v in range(len(assignment)) if block >> v & 1]] = device
        if not self._incumbent.take(Plan.create(self._problem, assignment)):
            raise Doubtful

    def _learn(self, weights: WeightsSearch) -> None:
        """Tell of the blocks of the best plan."""
        if self._incumbent.plan is not None:
            device = self._incumbent.plan.assignment
            sets = [sum(1 << int(v) for v in np.flatnonzero(device == d)) for d in range(self._problem.k)]
            weights.pool.add(block for block in sets if block)


# Chains of ideals, device by device, of which only those are kept that the devices left may complete.

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
        self._run = BLOCKS.pick(0.0, say)
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
            why = BUSY
            while why == BUSY and walk.at[STEPS] < before + CHUNK:
                portion = BLOCKS.portion(before + CHUNK - int(walk.at[STEPS]))
                why = self._run(ideals, mains, needs, portion, ask, self._data, rows, walk)
                self._pause()
            self._weights.effort -= int(walk.at[STEPS]) - before
            count = int(walk.at[COUNT])
            parents.append(walk.source[:count].copy())
            grown.append(walk.block[:count] | ideals[parents[-1]])
            walk.at[COUNT] = 0
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
