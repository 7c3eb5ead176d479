"""The innermost loop of annealing on networks: a supernode moves, and its tensors are charged anew."""

from __future__ import annotations

from typing import NamedTuple

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints

__all__ = ["MOVE", "NetworkCosts", "NetworkSplit"]

STEPS_WORTH_COMPILING = 3_000


class NetworkCosts(NamedTuple):
    """What splits cost; times are shares of the cost of the plan to begin with.

    Attributes:
        time: [n, devices]; what is not allowed is large.
        memory: [n], and [devices] ``room``.
        room: see above.
        first: [n + 1] row pointers into ``tensor``, the tensors that each supernode makes or reads.
        tensor: see above.
        producer: [tensors].
        sent: [tensors, devices, devices].
        received: [tensors, devices, devices].
        route: [devices * devices + 1] row pointers into ``channel``, the shared channels of each pair.
        channel: see above.
        carried: [tensors, channels].
        mode: [devices] 0: work, sending and receiving add up; 1: they overlap; 2: the last two add up.
        each: 1 if a tensor is sent to one reading device after the other, else 0.
        before_at: [n + 1] row pointers into ``before``, what has to be on the device of each or an earlier one.
        before: see above; ``after_at`` and ``after`` likewise: on its device or a later one. Empty without an order.
        after_at: see above.
        after: see above.
    """

    time: Floats
    memory: Floats
    room: Floats
    first: Ints
    tensor: Ints
    producer: Ints
    sent: Floats
    received: Floats
    route: Ints
    channel: Ints
    carried: Floats
    mode: Ints
    each: int
    before_at: Ints
    before: Ints
    after_at: Ints
    after: Ints


class NetworkSplit(NamedTuple):
    """A split and its sums.

    Attributes:
        device: [n].
        readers: [tensors, devices] how many readers are where.
        work: [devices]; ``out``, ``into``, ``held`` likewise: sending, receiving, memory.
        out: see above.
        into: see above.
        held: see above.
        busy: [channels].
        seen: [channels] scratch.
        rank: [k] the place of each device in an order that moves keep.
    """

    device: Ints
    readers: Ints
    work: Floats
    out: Floats
    into: Floats
    held: Floats
    busy: Floats
    seen: Ints
    rank: Ints


def _move(
    draws: Floats, temperature: float, power: float, costs: NetworkCosts, split: NetworkSplit, best: Ints, least: float
) -> float:
    """Try a move for every row of *draws*; return the least peak met without a memory exceeded, whose split is *best*.

    The energy is the sum of the loads of devices and channels, raised to a power, and what is charged for memory.
    """
    n, k = costs.time.shape
    channels = len(split.busy)
    before = -1.0
    for r in range(len(draws) + 1):
        v = 0 if r == 0 else min(n - 1, int(draws[r - 1, 0] * n))  # at first nothing moves: what is there counts
        a = split.device[v]
        b = a if r == 0 else min(k - 1, int(draws[r - 1, 1] * k))
        if r > 0 and (a == b or costs.time[v, b] > 1e5):
            continue
        fits = True
        for y in range(costs.before_at[v], costs.before_at[v + 1]):
            fits = fits and split.rank[split.device[costs.before[y]]] <= split.rank[b]
        for y in range(costs.after_at[v], costs.after_at[v + 1]):
            fits = fits and split.rank[split.device[costs.after[y]]] >= split.rank[b]
        if not fits and r > 0:
            continue
        for turn in range(2):
            source, target = (a, b) if turn == 0 else (b, a)
            if source != target:
                for half in range(2):
                    sign = -1.0 if half == 0 else 1.0
                    for y in range(costs.first[v], costs.first[v + 1]):
                        t = costs.tensor[y]
                        if half == 1 and costs.producer[t] != v:
                            split.readers[t, source] -= 1
                            split.readers[t, target] += 1
                    if half == 1:
                        split.device[v] = target
                        split.work[source] -= costs.time[v, source]
                        split.work[target] += costs.time[v, target]
                        split.held[source] -= costs.memory[v]
                        split.held[target] += costs.memory[v]
                    for y in range(costs.first[v], costs.first[v + 1]):
                        t = costs.tensor[y]
                        d = split.device[costs.producer[t]]
                        most, total = 0.0, 0.0
                        split.seen[:] = 0
                        for e in range(k):
                            if e == d or split.readers[t, e] == 0:
                                continue
                            most = max(most, costs.sent[t, d, e])
                            total += costs.sent[t, d, e]
                            split.into[e] += sign * costs.received[t, d, e]
                            for z in range(costs.route[d * k + e], costs.route[d * k + e + 1]):
                                c = costs.channel[z]
                                if costs.each == 1 or split.seen[c] == 0:
                                    split.busy[c] += sign * costs.carried[t, c]
                                    split.seen[c] = 1
                        split.out[d] += sign * (total if costs.each == 1 else most)
            peak, energy, over = 0.0, 0.0, 0.0
            for d in range(k):
                if costs.mode[d] == 0:
                    load = split.work[d] + split.out[d] + split.into[d]
                elif costs.mode[d] == 1:
                    load = max(split.work[d], split.out[d], split.into[d])
                else:
                    load = max(split.work[d], split.out[d] + split.into[d])
                peak = max(peak, load)
                energy += min(max(load, 0.0), 1e3) ** power
                if split.held[d] > costs.room[d]:
                    over += 1.0 + (split.held[d] - costs.room[d]) / (costs.room[d] + 1e-300)
            for c in range(channels):
                peak = max(peak, split.busy[c])
                energy += min(max(split.busy[c], 0.0), 1e3) ** power
            energy = energy ** (1.0 / power) + 10.0 * over
            if over == 0.0 and peak < least:
                least = peak
                best[:] = split.device
            if before < 0 or energy <= before or turn == 1:
                before = energy
                break
            if draws[r - 1, 2] < 2.718281828459045 ** max(-700.0, (before - energy) / temperature):
                before = energy
                break
    return least


MOVE = Kernel(_move, STEPS_WORTH_COMPILING)
