"""Topological orders from node priorities, many at once (archer2024, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints

__all__ = ["kahn_orders"]

STEPS_WORTH_COMPILING = 1e5


def kahn_orders(graph: Graph, keys: Floats, say: Callable[[str], None], steps: float = 0.0) -> Ints:
    """Return [count, n] the orders in which, among ready nodes, the one of the largest key comes first.

    Args:
        graph: the graph.
        keys: [count, n] the priorities; of equal ones the node given first counts as the larger.
        say: told when code has to be compiled.
        steps: further nodes and edges of orders that are to follow.
    """
    ranked = np.argsort(-keys, axis=1, kind="stable")
    orders = np.empty(ranked.shape, np.int64)
    run = KAHN.pick(steps + float(len(keys)) * (graph.n + graph.m), say)
    run(ranked, graph.offsets, graph.heads, np.diff(graph.offsets_in), orders)
    return orders


def _kahn(ranked: Ints, offsets: Ints, heads: Ints, indegree: Ints, orders: Ints) -> None:
    """Fill *orders* by Kahn's algorithm; ``ranked[i]`` are the nodes, those to prefer first."""
    count, n = ranked.shape
    rank = np.empty(n, np.int64)
    for i in range(count):
        waiting = indegree.copy()
        ready = [0]
        ready.pop()
        for place in range(n):
            v = ranked[i, place]
            rank[v] = place
            if waiting[v] == 0:
                ready.append(place)  # ascending, and so a heap
        for position in range(n):
            v = ranked[i, heappop(ready)]
            orders[i, position] = v
            for e in range(offsets[v], offsets[v + 1]):
                waiting[heads[e]] -= 1
                if waiting[heads[e]] == 0:
                    heappush(ready, rank[heads[e]])


KAHN = Kernel(_kahn, STEPS_WORTH_COMPILING)
