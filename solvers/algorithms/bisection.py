"""Orders by repeated least cuts: a prefix that few tensors leave, then the same on either side of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Graph, Ints

__all__ = ["bisected"]

EDGES = (8, 32)
"""One in so many of the nodes, at either end of an order, stays on its side of the cut; the second where no cut is."""
SMALLEST = 4
"""Fewer nodes are not cut any more."""


def bisected(graph: Graph, order: Ints, most: int) -> Ints:
    """Return a topological order with more prefixes that at most *most* tensors leave than *order* has.

    A least cut between the first nodes and the last divides the rest; where it has no more tensors, both sides
    are cut again. A prefix is closed under predecessors, so that a cut is a flow with arcs back of any capacity.
    """
    found: list[int] = []
    waiting = [order.tolist()]
    place = np.argsort(order).tolist()
    done = [False] * graph.n
    while waiting:
        nodes = waiting.pop()
        parts = _parts(graph, nodes, done, most)
        if parts is None:
            found += nodes
            for v in nodes:
                done[v] = True
        else:
            waiting += [sorted(part, key=place.__getitem__) for part in reversed(parts)]
    return np.array(found, np.int64)


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
