"""Arrangements along topological orders: the least sum of subgraphs and single nodes, one after another."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints

__all__ = ["PARTED", "parted"]


def parted(
    order: Ints,
    unit_offsets: Ints,
    unit_nodes: Ints,
    sequence: Ints,
    offsets: Ints,
    offsets_in: Ints,
    producers: Ints,
    time: Floats,
    tensor: Floats,
    memory: Floats,
    limit: Floats,
    free: Ints,
    slot: Ints,
) -> float:
    """Fill *slot* with the cheapest way to part an order into subgraphs and single units; return the sum of the costs.

    A dynamic programme over the prefixes of the order and the slots of *sequence* used so far: each slot takes the next
    units, or none, and units between run on a device with ``io = free``. The sum is that of all costs in a row, so the
    latency is not more. ``inf`` if no such way exists.

    Args:
        order: [units] a topological order of units, which are sets of nodes that stay together.
        unit_offsets: [units + 1] where the nodes of each unit begin.
        unit_nodes: [n] these nodes.
        sequence: [used, 2] slot and device, in the order in which they are to be used.
        offsets: [n + 1] where the readers of each node begin.
        offsets_in: [n + 1] where the nodes that each reads begin.
        producers: [m] these nodes.
        time: [n, devices] running times; ``inf`` where a node may not be.
        tensor: [n] what it takes to read or to write each node's tensor.
        memory: [n] of every node.
        limit: [used] what each slot of the sequence may hold.
        free: [free, 2] slot and device of those with ``io = free``; none has a limit.
        slot: [n] filled.
    """
    count, used, n = len(order), len(sequence), len(slot)
    best = np.full((used + 1, count + 1), np.inf)
    came = np.full((used + 1, count + 1), -1, np.int64)
    alone = np.full(count, np.inf)
    which = np.zeros(count, np.int64)
    place = np.empty(n, np.int64)
    for i in range(count):
        unit = order[i]
        for f in range(len(free)):
            total = 0.0
            for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                total += time[unit_nodes[x], free[f, 1]]
            if total < alone[i]:
                alone[i] = total
                which[i] = free[f, 0]
        for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
            place[unit_nodes[x]] = i
    best[0, 0] = 0.0
    for i in range(count):
        best[0, i + 1] = best[0, i] + alone[i]
    mark = np.full(n, -1, np.int64)
    open_ends = np.zeros(n, np.int64)
    stamp = 0
    for r in range(used):
        device = sequence[r, 1]
        best[r + 1] = best[r]
        for i in range(count):
            base = best[r, i]
            if best[r + 1, i] + alone[i] < best[r + 1, i + 1]:
                best[r + 1, i + 1] = best[r + 1, i] + alone[i]
                came[r + 1, i + 1] = -2
            if base == np.inf:
                continue
            stamp += 1
            held, cost = 0.0, 0.0
            for j in range(i, count):
                unit = order[j]
                for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                    v = unit_nodes[x]
                    held += memory[v]
                    cost += time[v, device]
                    open_ends[v] = offsets[v + 1] - offsets[v]
                    if open_ends[v] > 0:
                        cost += tensor[v]
                for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                    v = unit_nodes[x]
                    for e in range(offsets_in[v], offsets_in[v + 1]):
                        u = producers[e]
                        if place[u] < i:
                            if mark[u] != stamp:
                                mark[u] = stamp
                                cost += tensor[u]
                        else:
                            open_ends[u] -= 1
                            if open_ends[u] == 0:
                                cost -= tensor[u]
                if held > limit[r] or cost == np.inf:
                    break
                if base + cost < best[r + 1, j + 1]:
                    best[r + 1, j + 1] = base + cost
                    came[r + 1, j + 1] = i
    i, r = count, used
    if best[r, i] == np.inf:
        return np.inf
    while i > 0:
        start = came[r, i]
        if r > 0 and start == -1:
            r -= 1
            continue
        begin = start if r > 0 and start >= 0 else i - 1
        to = sequence[r - 1, 0] if r > 0 and start >= 0 else which[i - 1]
        for j in range(begin, i):
            unit = order[j]
            for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                slot[unit_nodes[x]] = to
        i = begin
        if r > 0 and start >= 0:
            r -= 1
    return float(best[used, count])


PARTED = Kernel(parted, threshold=2e5)
