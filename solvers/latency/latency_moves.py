"""The loops of the search for latencies: annealing over arrangements of nodes in slots.

Slots are those of :func:`~mtpp_dsl.solvers.latency.slot_latency.latency_of`.
"""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.latency.slot_latency import latency_of

__all__ = ["ANNEAL", "DRAWS"]

DRAWS = 8
"""Random numbers that a step of the annealing uses."""


def grow(
    chosen: Ints,
    count: int,
    inside: Ints,
    stamp: int,
    most: int,
    slot: Ints,
    offsets: Ints,
    nexts: Ints,
) -> int:
    """Add to the *count* nodes *chosen* those after them, in one direction, in their own slot; return how many.

    ``inside[v] == stamp`` marks those chosen; no more than *most* are.
    """
    done = 0
    while done < count:
        u = chosen[done]
        done += 1
        for e in range(offsets[u], offsets[u + 1]):
            v = nexts[e]
            if count < most and inside[v] != stamp and slot[v] == slot[u]:
                inside[v] = stamp
                chosen[count] = v
                count += 1
    return count


def close(
    chosen: Ints,
    count: int,
    inside: Ints,
    stamp: int,
    to: int,
    goal: Ints,
    spread: float,
    hull: bool,
    slot: Ints,
    home: Ints,
    order: Ints,
    offsets: Ints,
    heads: Ints,
    member_offsets: Ints,
    members: Ints,
    group: Ints,
) -> int:
    """Add to the nodes *chosen* for slot *to* what must come along: with *hull* those between, and those colocated.

    ``goal`` receives where each is to go: those colocated, with *spread* above 0, to any subgraph of that device.
    """
    n = len(slot)
    checked = 0
    # The subgraphs of the same device are those from *begin* on, *alike* in number.
    begin, alike = to, 1
    while begin > 0 and home[begin - 1] == home[to]:
        begin -= 1
    while begin + alike < len(home) and home[begin + alike] == home[to]:
        alike += 1
    for i in range(count):
        goal[chosen[i]] = to
    while True:
        # Those colocated with what is chosen, and on another device, come along.
        while checked < count:
            g = group[chosen[checked]]
            checked += 1
            for i in range(member_offsets[g], member_offsets[g + 1]):
                v = members[i]
                if inside[v] != stamp and home[slot[v]] != home[to]:
                    inside[v] = stamp
                    goal[v] = to
                    if spread > 0:
                        goal[v] = begin + int((spread * 977.0 + 0.618 * v) % 1.0 * alike)
                    chosen[count] = v
                    count += 1
        if not hull:
            return count
        # Nodes after some, and before others, that are chosen or in the slot lie between: they come along, too, until
        # none is missing.
        after = np.zeros(n, np.bool_)
        before = np.zeros(n, np.bool_)
        for i in range(n):
            u = order[i]
            if after[u] or slot[u] == to or inside[u] == stamp:
                for e in range(offsets[u], offsets[u + 1]):
                    after[heads[e]] = True
        for i in range(n - 1, -1, -1):
            u = order[i]
            for e in range(offsets[u], offsets[u + 1]):
                v = heads[e]
                if before[v] or slot[v] == to or inside[v] == stamp:
                    before[u] = True
                    break
        old = count
        for u in range(n):
            if after[u] and before[u] and slot[u] != to and inside[u] != stamp:
                inside[u] = stamp
                goal[u] = to
                chosen[count] = u
                count += 1
        if count == old:
            return count


def between(
    u: int,
    w: int,
    chosen: Ints,
    inside: Ints,
    stamp: int,
    order: Ints,
    place: Ints,
    offsets: Ints,
    heads: Ints,
) -> int:
    """Fill *chosen* with two nodes and all on paths between them; return how many, 0 if no path leads there."""
    after = np.zeros(len(order), np.bool_)
    before = np.zeros(len(order), np.bool_)
    after[u] = True
    for i in range(place[u], place[w]):
        v = order[i]
        if after[v]:
            for e in range(offsets[v], offsets[v + 1]):
                after[heads[e]] = True
    if not after[w]:
        return 0
    before[w] = True
    count = 0
    for i in range(place[w], place[u] - 1, -1):
        v = order[i]
        for e in range(offsets[v], offsets[v + 1]):
            if before[heads[e]]:
                before[v] = True
                break
        if after[v] and before[v]:
            inside[v] = stamp
            chosen[count] = v
            count += 1
    return count


