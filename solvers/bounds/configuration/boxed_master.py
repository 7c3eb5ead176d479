"""Cover all supernodes with the sets found so far, for weights that stay within a box."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.mip.matrix import CoveringProgramme


class BoxedMaster:
    """``min theta``, as :class:`~mtpp_dsl.solvers.bounds.configuration.covering.CoveringMaster`, in a box of weights.

    A supernode may also be covered at the highest weight of the box, or given back at the lowest. While nothing is, by
    the optimum, the box does not matter.

    Args:
        n: how many supernodes are covered.
        counts: [types] how many devices there are.
    """

    def __init__(self, n: int, counts: Ints) -> None:
        self._n, kinds = n, len(counts)
        self._lp = CoveringProgramme(np.concatenate((np.ones(n), np.zeros(kinds))))
        self._lp.add(1.0, np.arange(n, n + kinds), counts.astype(np.float64))
        for sign in (1.0, -1.0):
            for g in range(n):
                self._lp.add(0.0, np.array([g]), np.array([sign]))

    def within(self, low: Floats, high: Floats) -> None:
        """Set [supernodes] the least and the largest weights; those of all devices together are 1."""
        for g in range(self._n):
            self._lp.cost(1 + g, float(high[g]))
            self._lp.cost(1 + self._n + g, -float(low[g]))

    def add(self, kind: int, in_set: Bools) -> None:
        """Add a set of a kind."""
        rows = np.append(np.flatnonzero(in_set), self._n + kind)
        self._lp.add(0.0, rows, np.where(rows < self._n, 1.0, -1.0))

    def shares(self) -> Floats:
        """Return [sets] by how much each covers in the last solution."""
        return self._lp.values()[1 + 2 * self._n :]

    def solve(self) -> tuple[float, Floats, bool]:
        """Return theta, [supernodes] weights, and whether the box limits them."""
        theta, duals = self._lp.solve()
        limited = bool(self._lp.values()[1 : 1 + 2 * self._n].max(initial=0.0) > LEAST)
        return theta, duals[: self._n], limited


LEAST = 1e-7
"""Shares below this are none."""
