"""Find nodes that come before or after every other node, and how many edges bypass each."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Graph, Ints

__all__ = ["comparable", "without_bypasses"]


def comparable(graph: Graph) -> tuple[Ints, Ints]:
    """Return the nodes comparable with all others, in topological order, and how many edges bypass each.

    A node is *comparable* if every other node is one of its ancestors or one of its descendants. An edge *bypasses* it
    that leads from an ancestor to a descendant. In any topological order, every node before place p leads to the node
    there if and only if each has an edge to some place up to p, and every node behind p comes from it if and only if
    each has an edge from some place from p on. So two sweeps find them, in linear time.
    """
    n, order = graph.n, graph.topological_order
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    tails, heads = place[graph.tails], place[graph.heads]
    nearest_head, nearest_tail = np.full(n, n), np.full(n, -1)
    np.minimum.at(nearest_head, tails, heads)
    np.maximum.at(nearest_tail, heads, tails)
    here = np.arange(n)
    led = np.concatenate(([-1], np.maximum.accumulate(nearest_head)))[:n] <= here
    left = np.concatenate((np.minimum.accumulate(nearest_tail[::-1])[::-1], [n]))[1 : n + 1] >= here
    chosen = np.flatnonzero(led & left)
    return order[chosen], _over(n, tails, heads)[chosen]


def without_bypasses(graph: Graph, most: int) -> Bools:
    """Return [m] which edges are left when those that bypass some comparable node are dropped.

    Only comparable nodes that at most *most* edges bypass count. All of them are cut nodes of the graph that is left: a
    path to one of them, or from it, need not bypass another one, as that one is on some path between the same ends.
    """
    nodes, count = comparable(graph)
    place = np.empty(graph.n, np.int64)
    place[graph.topological_order] = np.arange(graph.n)
    anchors = place[nodes[count <= most]]
    first = np.searchsorted(anchors, place[graph.tails], side="right")  # the first anchor behind the tail
    left: Bools = first >= np.searchsorted(anchors, place[graph.heads], side="left")
    return left


def _over(n: int, tails: Ints, heads: Ints) -> Ints:
    """Return [n] how many edges lead from before each place to behind it."""
    change = np.zeros(n + 1, np.int64)
    np.add.at(change, tails + 1, 1)
    np.add.at(change, heads, -1)
    over: Ints = np.cumsum(change)[:n]
    return over
