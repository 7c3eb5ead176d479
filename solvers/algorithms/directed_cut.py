"""The cheapest set of nodes where tensors that enter a set and tensors that leave it cost different amounts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import IN, OUT
from mtpp_dsl.solvers.algorithms.maximum_flow import NO_LIMIT, arc, flow

INF = 1 << 56
"""Capacity of arcs that no minimum cut contains."""
STEPS_A_SECOND = 5e6
LISTS = 10


def _directed_cut(
    state: Ints, price: Ints, enters: Ints, leaves: Ints, producer: Ints, starts: Ints, readers: Ints, scratch: Ints
) -> int:
    """Return the least of prices, and costs of tensors that enter or leave, over the sets that a state leaves.

    Afterwards row 6 of *scratch* is 0 or more at the nodes of a least set.

    Where:
        state: [n] free, in or out.
        price: [n] of a node, 0 or more.
        enters: [tensors] paid where a reader is inside, and the producer is not.
        leaves: [tensors] paid where the producer is inside, and a reader is not.
        producer: [tensors]; ``starts`` and ``readers``: row pointers, and the readers of each.
    """
    last, at, queue, path, source, sink = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    level, nxt, to, cap = scratch[6], scratch[7], scratch[8], scratch[9]
    n, many = len(state), 0
    for v in range(n):
        last[v] = -1
        source[v] = INF if state[v] == IN else 0
        sink[v] = price[v] + (INF if state[v] == OUT else 0)
    m = n
    for t in range(len(producer)):
        for half in range(2):
            cost = enters[t] if half == 0 else leaves[t]
            if cost == 0:
                continue
            last[m] = -1
            source[m] = 0
            sink[m] = 0
            p = producer[t]
            many = (
                arc(m, p, cost, 0, many, last, nxt, to, cap)
                if half == 0
                else arc(p, m, cost, 0, many, last, nxt, to, cap)
            )
            for i in range(starts[t], starts[t + 1]):
                r = readers[i]
                many = (
                    arc(r, m, INF, 0, many, last, nxt, to, cap)
                    if half == 0
                    else arc(m, r, INF, 0, many, last, nxt, to, cap)
                )
            m += 1
    return flow(m, last, nxt, to, cap, source, sink, level, at, queue, path, NO_LIMIT)


DIRECTED_CUT = Kernel(_directed_cut, STEPS_A_SECOND, arc, flow)


class DirectedCuts:
    """The cheapest sets of one graph, for prices, costs and states that change.

    Args:
        n: how many nodes.
        producer: [tensors] the node that makes each.
        readers: [tensors] other nodes that read each.
        cuts: about how many sets will be asked for; see :class:`~mtpp_dsl.core.base.compiling.Kernel`.
    """

    def __init__(self, n: int, producer: Ints, readers: Sequence[Sequence[int]], cuts: float) -> None:
        self.n = n
        self.producer = np.ascontiguousarray(producer, np.int64)
        self.starts = np.cumsum([0, *(len(nodes) for nodes in readers)]).astype(np.int64)
        self.readers = np.array([v for nodes in readers for v in nodes], np.int64)
        tensors, pins = len(self.producer), len(self.readers)
        self._scratch = np.zeros((LISTS, max(n + 2 * tensors, 4 * (tensors + pins)) + 4), np.int64)
        self._run = DIRECTED_CUT.pick(cuts * 20.0 * (n + 2 * pins + 1))

    def least(self, state: Ints, price: Ints, enters: Ints, leaves: Ints) -> tuple[int, Bools]:
        """Return what the cheapest set costs, and [n] the set."""
        value = int(self._run(state, price, enters, leaves, self.producer, self.starts, self.readers, self._scratch))
        return value, np.asarray(self._scratch[6, : self.n] >= 0)

    def crossing(self, side: Bools) -> tuple[Bools, Bools]:
        """Return [tensors] whether each enters a set, and whether it leaves it."""
        made = side[self.producer]
        count = np.add.reduceat(side[self.readers], self.starts[:-1], dtype=np.int64) if len(self.producer) else made
        return np.asarray(~made & (count > 0)), np.asarray(made & (count < np.diff(self.starts)))
