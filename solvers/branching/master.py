"""The linear programme of the weights: as heavy a graph as can be, all of whose blocks are light."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.graph import Floats, Ints

__all__ = ["Master"]


class Master:
    """Weights of the nodes, and what the heaviest block known at each place weighs.

    Maximises the sum of the weights times *share*; the heaviest blocks of all positions weigh 1 together.

    Args:
        share: [n] what a node's weight counts.
        counts: [places] how many positions each stands for.
    """

    def __init__(self, share: Floats, counts: Ints) -> None:
        import highspy

        self._n, self._share = len(share), share
        n = self._n
        self._infinite = highspy.kHighsInf
        self._solver: Any = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        width = n + len(counts)
        upper = np.concatenate((np.ones(n), np.full(len(counts), self._infinite)))
        cost = np.concatenate((-share, np.zeros(len(counts))))
        none = np.zeros(0, np.int32)
        self._solver.addCols(width, cost, np.zeros(width), upper, 0, none, none, np.zeros(0))
        at = np.arange(n, width, dtype=np.int32)
        self._solver.addRow(1.0, 1.0, len(at), at, counts.astype(np.float64))

    def add(self, place: int, inside: Ints) -> None:
        """Take in [blocks, n] blocks that may be at a place."""
        for row in inside:
            at = np.append(np.flatnonzero(row), self._n + place).astype(np.int32)
            values = np.ones(len(at))
            values[-1] = -1.0
            self._solver.addRow(-self._infinite, 0.0, len(at), at, values)

    def solve(self) -> tuple[Floats, float]:
        """Return [n] the best weights, and what they sum to."""
        self._solver.run()
        weight = np.maximum(np.array(self._solver.getSolution().col_value[: self._n]), 0.0)
        return weight, float(self._share @ weight)
