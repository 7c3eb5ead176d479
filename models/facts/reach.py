"""Which nodes of a graph come after which."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats

__all__ = ["between", "reach"]


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
