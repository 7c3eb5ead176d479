"""Choose anchors: a chain of nodes with as much work as possible between consecutive ones, in parts that can be solved.

Tasks that lie between no two consecutive anchors, and edges that bypass an anchor, are left out. Both are relaxations,
and every anchor is a cut node of the remaining graph. So the optimum of its modules is a lower bound for the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints

__all__ = ["chain_of"]

MIN_GAIN = 0.1
"""Share of the work for which longer intervals are taken."""
MAX_CANDIDATES = 2_500
MAX_PAIRS = 15_000_000
"""Nodes that are tried as anchors, and pairs of one and any node; of larger graphs those of a heaviest path."""


@dataclass(frozen=True, eq=False)
class AnchorChain:
    """A chain of anchors, and the part of the graph that it keeps.

    Attributes:
        anchors: node numbers, in order.
        kept: [n] the anchors, the nodes between consecutive ones, and those before the first or after the last.
        edges: [m] the edges among these that bypass no anchor.
    """

    anchors: tuple[int, ...]
    kept: Bools
    edges: Bools


def chain_of(graph: Graph, weight: Floats, sizes: Sequence[int]) -> AnchorChain:
    """Return the chain that keeps the most work with a limited number of nodes between consecutive anchors.

    It is a longest path over all pairs of candidates: from u to v it counts the work of v and of all that lies between,
    where that is not too much to be solved. Ties go to the chain that fewer edges bypass, then to the one with more
    anchors.

    Args:
        graph: the graph.
        weight: [n] the work of every node, such as its least running time.
        sizes: limits on the nodes between two anchors, growing: the next has to keep :data:`MIN_GAIN` more of it.
    """
    weight = weight / max(float(weight.sum()), np.finfo(np.float64).tiny)
    pairs = _Pairs.of(graph, weight)
    value, chosen = pairs.longest(sizes[0])
    for size in sizes[1:]:
        wider = pairs.longest(size)
        if wider[0] <= value + MIN_GAIN:
            break
        value, chosen = wider
    return _kept(graph, [int(pairs.candidates[i]) for i in chosen])


@dataclass(frozen=True, eq=False)
class _Pairs:
    """What lies between two candidates, for all pairs.

    Attributes:
        candidates: [c] nodes in topological order. own: [c] the work of each, and a little for being an anchor.
        after: [c, c] whether there is a path. many, worth: [c, c] how many nodes are between, and their work.
        before, behind: [c] numbers of nodes before and after each; with their work.
    """

    candidates: Ints
    own: Floats
    after: Bools
    many: Floats
    worth: Floats
    before: tuple[Ints, Floats]
    behind: tuple[Ints, Floats]

    @classmethod
    def of(cls, graph: Graph, weight: Floats) -> _Pairs:
        candidates = _candidates(graph, weight)
        below = _reach(graph, candidates, forward=True)
        above = _reach(graph, candidates, forward=False)
        small = 1e-6 / max(1, graph.n + graph.m)
        return cls(
            candidates=candidates,
            own=weight[candidates] + 1e-3 * small - small * _bypassing(graph, below, above),
            after=below[:, candidates],
            many=(below.astype(np.float32) @ above.T.astype(np.float32)).astype(np.float64),
            worth=(below * weight) @ above.T.astype(np.float64),
            before=(above.sum(axis=1), above @ weight),
            behind=(below.sum(axis=1), below @ weight),
        )

    def longest(self, largest: int) -> tuple[float, list[int]]:
        """Return the share of the work that the best chain keeps, and its candidates; ``-inf`` if there is none."""
        value = np.where(self.before[0] <= largest, self.before[1], -np.inf) + self.own
        came = np.full(len(value), -1)
        for j in range(1, len(value)):
            ways = np.where(self.after[:j, j] & (self.many[:j, j] <= largest), value[:j] + self.worth[:j, j], -np.inf)
            i = int(ways.argmax())
            if ways[i] + self.own[j] > value[j]:
                value[j], came[j] = ways[i] + self.own[j], i
        ends = np.where(self.behind[0] <= largest, value + self.behind[1], -np.inf)
        j = int(ends.argmax()) if len(ends) else -1
        if j < 0 or not np.isfinite(ends[j]):
            return -np.inf, []
        chosen = [j]
        while came[chosen[-1]] >= 0:
            chosen.append(int(came[chosen[-1]]))
        return float(ends[j]), chosen[::-1]


def _candidates(graph: Graph, weight: Floats) -> Ints:
    """Return the nodes that may become anchors, in topological order: all, or those of a heaviest path."""
    most = max(1, min(MAX_CANDIDATES, MAX_PAIRS // max(1, graph.n)))
    if graph.n <= most:
        return graph.topological_order
    length, came = np.array(weight), np.full(graph.n, -1)
    for v in graph.topological_order.tolist():
        before = graph.predecessors(v)
        if len(before):
            u = int(before[length[before].argmax()])
            length[v], came[v] = length[u] + weight[v], u
    path = [int(length.argmax())]
    while came[path[-1]] >= 0:
        path.append(int(came[path[-1]]))
    path.reverse()
    step = -(-len(path) // most)
    return np.array(path[::step], np.int64)


def _reach(graph: Graph, candidates: Ints, *, forward: bool) -> Bools:
    """Return [candidates, n] the proper descendants of each candidate, or its proper ancestors."""
    bits = np.zeros((graph.n, -(-len(candidates) // 8)), np.uint8)  # of eight candidates each
    itself = np.zeros_like(bits)
    number = np.arange(len(candidates))
    itself[candidates, number // 8] = 128 >> number % 8
    near, order = (graph.predecessors if forward else graph.successors), graph.topological_order
    for v in (order if forward else order[::-1]).tolist():
        neighbours = near(v)
        if len(neighbours):
            np.bitwise_or.reduce(bits[neighbours] | itself[neighbours], axis=0, out=bits[v])
    reach = np.unpackbits(bits, axis=1, count=len(candidates)).view(np.bool_)
    return np.ascontiguousarray(reach.T)


def _bypassing(graph: Graph, below: Bools, above: Bools) -> Floats:
    """Return [candidates] how many edges bypass each: from an ancestor to a descendant."""
    rows = zip(below, above, strict=True)
    return np.array([np.count_nonzero(a[graph.tails] & b[graph.heads]) for b, a in rows], np.float64)


def _kept(graph: Graph, anchors: list[int]) -> AnchorChain:
    """Return the chain with these anchors."""
    if not anchors:
        return AnchorChain((), np.ones(graph.n, np.bool_), np.ones(graph.m, np.bool_))
    chain = np.array(anchors, np.int64)
    below, above = _reach(graph, chain, forward=True), _reach(graph, chain, forward=False)
    level = np.full(graph.n, -1)  # 2j between anchors j-1 and j, 2j + 1 at anchor j
    level[above[0]] = 0
    for j in range(1, len(anchors)):
        level[below[j - 1] & above[j]] = 2 * j
    level[below[-1]] = 2 * len(anchors)
    level[chain] = 2 * np.arange(len(anchors)) + 1
    kept = level >= 0
    first, last = level[graph.tails], level[graph.heads]
    bypass = last > first + 1 + (first & 1)
    return AnchorChain(tuple(anchors), kept, kept[graph.tails] & kept[graph.heads] & ~bypass)
