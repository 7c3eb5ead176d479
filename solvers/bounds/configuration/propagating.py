"""Fix what follows at a node of the search for heavy convex sets."""

from __future__ import annotations

from mtpp_dsl.core.problem.graph import Bools, Ints

__all__ = ["propagate"]

FREE, IN, OUT = 0, 1, 2
MAX_PASSES = 12


def propagate(
    state: Ints,
    after: Bools,
    before: Bools,
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
        changed = False
        for x in range(n):
            after[x] = limits[4] > 0
            before[x] = limits[5] > 0
        for v in range(n):
            if state[v] == IN:
                for x in range(n):
                    after[x] |= reach[v, x]
                    before[x] |= reach[x, v]
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
        outside_before, outside_after = 0, 0
        for x in range(n):
            if state[x] == OUT and (after[x] or before[x]):
                for y in range(n):
                    if (after[x] and reach[x, y]) or (before[x] and reach[y, x]):
                        if state[y] == IN:
                            return -1
                        state[y] = OUT
        for x in range(n):
            if state[x] == OUT:
                outside_before += work[x] if before[x] else 0
                outside_after += work[x] if after[x] else 0
        if (limits[5] == 0 and outside_before > most_before) or (limits[4] == 0 and outside_after > most_after):
            return -1
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
