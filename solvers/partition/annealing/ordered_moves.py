"""The moves of the annealing between devices in an order, and their acceptance: one loop, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.views.labelled_rows import LabelledRows
from mtpp_dsl.solvers.partition.annealing.device_order import OrderOfDevices, QuotientArcs
from mtpp_dsl.solvers.partition.annealing.split_moves import HUGEST, PENALTY, BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import SplitState, WholeInstance

MOVES_A_SECOND = 1.5e4
DRAWS = 6
"""Numbers that one move takes."""
LARGEST = 8
"""Classes that one move takes out of a device, at most."""
COLD = 30.0
"""Changes of the energy beyond so many times the temperature are never taken."""


class OrderedMoves(NamedTuple):
    """Shares of kinds of moves.

    Attributes:
        worst: share of moves out of the device with the largest load.
        near: share of moves to where a pin of a net of the supernode is.
        groups: share of moves in which all those go along that the order of the devices would tear apart.
        exchanges: share of moves in which the target device gives a supernode back.
    """

    worst: float
    near: float
    groups: float
    exchanges: float


def _anneal(
    draws: Floats,
    steps: int,
    hot: float,
    cold: float,
    power: int,
    unit: float,
    moves: OrderedMoves,
    instance: WholeInstance,
    state: SplitState,
    arcs: QuotientArcs,
    order: OrderOfDevices,
    energy: Floats,
    best: BestSplit,
    rows: LabelledRows | None,
) -> None:
    """Try *steps* moves, with :data:`DRAWS` numbers of *draws* (uniform in [0, 1)) each.

    The temperature falls geometrically from *hot* to *cold*. The energy of a device is ``(load / unit) ** power``,
    and :data:`PENALTY` and more over a limit. A move takes a supernode from one device to another, alone or with all
    that come after it (before it, on the way to an earlier device), and may take one from there back. Where it goes
    against an order of the devices, that part of the order in which arcs now lead back is sorted anew; a move after
    which that is impossible is undone. Each of the *rows* that does not hold is charged as a limit that is exceeded.
    """
    n, k = instance.time.shape
    parts = len(arcs.after_at)
    device, inside, load, sizes = state.device, state.inside, state.load, state.sizes
    members, place = state.members, state.place
    moved = np.empty(LARGEST + 1, np.int64)
    touched = np.empty(2, np.int64)
    fresh = np.empty(2, np.float64)
    begins = np.empty(parts, np.int64)
    ends = np.empty(parts, np.int64)
    anew = np.empty((parts, k), np.int64)
    waiting = np.empty(k, np.int64)
    largest = (2 * HUGEST) ** (1.0 / power)
    fall = (cold / hot) ** (1.0 / max(steps, 1))
    temperature = hot
    worst = int(np.argmax(load))
    for step in range(steps):
        at = step * DRAWS
        temperature *= fall
        # Draw what is to move: a supernode v of the device with the largest load, or any.
        draw = draws[at]
        if draw >= moves.worst:
            v = min(n - 1, int((draw - moves.worst) / (1.0 - moves.worst) * n))
        elif sizes[worst] > 0:
            v = members[worst, int(draw / moves.worst * sizes[worst])]
        else:
            v = int(draw / moves.worst * n)
        source = device[v]
        # Draw where to: the device of a pin of one of its nets, or any.
        first, last = instance.nets_at[v], instance.nets_at[v + 1]
        draw = draws[at + 1]
        if draw < moves.near and first < last:
            e = instance.net[first + int(draw / moves.near * (last - first))]
            first, last = instance.pins_at[e], instance.pins_at[e + 1]
            target = device[instance.pin[first + int(draws[at + 2] * (last - first))]]
        else:
            target = np.int64(draws[at + 2] * k)
        if target == source:
            continue
        # Choose what goes along: to a later device all that come after v on its device, to an earlier one all that come
        # before it, since their edges would lead back in the order.
        moved[0] = v
        count = 1
        if draws[at + 3] < moves.groups:
            i = 0
            while i < count <= LARGEST:
                c = moved[i]
                i += 1
                for p in range(parts):
                    later = order.rank[p, target] > order.rank[p, source]
                    starts = arcs.after_at if later else arcs.before_at
                    others = arcs.after if later else arcs.before
                    for j in range(starts[p, c], starts[p, c + 1]):
                        u = others[j]
                        if device[u] != source or count > LARGEST:
                            continue
                        known = False
                        for q in range(count):
                            known = known or moved[q] == u
                        if not known:
                            if count < LARGEST:
                                moved[count] = u
                            count += 1
            if count > LARGEST:
                continue
        # The first *out* of what moves leave the source; one supernode of the target may come back in exchange.
        out = count
        draw = draws[at + 4]
        if draw < moves.exchanges and sizes[target] > 0:
            moved[count] = members[target, int(draw / moves.exchanges * sizes[target])]
            count += 1
        possible = True
        for i in range(count):
            possible = possible and instance.allowed[moved[i], target if i < out else source]
        if not possible:
            continue
        # Do the move, and look at the energy; if it is not accepted, the second turn does it backwards.
        touched[0] = source
        touched[1] = target
        accepted = False
        for undo in range(2):
            if accepted:
                break
            for i in range(count):
                c = moved[i]
                away = (i < out) == (undo == 0)
                a = source if away else target
                b = target if away else source
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
                    here = inside[e, a]
                    there = inside[e, b]
                    inside[e, a] = here - 1
                    inside[e, b] = there + 1
                    if instance.pays[a]:
                        if here == pins:
                            load[a] += instance.cost[e]
                        elif here == 1:
                            load[a] -= instance.cost[e]
                    if instance.pays[b]:
                        if there + 1 == pins:
                            load[b] -= instance.cost[e]
                        elif there == 0:
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
            # The change of energy: that of the two devices, by repeated squaring, and penalties for memory and clashes.
            change = 0.0
            for i in range(2):
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
                fresh[i] = value
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
            # The rule of Metropolis. What it accepts must still have an order of the devices.
            if change > 0.0 and (change > COLD * temperature or draws[at + 5] >= np.exp(-change / temperature)):
                continue
            accepted = True
            # Update the quotient graphs by the edges at what moved, each edge once; *begin* and *end* are the places in
            # the order of the devices between which some edge now leads back.
            for p in range(parts):
                quotient, line, rank = order.quotient[p], order.line[p], order.rank[p]
                begin = k
                end = -1
                for i in range(count):
                    c = moved[i]
                    home = source if i < out else target
                    for side in range(2):
                        starts = arcs.before_at if side == 0 else arcs.after_at
                        others = arcs.before if side == 0 else arcs.after
                        for j in range(starts[p, c], starts[p, c + 1]):
                            u = others[j]
                            now = device[u]
                            was = now
                            counted = False
                            for q in range(count):
                                if moved[q] == u:
                                    was = source if q < out else target
                                    counted = q < i
                            if counted:
                                continue
                            tail_was, head_was = (was, home) if side == 0 else (home, was)
                            tail, head = (now, device[c]) if side == 0 else (device[c], now)
                            if tail_was != head_was:
                                quotient[tail_was, head_was] -= 1
                            if tail != head:
                                quotient[tail, head] += 1
                                if rank[tail] > rank[head]:
                                    begin = min(begin, rank[head])
                                    end = max(end, rank[tail])
                begins[p] = begin
                ends[p] = end
            # Sort the devices between these places anew, as topological sorting does: the first that waits for none
            # comes next. All edges at other places already lead on, so that this part suffices. If all wait, there is a
            # cycle, and no order.
            for p in range(parts):
                quotient, line = order.quotient[p], order.line[p]
                begin = begins[p]
                end = ends[p]
                for i in range(begin, end + 1):
                    waiting[i] = 0
                    for j in range(begin, end + 1):
                        if quotient[line[j], line[i]] > 0:
                            waiting[i] += 1
                ready = begin
                for i in range(begin, end + 1):
                    while ready <= end and waiting[ready] != 0:
                        ready += 1
                    if ready > end:
                        accepted = False
                        break
                    d = line[ready]
                    anew[p, i] = d
                    waiting[ready] = -1
                    following = ready + 1
                    for j in range(begin, end + 1):
                        if quotient[d, line[j]] > 0:
                            waiting[j] -= 1
                            if waiting[j] == 0:
                                following = min(following, j)
                    ready = following
                if not accepted:
                    break
            # Keep the new orders; or, where there is none, put the edges back, and let the second turn undo the move.
            for p in range(parts):
                if accepted:
                    for i in range(begins[p], ends[p] + 1):
                        order.line[p, i] = anew[p, i]
                        order.rank[p, anew[p, i]] = i
                    continue
                quotient = order.quotient[p]
                for i in range(count):
                    c = moved[i]
                    home = source if i < out else target
                    for side in range(2):
                        starts = arcs.before_at if side == 0 else arcs.after_at
                        others = arcs.before if side == 0 else arcs.after
                        for j in range(starts[p, c], starts[p, c + 1]):
                            u = others[j]
                            now = device[u]
                            was = now
                            counted = False
                            for q in range(count):
                                if moved[q] == u:
                                    was = source if q < out else target
                                    counted = q < i
                            if counted:
                                continue
                            tail_was, head_was = (was, home) if side == 0 else (home, was)
                            tail, head = (now, device[c]) if side == 0 else (device[c], now)
                            if tail_was != head_was:
                                quotient[tail_was, head_was] += 1
                            if tail != head:
                                quotient[tail, head] -= 1
        if not accepted:
            continue
        # Accepted: keep the energies, and the lists of members, from which a supernode is taken in constant time.
        energy[source] = fresh[0]
        energy[target] = fresh[1]
        for i in range(count):
            c = moved[i]
            a = source if i < out else target
            b = target if i < out else source
            sizes[a] -= 1
            gone = members[a, sizes[a]]
            members[a, place[c]] = gone
            place[gone] = place[c]
            members[b, sizes[b]] = c
            place[c] = sizes[b]
            sizes[b] += 1
        # The best state is kept if it is valid: within every limit, with a lower largest load than any before.
        peak = np.int64(-1)
        valid = True
        if rows is not None:
            rows.charge[0] = charge
            valid = charge == 0.0
        for d in range(k):
            total = load[d] + max(state.streamed[d] - instance.kept[d], 0)
            if total > peak:
                peak = total
                worst = d
            if state.used[d] > instance.room[d] or state.clash[d] > 0:
                valid = False
        if valid and peak < best.load[0]:
            best.load[0] = peak
            best.device[:] = device


ORDERED = Kernel(_anneal, MOVES_A_SECOND)
