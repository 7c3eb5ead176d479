"""The innermost loop of annealing over phases: a supernode moves, and its tensors are charged anew in each phase."""

from __future__ import annotations

from typing import NamedTuple

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

STEPS_A_SECOND = 1.2e4


class PhaseCosts(NamedTuple):
    """What splits cost in each of some phases, and what is asked of them.

    What is asked is a sum of columns: the largest loads of the phases; their latencies; the load of every device in
    every phase; whether each device is used; the largest of several sums, one after the other; what soft rows cost.

    Attributes:
        time: [phases, n, devices]; what is not allowed is large.
        allowed: [n, devices].
        memory, room: [n], and [devices] its limit.
        first, tensor: [n + 1] row pointers into the tensors that each supernode makes or reads.
        producer: [tensors].
        size: [phases, tensors].
        sending, sent: [devices, devices] what a device takes to send anything, and for each unit of size.
        receiving, received: the same for the reading device.
        waiting, carried: the same for the latency of a transfer.
        route, channel: [devices * devices + 1] row pointers into the channels of each pair.
        inverse: [channels] what a unit of size takes.
        mode: [devices] 0: work, sending and receiving add up; 1: they overlap.
        serial: 1 if a tensor is sent to one reading device after the other, else 0.
        summed: 1 if latencies are sums of loads, 0 if they are work and transfers.
        arcs, arc, outward: [n + 1] row pointers into the other ends of edges that devices in order must keep.
        part, whole, fixed: [sums] the number of the largest that each is of, [sums, columns] its coefficients, and what
            is added.
        row, low, high, price, unit: [rows, columns] coefficients, limits, what a unit of violation costs; 0 of rows
            that must hold, whose violations are measured in ``unit``.
        goal, constant: [columns] of the objective.
    """

    time: Floats
    allowed: Bools
    memory: Floats
    room: Floats
    first: Ints
    tensor: Ints
    producer: Ints
    size: Floats
    sending: Floats
    sent: Floats
    receiving: Floats
    received: Floats
    waiting: Floats
    carried: Floats
    route: Ints
    channel: Ints
    inverse: Floats
    mode: Ints
    serial: int
    summed: int
    arcs: Ints
    arc: Ints
    outward: Bools
    part: Ints
    whole: Floats
    fixed: Floats
    row: Floats
    low: Floats
    high: Floats
    price: Floats
    unit: Floats
    goal: Floats
    constant: float


class PhaseState(NamedTuple):
    """A split and its sums.

    Attributes:
        device: [n].
        place: [devices] of each in their order.
        readers: [tensors, devices] how many readers are where.
        work, out, into: [phases, devices].
        freight: [phases] what all transfers take.
        busy: [phases, channels].
        used, occupied: [devices] memory, and supernodes.
        seen: [channels] scratch.
        values: [columns] scratch.
    """

    device: Ints
    place: Ints
    readers: Ints
    work: Floats
    out: Floats
    into: Floats
    freight: Floats
    busy: Floats
    used: Floats
    occupied: Ints
    seen: Ints
    values: Floats


