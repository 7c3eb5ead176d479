"""Priorities of nodes, from mean times: upward and downward ranks, optimistic costs, orders that follow them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance


def mean_time(instance: ScheduleInstance) -> Floats:
    """Return [n] the mean running time over the devices that a node may be on."""
    may = np.isfinite(instance.time)
    means: Floats = np.where(may, instance.time, 0.0).sum(axis=1) / np.maximum(may.sum(axis=1), 1)
    return means


def mean_carry(instance: ScheduleInstance) -> Floats:
    """Return [m] the mean time of a transfer between two devices, over those pairs that something joins."""
    transfers, k = instance.transfers, instance.k
    between = ~np.eye(k, dtype=np.bool_)
    own = np.isfinite(transfers.table) & np.isfinite(transfers.latency) & between  # [rows, k, k]
    count = np.maximum(own.sum(axis=(1, 2)), 1)
    fixed = np.where(own, np.where(own, transfers.latency, 0.0) + np.where(own, transfers.table, 0.0), 0.0)
    slope = np.where(own, transfers.inverse, 0.0)
    means: Floats = (fixed.sum(axis=(1, 2)) / count)[transfers.row] + transfers.size * (slope.sum(axis=(1, 2)) / count)[
        transfers.row
    ]
    return means


def upward(graph: Graph, takes: Floats, carry: Floats) -> Floats:
    """Return [n] the length of the longest path from each node to an end, itself included (topcuoglu2002, eq. 6)."""
    rank, heads, costs, offsets = takes.tolist(), graph.heads.tolist(), carry.tolist(), graph.offsets.tolist()
    for v in graph.topological_order[::-1].tolist():
        rank[v] += max((costs[e] + rank[heads[e]] for e in range(offsets[v], offsets[v + 1])), default=0.0)
    return np.array(rank, np.float64)


def upward_ranks(instance: ScheduleInstance) -> Floats:
    """Return [n] upward ranks by mean times."""
    return upward(instance.graph, mean_time(instance), mean_carry(instance))


def downward(graph: Graph, takes: Floats, carry: Floats) -> Floats:
    """Return [n] the length of the longest path from a beginning to each node, without it (topcuoglu2002, eq. 8)."""
    rank = [0.0] * graph.n
    heads, costs, offsets, own = graph.heads.tolist(), carry.tolist(), graph.offsets.tolist(), takes.tolist()
    for v in graph.topological_order.tolist():
        for e in range(offsets[v], offsets[v + 1]):
            rank[heads[e]] = max(rank[heads[e]], rank[v] + own[v] + costs[e])
    return np.array(rank, np.float64)


def optimistic(instance: ScheduleInstance, carry: Floats) -> Floats:
    """Return [n, k] the longest of the shortest ways from each node, on each device, to an end (arabnejad2014, eq. 3).

    Of every successor the best device is taken, after the mean *carry* if it is another. Zero where a node cannot run.
    """
    graph = instance.graph
    cost = np.zeros((instance.n, instance.k))
    heads, costs, offsets = graph.heads.tolist(), carry.tolist(), graph.offsets.tolist()
    for v in graph.topological_order[::-1].tolist():
        for e in range(offsets[v], offsets[v + 1]):
            there = cost[heads[e]] + instance.time[heads[e]]
            np.maximum(cost[v], np.minimum(there, there.min() + costs[e]), out=cost[v])
    return cost


def in_order(graph: Graph, rank: Floats) -> Ints:
    """Return [n] a topological order: of the nodes whose predecessors lie behind, always that of the largest rank.

    Of equal ranks, the one that comes first in the graph's own order.
    """
    place = np.empty(graph.n, np.int64)
    place[graph.topological_order] = np.arange(graph.n)
    turn = np.empty(graph.n, np.int64)
    by_rank = np.lexsort((place, -rank))
    turn[by_rank] = np.arange(graph.n)
    turns, nodes = turn.tolist(), by_rank.tolist()
    waiting, heads, offsets = np.diff(graph.offsets_in).tolist(), graph.heads.tolist(), graph.offsets.tolist()
    queue = [turns[v] for v in range(graph.n) if waiting[v] == 0]
    heapify(queue)
    order = []
    while queue:
        v = nodes[heappop(queue)]
        order.append(v)
        for head in heads[offsets[v] : offsets[v + 1]]:
            waiting[head] -= 1
            if waiting[head] == 0:
                heappush(queue, turns[head])
    return np.array(order, np.int64)
