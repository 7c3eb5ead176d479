"""The linear programme of the weights: as heavy a graph as can be, all of whose blocks are light."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.backends.mip.matrix import CoveringProgramme

__all__ = ["WeightsMaster"]


class WeightsMaster:
    """Weights of the nodes, and what the heaviest block known at each place weighs.

    Maximises the sum of *share* times weight; no node weighs more than 1, and the heaviest blocks of all positions
    weigh 1 together. The weights are the dual values of covering every node as often as its share says, with all
    positions as few times as possible.

    Args:
        share: [n] what a node's weight counts.
        counts: [places] how many positions each stands for.
    """

    def __init__(self, share: Floats, counts: Ints) -> None:
        self._n, self._share = len(share), share
        places = len(counts)
        self._lp = CoveringProgramme(np.concatenate((share, np.zeros(places))))
        self._lp.add(1.0, np.arange(self._n, self._n + places), counts.astype(np.float64))
        for v in range(self._n):
            self._lp.add(1.0, np.array([v]), np.ones(1))

    def add(self, place: int, inside: Ints) -> None:
        """Take in [blocks, n] blocks that may be at a place."""
        for row in inside:
            at = np.append(np.flatnonzero(row), self._n + place)
            values = np.ones(len(at))
            values[-1] = -1.0
            self._lp.add(0.0, at, values)

    def solve(self) -> tuple[Floats, float]:
        """Return [n] the best weights, and the sum of share times weight."""
        _, duals = self._lp.solve()
        weight = duals[: self._n]
        return weight, float(self._share @ weight)
