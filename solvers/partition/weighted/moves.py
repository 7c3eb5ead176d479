"""The moves of the annealing of weighted sums, and their acceptance: one loop, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.partition.weighted.instance import WeightedInstance, WeightedState

MOVES_A_SECOND = 5e3
DRAWS = 64
"""Numbers that one move may take, at most."""
LARGEST = 12
"""Supernodes in a cluster, at most."""
FIXED = 0.05
"""What any violation counts as, beside its size."""
SLACK = 1e-9
"""What rows over ``on`` alone may seem broken by, as their sums are kept up to date move by move."""


class WeightedMoves(NamedTuple):
    """Shares of kinds of moves.

    Attributes:
        near: moves to where a pin of a net of the supernode is.
        clusters: moves of several supernodes.
        exchanges: moves in which a supernode of the target goes the other way.
        whole: moves of all that is on a device to another one, or of both ways.
        charge: what a violation costs, in units of the cost.
    """

    near: float
    clusters: float
    exchanges: float
    whole: float
    charge: float


class BestWeighted(NamedTuple):
    """The best valid state met.

    Attributes:
        device: [n] its split.
        cost: [1] its cost; ``inf`` where none was met.
    """

    device: Ints
    cost: Floats


def _anneal(
    draws: Floats,
    steps: int,
    temperature: float,
    unit: float,
    moves: WeightedMoves,
    offered: Bools,
    instance: WeightedInstance,
    state: WeightedState,
    energy: float,
    best: BestWeighted,
) -> tuple[int, float]:
    """Try up to *steps* moves while there are *draws* (uniform in [0, 1)); return how many were tried, and the energy.

    The energy is the cost in *unit*, and ``charge`` times violations. With an *energy* of ``inf`` the first move is
    accepted. A move goes to devices that are *offered* only.
    """
    n, k = instance.time.shape
    rows = instance.rows
    device, inside, load, sizes, listed = state.device, state.inside, state.load, state.sizes, state.listed
    moved = np.empty(n, np.int64)
    origin = np.empty(n, np.int64)
    goal = np.empty(n, np.int64)
    total = np.empty(k, np.float64)
    waiting = np.empty(k, np.int64)
    at = 0
    step = 0
    while step < steps and at + DRAWS <= len(draws):
        # Draw what is to move, and where to: a supernode v, and the device of a pin of one of its nets, or any.
        step += 1
        v = int(draws[at] * n)
        source = device[v]
        target = source
        if draws[at + 1] < moves.near and instance.nets_at[v + 1] > instance.nets_at[v]:
            first, last = instance.nets_at[v], instance.nets_at[v + 1]
            e = instance.net[first + int(draws[at + 2] * (last - first))]
            first, last = instance.pins_at[e], instance.pins_at[e + 1]
            target = device[instance.pin[first + int(draws[at + 3] * (last - first))]]
        if target == source:
            target = int(draws[at + 4] * k)
        kind, choice = draws[at + 5], draws[at + 6]
        at += 7
        if target == source or not offered[target]:
            continue
        # Choose the supernodes: all of a device, maybe in exchange for all of the other; v and one of the target back;
        # a cluster that grows from v along random nets within its device; or v alone.
        m = 0
        if kind < moves.whole:
            for i in range(sizes[source]):
                moved[m] = state.members[source, i]
                origin[m] = source
                goal[m] = target
                m += 1
            if choice < 0.5:
                for i in range(sizes[target]):
                    moved[m] = state.members[target, i]
                    origin[m] = target
                    goal[m] = source
                    m += 1
        else:
            moved[0] = v
            origin[0] = source
            goal[0] = target
            m = 1
            if kind < moves.whole + moves.exchanges and sizes[target] > 0:
                moved[1] = state.members[target, int(choice * sizes[target])]
                origin[1] = target
                goal[1] = source
                m = 2
            elif kind < moves.whole + moves.exchanges + moves.clusters:
                size = 2 + int(choice * (LARGEST - 1))
                for _ in range(2 * size):
                    if m >= size:
                        break
                    c = moved[int(draws[at] * m)]
                    first, last = instance.nets_at[c], instance.nets_at[c + 1]
                    if first == last:
                        break
                    e = instance.net[first + int(draws[at + 1] * (last - first))]
                    first, last = instance.pins_at[e], instance.pins_at[e + 1]
                    c = instance.pin[first + int(draws[at + 2] * (last - first))]
                    at += 2
                    if device[c] == source:
                        known = False
                        for i in range(m):
                            known = known or moved[i] == c
                        if not known:
                            moved[m] = c
                            origin[m] = source
                            goal[m] = target
                            m += 1
        possible = True
        for i in range(m):
            possible = possible and instance.allowed[moved[i], goal[i]] and offered[goal[i]]
        if not possible:
            continue
        # Do the move, and look at the energy; if it is not accepted, the second turn does it backwards.
        accepted = False
        for undo in range(2):
            if undo == 1 and accepted:
                break
            for i in range(m):
                c = moved[i]
                a = origin[i] if undo == 0 else goal[i]
                b = goal[i] if undo == 0 else origin[i]
                device[c] = b
                load[a] -= instance.time[c, a]
                load[b] += instance.time[c, b]
                state.used[a] -= instance.size[c]
                state.used[b] += instance.size[c]
                state.streamed[a] -= instance.stream[c]
                state.streamed[b] += instance.stream[c]
                sizes[a] -= 1
                sizes[b] += 1
                state.sums[0] += instance.on[c, b] - instance.on[c, a]
                # A device pays for a net that has pins on it and elsewhere: counts of pins say when it begins and
                # ceases to.
                for j in range(instance.nets_at[c], instance.nets_at[c + 1]):
                    e = instance.net[j]
                    pins = instance.pins_at[e + 1] - instance.pins_at[e]
                    if instance.pays[a]:
                        if inside[e, a] == pins:
                            load[a] += instance.cost[e]
                        elif inside[e, a] == 1:
                            load[a] -= instance.cost[e]
                    inside[e, a] -= 1
                    inside[e, b] += 1
                    if instance.pays[b]:
                        if inside[e, b] == pins:
                            load[b] -= instance.cost[e]
                        elif inside[e, b] == 1:
                            load[b] += instance.cost[e]
                for j in range(instance.aparts_at[c], instance.aparts_at[c + 1]):
                    s = instance.apart[j]
                    state.crowd[s, a] -= 1
                    if state.crowd[s, a] > 0:
                        state.clash[a] -= 1
                    if state.crowd[s, b] > 0:
                        state.clash[b] += 1
                    state.crowd[s, b] += 1
                # The quotient graph counts the edges between each two devices, from which the order is seen below.
                for j in range(instance.arcs_at[c], instance.arcs_at[c + 1]):
                    there = device[instance.arc[j]]
                    p = instance.part[j]
                    if instance.outward[j]:
                        if there != a:
                            state.quotient[p, a, there] -= 1
                        if there != b:
                            state.quotient[p, b, there] += 1
                    else:
                        if there != a:
                            state.quotient[p, there, a] -= 1
                        if there != b:
                            state.quotient[p, there, b] += 1
                # Rows over places alone are kept as sums; what they cost and break follows from the change.
                for j in range(rows.on_at[c], rows.on_at[c + 1]):
                    d = rows.on_device[j]
                    if d in (a, b):
                        r = rows.on_row[j]
                        over = max(0.0, max(rows.low[r] - state.row[r], state.row[r] - rows.high[r]))
                        state.row[r] += rows.on_value[j] if d == b else -rows.on_value[j]
                        if not rows.is_whole[r]:
                            over = max(0.0, max(rows.low[r] - state.row[r], state.row[r] - rows.high[r])) - over
                            state.sums[1] += over * rows.price[r]
                            state.sums[2] += over * rows.hard[r]
            if undo == 1:
                break
            # The cost: of all devices by their loads and use, of the largest load, and of rows. What is broken is
            # charged with a fixed amount and by how much.
            peak = 0.0
            cost = instance.constant + state.sums[0]
            broken = 0.0
            clashes = 0
            for d in range(k):
                total[d] = load[d] + max(state.streamed[d] - instance.kept[d], 0.0)
                peak = max(peak, total[d])
                cost += instance.load[d] * total[d]
                if sizes[d] > 0:
                    cost += instance.use[d]
                if state.used[d] > instance.room[d]:
                    broken += FIXED + (state.used[d] - instance.room[d]) / (instance.room[d] + 1.0)
                clashes += state.clash[d]
            cost += instance.peak * peak
            paid = state.sums[1]
            for i in range(len(rows.whole)):
                r = rows.whole[i]
                value = state.row[r] + rows.peak[r] * peak + rows.paid[r] * paid
                for d in range(k):
                    value += rows.load[r, d] * total[d]
                    if sizes[d] > 0:
                        value += rows.use[r, d]
                over = max(rows.low[r] - value, value - rows.high[r])
                if over > 0.0:
                    paid += over * rows.price[r]
                    if over * rows.hard[r] > SLACK:
                        broken += FIXED + over * rows.hard[r]
            cost += instance.paid * paid
            if state.sums[2] > SLACK:
                broken += FIXED + state.sums[2]
            if clashes > 0:
                broken += FIXED * (1 + clashes)
            # Is there an order of the devices? Those that no edge leads to are taken out, again and again; each that is
            # left is on a cycle, or behind one.
            for p in range(instance.parts):
                left = k
                for d in range(k):
                    waiting[d] = 0
                    for other in range(k):
                        if state.quotient[p, other, d] > 0:
                            waiting[d] += 1
                freed = True
                while freed:
                    freed = False
                    for d in range(k):
                        if waiting[d] == 0:
                            waiting[d] = -1
                            left -= 1
                            freed = True
                            for other in range(k):
                                if state.quotient[p, d, other] > 0:
                                    waiting[other] -= 1
                if left > 0:
                    broken += FIXED * (1 + left)
            # The rule of Metropolis.
            after = cost / unit + moves.charge * broken
            change = after - energy
            accepted = change <= 0.0 or draws[at] < np.exp(-change / temperature)
            at += 1
        if not accepted:
            continue
        # Accepted: keep the lists of members, from which a supernode is taken in constant time.
        energy = after
        for i in range(m):
            c = moved[i]
            a = origin[i]
            b = goal[i]
            listed[a] -= 1
            gone = state.members[a, listed[a]]
            state.members[a, state.place[c]] = gone
            state.place[gone] = state.place[c]
            state.members[b, listed[b]] = c
            state.place[c] = listed[b]
            listed[b] += 1
        # The best state is kept if nothing is broken.
        if broken == 0.0 and cost < best.cost[0]:
            best.cost[0] = cost
            best.device[:] = device
    return step, energy


ANNEAL = Kernel(_anneal, MOVES_A_SECOND)
