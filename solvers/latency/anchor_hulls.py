"""Bound the latency of a large graph by anchors along a path and what lies between them, in linear time.

Take some nodes of a path, anchors 0 to r - 1. Every subgraph is contiguous, so the anchors that it holds are next to
each other, and with the first, i, and the last, j, it holds the hull of the two: every node that i leads to and that
leads to j. What it takes is at least the time of the hull. As the anchors lead to one another, a node is in the hull of
i and j if the last anchor that leads to it is i or a later one, and the first that it leads to j or an earlier one: so
two passes over the graph and sums over two numbers give all hulls. These runs of anchors, and anchors on devices with
``io = free``, take place one after another. A dynamic programme finds the cheapest way to cut the anchors into no more
runs than there may be subgraphs. Payments for tensors are left out, and so are colocation and minimum cuts, with which
:mod:`mtpp_dsl.solvers.latency.path_hull` is stronger where all pairs of nodes can be stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance

__all__ = ["least_by_anchors"]

MAX_ANCHORS = 1_000
"""Anchors of a path: work and memory grow with their square."""


def least_by_anchors(instance: LatencyInstance, path: Sequence[int]) -> tuple[float, int]:
    """Return what no latency is below, lowered for rounding, and the number of anchors; ``inf`` if there is no plan.

    Args:
        instance: the problem.
        path: nodes, each of which reads the tensor of the one before it; anchors are spread evenly over it.
    """
    chosen = np.unique(np.linspace(0, len(path) - 1, min(len(path), MAX_ANCHORS)).astype(np.int64))
    anchors = np.asarray(path, np.int64)[chosen]
    count = len(anchors)
    cost = _runs(instance, anchors)
    free = instance.home[instance.pieces :]
    alone: Floats = instance.time[np.ix_(anchors, free)].min(axis=1, initial=np.inf)
    most = min(instance.pieces, count)
    reached = np.full((count + 1, most + 1), np.inf)
    reached[0] = 0.0
    for i in range(count):
        np.minimum(reached[i + 1], reached[i] + alone[i], out=reached[i + 1])
        np.minimum(reached[i + 1 :, 1:], reached[i, :-1] + cost[i, i:, None], out=reached[i + 1 :, 1:])
    value = float(reached[count, most])
    return value * (1 - 1e-15 * (instance.n + 2 * count + 100)), count


def _runs(instance: LatencyInstance, anchors: Ints) -> Floats:
    """Return [anchors, anchors] the least time of the hull of each two on a device that may hold it."""
    count = len(anchors)
    last, first = _last_before(instance.graph, anchors), _first_behind(instance.graph, anchors)
    between = (last >= 0) & (first < count)
    pair = last[between] * count + first[between]
    size = _sums(pair, instance.memory[between], count)
    cost = np.full((count, count), np.inf)
    home = instance.home[: instance.pieces]
    kinds = {(float(instance.limit[d]), instance.time[:, d].tobytes()): int(d) for d in home.tolist()}
    for (limit, _), d in kinds.items():
        time = instance.time[between, d]
        unable = np.isinf(time)
        sums = _sums(pair, np.where(unable, 0.0, time), count)
        sums[_sums(pair, unable.astype(np.float64), count) > 0.5] = np.inf
        sums[size * (1 - 1e-15 * (instance.n + 2 * count)) > limit * (1 + TOLERANCE * (1 + 1e-6))] = np.inf
        np.minimum(cost, sums, out=cost)
    return cost


def _sums(pair: Ints, weight: Floats, count: int) -> Floats:
    """Return [anchors, anchors] the weight of all nodes whose pair of anchors lies within each."""
    table = np.bincount(pair, weights=weight, minlength=count * count).reshape(count, count)
    sums: Floats = table[::-1].cumsum(axis=0)[::-1].cumsum(axis=1)
    return sums


def _last_before(graph: Graph, anchors: Ints) -> Ints:
    """Return [n] the last anchor that leads to each node, or is it; -1 without any."""
    last = [-1] * graph.n
    for i, v in enumerate(anchors.tolist()):
        last[v] = i
    heads, offsets = graph.heads.tolist(), graph.offsets.tolist()
    for u in graph.topological_order.tolist():
        known = last[u]
        for v in heads[offsets[u] : offsets[u + 1]]:
            if known > last[v]:
                last[v] = known
    return np.array(last, np.int64)


def _first_behind(graph: Graph, anchors: Ints) -> Ints:
    """Return [n] the first anchor that each node leads to, or is; the number of anchors without any."""
    first = [len(anchors)] * graph.n
    for i, v in enumerate(anchors.tolist()):
        first[v] = i
    heads, offsets = graph.heads.tolist(), graph.offsets.tolist()
    for u in graph.topological_order[::-1].tolist():
        known = first[u]
        for v in heads[offsets[u] : offsets[u + 1]]:
            known = min(known, first[v])
        first[u] = known
    return np.array(first, np.int64)
