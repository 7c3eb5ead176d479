"""Fix which nodes a convex set below a target holds, and which it does not, by what is known of others."""

from __future__ import annotations

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, OUT

__all__ = ["propagate"]

MAX_PASSES = 12


def propagate(
    state: Ints,
    after: Bools,
    before: Bools,
    edges: Ints,
    reach: Bools,
    work: Ints,
    memory: Ints,
    cost: Ints,
    starts: Ints,
    pins: Ints,
    above: Ints,
    below: Ints,
    limits: Ints,
) -> int:
    """Fix what follows; return what all sets that are left pay at least, or -1 if there are none.

    Where:
        state: [n] free, in or out: changed.
        after, before: [n] become whether a node comes after, or before, one that is in.
        edges: [edges, 2] in a topological order of their tails.
        reach: [n, n] whether a path leads from the one to the other.
        work, memory: [n].
        cost, starts, pins: of the tensors.
        above, below: [n] the work of all that comes before, after a node.
        limits: capacity, memory, work that may come before the set and not in it, work that may come after, whether
            the set is the first, whether it is the last.
    """
    n = len(state)
    capacity, room, most_before, most_after = limits[0], limits[1], limits[2], limits[3]
    least = 0
    for _ in range(MAX_PASSES):
        # Mark what comes after, and before, nodes that are in. If the set is the first, every node counts as after it,
        # so that what comes before is in; if it is the last, as before it.
        changed = False
        for x in range(n):
            after[x] = limits[4] > 0
            before[x] = limits[5] > 0
        for i in range(len(edges)):
            if state[edges[i, 0]] == IN or after[edges[i, 0]]:
                after[edges[i, 1]] = True
        for i in range(len(edges) - 1, -1, -1):
            if state[edges[i, 1]] == IN or before[edges[i, 1]]:
                before[edges[i, 0]] = True
        # Convexity: what lies between nodes that are in is in. Work and memory of what is in must fit.
        busy, used = 0, 0
        for x in range(n):
            if after[x] and before[x] and state[x] != IN:
                if state[x] == OUT:
                    return -1
                state[x] = IN
            if state[x] == IN:
                busy += work[x]
                used += memory[x]
        if busy > capacity or used > room:
            return -1
        # What is out on one side takes all beyond it out: no path may leave the set and come back.
        outside_before, outside_after = 0, 0
        for i in range(len(edges)):
            if state[edges[i, 0]] == OUT and after[edges[i, 0]]:
                if state[edges[i, 1]] == IN:
                    return -1
                state[edges[i, 1]] = OUT
        for i in range(len(edges) - 1, -1, -1):
            if state[edges[i, 1]] == OUT and before[edges[i, 1]]:
                if state[edges[i, 0]] == IN:
                    return -1
                state[edges[i, 0]] = OUT
        # Work outside before and after the set must fit into the blocks before and behind it.
        for x in range(n):
            if state[x] == OUT:
                outside_before += work[x] if before[x] else 0
                outside_after += work[x] if after[x] else 0
        if (limits[5] == 0 and outside_before > most_before) or (limits[4] == 0 and outside_after > most_after):
            return -1
        # Tensors with pins in and out are cut in every set that is left.
        paid = 0
        for e in range(len(cost)):
            inside, outside = False, False
            for i in range(starts[e], starts[e + 1]):
                inside |= state[pins[i]] == IN
                outside |= state[pins[i]] == OUT
            if inside and outside:
                paid += cost[e]
        least = busy + paid
        if least > capacity:
            return -1
        # Fix free nodes that fit on one side only: out, where their work or memory does not fit; in, where what comes
        # before (or after) would be too much outside.
        left = capacity - least
        for x in range(n):
            if state[x] != FREE:
                continue
            if work[x] > left or used + memory[x] > room:
                state[x] = OUT
                changed = True
                continue
            if limits[4] == 0 and limits[5] == 0:
                if before[x]:
                    if outside_before + work[x] + above[x] > most_before:
                        more = work[x]
                        for y in range(n):
                            more += work[y] if reach[y, x] and state[y] == FREE else 0
                        if outside_before + more > most_before:
                            state[x] = IN
                            changed = True
                            continue
                # With x in, what is out before it stays outside, and what is free must be outside as far as it does not
                # fit in.
                elif outside_before + above[x] > most_before:
                    out, free = outside_before, 0
                    for y in range(n):
                        if reach[y, x] and not before[y]:
                            out += work[y] if state[y] == OUT else 0
                        free += work[y] if (reach[y, x] or before[y]) and state[y] == FREE else 0
                    if out > most_before or out + free - (left - work[x]) > most_before:
                        state[x] = OUT
                        changed = True
                        continue
                # The same for what comes after.
                if after[x]:
                    if outside_after + work[x] + below[x] > most_after:
                        more = work[x]
                        for y in range(n):
                            more += work[y] if reach[x, y] and state[y] == FREE else 0
                        if outside_after + more > most_after:
                            state[x] = IN
                            changed = True
                elif outside_after + below[x] > most_after:
                    out, free = outside_after, 0
                    for y in range(n):
                        if reach[x, y] and not after[y]:
                            out += work[y] if state[y] == OUT else 0
                        free += work[y] if (reach[x, y] or after[y]) and state[y] == FREE else 0
                    if out > most_after or out + free - (left - work[x]) > most_after:
                        state[x] = OUT
                        changed = True
        if not changed:
            break
    return least
