"""The moves of the annealing, and their acceptance: one loop, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.labelled_rows import LabelledRows
from mtpp_dsl.solvers.partition.annealing.split_state import SplitState, WholeInstance

MOVES_A_SECOND = 1e4
LARGEST = 64
"""Classes in a cluster, at most."""
DRAWS = 3_000
"""Numbers that one move may take, at most."""
PENALTY = 2.0
"""Energy of a device over a limit, in units of that of a device with the largest load of the best plan."""
HUGEST = 1e300
"""Loads whose power is more than this have the same energy: sums of a few stay within floating point."""


class SplitMoves(NamedTuple):
    """Shares of kinds of moves, and their sizes.

    Attributes:
        clusters: share of moves of several supernodes.
        grown: how many, more or less: exponentially distributed below it.
        exchanges: share of moves in which the target device gives something back.
        fitting: share of exchanges in which what is given back is chosen by its time.
        chains: share of exchanges in which what is given back goes to a third device.
        near: share of moves to where a pin of a net of the supernode is.
    """

    clusters: float
    grown: float
    exchanges: float
    fitting: float
    chains: float
    near: float


class BestSplit(NamedTuple):
    """The best valid state met.

    Attributes:
        device: [n] its split.
        load: [1] its largest load.
    """

    device: Ints
    load: Ints


def _anneal(
    draws: Floats,
    steps: int,
    temperature: float,
    power: int,
    unit: float,
    moves: SplitMoves,
    instance: WholeInstance,
    state: SplitState,
    energy: Floats,
    mark: Ints,
    best: BestSplit,
    rows: LabelledRows | None,
) -> int:
    """Try up to *steps* moves while there are *draws* (uniform in [0, 1)) left; return how many were tried.

    The energy of a device is ``(load / unit) ** power``, and :data:`PENALTY` and more over a limit. A move takes some
    supernodes from one device to another, and may take others from there back or on to a third. ``mark[c]`` is the
    number of the last move that looked at supernode c, and ``mark[n]`` that of the last move. Each of the *rows* that
    does not hold is charged as a limit that is exceeded; without rows, numba compiles nothing of what is for them.
    """
    n, k = instance.time.shape
    device, inside, load, sizes = state.device, state.inside, state.load, state.sizes
    moved = np.empty(2 * LARGEST, np.int64)
    origin = np.empty(2 * LARGEST, np.int64)
    goal = np.empty(2 * LARGEST, np.int64)
    touched = np.empty(3, np.int64)
    after = np.empty(3, np.float64)
    largest = (2 * HUGEST) ** (1.0 / power)
    at = 0
    step = 0
    while step < steps and at + DRAWS <= len(draws):
        step += 1
        # Draw what is to move: a supernode v, where to (the device of a neighbour, or any), how many with it, and
        # whether supernodes of the target go back or on to a third device. Thirteen draws, whatever comes of them.
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
        size = 1
        if draws[at + 5] < moves.clusters:
            size = min(LARGEST, 1 + int(-np.log(1.0 - draws[at + 6]) * moves.grown * draws[at + 7]))
        sides = 2 if draws[at + 8] < moves.exchanges and sizes[target] > 0 else 1
        third = source
        if sides == 2 and draws[at + 9] < moves.chains:
            third = int(draws[at + 10] * k)
        fitting = draws[at + 11] < moves.fitting
        size_back = 1 if draws[at + 12] < 0.6 else size
        at += 13
        if target == source or third == target:
            continue
        # Choose the supernodes: each side begins at a seed and grows along the costliest of two nets, within its
        # device.
        mark[n] += 1
        stamp = mark[n]
        m = 0
        possible = True
        surplus = load[source] - load[target]
        for side in range(sides):
            home = source if side == 0 else target
            there = target if side == 0 else third
            seed = v
            if side == 1:
                seed = state.members[home, int(draws[at] * sizes[home])]
                at += 1
                # The seed that goes back is the one of six whose time fits best what the loads are apart.
                if fitting and third == source:
                    closest = np.int64(-1)
                    for _ in range(6):
                        c = state.members[home, int(draws[at] * sizes[home])]
                        at += 1
                        miss = abs(surplus + instance.time[c, home] + instance.time[c, there])
                        if closest < 0 or miss < closest:
                            closest = miss
                            seed = c
            begin = m
            most = m + (size if side == 0 else size_back)
            tries = 4 * (most - m)
            moved[m] = seed
            m += 1
            mark[seed] = stamp
            while m < most and tries > 0:
                tries -= 1
                c = moved[m - 1] if draws[at] < 0.4 else moved[begin + int(draws[at + 1] * (m - begin))]
                first, last = instance.nets_at[c], instance.nets_at[c + 1]
                if first == last:
                    break
                e = instance.net[first + int(draws[at + 2] * (last - first))]
                other = instance.net[first + int(draws[at + 3] * (last - first))]
                if instance.cost[other] > instance.cost[e]:
                    e = other
                first, last = instance.pins_at[e], instance.pins_at[e + 1]
                c = instance.pin[first + int(draws[at + 4] * (last - first))]
                at += 5
                if device[c] == home and mark[c] != stamp:
                    mark[c] = stamp
                    moved[m] = c
                    m += 1
            for i in range(begin, m):
                origin[i] = home
                goal[i] = there
                possible = possible and instance.allowed[moved[i], there]
            # What the first side takes changes by how much the loads are then apart, which the way back is to even out.
            if side == 0:
                for i in range(begin, m):
                    surplus -= instance.time[moved[i], home] + instance.time[moved[i], there]
        if not possible:
            continue
        # Do the move, and look at the energy; if it is not accepted, the second turn does it backwards.
        touched[0] = source
        touched[1] = target
        touched[2] = third
        devices = 2 if third == source else 3
        accepted = False
        for undo in range(2):
            if undo == 1 and accepted:
                break
            for i in range(m):
                c = moved[i]
                a = origin[i] if undo == 0 else goal[i]
                b = goal[i] if undo == 0 else origin[i]
                device[c] = b
                if rows is not None:
                    rows.occupants[a] -= 1
                    rows.occupants[b] += 1
                    for j in range(rows.at[c * k + a], rows.at[c * k + a + 1]):
                        rows.on[rows.row[j]] -= rows.weight[j]
                    for j in range(rows.at[c * k + b], rows.at[c * k + b + 1]):
                        rows.on[rows.row[j]] += rows.weight[j]
                load[a] -= instance.time[c, a]
                load[b] += instance.time[c, b]
                state.used[a] -= instance.size[c]
                state.used[b] += instance.size[c]
                state.streamed[a] -= instance.stream[c]
                state.streamed[b] += instance.stream[c]
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
            if undo == 1:
                break
            # The change of energy: that of the devices touched, by repeated squaring, and penalties for memory and
            # clashes.
            change = 0.0
            for i in range(devices):
                d = touched[i]
                total = load[d] + max(state.streamed[d] - instance.kept[d], 0)
                base = min(total / unit, largest)
                value = base if power & 1 else 1.0
                exponent = power >> 1
                while exponent > 0:
                    base *= base
                    if exponent & 1:
                        value *= base
                    exponent >>= 1
                value = min(value, HUGEST)
                if state.used[d] > instance.room[d]:
                    value += PENALTY * (1.0 + (state.used[d] - instance.room[d]) / (instance.room[d] + 1.0))
                if state.clash[d] > 0:
                    value += PENALTY * (1.0 + state.clash[d])
                after[i] = value
                change += value - energy[d]
            # Rows speak of all devices at once, and of the largest load: each is evaluated anew.
            charge = 0.0
            if rows is not None:
                highest = 0.0
                for d in range(k):
                    highest = max(highest, float(load[d] + max(state.streamed[d] - instance.kept[d], 0)))
                for r in range(len(rows.low)):
                    left = rows.on[r] + rows.per_peak[r] * highest
                    for j in range(rows.part_at[r], rows.part_at[r + 1]):
                        d = rows.part[j]
                        left += rows.per_load[j] * float(load[d] + max(state.streamed[d] - instance.kept[d], 0))
                        if rows.occupants[d] > 0:
                            left += rows.per_use[j]
                    over = max(rows.low[r] - left, left - rows.high[r])
                    if over > rows.slack[r]:
                        charge += PENALTY * (1.0 + over / rows.scale[r])
                change += charge - rows.charge[0]
            # The rule of Metropolis.
            accepted = change <= 0.0 or draws[at] < np.exp(-change / temperature)
            at += 1
        if not accepted:
            continue
        # Accepted: keep the energies, and the lists of members, from which a supernode is taken in constant time.
        for i in range(devices):
            energy[touched[i]] = after[i]
        for i in range(m):
            c = moved[i]
            a = origin[i]
            b = goal[i]
            sizes[a] -= 1
            gone = state.members[a, sizes[a]]
            state.members[a, state.place[c]] = gone
            state.place[gone] = state.place[c]
            state.members[b, sizes[b]] = c
            state.place[c] = sizes[b]
            sizes[b] += 1
        # The best state is kept if it is valid: within every limit, with a lower largest load than any before.
        peak = np.int64(0)
        valid = True
        if rows is not None:
            rows.charge[0] = charge
            valid = charge == 0.0
        for i in range(k):
            total = load[i] + max(state.streamed[i] - instance.kept[i], 0)
            peak = max(peak, total)
            if peak >= best.load[0] or state.used[i] > instance.room[i] or state.clash[i] > 0:
                valid = False
                break
        if valid:
            best.load[0] = peak
            best.device[:] = device
    return step


ANNEAL = Kernel(_anneal, MOVES_A_SECOND)
