"""Topological orders of whose prefixes few tensors are read outside."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.solvers.algorithms.bisection import bisected

__all__ = ["crossing", "orders"]

TOLERANCE, ITERATIONS = 1e-3, 5_000
"""How exactly heights are found, and how long that may take."""


def orders(graph: Graph, most: int) -> Iterator[Ints]:
    """Yield topological orders: as the nodes were given, by heights, by what keeps the fewest tensors alive, by cuts.

    Args:
        graph: the graph.
        most: prefixes that more tensors leave are of no use.
    """
    height = _heights(graph)
    lifted = _lifted(graph, height)
    yield graph.topological_order
    yield lifted
    yield _thrifty(graph, height)
    yield bisected(graph, lifted, most)


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


def _heights(graph: Graph) -> Floats:
    """Return [n] heights whose differences along edges are near 1: those of the least sum of squares.

    Sources stay near what reads them, and sinks near what they read, which longest paths do not bring about (De Bacco,
    Larremore, Moore: A physical model for efficient ranking in networks, 2018). By conjugate gradients.
    """
    n, tails, heads = graph.n, graph.tails, graph.heads
    degree = np.maximum(np.bincount(tails, minlength=n) + np.bincount(heads, minlength=n), 1).astype(np.float64)
    height = np.zeros(n)
    left = (np.bincount(heads, minlength=n) - np.bincount(tails, minlength=n)).astype(np.float64)
    scaled = left / degree
    step, size = scaled.copy(), float(left @ scaled)
    enough = TOLERANCE**2 * size
    for _ in range(min(2 * n, ITERATIONS)):
        if size <= enough:
            break
        pull = step[heads] - step[tails]
        along = np.bincount(heads, pull, n) - np.bincount(tails, pull, n)
        far = size / float(step @ along)
        height += far * step
        left -= far * along
        scaled = left / degree
        size, before = float(left @ scaled), size
        step = scaled + size / before * step
    return height


def _lifted(graph: Graph, height: Floats) -> Ints:
    """Return the topological order that always takes the lowest node of those whose predecessors are behind it."""
    waiting = np.diff(graph.offsets_in).tolist()
    heap = [(float(height[v]), v) for v in range(graph.n) if not waiting[v]]
    heapq.heapify(heap)
    order: list[int] = []
    while heap:
        _, v = heapq.heappop(heap)
        order.append(v)
        for w in graph.successors(v).tolist():
            waiting[w] -= 1
            if not waiting[w]:
                heapq.heappush(heap, (float(height[w]), w))
    return np.array(order, np.int64)


def _thrifty(graph: Graph, height: Floats) -> Ints:
    """Return the order that always takes the node after which the fewest tensors are alive, of several the lowest."""
    waiting = np.diff(graph.offsets_in).tolist()
    readers = np.diff(graph.offsets).tolist()
    gain = [int(count > 0) for count in readers]
    for u, count in enumerate(readers):
        if count == 1:
            gain[int(graph.successors(u)[0])] -= 1
    done = [False] * graph.n
    heap = [(gain[v], float(height[v]), v) for v in range(graph.n) if not waiting[v]]
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
                    heapq.heappush(heap, (gain[last], float(height[last]), last))
        for w in graph.successors(v).tolist():
            waiting[w] -= 1
            if not waiting[w]:
                heapq.heappush(heap, (gain[w], float(height[w]), w))
    return np.array(order, np.int64)
