"""Find the heaviest convex set below a target, exactly: depth-first search with minimum cuts as bounds."""

from __future__ import annotations

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, LEVEL, LISTS, OUT, PLACE, SINK, SOURCE, cheapest_set
from mtpp_dsl.solvers.algorithms.maximum_flow import NO_LIMIT, arc, flow

__all__ = ["BRANCH"]

MAX_PASSES = 12
NODES_A_SECOND = 300.0


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
        # Mark what comes after, and before, nodes that are in. If the set is the first, every node counts as after it,
        # so that what comes before is in; if it is the last, as before it.
        changed = False
        for x in range(n):
            after[x] = limits[4] > 0
            before[x] = limits[5] > 0
        for v in range(n):
            if state[v] == IN:
                for x in range(n):
                    after[x] |= reach[v, x]
                    before[x] |= reach[x, v]
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
        for x in range(n):
            if state[x] == OUT and (after[x] or before[x]):
                for y in range(n):
                    if (after[x] and reach[x, y]) or (before[x] and reach[y, x]):
                        if state[y] == IN:
                            return -1
                        state[y] = OUT
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


CUTS = 4
"""Minimum cuts at a node of the search, at most: each has another rate between weight and load."""


def measure(in_set: Bools, work: Ints, cost: Ints, starts: Ints, pins: Ints) -> int:
    """Return the work of a set and the tensors it cuts."""
    load = 0
    for v in range(len(in_set)):
        load += work[v] if in_set[v] else 0
    for e in range(len(cost)):
        inside = 0
        for i in range(starts[e], starts[e + 1]):
            inside += 1 if in_set[pins[i]] else 0
        load += cost[e] if 0 < inside < starts[e + 1] - starts[e] else 0
    return load


def stands(in_set: Bools, reach: Bools, work: Ints, memory: Ints, limits: Ints, after: Bools, before: Bools) -> bool:
    """Return whether a set is convex, fits, and has no more before and after it than it may."""
    n = len(in_set)
    used = 0
    for x in range(n):
        after[x] = limits[4] > 0
        before[x] = limits[5] > 0
    for v in range(n):
        if in_set[v]:
            used += memory[v]
            for x in range(n):
                after[x] |= reach[v, x]
                before[x] |= reach[x, v]
    outside_before, outside_after = 0, 0
    for x in range(n):
        if not in_set[x]:
            if after[x] and before[x]:
                return False
            outside_before += work[x] if before[x] and limits[5] == 0 else 0
            outside_after += work[x] if after[x] and limits[4] == 0 else 0
    return bool(used <= limits[1] and outside_before <= limits[2] and outside_after <= limits[3])


def pinch(
    state: Ints,
    after: Bools,
    before: Bools,
    reach: Bools,
    slack: int,
    place: Ints,
    level: Ints,
    source: Ints,
    sink: Ints,
) -> bool:
    """Fix the nodes that would lift a cut by more than *slack*; return whether there are any.

    A node forced to the other side takes others with it; what is left of their arcs to the terminals can still flow.
    """
    n = len(state)
    changed = False
    for x in range(n):
        if place[x] < 0:
            continue
        lift = 0
        if level[place[x]] < 0:
            lift = sink[place[x]]
            for y in range(n):
                if place[y] >= 0 and ((after[y] and reach[y, x]) or (before[y] and reach[x, y])):
                    lift += sink[place[y]]
            if lift > slack:
                state[x] = OUT
                changed = True
        else:
            lift = source[place[x]]
            for y in range(n):
                if place[y] >= 0 and ((after[x] and reach[x, y]) or (before[x] and reach[y, x])):
                    lift += source[place[y]]
            if lift > slack:
                state[x] = IN
                changed = True
    return changed


