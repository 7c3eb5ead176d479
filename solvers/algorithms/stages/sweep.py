"""The best chains of stages by largest rows, sums and several of them: labels over ideals, which dominate each other.

A chain of ideals parts the supernodes into stages. A label is a chain that ends at an ideal, with a state of what it
has used and a value, a vector of components. It is dropped where another of the same ideal has used no more of anything
and is no worse in any component: whatever comes after may come after the other too, since a stage fits no worse after
fewer stages. The labels of the full ideal are therefore all undominated values of chains.

The pass of :mod:`mtpp_dsl.solvers.algorithms.ideals.sweep` remains beside this one. It knows one component, the
largest load, for which stages may grow as long as they stay below a bound that is proved or a load that is there; that
is not true of sums, prices and several components, nor where what is kept depends on the number of stages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice
from mtpp_dsl.solvers.algorithms.stages.costs import Aggregate, Outside, ShapeStates, StageCosts
from mtpp_dsl.solvers.algorithms.stages.kernel import CHUNK, STAGE_SWEEP, LabelStore

LABEL_BYTES = 8 * 6
FIRST_ROOM = 1024


class StageStep(NamedTuple):
    """A stage of a chain that was found: the supernodes in it, and the shape that runs it."""

    supernodes: Ints
    shape: int


class StageSweep:
    """The labels of the full ideal: every undominated value, and the chain that has it.

    Attributes:
        values: [labels, components].
        states: [labels] what each chain has used.
    """

    def __init__(self, lattice: Lattice, store: LabelStore) -> None:
        self._lattice, self._store = lattice, store
        labels = [label for first in store.head[-1].tolist() for label in _listed(store, first)]
        self._labels = np.array(labels, np.int64)
        self.values = store.value[self._labels]
        self.states = store.state[self._labels].astype(np.int64)

    def steps(self, label: int) -> list[StageStep]:
        """Return the stages of a label, from the one at the full ideal to the one at the empty ideal.

        On the lattice of the reversed order this is the order of the pipeline.

        Args:
            label: its place in :attr:`values`.
        """
        at, steps, lattice = int(self._labels[label]), [], self._lattice
        while self._store.parent[at] >= 0:
            before = int(self._store.parent[at])
            higher, lower = lattice.bits[self._store.ideal[at]], lattice.bits[self._store.ideal[before]]
            added = (higher & ~lower)[lattice.word] & lattice.bit
            steps.append(StageStep(np.flatnonzero(added), int(self._store.shape[at])))
            at = before
        return steps

    def best(self, component: int = 0) -> int:
        """Return the label of which a component is least, -1 if there is none."""
        return int(self.values[:, component].argmin()) if len(self.values) else -1


def sweep_stages(
    lattice: Lattice,
    costs: StageCosts,
    states: ShapeStates,
    aggregate: Aggregate,
    outside: Outside,
    say: Callable[[str], None],
    pause: Callable[[], None],
    most_bytes: float = np.inf,
) -> StageSweep | None:
    """Return the undominated values of all chains below the limits, or None where their labels take too much memory.

    An empty result proves that no chain is below all limits.

    Args:
        lattice: ideals, from the empty one to the full one; reversed, where ``kept`` counts the stages after a stage.
        costs: of stages.
        states: of devices and stages.
        aggregate: what is sought.
        outside: bounds on what is outside of ideals, which let labels be dropped.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
        most_bytes: of memory.
    """
    lists = lattice.size * len(states.used)
    if lists * 8.0 > most_bytes:
        return None
    store = _store(lattice.size, len(states.used), aggregate)
    run = STAGE_SWEEP.pick(0.0, say)  # how many stages are good enough is not known
    source = 0
    while source < lattice.size - 1:
        reached = run(source, STAGE_SWEEP.portion(CHUNK), lattice, costs, states, aggregate, outside, store)
        if reached < 0:  # no room for a label: the same ideal again
            source = -1 - reached
            if 3 * len(store.next) * LABEL_BYTES + lists * 8.0 > most_bytes:
                return None
            store = _doubled(store)
            store.stamp[:] = -1
        else:
            source = reached
        pause()
    return StageSweep(lattice, store)


def _listed(store: LabelStore, first: int) -> list[int]:
    labels = []
    while first >= 0:
        labels.append(first)
        first = int(store.next[first])
    return labels


def _store(ideals: int, states: int, aggregate: Aggregate) -> LabelStore:
    room = FIRST_ROOM
    small = [np.zeros(room, np.int32) for _ in range(3)]
    head = np.full((ideals, states), -1, np.int64)
    store = LabelStore(
        value=np.zeros((room, len(aggregate.row)), np.int64),
        ideal=small[0],
        state=small[1],
        shape=small[2],
        parent=np.full(room, -1, np.int64),
        next=np.full(room, -1, np.int64),
        head=head,
        stamp=np.full(ideals, -1, np.int32),
        taken=np.array([1, -1], np.int64),
    )
    store.value[0] = aggregate.begin
    head[0, 0] = 0
    return store


def _doubled(store: LabelStore) -> LabelStore:
    old = {name: getattr(store, name) for name in ("value", "ideal", "state", "shape", "parent", "next")}
    return store._replace(**{name: np.concatenate((array, np.full_like(array, -1))) for name, array in old.items()})
