"""Derive which nodes of a graph come after which, and minimum cuts in whole numbers.

Cuts are rounded so that none is ever found too dear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter
from math import floor

import numpy as np

from mtpp_dsl.core.base.lazy import csgraph, sparse
from mtpp_dsl.core.problem.graph import Bools, Floats


def reach(count: int, edges: Sequence[tuple[int, int]]) -> Bools:
    """Return [count, count] whether a path leads from one node to another, which is not itself.

    Args:
        count: of nodes.
        edges: between them, without a cycle.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    for u, v in edges:
        after[u].append(v)
    reached = np.zeros((count, count), np.bool_)
    for u in TopologicalSorter(dict(enumerate(after))).static_order():  # whatever is after u comes first
        for v in after[u]:
            reached[u] |= reached[v]
            reached[u, v] = True
    return reached


def between(after: Bools, load: Floats) -> Floats:
    """Return [nodes, nodes] the sum of *load* over two nodes and all between them; of one on the diagonal."""
    paths = after.astype(np.float64)
    total: Floats = (paths * load) @ paths
    total += total.T
    total += load[:, None] + load[None, :]
    np.fill_diagonal(total, load)
    return total


FINE = 2**26
"""Units in the largest value asked for: flows, and sums of them at a vertex, then fit into 32 bits."""

INF = 2**29
"""Capacity of arcs that no minimum cut contains."""


class CutNetwork:
    """A network whose cuts are costs of sets of nodes: those on the side of the source.

    A net that costs when some set of its pins is held is written with vertices of its own, from :meth:`vertex`.
    All capacities are rounded down to whole units and the flow is stopped at *most*, so that the value of a cut is
    never above what the set costs.

    Args:
        nodes: how many; they are the vertices 0..nodes-1.
        most: the largest value of interest.
    """

    def __init__(self, nodes: int, most: float) -> None:
        self._nodes = nodes
        self._vertices = nodes + 3
        self._source, self._gate, self._sink = nodes, nodes + 1, nodes + 2
        self._unit = most / FINE
        self._arcs: dict[tuple[int, int], int] = {(self._gate, self._sink): FINE}
        self._matrix: sparse.csr_array | None = None

    def vertex(self) -> int:
        """Return a vertex that is no node."""
        self._vertices += 1
        return self._vertices - 1

    def arc(self, tail: int, head: int, cost: float) -> None:
        """Let it cost *cost* (``inf``: forbid) to hold *tail* and not *head*."""
        units = INF if cost == float("inf") else min(floor(cost / self._unit), FINE)
        if units > 0:
            self._arcs[tail, head] = min(self._arcs.get((tail, head), 0) + units, INF)

    def weight(self, vertex: int, cost: float) -> None:
        """Let it cost *cost* to hold *vertex*."""
        self.arc(vertex, self._gate, cost)

    def least(self, nodes: Iterable[int]) -> float:
        """Return a cost, at most ``most``, that no set which holds *nodes* is below."""
        matrix = self._compiled()
        row = slice(matrix.indptr[self._source], matrix.indptr[self._source + 1])
        matrix.data[row] = 0
        matrix.data[row][list(nodes)] = INF
        return float(csgraph.maximum_flow(matrix, self._source, self._sink).flow_value * self._unit)

    def _compiled(self) -> sparse.csr_array:
        """Return the capacities, with the arcs from the source to node 0, 1, … as the first of its row."""
        if self._matrix is None:
            arcs = {**self._arcs, **{(self._source, v): 1 for v in range(self._nodes)}}
            tails, heads = np.array(list(arcs), np.int32).T
            shape = (self._vertices, self._vertices)
            self._matrix = sparse.csr_array((np.array(list(arcs.values()), np.int32), (tails, heads)), shape=shape)
            self._matrix.sort_indices()
        return self._matrix