def _move(
    draws: Floats,
    temperature: float,
    power: float,
    scale: float,
    ordered: bool,
    costs: PhaseCosts,
    state: PhaseState,
    best: Ints,
    least: float,
) -> float:
    """Try a move for every row of *draws*; return the least cost met of what breaks no row, whose split is *best*.

    The energy is the objective as a share of *scale*, where largest loads are sums of powers, and what is charged for
    memories and rows that do not hold. Where devices are *ordered*, no edge is led back in their order.
    """
    phases, n, k = costs.time.shape
    channels = len(costs.inverse)
    rows, sums = len(costs.low), len(costs.part)
    loads, used = 2 * phases, 2 * phases + phases * k
    largest = used + k
    columns = len(costs.goal)
    before = -1.0
    fresh = True
    for r in range(len(draws) + 1):
        # Draw a supernode v and a device b; with an order of the devices, edges may not lead back in it.
        v = 0 if r == 0 else min(n - 1, int(draws[r - 1, 0] * n))  # at first nothing moves: what is there counts
        a = state.device[v]
        b = a if r == 0 else min(k - 1, int(draws[r - 1, 1] * k))
        if r > 0 and (a == b or not costs.allowed[v, b]):
            continue
        if ordered and r > 0:
            kept = True
            for y in range(costs.arcs[v], costs.arcs[v + 1]):
                other = state.place[state.device[costs.arc[y]]]
                if (costs.outward[y] and other < state.place[b]) or (not costs.outward[y] and other > state.place[b]):
                    kept = False
                    break
            if not kept:
                continue
        # Do the move, and look at the energy; if it is not accepted, the second turn does it backwards.
        for turn in range(2):
            source, target = (a, b) if turn == 0 else (b, a)
            if source != target:
                for half in range(2):
                    # Take off what the tensors at v cost where it was, then move it, then add what they cost where it
                    # is.
                    sign = -1.0 if half == 0 else 1.0
                    if half == 1:
                        for y in range(costs.first[v], costs.first[v + 1]):
                            t = costs.tensor[y]
                            if costs.producer[t] != v:
                                state.readers[t, source] -= 1
                                state.readers[t, target] += 1
                        state.device[v] = target
                        for p in range(phases):
                            state.work[p, source] -= costs.time[p, v, source]
                            state.work[p, target] += costs.time[p, v, target]
                        state.used[source] -= costs.memory[v]
                        state.used[target] += costs.memory[v]
                        state.occupied[source] -= 1
                        state.occupied[target] += 1
                    for y in range(costs.first[v], costs.first[v + 1]):
                        t = costs.tensor[y]
                        d = state.device[costs.producer[t]]
                        # In each phase a tensor goes from its maker's device to every other device with a reader: both
                        # ends pay, and the channels on the way are busy, for each receiver or once.
                        for p in range(phases):
                            most, total, size = 0.0, 0.0, costs.size[p, t]
                            state.seen[:] = 0
                            for e in range(k):
                                if e == d or state.readers[t, e] == 0:
                                    continue
                                sent = costs.sending[d, e] + size * costs.sent[d, e]
                                most = max(most, sent)
                                total += sent
                                state.into[p, e] += sign * (costs.receiving[d, e] + size * costs.received[d, e])
                                state.freight[p] += sign * (costs.waiting[d, e] + size * costs.carried[d, e])
                                for z in range(costs.route[d * k + e], costs.route[d * k + e + 1]):
                                    c = costs.channel[z]
                                    if costs.serial == 1 or state.seen[c] == 0:
                                        state.busy[p, c] += sign * size * costs.inverse[c]
                                        state.seen[c] = 1
                            state.out[p, d] += sign * (total if costs.serial == 1 else most)
            values = state.values
            broken, energy, cost = 0.0, 0.0, 0.0
            # Evaluate twice: with largest loads as they are, for the cost and what is broken; with sums of powers in
            # their place, for the energy, so that smaller loads count as well.
            for smooth in range(2):
                for p in range(phases):
                    peak, whole, norm = 0.0, 0.0, 0.0
                    for d in range(k):
                        work, out, into = state.work[p, d], state.out[p, d], state.into[p, d]
                        load = work + out + into if costs.mode[d] == 0 else max(work, out, into)
                        values[loads + p * k + d] = load
                        whole += load if costs.summed == 1 else work
                        peak = max(peak, load)
                    for c in range(channels):
                        peak = max(peak, state.busy[p, c])
                    if smooth == 1 and peak > 0:
                        for d in range(k):
                            norm += (max(values[loads + p * k + d], 0.0) / peak) ** power
                        for c in range(channels):
                            norm += (max(state.busy[p, c], 0.0) / peak) ** power
                        peak *= norm ** (1.0 / power)
                    values[p] = peak
                    values[phases + p] = whole if costs.summed == 1 else whole + state.freight[p]
                for d in range(k):
                    values[used + d] = 1.0 if state.occupied[d] > 0 else 0.0
                # The largest of several sums, one after the other, which may be made of those before.
                values[largest:] = 0.0
                for s in range(sums):
                    value = costs.fixed[s]
                    for x in range(columns):
                        value += costs.whole[s, x] * values[x]
                    where = largest + costs.part[s]
                    if s == 0 or costs.part[s] != costs.part[s - 1] or value > values[where]:
                        values[where] = value
                # Rows: soft ones cost their price, hard ones are broken beyond rounding.
                over = 0.0
                for y in range(rows):
                    value = 0.0
                    for x in range(columns):
                        value += costs.row[y, x] * values[x]
                    excess = max(0.0, costs.low[y] - value, value - costs.high[y])
                    if costs.price[y] > 0:
                        values[columns - 1] += costs.price[y] * excess
                    elif excess > 1e-9 * costs.unit[y]:
                        over += excess / costs.unit[y]
                value = costs.constant
                for x in range(columns):
                    value += costs.goal[x] * values[x]
                if smooth == 0:
                    cost, broken = value, over
                else:
                    energy = value / scale
            # Memories, and the charge for all that is broken.
            for d in range(k):
                if state.used[d] > costs.room[d] * (1 + 1e-12):
                    broken += 1.0 + (state.used[d] - costs.room[d]) / (costs.room[d] + 1e-300)
            energy += 0.0 if broken == 0.0 else 0.02 + 3.0 * broken
            # The best split is kept if nothing is broken.
            if broken == 0.0 and cost < least:
                least = cost
                best[:] = state.device
            # The rule of Metropolis: the second turn is kept as it is.
            if fresh or energy <= before or turn == 1:
                before = energy
                fresh = False
                break
            if draws[r - 1, 2] < 2.718281828459045 ** max(-700.0, (before - energy) / temperature):
                before = energy
                break
    return least


MOVE = Kernel(_move, STEPS_A_SECOND)
