"""One target of the configuration bound where the heaviest sets are found exactly: weights move within a box."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np

from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier
from mtpp_dsl.solvers.bounds.configuration.boxed_master import BoxedMaster
from mtpp_dsl.solvers.bounds.configuration.covering import Columns, Proof
from mtpp_dsl.solvers.bounds.configuration.narrow_sets import HEAVIEST, STEPS, NarrowSets
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
FEW = 1e-6
"""A set that covers by so small a share does not count."""


class NarrowAttempt:
    """An attempt to prove one target; all weights that are tried prove one, if a lower one.

    Supernodes that may be nowhere are left out: they are no part of any set, and not covered.

    Args:
        instance: what is placed.
        states: of a sweep over it.
        columns: sets known; those found are added.
        target: what to prove.
        centre: [supernodes] the weights to begin with.
        stopped: asked often.
        proved: told of every target proved that is higher than those before. None to round loads to the nearest unit:
            what is proved then holds of such loads alone.
        steps: into how many units the target is divided at most.
        patience: so often weights are changed in vain before the target is given up.

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
        proved: Callable[[Proof], None] | None,
        *,
        steps: int = STEPS,
        patience: int = STALLED,
    ) -> None:
        self._instance, self._columns, self._target = instance, columns, target
        self._stopped, self._proved, self._patience = stopped, proved, patience
        self._sets = NarrowSets(instance, states, target, steps, nearest=proved is None)
        self._order = tuple(states.order.tolist())
        self._kinds = np.flatnonzero(instance.counts).tolist()
        self._covered = np.isfinite(instance.time).any(axis=1)
        self._master = BoxedMaster(int(self._covered.sum()), instance.counts)
        self._ratio = 0.0
        self.centre = centre
        self._half = WORK * np.where(self._covered, instance.time.min(axis=1), 0.0)
        for pins, cost in instance.nets:
            self._half[list(pins)] += TENSORS * min(cost, target)
        self._scale = float(target * instance.counts.sum())
        self.proof: Proof | None = None
        self._used: list[tuple[int, Bools]] = []

    def run(self, seconds: float) -> Verdict:
        """Generate sets until the target is proved or out of reach, for at most *seconds*."""
        deadline = monotonic() + seconds
        for kind in self._kinds:
            known = self._columns.sets[kind]
            loads = self._columns.loads(kind, self._sets.sizes[kind], known)
            for row in np.flatnonzero(loads <= self._sets.capacity).tolist():
                self._cover(kind, known[row])
        self._price(self.centre)
        width, vain = self._box(1.0), 0
        while (
            not self._stopped()
            and monotonic() < deadline
            and vain < self._patience
            and width <= WIDEST
            and not self._done
        ):
            try:
                theta, covered, limited = self._master.solve()
            except SolverError:  # numbers of very different sizes
                break
            if theta <= 1 + 1e-7 and not limited:
                return "out of reach"
            fresh = 0
            weights = np.zeros(self._instance.n)
            weights[self._covered] = covered
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
        half = width * (self._half / self._scale + LEAST * self.centre.mean())
        low, high = np.maximum(self.centre - half, 0.0), self.centre + half
        self._master.within(low[self._covered], high[self._covered])
        return width

    def _cover(self, kind: int, in_set: Bools) -> None:
        """Let a set of a kind cover what it holds."""
        self._master.add(kind, in_set[self._covered])
        self._used.append((kind, in_set))

    def likely(self) -> list[tuple[int, Bools]]:
        """Return the sets, with their kinds, that cover in the last solution, the largest share first."""
        shares = self._master.shares()[: len(self._used)]
        return [self._used[i] for i in np.argsort(-shares, kind="stable").tolist() if shares[i] > FEW]

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
                    self._cover(kind, in_set)
                    fresh += 1
                left = np.where(in_set, (AGAIN * left).astype(np.int64), left)
        self._learn(whole, most)
        return fresh

    def _learn(self, whole: Ints, most: list[Ints]) -> None:
        """Keep the weights as the best ones if they are, and the target that they prove."""
        together = self._instance.counts[self._kinds] @ np.array(most)
        total = int(whole.sum())
        ratio = total / max(int(together[-1]), 1)
        if ratio > self._ratio:
            self._ratio, self.centre = ratio, whole / max(int(together[-1]), 1)
        load = int(np.searchsorted(together, total))  # so many loads, from 0 on, hold less together
        target = self._sets.below(load)
        if load and (self.proof is None or target > self.proof.target):
            held = tuple(int(m[load - 1]) for m in most)
            self.proof = Proof(target, whole, held, self._sets.unit, self._order)
            if self._proved is not None:
                self._proved(self.proof)