def anneal(
    slot: Ints,
    best: Ints,
    value: Floats,
    draws: Floats,
    heat: Floats,
    pieces: int,
    home: Ints,
    order: Ints,
    offsets: Ints,
    heads: Ints,
    offsets_in: Ints,
    producers: Ints,
    tails: Ints,
    group: Ints,
    member_offsets: Ints,
    members: Ints,
    time: Floats,
    tensor: Floats,
    memory: Floats,
    limit: Floats,
) -> int:
    """Try one move for each row of *draws*; return how many were accepted.

    A move puts a node, or one with those before or after it in its slot, or a whole slot, into another slot, with all
    that is between and all that is colocated; or it swaps two slots, or makes a subgraph of two nodes and all between.

    Args:
        slot: [n] where every node is; moved.
        best: [n] the best arrangement; replaced by better ones.
        value: makespan and energy of *slot*, makespan and energy of *best*; moved along.
        draws: [steps, DRAWS] random numbers from 0 to 1.
        heat: temperature of the first step and of the last; the weights, in the energy, of busy time and of what
            memories are exceeded by.
        pieces: see :func:`latency_of`.
        home: [slots] the same.
        order: [n] a topological order.
        offsets: [n + 1] where the readers of each node begin.
        heads: [m] the readers.
        offsets_in: [n + 1] where the nodes that each reads begin.
        producers: [m] these nodes.
        tails: [m] the tails of the edges, in the order of *heads*.
        group: [n] colocated class of every node.
        member_offsets: [classes + 1] where the nodes of each class begin.
        members: [n] these nodes.
        time: [n, devices] see :func:`latency_of`.
        tensor: [n] the same.
        memory: [n] the same.
        limit: [devices] the same.
    """
    n, slots, steps, m = len(slot), len(home), len(draws), len(heads)
    inside = np.full(n, -1, np.int64)
    chosen = np.empty(n, np.int64)
    old = np.empty(n, np.int64)
    touched = np.full(slots, -1, np.int64)
    goal = np.empty(n, np.int64)
    place = np.empty(n, np.int64)
    for i in range(n):
        place[order[i]] = i
    accepted = 0
    for step in range(steps):
        # Choose the nodes that are to move, and the slot that they go to, by one of four kinds of moves.
        r = draws[step]
        count = 0
        to = 0
        kind = r[0]
        if kind < 0.55 and m > 0:  # along an edge between two slots, or one that a cut will go through
            e = int(r[1] * m)
            u, v = tails[e], heads[e]
            forward = r[2] < 0.5
            start = v if forward else u
            other = u if forward else v
            to = slot[other]
            if to == slot[start]:
                to = int(r[4] * slots)
                forward = not forward  # cut: the second half leaves, or the first
            if to == slot[start]:
                continue
            chosen[0] = start
            inside[start] = step
            count = 1
            most = n if r[3] < 0.5 else int(2.0 ** (r[5] * 8))
            if forward:
                count = grow(chosen, count, inside, step, most, slot, offsets_in, producers)
            else:
                count = grow(chosen, count, inside, step, most, slot, offsets, heads)
        elif kind < 0.85:  # one node
            v = int(r[1] * n)
            lower, upper = offsets[v], offsets[v + 1]
            below, above = offsets_in[v], offsets_in[v + 1]
            near = upper - lower + above - below
            if r[2] < 0.7 and near > 0:
                i = int(r[3] * near)
                to = slot[heads[lower + i]] if i < upper - lower else slot[producers[below + i - (upper - lower)]]
            else:
                to = int(r[3] * slots)
            if to == slot[v]:
                continue
            chosen[0] = v
            inside[v] = step
            count = 1
        elif kind > 0.97 and pieces > 0:  # a new subgraph in place of an old one
            u = int(r[1] * n)
            w = order[min(n - 1, place[u] + int(n ** r[2]))]
            to = int(r[3] * pieces)
            count = between(u, w, chosen, inside, step, order, place, offsets, heads)
            if count == 0:
                continue
        else:  # a whole slot
            source = slot[int(r[1] * n)]
            to = int(r[2] * slots)
            if to == source or source >= pieces:
                continue
            for v in range(n):
                if slot[v] == source:
                    inside[v] = step
                    chosen[count] = v
                    count += 1
            if to < pieces and r[4] < 0.5:  # in exchange for what is there
                for v in range(n):
                    if slot[v] == to:
                        inside[v] = step
                        chosen[count] = v
                        count += 1
        # Take along what must come: the nodes between, where the slot is to stay contiguous, and those colocated.
        fresh = kind > 0.97
        swap = kind >= 0.85 and not fresh and to < pieces and r[4] < 0.5
        if not swap:
            hull = to < pieces and r[6] < 0.6 and not fresh
            spread = r[5] if r[4] < 0.3 else 0.0
            count = close(
                chosen,
                count,
                inside,
                step,
                to,
                goal,
                spread,
                hull,
                slot,
                home,
                order,
                offsets,
                heads,
                member_offsets,
                members,
                group,
            )
        # What a new subgraph leaves of others, and the nodes that were in its slot, go to a device with free input.
        source = slot[chosen[0]]
        if fresh and slots > pieces:  # the old one, and what is left of others that lost nodes to it, goes to a CPU
            aside = pieces + int(r[5] * (slots - pieces))
            for i in range(count):
                touched[slot[chosen[i]]] = step
            touched[to] = step
            for v in range(n):
                s = slot[v]
                if inside[v] != step and s < pieces and touched[s] == step and (s == to or r[6] < 0.5):
                    inside[v] = step
                    goal[v] = aside
                    chosen[count] = v
                    count += 1
        # Do the move; a swap gives each of the two slots the nodes of the other.
        for i in range(count):
            v = chosen[i]
            old[i] = slot[v]
            if swap:
                slot[v] = to if old[i] == source else source
            else:
                slot[v] = goal[v]
        # Colocated nodes that a swap, or a new subgraph, puts on two devices make it invalid.
        torn = False
        if fresh or (swap and home[to] != home[source]):
            for i in range(count):
                g = group[chosen[i]]
                for j in range(member_offsets[g], member_offsets[g + 1]):
                    torn = torn or home[slot[members[j]]] != home[slot[chosen[i]]]
        # The energy: the makespan, with weights for busy time and for what exceeds the memories.
        makespan, busy, excess = np.inf, np.inf, np.inf
        if not torn:
            makespan, busy, excess = latency_of(slot, pieces, home, offsets, heads, time, tensor, memory, limit)
        energy = np.inf
        if makespan < np.inf and excess < np.inf:
            energy = makespan + heat[2] * busy + heat[3] * excess
        # The rule of Metropolis, at a temperature that falls geometrically.
        share = step / steps
        temperature = heat[0] * (heat[1] / heat[0]) ** share if heat[0] > 0 else 0.0
        better = energy <= value[1]
        if not better and temperature > 0:
            gain = (value[1] - energy) / temperature
            better = gain > -60.0 and r[7] < np.exp(gain)
        # Accepted: the best arrangement is that of least makespan within the memories, then of least energy. Else the
        # nodes go back.
        if better:
            accepted += 1
            value[0] = makespan
            value[1] = energy
            if excess == 0 and (makespan < value[2] or (makespan == value[2] and energy < value[3])):
                value[2] = makespan
                value[3] = energy
                best[:] = slot
        else:
            for i in range(count):
                slot[chosen[i]] = old[i]
    return accepted


ANNEAL = Kernel(anneal, 2e6, latency_of, grow, close, between)
