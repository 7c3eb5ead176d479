"""Cover all supernodes with the sets found so far, by a linear programme whose dual values are their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.base.lazy import sparse
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.mip.matrix import CoveringProgramme
from mtpp_dsl.solvers.bounds.configuration.convex import Convexity
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, WholeLoads

UNITS = 1e5
"""The weight of a set that matters, in whole units: small enough to stand far above a solver's tolerance."""


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, and the weight of a set of each kind that matters; the devices' together are one unit.

    Attributes:
        weights: [supernodes].
        threshold: [types].
        whole, level: the same in whole units, and in these units.
        estimate: how many times the devices hold all weight, as far as sets are known: above 1, perhaps a proof.
    """

    weights: Floats
    threshold: Floats
    whole: Ints
    level: Floats
    estimate: float

    @classmethod
    def at(cls, weights: Floats, threshold: Floats) -> Point:
        """Return a point whose largest threshold is so many whole units that rounding does not matter."""
        scale = UNITS / max(float(threshold.max(initial=0.0)), 1e-3 * float(weights.max(initial=0.0)), 1e-9)
        return cls(weights, threshold, np.rint(weights * scale).astype(np.int64), threshold * scale, 0.0)

    def towards(self, other: Point, share: float) -> Point:
        """Return the point that lies the *share* of the way to another one."""
        mixed = (1 - share) * self.weights + share * other.weights
        return Point.at(mixed, (1 - share) * self.threshold + share * other.threshold)


UNCOVERED = 1.5
"""What a supernode that no set covers costs: as much as so many times all devices."""


class Columns:
    """Sets that some device type may hold, each once, kept from target to target.

    Args:
        instance: what there is to hold.

    Attributes:
        sets: by kind.
        convexity: tells which are convex.
    """

    def __init__(self, instance: BoundInstance) -> None:
        self._instance = instance
        self.convexity = Convexity(instance)
        self._seen: set[tuple[int, bytes]] = set()
        self.sets: list[list[Bools]] = [[] for _ in instance.counts]
        pins = [v for pins, _ in instance.nets for v in pins]
        rows = np.repeat(np.arange(len(instance.nets)), [len(pins) for pins, _ in instance.nets])
        shape = (len(instance.nets), instance.n)
        self._incidence = sparse.csr_array(
            (np.ones(len(pins), np.int64), (rows, np.array(pins, np.int64))), shape=shape
        )
        self._pins = np.array([len(pins) for pins, _ in instance.nets], np.int64)

    def add(self, kind: int, in_set: Bools) -> bool:
        """Keep a set that is as convex as the kind asks; return whether it is new."""
        key = (kind, np.packbits(in_set).tobytes())
        if key in self._seen or not self.convexity.holds(kind, in_set):
            return False
        self._seen.add(key)
        self.sets[kind].append(in_set.copy())
        return True

    def loads(self, kind: int, sizes: WholeLoads, sets: Sequence[Bools]) -> Floats:
        """Return the load of each set in units, rounded down; ``inf`` where it does not fit."""
        if not sets:
            return np.zeros(0)
        instance, rows = self._instance, np.array(sets, np.int64)
        count = self._incidence @ rows.T
        cut = (count > 0) & (count < self._pins[:, None])
        load = (rows @ sizes.work + sizes.nets @ cut).astype(np.float64)
        excess = np.maximum(rows @ instance.params - instance.types.overflow[kind], 0.0)
        load += np.floor(excess / instance.types.bandwidth * sizes.scale)
        return np.where(rows @ instance.memory > instance.types.memory[kind], np.inf, load)


@dataclass(frozen=True, eq=False)
class Proof:
    """Weights that prove a target: the devices together hold less than all supernodes weigh.

    Attributes:
        target: no plan's bottleneck is below it.
        weights: [supernodes] whole numbers.
        most: [types] or [positions] no set below the target weighs more; those of all devices together are less than
            the sum of the weights.
        unit: in which loads were counted, rounded down, to find the heaviest sets by tables; else None.
        order: of supernodes along which these tables were filled.
    """

    target: float
    weights: Ints
    most: tuple[int, ...]
    unit: float | None = None
    order: tuple[int, ...] = ()


class CoveringMaster:
    """How many times the devices there are would cover all supernodes, in fractions, with the sets known.

    ``min theta + 1.5 sum of slack``: every supernode is covered, or has slack; the shares of a kind's sets add up to at
    most theta times its devices. At most 1: by these sets no weights refute the target. Its dual values are weights.

    Args:
        n: how many supernodes are covered.
        counts: [types] how many devices there are of each type; or at each range of positions in an order.
    """

    def __init__(self, n: int, counts: Floats) -> None:
        self._n, kinds = n, len(counts)
        self._lp = CoveringProgramme(np.concatenate((np.ones(n), np.zeros(kinds))))
        self._lp.add(1.0, np.arange(n, n + kinds), counts)
        for g in range(n):
            self._lp.add(UNCOVERED, np.array([g]), np.ones(1))

    def add(self, kind: int, in_set: Bools) -> None:
        """Add a set of a kind."""
        rows = np.append(np.flatnonzero(in_set), self._n + kind)
        values = np.ones(len(rows))
        values[-1] = -1.0
        self._lp.add(0.0, rows, values)

    def solve(self) -> tuple[float, Floats, Floats]:
        """Return theta, [supernodes] weights, and [types] the weight of a set from which it would lower theta."""
        theta, duals = self._lp.solve()
        return theta, duals[: self._n], duals[self._n :]
