"""Generate schedules of a module with gaps on devices and ports, and anneal devices and keys: compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

__all__ = ["ANNEAL", "DRAWS", "ModuleArrays", "ModuleReservations", "TimedModule"]

STEPS_A_SECOND = 3e5
DRAWS = 8
"""Random numbers of a move, at most."""


class ModuleArrays(NamedTuple):
    """A module as the kernels take it.

    Attributes:
        time: [n, k] running times; ``inf`` where a node may not be.
        rest: [n, k] from the end of a node there to the end of the module it takes no less.
        in_at, in_edge: the edges ``in_edge[in_at[v]:in_at[v + 1]]`` reach v.
        out_at, out_head: the nodes ``out_head[out_at[v]:out_at[v + 1]]`` read v.
        tail: [m] of every edge.
        carry: [m, k, k] times of transfers.
        exclusive: whether transfers that leave one device, or reach one, must not overlap.
        part: [n] the component of every node; -1 for what all components share.
        members: [components, longest] the nodes of each, in their order; -1 behind the last.
    """

    time: Floats
    rest: Floats
    in_at: Ints
    in_edge: Ints
    out_at: Ints
    out_head: Ints
    tail: Ints
    carry: Floats
    exclusive: bool
    part: Ints
    members: Ints


class ModuleReservations(NamedTuple):
    """When resources are taken: [3 k, most] starts and ends, ascending; [3 k] how many. Devices, senders, receivers."""

    start: Floats
    end: Floats
    taken: Ints


class TimedModule(NamedTuple):
    """A schedule: [n] devices, keys, starts and ends, and [m] when each edge is sent."""

    device: Ints
    key: Floats
    start: Floats
    end: Floats
    sent: Floats


def generate(
    module: ModuleArrays, at: TimedModule, reserved: ModuleReservations, limit: float, ready: Ints, waits: Ints
) -> float:
    """Write the schedule of the given devices and keys, and return its length; stop where it will exceed *limit*.

    Of the nodes that wait for none, that of the largest key is next. Its inputs are sent in the order in which they
    end, each into the first gap of both ports; it goes into the first gap of its device.
    """
    n, k = module.time.shape
    reserved.taken[:] = 0
    open_nodes = 0
    length = 0.0
    for v in range(n):
        waits[v] = module.in_at[v + 1] - module.in_at[v]
        if waits[v] == 0:
            ready[open_nodes] = v
            open_nodes += 1
    while open_nodes > 0:
        # Take the node of the largest key of those that wait for none.
        best = 0
        for i in range(1, open_nodes):
            if at.key[ready[i]] > at.key[ready[best]]:
                best = i
        v = ready[best]
        open_nodes -= 1
        ready[best] = ready[open_nodes]
        d = at.device[v]
        arrived = 0.0
        low, high = module.in_at[v], module.in_at[v + 1]
        last, done = -1.0, -1
        for _ in range(low, high):
            # The next input: the first to end of those behind the last, by end and place.
            chosen = -1
            for j in range(low, high):
                end = at.end[module.tail[module.in_edge[j]]]
                if (end > last or (end == last and j > done)) and (
                    chosen < 0 or end < at.end[module.tail[module.in_edge[chosen]]]
                ):
                    chosen = j
            e = module.in_edge[chosen]
            u = module.tail[e]
            last, done = at.end[u], chosen
            c = at.device[u]
            takes = module.carry[e, c, d] if c != d else 0.0
            t = at.end[u]
            if module.exclusive and 0.0 < takes < np.inf:
                # The first gap that both ports have: from one's to the other's until they agree.
                one, other = k + c, 2 * k + d
                while True:
                    begun = t
                    for port in (one, other):
                        first, behind = 0, reserved.taken[port]
                        while first < behind:
                            middle = (first + behind) // 2
                            if reserved.end[port, middle] > t:
                                behind = middle
                            else:
                                first = middle + 1
                        while first < reserved.taken[port] and reserved.start[port, first] < t + takes:
                            t = max(t, reserved.end[port, first])
                            first += 1
                    if t == begun:
                        break
                for port in (one, other):
                    i = reserved.taken[port]
                    while i > 0 and reserved.start[port, i - 1] > t:
                        reserved.start[port, i] = reserved.start[port, i - 1]
                        reserved.end[port, i] = reserved.end[port, i - 1]
                        i -= 1
                    reserved.start[port, i] = t
                    reserved.end[port, i] = t + takes
                    reserved.taken[port] += 1
            at.sent[e] = t
            arrived = max(arrived, t + takes)
        # All inputs are there: the first gap of the device that holds the node, and reserve it.
        takes = module.time[v, d]
        t = arrived
        if 0.0 < takes < np.inf and t < np.inf:
            first, behind = 0, reserved.taken[d]
            while first < behind:
                middle = (first + behind) // 2
                if reserved.end[d, middle] > t:
                    behind = middle
                else:
                    first = middle + 1
            while first < reserved.taken[d] and reserved.start[d, first] < t + takes:
                t = max(t, reserved.end[d, first])
                first += 1
            i = reserved.taken[d]
            while i > 0 and reserved.start[d, i - 1] > t:
                reserved.start[d, i] = reserved.start[d, i - 1]
                reserved.end[d, i] = reserved.end[d, i - 1]
                i -= 1
            reserved.start[d, i] = t
            reserved.end[d, i] = t + takes
            reserved.taken[d] += 1
        at.start[v], at.end[v] = t, t + takes
        length = max(length, t + takes)
        # What comes behind the node takes at least its rest: a schedule beyond the limit is left here.
        if at.end[v] + module.rest[v, d] > limit:
            return np.inf
        for j in range(module.out_at[v], module.out_at[v + 1]):
            w = module.out_head[j]
            waits[w] -= 1
            if waits[w] == 0:
                ready[open_nodes] = w
                open_nodes += 1
    return length


def anneal(
    draws: Floats,
    first: int,
    steps: int,
    hot: float,
    cold: float,
    module: ModuleArrays,
    fixed: Bools,
    now: TimedModule,
    best: TimedModule,
    least: float,
    reserved: ModuleReservations,
    drive: float,
) -> float:
    """Anneal on from the devices and keys of *now*, write the best schedule to *best*, and return its length.

    A move changes the key of a node or of a component, gives a component the keys or the devices of another or swaps
    them, takes a node to another device, with some of its neighbours, or takes a stretch of a component there.

    Args:
        draws: [moves, :data:`DRAWS`] uniform in [0, 1), of each move to make.
        first: moves that were made before.
        steps: moves of the whole annealing.
        hot: the first temperature.
        cold: the last one.
        module: what is scheduled.
        fixed: [n] nodes that stay where they are.
        now: devices and keys to start from; those to go on from are written.
        best: written where it is shorter.
        least: the length of *best*; ``inf`` if there is none yet.
        reserved: room for the reserved times.
        drive: how much the work of the busiest device counts beside the length; best is what is shortest all the same.
    """
    n, k = module.time.shape
    parts, longest = module.members.shape
    ready, waits = np.empty(n, np.int64), np.empty(n, np.int64)
    kept_device, kept_key = now.device.copy(), now.key.copy()
    current = generate(module, now, reserved, np.inf, ready, waits)  # type: ignore[name-defined,unused-ignore]
    if current < least:
        least = current
        best.device[:], best.key[:], best.start[:] = now.device, now.key, now.start
        best.end[:], best.sent[:] = now.end, now.sent
    load = np.zeros(k)
    for v in range(n):
        load[now.device[v]] += module.time[v, now.device[v]]
    current += drive * load.max() if load.max() < np.inf else 0.0
    # One move a step, by its draws: what kind it is, two nodes or components, and how far and where.
    for step in range(len(draws)):
        temperature = hot * (cold / hot) ** ((first + step) / steps)
        kind, one, two, how, where = draws[step, 0], draws[step, 1], draws[step, 2], draws[step, 3], draws[step, 4]
        v, u = int(one * n), int(two * n)
        a, b = int(one * parts), int(two * parts)
        # Give a node about the key of another one, so that they follow each other.
        if kind < 0.25:
            now.key[v] = now.key[u] + (how - 0.5) * 1e-3 * abs(now.key[u])
        elif kind < 0.4:
            # Swap two nodes.
            now.key[v], now.key[u] = now.key[u], now.key[v]
        elif kind < 0.55 and parts > 1:
            # Move all of a component earlier or later, or swap its keys with those of another.
            if how < 0.5:
                shift = (where - 0.5) * 0.5 * np.abs(now.key).max()
                for i in range(longest):
                    if module.members[a, i] >= 0:
                        now.key[module.members[a, i]] += shift
            else:
                for i in range(longest):
                    v, u = module.members[a, i], module.members[b, i]
                    if v >= 0 and u >= 0:
                        now.key[v], now.key[u] = now.key[u], now.key[v]
        elif kind < 0.68 and parts > 1:
            # Give a component the devices of another, and swap them, or take its order, too.
            for i in range(longest):
                v, u = module.members[a, i], module.members[b, i]
                if v >= 0 and u >= 0:
                    c, d = now.device[u], now.device[v]
                    if not fixed[v] and module.time[v, c] < np.inf:
                        now.device[v] = c
                    if how < 0.5 and not fixed[u] and module.time[u, d] < np.inf:
                        now.device[u] = d
                    elif how > 0.75:
                        now.key[v] = now.key[u] + (where - 0.5) * 1e-3 * abs(now.key[u])
        elif kind < 0.85 or parts == 0:
            # Take a node to another device, and perhaps some of its neighbours in the component with it.
            d = int(how * k)
            if fixed[v] or d == now.device[v] or module.time[v, d] == np.inf:
                continue
            now.device[v] = d
            if where < 0.5:
                for j in range(module.in_at[v], module.in_at[v + 1]):
                    u = module.tail[module.in_edge[j]]
                    near = module.part[u] == module.part[v] and not fixed[u] and module.time[u, d] < np.inf
                    if near and (where * (j + 3.7)) % 1.0 < 0.5:
                        now.device[u] = d
                for j in range(module.out_at[v], module.out_at[v + 1]):
                    u = module.out_head[j]
                    near = module.part[u] == module.part[v] and not fixed[u] and module.time[u, d] < np.inf
                    if near and (where * (j + 5.3)) % 1.0 < 0.5:
                        now.device[u] = d
        else:
            # Take a stretch of a component to one device.
            d = int(how * k)
            begin = int(where * longest)
            behind = begin + 1 + int(two * (longest - begin))
            for i in range(begin, behind):
                u = module.members[a, i]
                if u >= 0 and not fixed[u] and module.time[u, d] < np.inf:
                    now.device[u] = d
        # Accept by the rule of Metropolis: what is longer than the limit that the draw allows is cut short, and undone.
        load[:] = 0.0
        for v in range(n):
            load[now.device[v]] += module.time[v, now.device[v]]
        driven = drive * load.max() if load.max() < np.inf else 0.0
        limit = current - driven - temperature * np.log(draws[step, 5] + 1e-300)
        length = generate(module, now, reserved, limit, ready, waits)  # type: ignore[name-defined,unused-ignore]
        if length <= limit:
            current = length + driven
            kept_device[:], kept_key[:] = now.device, now.key
            if length < least:
                least = length
                best.device[:], best.key[:], best.start[:] = now.device, now.key, now.start
                best.end[:], best.sent[:] = now.end, now.sent
        else:
            now.device[:], now.key[:] = kept_device, kept_key
    return least


ANNEAL = Kernel(anneal, STEPS_A_SECOND, generate)
"""Steps are nodes and edges that are timed."""
