"""Compute the latency of an arrangement of nodes in slots.

A slot is a subgraph of a device that pays for tensors, numbered first and those of one device in the order in which
they run, or a device with ``io = free``.
"""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints

__all__ = ["latency_of"]


def latency_of(
    slot: Ints,
    pieces: int,
    home: Ints,
    offsets: Ints,
    heads: Ints,
    time: Floats,
    tensor: Floats,
    memory: Floats,
    limit: Floats,
) -> tuple[float, float, float]:
    """Return the makespan of an arrangement, how long all devices are busy, and by what share memories are exceeded.

    The makespan is ``inf`` if a node is where it may not be, or slots wait for each other.

    Args:
        slot: [n] of every node.
        pieces: how many slots are subgraphs; those after them are devices with ``io = free``.
        home: [slots] the device of each.
        offsets: [n + 1] where the readers of each node begin.
        heads: [m] the readers.
        time: [n, devices] running times, ``inf`` where a node may not be.
        tensor: [n] what it takes to read or to write each node's tensor.
        memory: [n] of every node.
        limit: [devices] what each may hold.
    """
    n, slots = len(slot), len(home)
    used = np.zeros(len(limit))
    cost = np.zeros(slots)
    ready = np.zeros(slots + n)
    waiting = np.zeros(slots + n, np.int64)
    mark = np.full(slots, -1, np.int64)
    first = np.full(slots, -1, np.int64)
    following = np.full(n, -1, np.int64)
    busy = 0.0
    # What each slot costs: a subgraph reads each tensor from outside once, works, and writes each tensor that is read
    # outside; count what each slot waits for.
    for u in range(n):
        s = slot[u]
        d = home[s]
        used[d] += memory[u]
        if time[u, d] == np.inf:
            return np.inf, np.inf, np.inf
        apart = False
        for e in range(offsets[u], offsets[u + 1]):
            v = heads[e]
            t = slot[v]
            if t >= pieces:
                waiting[slots + v] += 1
                apart = True
            elif t != s:
                waiting[t] += 1
                apart = True
                if mark[t] != u:
                    mark[t] = u
                    cost[t] += tensor[u]
        if s < pieces:
            cost[s] += time[u, d]
            if apart:
                cost[s] += tensor[u]
            following[u] = first[s]
            first[s] = u
        else:
            busy += time[u, d]
    # A subgraph waits for the one before it on its device; those that wait for nothing are ready.
    queue = np.empty(pieces + n, np.int64)
    last = 0
    for s in range(pieces):
        busy += cost[s]
        if s > 0 and home[s - 1] == home[s]:
            waiting[s] += 1
        if waiting[s] == 0:
            queue[last] = s
            last += 1
    left = pieces
    for v in range(n):
        if slot[v] >= pieces:
            left += 1
            if waiting[slots + v] == 0:
                queue[last] = slots + v
                last += 1
    # Go through the slots, and the single nodes, in an order in which each waits for those before; each starts when all
    # that it waits for have ended (a longest path).
    makespan = 0.0
    taken = 0
    while taken < last:
        item = queue[taken]
        taken += 1
        if item < slots:
            end = ready[item] + cost[item]
            u = first[item]
            if item + 1 < pieces and home[item + 1] == home[item]:
                ready[item + 1] = max(ready[item + 1], end)
                waiting[item + 1] -= 1
                if waiting[item + 1] == 0:
                    queue[last] = item + 1
                    last += 1
        else:
            u = item - slots
            end = ready[item] + time[u, home[slot[u]]]
        makespan = max(makespan, end)
        while u >= 0:
            for e in range(offsets[u], offsets[u + 1]):
                v = heads[e]
                t = slot[v]
                other = slots + v if t >= pieces else t
                if other != item:
                    ready[other] = max(ready[other], end)
                    waiting[other] -= 1
                    if waiting[other] == 0:
                        queue[last] = other
                        last += 1
            u = following[u] if item < slots else -1
    # Where some are never ready, slots wait for each other.
    if taken < left:
        return np.inf, np.inf, np.inf
    # By what share memories are exceeded.
    excess = 0.0
    for d in range(len(limit)):
        if used[d] > limit[d]:
            excess += (used[d] - limit[d]) / limit[d] if limit[d] > 0 else np.inf
    return makespan, busy, excess
