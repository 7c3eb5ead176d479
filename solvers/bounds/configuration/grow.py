"""Heavy convex sets below a target, by randomised growth and ruin: columns, never a proof."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

STEPS_A_SECOND = 1e6


def _grow(
    weights: Floats,
    work: Ints,
    memory: Ints,
    cost: Ints,
    starts: Ints,
    pins: Ints,
    first: Ints,
    at: Ints,
    into: Ints,
    tails: Ints,
    out: Ints,
    heads: Ints,
    reach: Bools,
    above: Ints,
    below: Ints,
    limits: Ints,
    seed: int,
    repeats: int,
    sets: Bools,
    heaviest: Floats,
) -> None:
    """Make every row r of *sets*, which it starts from, a convex set of weight ``heaviest[r]``, -1 if none was met.

    A node joins a convex set alone if none of its neighbours lies between them; every convex set can be grown and be
    taken apart so, node by node.

    Where:
        weights: [n].
        work, memory: [n] units.
        cost, starts, pins, first, at: of the tensors, and the tensors of every node.
        into, tails, out, heads: the edges by head, and by tail.
        reach, above, below, limits: as in :mod:`mtpp_dsl.solvers.bounds.configuration.fixing`.
        seed: of the choices.
        repeats: how often a set is ruined and grown again.
        sets, heaviest: see above.
    """
    n = len(weights)
    state = seed % 2147483646 + 1
    count = np.zeros(len(cost), np.int64)
    delta = np.zeros(n, np.int64)
    up = np.zeros(n, np.int64)
    down = np.zeros(n, np.int64)
    in_set = np.zeros(n, np.bool_)
    capacity, room = limits[0], limits[1]
    counted = work + 1 if limits[4] + limits[5] > 0 else work.copy()  # nodes without work count at the ends
    heavy = 0.0
    for v in range(n):
        heavy += weights[v]
    little = 1e-3 * heavy / max(n, 1) + 1e-9
    for r in range(len(heaviest)):
        # Begin with the set given, or with a heavy one of some random nodes that can stand at this place.
        in_set[:] = sets[r]
        sets[r, :] = False
        best = -1.0
        if not in_set.any():
            anchor = -1
            for _ in range(60):
                state = state * 48271 % 2147483647
                v = state % n
                if work[v] > capacity or above[v] > limits[2] + capacity or below[v] > limits[3] + capacity:
                    continue
                if anchor < 0 or weights[v] > weights[anchor]:
                    anchor = v
                state = state * 48271 % 2147483647
                if weights[v] > 0 and state % 3 == 0:
                    break
            if anchor >= 0:
                in_set[anchor] = True
        # How much the load counts beside the weight, in this row.
        state = state * 48271 % 2147483647
        power = 0.3 + 1.2 * state / 2147483647.0
        for _ in range(repeats):
            # Count anew: the load, and for every node how many of the set come before it (up) and after it (down).
            load, total, used, members = 0, 0.0, 0, 0
            count[:] = 0
            up[:] = 0
            down[:] = 0
            for v in range(n):
                delta[v] = work[v]
                if in_set[v]:
                    load += work[v]
                    total += weights[v]
                    used += memory[v]
                    members += 1
                    for y in range(n):
                        up[y] += reach[v, y]
                        down[y] += reach[y, v]
                    for j in range(first[v], first[v + 1]):
                        count[at[j]] += 1
            # Work outside that comes before and after the set: it has to go into the blocks before and behind.
            outside_before, outside_after = 0, 0
            for y in range(n):
                if not in_set[y]:
                    outside_before += counted[y] if down[y] > 0 else 0
                    outside_after += counted[y] if up[y] > 0 else 0
            # What each node would add to the load: tensors that it would cut or keep whole.
            for e in range(len(cost)):
                pinned = starts[e + 1] - starts[e]
                if 0 < count[e] < pinned:
                    load += cost[e]
                if count[e] == 0 or count[e] == pinned - 1:
                    for i in range(starts[e], starts[e + 1]):
                        if not in_set[pins[i]]:
                            delta[pins[i]] += cost[e] if count[e] == 0 else 0
                            delta[pins[i]] -= cost[e] if count[e] == pinned - 1 else 0
            # Grow node by node, and keep the heaviest set that fits load, memory and its place.
            while True:
                fits = load <= capacity and used <= room
                if total > best and fits and outside_before <= limits[2] and outside_after <= limits[3]:
                    best = total
                    sets[r, :] = in_set
                chosen, score = -1, -1.0
                # A node may join if no neighbour lies between it and the set, so that the set stays convex.
                for v in range(n):
                    if in_set[v] or used + memory[v] > room:
                        continue
                    d = delta[v]
                    if load + d > capacity and d > 0:
                        continue
                    if up[v] > 0:
                        blocked = False
                        for j in range(into[v], into[v + 1]):
                            if up[tails[j]] > 0 and not in_set[tails[j]]:
                                blocked = True
                        if blocked:
                            continue
                    if down[v] > 0:
                        blocked = False
                        for j in range(out[v], out[v + 1]):
                            if down[heads[j]] > 0 and not in_set[heads[j]]:
                                blocked = True
                        if blocked:
                            continue
                    # Weight for load, with some noise. At a place with too much work outside, what lowers it comes
                    # first, and what raises it late.
                    state = state * 48271 % 2147483647
                    if d <= 0:
                        s = 1e30 * (1.0 + weights[v]) - d
                    else:
                        s = (weights[v] + little) / float(d) ** power * (0.7 + 0.6 * state / 2147483647.0)
                    if down[v] > 0:
                        s *= 8.0 if outside_before > limits[2] else 1.0
                    elif outside_before + above[v] > limits[2]:
                        more = outside_before
                        for y in range(n):
                            more += counted[y] if reach[y, v] and down[y] == 0 and not in_set[y] else 0
                        if more > limits[2] + capacity - load:
                            continue
                        s *= 0.3 if more > limits[2] else 1.0
                    if up[v] > 0:
                        s *= 8.0 if outside_after > limits[3] else 1.0
                    elif outside_after + below[v] > limits[3]:
                        more = outside_after
                        for y in range(n):
                            more += counted[y] if reach[v, y] and up[y] == 0 and not in_set[y] else 0
                        if more > limits[3] + capacity - load:
                            continue
                        s *= 0.3 if more > limits[3] else 1.0
                    if s > score:
                        chosen, score = v, s
                if chosen < 0:
                    break
                # Add it, and update what is before, after and cut.
                outside_before -= counted[chosen] if down[chosen] > 0 else 0
                outside_after -= counted[chosen] if up[chosen] > 0 else 0
                in_set[chosen] = True
                members += 1
                load += delta[chosen]
                total += weights[chosen]
                used += memory[chosen]
                for y in range(n):
                    if reach[chosen, y]:
                        outside_after += counted[y] if up[y] == 0 and not in_set[y] else 0
                        up[y] += 1
                    elif reach[y, chosen]:
                        outside_before += counted[y] if down[y] == 0 and not in_set[y] else 0
                        down[y] += 1
                for j in range(first[chosen], first[chosen + 1]):
                    e = at[j]
                    pinned = starts[e + 1] - starts[e]
                    count[e] += 1
                    if count[e] == 1:
                        for i in range(starts[e], starts[e + 1]):
                            delta[pins[i]] -= cost[e]
                    if count[e] == pinned - 1:
                        for i in range(starts[e], starts[e + 1]):
                            if not in_set[pins[i]]:
                                delta[pins[i]] -= cost[e]
            # Ruin: mostly from the heaviest set, take nodes away that nothing of the set comes before, or nothing
            # after.
            state = state * 48271 % 2147483647
            if best >= 0 and state % 4 > 0:
                in_set[:] = sets[r]
            members = 0
            for v in range(n):
                members += in_set[v]
            state = state * 48271 % 2147483647
            doomed = int((0.05 + 0.5 * state / 2147483647.0) * members) + 1
            state = state * 48271 % 2147483647
            way = state % 3
            if limits[4] > 0:
                way = 1
            if limits[5] > 0:
                way = 0
            for _ in range(20 * doomed):
                if doomed <= 0 or members <= 1:
                    break
                state = state * 48271 % 2147483647
                v = state % n
                while not in_set[v]:
                    v = v + 1 if v + 1 < n else 0
                lowest, highest = True, True
                for j in range(into[v], into[v + 1]):
                    lowest = lowest and not in_set[tails[j]]
                for j in range(out[v], out[v + 1]):
                    highest = highest and not in_set[heads[j]]
                if (lowest and way != 1) or (highest and way != 0):
                    in_set[v] = False
                    members -= 1
                    doomed -= 1
        heaviest[r] = best


GROW = Kernel(_grow, STEPS_A_SECOND)
