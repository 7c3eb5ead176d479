"""Order the nodes of a graph so that few edges cross any place, by parting it in two again and again."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph, Ints

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


# Orders by repeated least cuts: a prefix that few tensors leave, then the same on either side of it.

EDGES = (8, 32)
"""One in so many of the nodes, at either end of an order, stays on its side of the cut; the second where no cut is."""
SMALLEST = 4
"""Fewer nodes are not cut any more."""


def bisected(graph: Graph, order: Ints, most: int) -> Ints:
    """Return a topological order with more prefixes that at most *most* tensors leave than *order* has.

    A least cut between the first nodes and the last divides the rest; where it has no more tensors, both sides
    are cut again. A prefix is closed under predecessors, so that a cut is a flow with arcs back of any capacity.
    """
    placed: list[int] = []
    waiting = [order.tolist()]
    place = np.argsort(order).tolist()
    done = [False] * graph.n
    while waiting:
        nodes = waiting.pop()
        parts = _parts(graph, nodes, done, most)
        if parts is None:
            placed += nodes
            for v in nodes:
                done[v] = True
        else:
            waiting += [sorted(part, key=place.__getitem__) for part in reversed(parts)]
    return np.array(placed, np.int64)


def _parts(graph: Graph, nodes: Sequence[int], done: Sequence[bool], most: int) -> tuple[list[int], list[int]] | None:
    """Return the nodes on either side of a least cut, or None if there is none, or nothing to cut."""
    if len(nodes) <= SMALLEST:
        return None
    tried = {max(1, len(nodes) // share): None for share in EDGES}
    return next(filter(None, (_Cut(graph, nodes, done, most, ends).parts() for ends in tried)), None)


class _Cut:
    """A least cut of some nodes, all of whose predecessors are among them or before them.

    The first and the last so many, *ends*, stay on their sides.

    Vertices are 0 for the source, 1 for the sink, and two for every node: itself, and its tensor.
    """

    def __init__(self, graph: Graph, nodes: Sequence[int], done: Sequence[bool], most: int, ends: int) -> None:
        self._nodes = nodes
        vertex = {v: 2 + 2 * i for i, v in enumerate(nodes)}
        self._heads: list[int] = []
        self._left: list[int] = []
        self._out: list[list[int]] = [[] for _ in range(2 + 2 * len(nodes))]
        big = most + 1
        fixed = 0
        given: dict[int, list[int]] = {}
        for v in nodes:
            behind = graph.successors(v).tolist()
            if behind:
                self._arc(vertex[v], vertex[v] + 1, 1)
            for w in behind:
                self._arc(vertex[v] + 1, vertex.get(w, 1), big)
                if w in vertex:
                    self._arc(vertex[w], vertex[v], big)
            for u in graph.predecessors(v).tolist():
                if u not in vertex:
                    given.setdefault(u, []).append(vertex[v])
        for u, readers in given.items():
            if all(w in vertex or done[w] for w in graph.successors(u).tolist()):
                tensor = self._vertex()
                self._arc(0, tensor, 1)
                for reader in readers:
                    self._arc(tensor, reader, big)
            else:  # read beyond these nodes: it crosses every cut
                fixed += 1
        self._most = most - fixed
        for v in nodes[:ends]:
            self._arc(0, vertex[v], big)
        for v in nodes[-ends:]:
            self._arc(vertex[v], 1, big)

    def _vertex(self) -> int:
        self._out.append([])
        return len(self._out) - 1

    def _arc(self, tail: int, head: int, capacity: int) -> None:
        for a, b, c in ((tail, head, capacity), (head, tail, 0)):
            self._out[a].append(len(self._heads))
            self._heads.append(b)
            self._left.append(c)

    def parts(self) -> tuple[list[int], list[int]] | None:
        """Return the nodes on either side of a least cut, or None if more tensors cross it."""
        for _ in range(self._most + 1):
            if not self._augment():
                break
        else:
            return None
        near, far = self._reached(0, forwards=True), self._reached(1, forwards=False)
        one = [v for i, v in enumerate(self._nodes) if 2 + 2 * i in near]
        other = [v for i, v in enumerate(self._nodes) if 2 + 2 * i not in far]
        middle = len(self._nodes) / 2
        inside = set(one if abs(len(one) - middle) <= abs(len(other) - middle) else other)
        return [v for v in self._nodes if v in inside], [v for v in self._nodes if v not in inside]

    def _augment(self) -> bool:
        """Send one more unit from the source to the sink; return whether that was possible."""
        came = {0: -1}
        queue = [0]
        for a in queue:
            for arc in self._out[a]:
                b = self._heads[arc]
                if self._left[arc] and b not in came:
                    came[b] = arc
                    queue.append(b)
            if 1 in came:
                break
        if 1 not in came:
            return False
        b = 1
        while b:
            arc = came[b]
            self._left[arc] -= 1
            self._left[arc ^ 1] += 1
            b = self._heads[arc ^ 1]
        return True

    def _reached(self, end: int, *, forwards: bool) -> set[int]:
        """Return the vertices that the source reaches, or that reach the sink, by arcs with capacity left."""
        seen = {end}
        queue = [end]
        for a in queue:
            for arc in self._out[a]:
                b = self._heads[arc]
                if self._left[arc if forwards else arc ^ 1] and b not in seen:
                    seen.add(b)
                    queue.append(b)
        return seen
