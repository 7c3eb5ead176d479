"""The cheapest ideal: a minimum cut, since tensors leave an ideal in one direction only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.maximum_flow import NO_LIMIT, arc, flow

__all__ = ["IdealCuts"]

INF = 1 << 58
"""Capacity of arcs that no minimum cut contains."""


class IdealCuts:
    """The cheapest ideals of one graph, for weights that change.

    The source's side of a cut is an ideal: an endless arc leads from each node to those *before* it. A tensor is cut if
    its producer is in the ideal and some reader is not. Vertices of the network are the nodes, and one more for each
    tensor of several readers.

    Args:
        before: the nodes that each node reads.
        tensors: producer, readers and cost of each.
        say: told when code has to be compiled.
    """

    def __init__(
        self, before: list[list[int]], tensors: list[tuple[int, list[int], int]], say: Callable[[str], None]
    ) -> None:
        self._say = say
        vertices = len(before)
        arcs = [(v, u, INF) for v in range(vertices) for u in before[v]]
        for producer, readers, cost in tensors:
            if len(readers) == 1:
                arcs.append((producer, readers[0], cost))
                continue
            arcs.append((producer, vertices, cost))
            arcs += [(vertices, reader, INF) for reader in readers]
            vertices += 1
        self._last = np.full(vertices, -1, np.int64)
        self._arcs = np.zeros((3, 2 * len(arcs)), np.int64)
        for number, (tail, head, cost) in enumerate(arcs):
            arc(tail, head, cost, 0, 2 * number, self._last, *self._arcs)
        self._scratch = np.zeros((6, vertices), np.int64)

    def least(self, fixed: Ints, weight: Ints, scale: int, inside: Ints) -> int:
        """Return the least of *scale* times the tensors that an ideal cuts plus the weights in it, and the ideal.

        Args:
            fixed: [n] 1 for nodes in the ideal, -1 for nodes outside.
            weight: [n] of any sign.
            scale: of the costs of tensors.
            inside: [n] is set to the smallest ideal of that value.
        """
        nxt, to, capacity = self._arcs
        return int(CUT.compiled(self._say)(fixed, weight, scale, self._last, nxt, to, capacity, self._scratch, inside))


def _cut(
    fixed: Ints, weight: Ints, scale: int, last: Ints, nxt: Ints, to: Ints, capacity: Ints, scratch: Ints, inside: Ints
) -> int:
    """Return what :meth:`IdealCuts.least` does."""
    n, vertices = len(fixed), len(last)
    source, sink, level = scratch[0], scratch[1], scratch[2]
    left = np.empty(len(to), np.int64)
    for a in range(len(to)):
        left[a] = capacity[a] if capacity[a] >= INF else capacity[a] * scale
    source[:] = 0
    sink[:] = 0
    value = 0
    for v in range(n):
        if fixed[v] > 0:
            source[v] = INF
            value += weight[v]
        elif fixed[v] < 0:
            sink[v] = INF
        elif weight[v] > 0:
            sink[v] = weight[v]
        else:
            source[v] = -weight[v]
            value += weight[v]
    value += flow(vertices, last, nxt, to, left, source, sink, level, scratch[3], scratch[4], scratch[5], NO_LIMIT)
    for v in range(n):
        inside[v] = 1 if level[v] >= 0 else 0
    return value


CUT = Kernel(_cut, 0.0, arc, flow)
