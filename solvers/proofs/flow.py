"""The cheapest set between two sets, as a maximum flow whose capacities and balances are checked."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Ints

FREE, IN, OUT = 0, 1, 2
NO_FLOW = -(1 << 61)
"""Returned for a flow that is none: below every load."""


def largest_flow(vertices: int, pairs: int, pending: Ints, level: Ints) -> int:
    """Return the value of a largest flow from vertex 0 to vertex 1, or -1 if what was found is none.

    A part of kernels that build a network. The value does not rest on the search: capacities and the balance of every
    vertex are checked, and the value of any flow is at most that of any cut.

    Where:
        pending: [pairs, 4] pairs of arcs: from, to, capacity there, capacity back.
        level: [vertices] afterwards 0 or more at what the source still reaches.
    """
    last = np.full(vertices, -1, np.int64)
    to = np.empty(2 * pairs + 1, np.int64)
    room = np.empty(2 * pairs + 1, np.int64)
    before = np.empty(2 * pairs + 1, np.int64)
    arcs = 0
    # Write the pairs of arcs into lists by their tails.
    for p in range(pairs):
        for way in range(2):
            here, there = pending[p, way], pending[p, 1 - way]
            to[arcs] = there
            room[arcs] = pending[p, 2 + way]
            before[arcs] = last[here]
            last[here] = arcs
            arcs += 1
    queue = np.empty(vertices, np.int64)
    at = np.empty(vertices, np.int64)
    path = np.empty(vertices, np.int64)
    total = 0
    # Dinic's maximum flow: levels by a search in breadth, then paths along them until none is left.
    while True:
        level[:] = -1
        level[0] = 0
        queue[0] = 0
        first, end = 0, 1
        while first < end:
            u = queue[first]
            first += 1
            a = last[u]
            while a >= 0:
                if room[a] > 0 and level[to[a]] < 0:
                    level[to[a]] = level[u] + 1
                    queue[end] = to[a]
                    end += 1
                a = before[a]
        if level[1] < 0:
            break
        for u in range(vertices):
            at[u] = last[u]
        depth, u = 0, 0
        # Walk along the levels; where the sink is reached, augment, and go back to the first arc that is full.
        while True:
            if u == 1:
                least = room[path[0]]
                for d in range(1, depth):
                    least = min(least, room[path[d]])
                total += least
                cut = depth
                for d in range(depth - 1, -1, -1):
                    room[path[d]] -= least
                    room[path[d] ^ 1] += least
                    if room[path[d]] == 0:
                        cut = d
                depth = cut
                u = to[path[cut] ^ 1]
                continue
            while at[u] >= 0 and not (room[at[u]] > 0 and level[to[at[u]]] == level[u] + 1):
                at[u] = before[at[u]]
            if at[u] >= 0:
                path[depth] = at[u]
                depth += 1
                u = to[at[u]]
            elif u == 0:
                break
            else:
                level[u] = -1
                depth -= 1
                u = to[path[depth] ^ 1]
    balance = at
    balance[:] = 0
    for p in range(pairs):
        moved = pending[p, 2] - room[2 * p]
        if room[2 * p] < 0 or room[2 * p + 1] < 0 or room[2 * p + 1] != pending[p, 3] + moved:
            return -1
        balance[pending[p, 0]] += moved
        balance[pending[p, 1]] -= moved
    for u in range(2, vertices):
        if balance[u] != 0:
            return -1
    return balance[0] if balance[0] == total else -1


def _least_cut(
    state: Ints,
    price: Ints,
    starts: Ints,
    pins: Ints,
    cost: Ints,
    tails: Ints,
    heads: Ints,
    falls: Bools,
    climbs: Bools,
    side: Bools,
) -> int:
    """Return a number that no set has a sum of prices and cut tensors below; *side* becomes a set of that sum.

    The set holds all that is IN (1) and nothing that is OUT (2). Of an edge whose tail *falls*, the head is in it only
    with the tail; of one whose head *climbs*, the tail only with the head. The network has the free nodes only.
    """
    endless = 1 << 60
    n = len(state)
    nets = len(cost)
    number = np.full(n, -1, np.int64)
    vertices = 2
    base = 0
    # Number the free nodes behind the source (0) and the sink (1); what is IN pays its price in any case.
    for v in range(n):
        if state[v] == 0:
            number[v] = vertices
            vertices += 1
        elif state[v] == 1:
            base += price[v]
    most = 2 * (n + 2 * len(pins) + nets + 2 * len(tails)) + 2
    # every pair of arcs is written here: from, to, capacity there, capacity back
    pending = np.empty((most // 2, 4), np.int64)
    pairs = 0
    # The set is the source's side of a cut: there a node with a price above zero pays it, by its arc to the sink, and
    # one with a price below zero gains it, which is lost on the other side.
    for v in range(n):
        if state[v] == 0 and price[v] > 0:
            pending[pairs] = (number[v], 1, price[v], 0)
            pairs += 1
        elif state[v] == 0 and price[v] < 0:
            base += price[v]
            pending[pairs] = (0, number[v], -price[v], 0)
            pairs += 1
    # A tensor is paid where it has pins on both sides: always, if it has pins IN and OUT; by one hub, if pins of one
    # kind; by an arc each way between two free pins; else by an arc between two vertices of its own.
    for e in range(nets):
        inside, outside, free, one, other = False, False, 0, -1, -1
        for z in range(starts[e], starts[e + 1]):
            v = pins[z]
            if state[v] == 1:
                inside = True
            elif state[v] == 2:
                outside = True
            else:
                free += 1
                one, other = other, number[v]
        if inside and outside:
            base += cost[e]
            continue
        if free == 0 or cost[e] == 0:
            continue
        if inside or outside:
            hub = other
            if free > 1:
                hub = vertices
                vertices += 1
                for z in range(starts[e], starts[e + 1]):
                    v = number[pins[z]]
                    if v >= 0 and inside:
                        pending[pairs] = (hub, v, endless, 0)
                        pairs += 1
                    elif v >= 0:
                        pending[pairs] = (v, hub, endless, 0)
                        pairs += 1
            if inside:
                pending[pairs] = (0, hub, cost[e], 0)
            else:
                pending[pairs] = (hub, 1, cost[e], 0)
            pairs += 1
        elif free == 2:
            pending[pairs] = (one, other, cost[e], cost[e])
            pairs += 1
        else:
            into, out = vertices, vertices + 1
            vertices += 2
            pending[pairs] = (into, out, cost[e], 0)
            pairs += 1
            for z in range(starts[e], starts[e + 1]):
                v = number[pins[z]]
                pending[pairs] = (v, into, endless, 0)
                pending[pairs + 1] = (out, v, endless, 0)
                pairs += 2
    # What may not be parted: arcs that no least cut can cut.
    for e in range(len(tails)):
        u, v = number[tails[e]], number[heads[e]]
        if u < 0 or v < 0:
            continue
        if falls[tails[e]]:
            pending[pairs] = (v, u, endless, 0)
            pairs += 1
        if climbs[heads[e]]:
            pending[pairs] = (u, v, endless, 0)
            pairs += 1
    level = np.empty(vertices, np.int64)
    value = largest_flow(vertices, pairs, pending, level)
    # The set: what the source still reaches.
    for v in range(n):
        side[v] = state[v] == 1 or (number[v] >= 0 and level[number[v]] >= 0)
    return base + value if value >= 0 else -(1 << 61)


def _least_directed(state: Ints, price: Ints, tails: Ints, heads: Ints, leaves: Ints, enters: Ints) -> int:
    """Return a number that no set has a sum of prices and cut edges below, or :data:`NO_FLOW`.

    The set holds all that is IN (1) and nothing that is OUT (2). An edge is paid if its tail alone is in it (*leaves*),
    or its head alone (*enters*). Prices are zero or more.
    """
    n = len(state)
    endless = 1 << 60
    pending = np.empty((2 * n + len(tails), 4), np.int64)
    pairs = 0
    for v in range(n):
        if state[v] == 1:
            pending[pairs] = (0, v + 2, endless, 0)
            pairs += 1
        elif state[v] == 2:
            pending[pairs] = (v + 2, 1, endless, 0)
            pairs += 1
        if price[v] > 0:
            pending[pairs] = (v + 2, 1, price[v], 0)
            pairs += 1
    for e in range(len(tails)):
        if leaves[e] > 0 or enters[e] > 0:
            pending[pairs] = (tails[e] + 2, heads[e] + 2, leaves[e], enters[e])
            pairs += 1
    level = np.empty(n + 2, np.int64)
    value = largest_flow(n + 2, pairs, pending, level)
    return value if value >= 0 else -(1 << 61)


LEAST_CUT = Kernel(_least_cut, 1.0, largest_flow)
LEAST_DIRECTED = Kernel(_least_directed, 1.0, largest_flow)
