"""Sets of supernodes found so far, and the linear programme that covers all supernodes with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.base.lazy import sparse
from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.solvers.backends.mip.matrix import CoveringProgramme
from mtpp_dsl.solvers.bounds.configuration.convex import Convexity
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, WholeLoads

__all__ = ["Columns", "CoveringMaster"]

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

    def add(self, kind: int, held: Bools) -> bool:
        """Keep a set that is as convex as the kind asks; return whether it is new."""
        key = (kind, np.packbits(held).tobytes())
        if key in self._seen or not self.convexity.holds(kind, held):
            return False
        self._seen.add(key)
        self.sets[kind].append(held.copy())
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


class CoveringMaster:
    """How many times the devices there are would cover all supernodes, in fractions, with the sets known.

    ``min theta + 1.5 sum of slack``: every supernode is covered, or has slack; the shares of a kind's sets add up to at
    most theta times its devices. At most 1: by these sets no weights refute the target. Its dual values are weights.

    Args:
        instance: what is covered.
    """

    def __init__(self, instance: BoundInstance) -> None:
        self._n = n = instance.n
        kinds = len(instance.counts)
        self._lp = CoveringProgramme(np.concatenate((np.ones(n), np.zeros(kinds))))
        self._lp.add(1.0, np.arange(n, n + kinds), instance.counts.astype(np.float64))
        for g in range(n):
            self._lp.add(UNCOVERED, np.array([g]), np.ones(1))

    def add(self, kind: int, held: Bools) -> None:
        """Add a set of a kind."""
        rows = np.append(np.flatnonzero(held), self._n + kind)
        values = np.ones(len(rows))
        values[-1] = -1.0
        self._lp.add(0.0, rows, values)

    def solve(self) -> tuple[float, Floats, Floats]:
        """Return theta, [supernodes] weights, and [types] the weight of a set from which it would lower theta."""
        theta, duals = self._lp.solve()
        return theta, duals[: self._n], duals[self._n :]
