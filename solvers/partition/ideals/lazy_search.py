"""A search over ideals that stores only those it reaches: is there a split below a target?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.ideals.device_states import DeviceStates
from mtpp_dsl.solvers.algorithms.ideals.lattice import WORD, places
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import BlockStep
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import WholeCosts
from mtpp_dsl.solvers.partition.ideals.lazy_ahead import Needs
from mtpp_dsl.solvers.partition.ideals.lazy_store import Entries, enlarged, entries
from mtpp_dsl.solvers.partition.ideals.lazy_walk import (
    COUNT,
    CUT_SHORT,
    DONE,
    ENTRY,
    FOUND,
    FULL,
    LAST,
    STEPS,
    VALUE,
    WALK,
    LazyWalk,
    arcs_of,
    modes_of,
    walk_of,
)

__all__ = ["INF", "LazyAnswer", "LazySearch"]

Outcome: TypeAlias = Literal["found", "none", "unknown"]
CLASSES_WORTH_COMPILING = 10
CHUNK = 300_000
"""Steps of the compiled loop between two looks at the clock; the plain one takes a hundredth."""
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
        large = supernodes.n > CLASSES_WORTH_COMPILING
        self._run = WALK.compiled(say) if large else WALK.plain
        self._chunk = CHUNK if large else CHUNK // 100

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
                why = self._run(
                    state, sources, self._chunk, patience, target, self._arcs, self._net, self._states, self._modes,
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
