"""Find the heaviest convex set below a target, exactly: depth-first search with minimum cuts as bounds."""

from __future__ import annotations

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, LEVEL, LISTS, OUT, PLACE, SINK, SOURCE, cheapest_set
from mtpp_dsl.solvers.algorithms.maximum_flow import arc, flow
from mtpp_dsl.solvers.bounds.configuration.fixing import propagate

__all__ = ["BRANCH"]

NODES_A_SECOND = 300.0
CUTS = 2
"""Minimum cuts at a node of the search, at most: each has another rate between weight and load. With four there are
fewer nodes, but it took 1 to 2.2 times as long on four graphs of 200 nodes."""


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
    sources: Ints,
    sinks: Ints,
) -> bool:
    """Fix the nodes that would lift a cut by more than *slack*; return whether there are any.

    A node forced to the other side takes others with it; what is left of their arcs to the terminals can still flow.
    *sources* and *sinks*, [n] each, are for work.
    """
    n = len(state)
    changed = False
    # The free nodes from whose arcs something is left: few, as most arcs of a maximum flow are full.
    given, many = 0, 0
    for y in range(n):
        if place[y] >= 0:
            if source[place[y]] > 0:
                sources[given] = y
                given += 1
            if sink[place[y]] > 0:
                sinks[many] = y
                many += 1
    for x in range(n):
        if place[x] < 0:
            continue
        if level[place[x]] < 0:
            lift = sink[place[x]]
            for i in range(many):
                y = sinks[i]
                if (after[y] and reach[y, x]) or (before[y] and reach[x, y]):
                    lift += sink[place[y]]
            if lift > slack:
                state[x] = OUT
                changed = True
        else:
            lift = source[place[x]]
            for i in range(given):
                y = sources[i]
                if (after[x] and reach[x, y]) or (before[x] and reach[y, x]):
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
        edges: [edges, 2] in a topological order of their tails.
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
            least = propagate(
                state, after, before, edges, reach, work, memory, cost, starts, pins, above, below, limits
            )
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
            # than the best needs a slack of zero or more (Lagrange): with less, there is none, and the cut need not be
            # known exactly.
            streams = streamed > limits[6]
            room = capacity + limits[6] if streams else capacity
            for v in range(n):
                price[v] = unit * (work[v] + (extra[v] if streams else 0)) - rate * weights[v]
            enough = unit * room - rate * (than + 1) + 1
            value = cheapest_set(state, after, before, price, cost, unit, starts, pins, edges, scratch, enough)
            slack = enough - 1 - value
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
            pinched = pinch(state, after, before, reach, slack, place, level, source, sink, scratch[0], scratch[1])
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
        least = propagate(state, after, before, edges, reach, work, memory, cost, starts, pins, above, below, limits)
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
