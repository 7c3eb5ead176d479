"""One target of the configuration bound where the heaviest sets are found exactly: weights move within a box."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np

from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier
from mtpp_dsl.solvers.bounds.configuration.boxed_master import BoxedMaster
from mtpp_dsl.solvers.bounds.configuration.covering import Columns, Proof
from mtpp_dsl.solvers.bounds.configuration.narrow_sets import HEAVIEST, NarrowSets
from mtpp_dsl.solvers.bounds.configuration.pricing_loop import Verdict
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance

PULL = 0.85
"""How far weights are drawn towards the best ones known."""
WORK, TENSORS = 5e-4, 0.1
"""The box around the best weights: shares of a supernode's work, and of what its tensors cost."""
LEAST = 1e-6
"""The box is at least so wide, of the mean weight."""
WIDER, WIDEST = 2.0, 2.0**10
STALLED = 60
"""So often weights are changed in vain before the target is given up."""
AGAIN = 0.4
"""Of the weight that a supernode keeps once a set has it, when sets for the other devices are looked for."""
SETS = 2
"""Sets of a kind that are looked for at a time."""


class NarrowAttempt:
    """An attempt to prove one target; all weights that are tried prove one, if a lower one.

    Args:
        instance: what is placed.
        states: of a sweep over it.
        columns: sets known; those found are added.
        target: what to prove.
        centre: [supernodes] the weights to begin with.
        stopped: asked often.
        proved: told of every target proved that is higher than those before.

    Attributes:
        centre: [supernodes] the weights that have proved most.
        proof: of the highest target.
    """

    def __init__(
        self,
        instance: BoundInstance,
        states: Frontier,
        columns: Columns,
        target: float,
        centre: Floats,
        stopped: Callable[[], bool],
        proved: Callable[[Proof], None],
    ) -> None:
        self._instance, self._columns, self._target = instance, columns, target
        self._stopped, self._proved = stopped, proved
        self._sets = NarrowSets(instance, states, target)
        self._kinds = range(len(instance.counts))
        self._master = BoxedMaster(instance.n, instance.counts)
        self._ratio = 0.0
        self.centre = centre
        self._half = WORK * instance.time.min(axis=1)
        for pins, cost in instance.nets:
            self._half[list(pins)] += TENSORS * min(cost, target)
        self._half += LEAST * self._half.mean() + 1e-300
        self._scale = float(target * instance.counts.sum())
        self.proof: Proof | None = None

    def run(self, seconds: float) -> Verdict:
        """Generate sets until the target is proved or out of reach, for at most *seconds*."""
        deadline = monotonic() + seconds
        for kind in self._kinds:
            known = self._columns.sets[kind]
            loads = self._columns.loads(kind, self._sets.sizes[kind], known)
            for row in np.flatnonzero(loads <= self._sets.capacity).tolist():
                self._master.add(kind, known[row])
        self._price(self.centre)
        width, vain = self._box(1.0), 0
        while not self._stopped() and monotonic() < deadline and vain < STALLED and width <= WIDEST and not self._done:
            try:
                theta, weights, limited = self._master.solve()
            except SolverError:  # numbers of very different sizes
                break
            if theta <= 1 + 1e-7 and not limited:
                return "out of reach"
            fresh = 0
            if theta > 1 + 1e-7:
                before = self._ratio
                fresh = self._price(PULL * self.centre + (1 - PULL) * weights) or self._price(weights)
                vain = 0 if self._ratio > before else vain + 1
                if self._ratio > before:
                    self._box(width)
            if not fresh:
                width = self._box(WIDER * width)
        return "proved" if self._done else "open"

    @property
    def _done(self) -> bool:
        return self.proof is not None and self.proof.target >= self._target

    def _box(self, width: float) -> float:
        """Let weights be so far from the best ones known; return *width*."""
        half = width * self._half / self._scale
        self._master.within(np.maximum(self.centre - half, 0.0), self.centre + half)
        return width

    def _price(self, weights: Floats) -> int:
        """Find the heaviest sets for some weights, and what they prove; return how many sets are new."""
        total = float(weights.sum())
        if total <= 0:
            return 0
        whole = np.rint(weights * (HEAVIEST / 2 / total)).astype(np.int64)
        most, fresh = [], 0
        for kind in self._kinds:
            left = whole
            for again in range(min(SETS, int(self._instance.counts[kind]))):
                heaviest, in_set = self._sets.heaviest(kind, left)
                if again == 0:
                    most.append(heaviest)
                if self._columns.add(kind, in_set):
                    self._master.add(kind, in_set)
                    fresh += 1
                left = np.where(in_set, (AGAIN * left).astype(np.int64), left)
        self._learn(whole, most)
        return fresh

    def _learn(self, whole: Ints, most: list[Ints]) -> None:
        """Keep the weights as the best ones if they are, and the target that they prove."""
        together = np.array(self._instance.counts) @ np.array(most)
        total = int(whole.sum())
        ratio = total / max(int(together[-1]), 1)
        if ratio > self._ratio:
            self._ratio, self.centre = ratio, whole / max(int(together[-1]), 1)
        load = int(np.searchsorted(together, total))  # so many loads, from 0 on, hold less together
        target = self._sets.below(load)
        if load and (self.proof is None or target > self.proof.target):
            self.proof = Proof(target, whole, tuple(int(m[load - 1]) for m in most), self._sets.unit)
            self._proved(self.proof)