def _branch(
    weights: Ints,
    work: Ints,
    extra: Ints,
    memory: Ints,
    cost: Ints,
    starts: Ints,
    pins: Ints,
    edges: Ints,
    reach: Bools,
    above: Ints,
    below: Ints,
    limits: Ints,
    unit: int,
    budget: int,
    stack: Ints,
    rates: Ints,
    cursor: Ints,
    scratch: Ints,
    flags: Bools,
    sets: Bools,
) -> int:
    """Search on; return 0 when no set that is left is heavier, 1 when *sets* is full, 2 at the budget.

    Heavier than ``cursor[3]``, the weight of the heaviest set found so far.

    Where:
        weights: [n].
        work, memory: [n] units.
        extra: [n] of what is streamed beyond ``limits[6]`` (in units of the load).
        cost, starts, pins: of the tensors.
        edges: [edges, 2].
        reach: [n, n].
        above, below: [n] the work of all before, after a node.
        limits: of :func:`propagate`, how much streams for nothing, the highest rate between weight and load.
        unit: of the load in cuts.
        budget: how many nodes of the search.
        stack, rates: [depth, n] and [depth] the nodes left: states, and the rate to start with.
        cursor: how many there are, how many sets were found, how many nodes were searched, the weight; kept.
        scratch, flags: for work.
        sets: [sets + 1, n] those found.
    """
    n = len(weights)
    state = stack[len(stack) - 1]
    source, sink, level, place, price = scratch[SOURCE], scratch[SINK], scratch[LEVEL], scratch[PLACE], scratch[LISTS]
    after, before, in_set = flags[0], flags[1], flags[2]
    capacity, than = limits[0], cursor[3]
    while cursor[0] > 0:
        if budget <= 0:
            return 2
        if cursor[1] >= len(sets) - 1:
            return 1
        # Take the last node of the search off the stack.
        budget -= 1
        cursor[2] += 1
        cursor[0] -= 1
        state[:] = stack[cursor[0]]
        rate = rates[cursor[0]]
        pruned, leaf = False, False
        low_load, low_weight, high_load, high_weight = -1, 0, -1, 0
        # Bound it: propagate, and prune if no set is left that is heavy enough, or all cost too much.
        for _ in range(CUTS):
            least = propagate(state, after, before, reach, work, memory, cost, starts, pins, above, below, limits)
            if least < 0:
                pruned = True
                break
            most, streamed, free = 0, 0, 0
            for v in range(n):
                most += weights[v] if state[v] != OUT else 0
                streamed += extra[v] if state[v] == IN else 0
                free += 1 if state[v] == FREE else 0
            if most <= than or least + max(streamed - limits[6], 0) > capacity:
                pruned = True
                break
            if free == 0:
                leaf = True
                break
            # A minimum cut bounds the load minus rate times weight from below. A set below the target that weighs more
            # than the best needs a slack of zero or more (Lagrange): with less, there is none.
            streams = streamed > limits[6]
            room = capacity + limits[6] if streams else capacity
            for v in range(n):
                price[v] = unit * (work[v] + (extra[v] if streams else 0)) - rate * weights[v]
            value = cheapest_set(state, after, before, price, cost, unit, starts, pins, edges, scratch, NO_LIMIT)
            slack = unit * room - rate * (than + 1) - value
            if slack < 0:
                pruned = True
                break
            # The set of the cut: it may itself be heavier and below the target. Nodes that would lift the cut by more
            # than the slack are fixed.
            weight, streamed = 0, 0
            for v in range(n):
                in_set[v] = state[v] == IN or (place[v] >= 0 and level[place[v]] >= 0)
                weight += weights[v] if in_set[v] else 0
                streamed += extra[v] if in_set[v] else 0
            load = measure(in_set, work, cost, starts, pins) + (streamed if streams else 0)
            pinched = pinch(state, after, before, reach, slack, place, level, source, sink)
            busy = load + (0 if streams else max(streamed - limits[6], 0))
            if weight > than and busy <= room and stands(in_set, reach, work, memory, limits, flags[3], flags[4]):
                sets[cursor[1]] = in_set
                cursor[1] += 1
                than = weight
                cursor[3] = than
                if cursor[1] >= len(sets) - 1:
                    break
            # The next rate: between two sets, one too large and one that fits, where both cost the same; else a step.
            if load > room:
                high_load, high_weight = load, weight
                again = rate - rate // 3
            else:
                low_load, low_weight = load, weight
                again = rate + rate // 2 + 1
            if low_load >= 0 and high_load >= 0:
                if high_weight <= low_weight:
                    break
                again = unit * (high_load - low_load) // (high_weight - low_weight)
            again = min(max(again, 1), limits[7])
            if not pinched and abs(again - rate) * 50 <= rate:
                break
            rate = again
        if pruned:
            continue
        least = propagate(state, after, before, reach, work, memory, cost, starts, pins, above, below, limits)
        if least < 0:
            continue
        # Branch on the heaviest free node, of those in the last cut first.
        best, pick, inside = -1, -1, False
        for v in range(n):
            if state[v] == FREE:
                side = not leaf and in_set[v]
                if pick < 0 or (side and not inside) or (side == inside and weights[v] > best):
                    best, pick, inside = weights[v], v, side
        # Nothing is free: one set is left.
        if pick < 0:
            weight, streamed = 0, 0
            for v in range(n):
                in_set[v] = state[v] == IN
                weight += weights[v] if in_set[v] else 0
                streamed += extra[v] if in_set[v] else 0
            load = measure(in_set, work, cost, starts, pins) + max(streamed - limits[6], 0)
            if weight > than and load <= capacity and stands(in_set, reach, work, memory, limits, flags[3], flags[4]):
                sets[cursor[1]] = in_set
                cursor[1] += 1
                than = weight
                cursor[3] = than
            continue
        # Push both children; the one with the node in is searched first.
        for side in (OUT, IN):
            stack[cursor[0]] = state
            stack[cursor[0], pick] = side
            rates[cursor[0]] = rate
            cursor[0] += 1
    return 0


BRANCH = Kernel(_branch, NODES_A_SECOND, arc, flow, propagate, cheapest_set, measure, stands, pinch)
