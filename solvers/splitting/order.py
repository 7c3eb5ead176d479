"""Topological orders of whose prefixes few tensors are read outside."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from mtpp_dsl.graph import Floats, Graph, Ints

__all__ = ["crossing", "orders"]

PASSES = 3


def orders(graph: Graph) -> Iterator[Ints]:
    """Yield topological orders: as the nodes were given, by levels, and by what keeps the fewest tensors alive."""
    level = _levels(graph)
    place = np.argsort(graph.topological_order)
    yield graph.topological_order
    yield np.lexsort((place, level))
    yield _thrifty(graph, level)


def crossing(graph: Graph, order: Ints) -> Ints:
    """Return [n + 1] of how many tensors of the first nodes of *order*, so many of them, later ones read."""
    place = np.argsort(order)
    last = place.copy()
    np.maximum.at(last, graph.tails, place[graph.heads])
    alive = np.zeros(graph.n + 2, np.int64)
    read = last > place
    np.add.at(alive, place[read] + 1, 1)
    np.add.at(alive, last[read] + 1, -1)
    counted: Ints = np.cumsum(alive)[: graph.n + 1]
    return counted


def _levels(graph: Graph) -> Floats:
    """Return [n] numbers that grow along every edge, so that edges are short: those of longest paths, evened out."""
    level = np.zeros(graph.n)
    topological = graph.topological_order.tolist()
    before = [graph.predecessors(v) for v in range(graph.n)]
    behind = [graph.successors(v) for v in range(graph.n)]
    for v in topological:
        if before[v].size:
            level[v] = level[before[v]].max() + 1
    for _ in range(PASSES):
        for v in reversed(topological):
            if behind[v].size >= max(before[v].size, 1):
                level[v] = level[behind[v]].min() - 1
        for v in topological:
            if before[v].size > behind[v].size:
                level[v] = level[before[v]].max() + 1
    return level


def _thrifty(graph: Graph, level: Floats) -> Ints:
    """Return the order that always takes the node after which the fewest tensors are alive, of several the lowest."""
    waiting = np.diff(graph.offsets_in).tolist()
    readers = np.diff(graph.offsets).tolist()
    gain = [int(count > 0) for count in readers]
    for u, count in enumerate(readers):
        if count == 1:
            gain[int(graph.successors(u)[0])] -= 1
    done = [False] * graph.n
    heap = [(gain[v], float(level[v]), v) for v in range(graph.n) if not waiting[v]]
    heapq.heapify(heap)
    order: list[int] = []
    while heap:
        known, _, v = heapq.heappop(heap)
        if done[v] or known != gain[v]:
            continue
        done[v] = True
        order.append(v)
        for u in graph.predecessors(v).tolist():
            readers[u] -= 1
            if readers[u] == 1:
                last = next(w for w in graph.successors(u).tolist() if not done[w])
                gain[last] -= 1
                if not waiting[last]:
                    heapq.heappush(heap, (gain[last], float(level[last]), last))
        for w in graph.successors(v).tolist():
            waiting[w] -= 1
            if not waiting[w]:
                heapq.heappush(heap, (gain[w], float(level[w]), w))
    return np.array(order, np.int64)
