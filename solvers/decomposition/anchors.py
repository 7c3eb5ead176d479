"""Anchors: a chain of nodes between which as much work as possible lies, in intervals that can be solved.

Tasks that lie between no two consecutive anchors, and edges that bypass one, are left out. Both are relaxations, and
what is left has every anchor as a cut node: so the optimum of its modules bounds that of the whole from below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.graph import Bools, Floats, Graph, Ints

__all__ = ["Chain", "chain_of"]

MOST_CANDIDATES = 2_500
"""Nodes that are tried as anchors; of larger graphs the nodes of a longest path."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Anchors, in order, and what they keep of the graph.

    Attributes:
        anchors: node numbers.
        kept: [n] nodes between consecutive anchors, before the first or behind the last, and the anchors.
        edges: [m] edges among these that bypass no anchor.
    """

    anchors: tuple[int, ...]
    kept: Bools
    edges: Bools


def chain_of(graph: Graph, weight: Floats, largest: int) -> Chain:
    """Return the chain that keeps the most work, with at most *largest* nodes between consecutive anchors.

    A longest way over all pairs of candidates: from u to v it counts the work of v and of all that lies between, if
    that is not too much to be solved. Of chains that keep the same the one of more anchors counts more.

    Args:
        graph: the graph.
        weight: [n] what every node counts, such as its least running time.
        largest: number of nodes.
    """
    candidates = _candidates(graph, weight)
    below = _reach(graph, candidates, forward=True)
    above = _reach(graph, candidates, forward=False)
    many = (below.astype(np.float32) @ above.T.astype(np.float32)).round().astype(np.int64)
    worth = (below * weight) @ above.T.astype(np.float64)
    after = below[:, candidates]
    before_first, behind_last = above.sum(axis=1), below.sum(axis=1)
    value = np.where(before_first <= largest, above @ weight, -np.inf) + weight[candidates]
    came = np.full(len(candidates), -1)
    small = 1e-6 * float(weight.sum()) / max(1, graph.n + graph.m)
    bonus = 1e-3 * small - small * _bypassing(graph, below, above)
    value += bonus
    for j in range(len(candidates)):
        ways = np.where(after[:, j] & (many[:, j] <= largest), value + worth[:, j], -np.inf)
        ways[j:] = -np.inf
        i = int(ways.argmax()) if j else 0
        gain = ways[i] + weight[candidates[j]] + bonus[j] if j else -np.inf
        if gain > value[j]:
            value[j], came[j] = gain, i
    ends = np.where(behind_last <= largest, value + below @ weight, -np.inf)
    j = int(ends.argmax())
    if not np.isfinite(ends[j]):
        return _kept(graph, [])
    chosen = [j]
    while came[chosen[-1]] >= 0:
        chosen.append(int(came[chosen[-1]]))
    return _kept(graph, [int(candidates[i]) for i in reversed(chosen)])


def _candidates(graph: Graph, weight: Floats) -> Ints:
    """Return nodes in topological order: all, or those of a heaviest path."""
    if graph.n <= MOST_CANDIDATES:
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
    step = -(-len(path) // MOST_CANDIDATES)
    return np.array(path[::step], np.int64)


def _reach(graph: Graph, candidates: Ints, *, forward: bool) -> Bools:
    """Return [candidates, n] the proper descendants of each candidate, or its proper ancestors."""
    found = np.zeros((graph.n, len(candidates)), np.bool_)
    own = np.full(graph.n, -1)
    own[candidates] = np.arange(len(candidates))
    order = graph.topological_order if forward else graph.topological_order[::-1]
    for v in order.tolist():
        for u in (graph.predecessors(v) if forward else graph.successors(v)).tolist():
            found[v] |= found[u]
            if own[u] >= 0:
                found[v, own[u]] = True
    return np.ascontiguousarray(found.T)


def _bypassing(graph: Graph, below: Bools, above: Bools) -> Floats:
    """Return [candidates] the number of edges that bypass each: from what is before it to what is behind."""
    rows = zip(below, above, strict=True)
    return np.array([np.count_nonzero(a[graph.tails] & b[graph.heads]) for b, a in rows], np.float64)


def _kept(graph: Graph, anchors: list[int]) -> Chain:
    """Return the chain of these anchors."""
    if not anchors:
        return Chain((), np.ones(graph.n, np.bool_), np.ones(graph.m, np.bool_))
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
    return Chain(tuple(anchors), kept, kept[graph.tails] & kept[graph.heads] & ~bypass)
