"""Search the ideals below a target, storing only those that are reached, and raise the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import WORD, places
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import BlockStep
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import DeviceStates, WholeCosts
from mtpp_dsl.solvers.partition.ideals.lazy_state import (
    BUSY,
    COUNT,
    CUT_SHORT,
    DONE,
    ENTRY,
    FOUND,
    FULL,
    LAST,
    STEPS,
    VALUE,
    LazyWalk,
    arcs_of,
    modes_of,
    walk_of,
)
from mtpp_dsl.solvers.partition.ideals.lazy_store import Entries, Needs, enlarged, entries, needs_of
from mtpp_dsl.solvers.partition.ideals.lazy_walk import WALK

__all__ = ["INF", "Climb"]

Outcome: TypeAlias = Literal["found", "none", "unknown"]
CHUNK = 300_000
"""Steps of the loop after which effort is counted; the plain one looks at the clock more often."""
INF = 1 << 60


class LazyAnswer(NamedTuple):
    """What a search for a split below a target came to.

    Attributes:
        outcome: ``found`` one; ``none`` exists, which is proved; ``unknown``, as something was left out.
        steps: the best split found.
        value: its largest load.
        work: how many supernodes were added to blocks in all.
    """

    outcome: Outcome
    steps: list[BlockStep]
    value: int
    work: int


class LazySearch:
    """Searches the splits of some supernodes, device by device, without the lattice of all ideals.

    For each way to have used some devices it holds the ideals that blocks of loads below the target lead to; from
    each, all blocks that may follow are enumerated, and those that lead nowhere are cut off.

    Args:
        supernodes: what to place.
        costs: their weights.
        states: of the devices.
        most_bytes: how much memory the ideals may take.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
    """

    def __init__(
        self,
        supernodes: OrderedSupernodes,
        costs: WholeCosts,
        states: DeviceStates,
        most_bytes: float,
        say: Callable[[str], None],
        pause: Callable[[], None],
    ) -> None:
        self._net, self._states, self._most_bytes, self._pause = costs, states, most_bytes, pause
        self._arcs, self._modes = arcs_of(supernodes), modes_of(costs)
        self._word, self._bit = places(supernodes.n)
        self._keys: Ints = np.random.default_rng(0).integers(1, 2**62, size=supernodes.n, dtype=np.int64)
        self._run = WALK.pick(0.0, say)  # how many ideals are reached is not known

    def search(
        self,
        needs: Needs,
        target: int,
        floor: int,
        *,
        width: int = INF,
        patience: int = INF,
        effort: int = INF,
    ) -> LazyAnswer:
        """Look for a split of largest load below *target*.

        Without a *width* and *patience* it ends with the first, or with the proof that there is none, if the ideals
        do not take too much memory or *effort*. With them it proves nothing, but looks for better ones until it is
        through.

        Args:
            needs: of the same supernodes and states, for loads below *target* at least.
            target: as above.
            floor: a proven bound.
            width: go on from so many ideals of each state, the most promising ones.
            patience: go on from each for so many steps.
            effort: give up after about so many steps.
        """
        if (needs.weight.sum(axis=1) - needs.slack > target * needs.price[0]).any():
            return LazyAnswer("none", [], target, 0)
        store = entries(max(1, -(-len(self._word) // WORD)), floor)
        walk = walk_of(self._net, len(needs.slack), 64 * len(self._word) + 64)
        best: list[BlockStep] = []
        for state in range(len(self._states.used)):
            sources = _sources(store, walk, state, width)
            why = FULL
            while why != DONE:
                why, stop = BUSY, int(walk.at[STEPS]) + CHUNK
                while why == BUSY and walk.at[STEPS] < stop:
                    portion = WALK.portion(stop - int(walk.at[STEPS]))
                    why = self._run(
                        state, sources, portion, patience, target, self._arcs, self._net, self._states, self._modes,
                        needs, store, self._word, self._bit, self._keys, walk,
                    )  # fmt: skip
                    self._pause()
                if why == FOUND:
                    best, target = self._trace(store, walk), int(walk.at[VALUE])
                    if width == INF or target <= floor:
                        return LazyAnswer("found", best, target, int(walk.at[STEPS]))
                elif walk.at[STEPS] > effort:
                    return LazyAnswer("found" if best else "unknown", best, target, int(walk.at[STEPS]))
                elif why == FULL and walk.at[COUNT] < len(store.hashes):
                    walk = walk._replace(ready=np.concatenate((walk.ready, walk.ready)))
                elif why == FULL:
                    more = enlarged(store, self._most_bytes)
                    if more is None:
                        return LazyAnswer("found" if best else "unknown", best, target, int(walk.at[STEPS]))
                    store = more
        outcome: Outcome = "found" if best else "unknown" if walk.at[CUT_SHORT] else "none"
        return LazyAnswer(outcome, best, target, int(walk.at[STEPS]))

    def _trace(self, store: Entries, walk: LazyWalk) -> list[BlockStep]:
        """Return the blocks on the way to the split that was found."""
        used, entry, last = self._states.used, int(walk.at[ENTRY]), int(walk.at[LAST])
        steps = []
        if last >= 0:
            rest = self._between(store.bits[entry], ~store.bits[0])
            steps.append(BlockStep(rest, int(self._modes.kind[last]), int(self._modes.copies[last])))
        while entry > 0:
            parent = int(store.parent[entry])
            taken = used[store.state[entry]] - used[store.state[parent]]
            kind = int(taken.argmax())
            steps.append(BlockStep(self._between(store.bits[parent], store.bits[entry]), kind, int(taken[kind])))
            entry = parent
        return steps[::-1]

    def _between(self, smaller: Ints, larger: Ints) -> Ints:
        return np.flatnonzero((larger & ~smaller)[self._word] & self._bit)


def _sources(store: Entries, walk: LazyWalk, state: int, width: int) -> Ints:
    """Return the entries of a state, the most promising of them if there are too many."""
    sources = np.flatnonzero(store.state[: int(walk.at[COUNT])] == state)
    if len(sources) > width:
        walk.at[CUT_SHORT] = 1
        sources = sources[np.argsort(store.score[sources], kind="stable")[:width]]
    return np.asarray(sources, np.int64)


# Raises a target without the lattice of all ideals: plans first, then bound after bound.

FIRST_STEP = 0.005
"""The first target is above the bound by this share; the next by twice that, and so on while that is easy."""
EASY = 20_000_000
"""Steps of a search after which the next one dares to go twice as far."""
EXACT = 1e-6
"""A gap of no more than this asks for the optimum, but for what ``ROUNDING`` of the loads may hide."""
ROUNDING = 1e-11
DIVES = ((20, 1_000), (200, 5_000))
"""Ideals of each state to go on from, and how many steps from each, of searches for plans."""
FIRST_DIVE = 0.02
MAX_DIVING = 10_000_000
"""Steps of one search for plans."""
NEAR = 0.002
"""A target that was no further than this from the bound is followed by the last one."""
FAILURES = 3
"""Targets in a row that may take too much memory, each nearer to the bound than the one before."""


@dataclass
class Climb:
    """Lower and upper bounds of the best split of some supernodes, brought together.

    Attributes:
        supernodes: what to place.
        states: of the devices.
        most_bytes: how much memory the ideals may take.
        say, pause: told what is done; called now and then, may raise.
        costs: returns the weights, their unit, and the cost of the best split known (or one above all) in that unit.
        known: returns the best bound and the cost of the best split, ``inf`` without one.
        take: told of a split and its largest load.
        prove: told of a bound.
        effort: how many steps all searches may take.
        gave_up: whether it ended as the ideals took too much memory or effort.
    """

    supernodes: OrderedSupernodes
    states: DeviceStates
    most_bytes: float
    say: Callable[[str], None]
    pause: Callable[[], None]
    costs: Callable[[], tuple[WholeCosts, float, int]]
    known: Callable[[], tuple[float, float]]
    take: Callable[[Sequence[BlockStep], float], None]
    prove: Callable[[float], None]
    effort: int = INF
    gave_up: bool = False

    def dive(self, gap: float, times: int = len(DIVES)) -> None:
        """Look for plans along the most promising ideals, below targets that rise from the bound, more than once."""
        for width, patience in DIVES[:times]:
            share = FIRST_DIVE
            patience = min(patience, MAX_DIVING // (width * len(self.states.used)) + 1)
            while True:
                lower, upper = self.known()
                if upper - lower <= gap * upper:
                    return
                costs, unit, top = self.costs()
                target = min(top, int(min(top, (1 + share) * max(lower / unit, top / 1000))) + 1)
                answer = self._search(costs, target, int(lower / unit), width, patience)
                if answer.outcome == "found":
                    self.take(answer.steps, answer.value * unit)
                    break
                if target == top:
                    break
                share *= 2

    def climb(self, gap: float) -> None:
        """Refute targets, from the bound upwards, until the best split is proved to be best within *gap*.

        A target below which there is a split is followed by one half-way to the bound; then one below which there is
        none, by the last one. The first targets are at most half-way.
        """
        share, failures, near = FIRST_STEP, 0, False
        while True:
            lower, upper = self.known()
            if upper - lower <= gap * upper:
                return
            costs, unit, top = self.costs()
            floor = int(lower / unit)
            last = top if np.isinf(upper) else min(top, int(top * (1 - (gap if gap > EXACT else ROUNDING))) + 1)
            if floor >= last:
                return
            step = share * max(floor, top / 1000)
            if not near and np.isfinite(upper):
                step = min(step, (top - floor) / 2)
            target = min(last, int(min(last, floor + step)) + 1)
            answer = self._search(costs, target, floor)
            if answer.outcome == "found":
                self.take(answer.steps, answer.value * unit)
                lower, upper = self.known()
                share, failures, near = (upper - lower) / max(lower, upper / 1000) / 2, 0, True
            elif answer.outcome == "none":
                near = near or (np.isfinite(upper) and target - floor < NEAR * floor)
                self.prove(min(target * unit, upper))
                if target == last:
                    return
                failures = 0
                share = np.inf if near else share * (2 if answer.work <= EASY else 1)
            else:
                failures += 1
                share, near = share / 4, False
                if failures == FAILURES or self.effort <= 0:
                    self.gave_up = True
                    return

    def _search(self, costs: WholeCosts, target: int, floor: int, width: int = INF, patience: int = INF) -> LazyAnswer:
        lazy = LazySearch(self.supernodes, costs, self.states, self.most_bytes, self.say, self.pause)
        needs = needs_of(costs, self.states, target)
        answer = lazy.search(needs, target, floor, width=width, patience=patience, effort=self.effort)
        self.effort -= answer.work
        return answer
