"""Bound how early each node may start, seen from the beginning or from the end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.base.compiling import Kernel, inputs
from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["EARLIEST", "PATHS", "DirectedNet", "class_time", "joining_steps", "net_of", "nodes_at_once", "reversed_net"]

STEPS_A_SECOND = 1e6
SAFE = 1e-12
"""Relative: what is claimed is so much less than what was found, so that other code, rounding otherwise, finds it."""
TUNINGS = 8
CHUNK = 20_000
"""Nodes, times those that count before each, between two looks at the clock."""
TIMES = 5
"""Times after which work is counted, about, where edges meet."""


def earliest(
    net: DirectedNet, time: Floats, first: int, last: int, most: int, start: Floats, since: Floats, weight: Floats
) -> None:
    """Write ``start[v, d]``, before which node v cannot start on device d, for places *first* to *last* of the order.

    ``max over edges (u, v) of min over x of start[u, x] + time[u, x] + transfer``: a longest path on which every node
    is on its best device. A node of v's class is on d.

    Where several edges meet, up to *most* of the nodes w before v, the last ones, have to be over when v
    starts, at t. ``reach[w, x] = start[w, x] + time[w, x] + path to v on d`` says from which t on w may be on x. Let
    m[w, x] be the part of its time that w, on x, runs after a time s. For weights y of the devices,
    ``sum over w of min over x with reach[w, x] <= t of y[x] m[w, x] <= (t - s) sum y``, since no device runs for longer
    than t - s. The left side falls with t, in steps, and the right side rises: the least t of each s and y is found
    exactly. (Fernandez and Bussell 1973 count so for equal processors and intervals of a whole schedule.)
    With exclusive links the receiving end of d is one more resource: of edges into v from elsewhere.

    Args:
        net: the graph.
        time: [n, k]; ``inf`` where a node may not be.
        first: place in the order of the first node to be written; those before it have been.
        last: place after the last one.
        most: how many nodes count where edges meet.
        start: [n, k] written; ``inf`` where v cannot be on d at all.
        since: [n, k] written: the s behind a start; nan where a path is behind it.
        weight: [n, k, k + 1] written: the y behind a start, that of the receiving end at last.
    """
    n, k = time.shape
    queued = np.full(n, -1, np.int64)
    inside = np.full(n, -1, np.int64)
    slot = np.empty(n, np.int64)
    member = np.empty(most, np.int64)
    behind = np.empty((most, k))
    reach = np.empty((most, k))
    part = np.empty((most, k))
    port = np.empty((most, k))
    least = np.empty(most)
    flat, steps = np.empty(most * k), np.empty(most * k, np.int64)
    begins, later = np.empty(most), np.empty(most, np.int64)
    load = np.empty(k + 1)
    y = np.empty(k + 1)
    for i in range(first, last):
        v = net.order[i]
        low, high = net.before_at[v], net.before_at[v + 1]
        for d in range(k):
            start[v, d] = np.inf
            since[v, d] = np.nan
            weight[v, d, :] = 0.0
            if time[v, d] == np.inf:
                continue
            # The longest path: every edge into v arrives at the earliest from the best device of its tail.
            path = 0.0
            for j in range(low, high):
                e = net.before[j]
                u = net.tail[e]
                arrival = np.inf
                for x in range(k):
                    if x == d:
                        arrival = min(arrival, start[u, x] + time[u, x])
                    elif net.group[u] != net.group[v]:
                        carry = net.latency[x, d] + net.size[e] * net.inverse[x, d] + net.table[net.row[e], x, d]
                        arrival = min(arrival, start[u, x] + time[u, x] + carry)
                path = max(path, arrival)
            start[v, d] = path
            if high - low < 2 or path == np.inf:
                continue
            # Collect the nodes w before v that have to be over when v starts, the last ones first: those from which a
            # path leads to v over nodes collected, which are queued.
            stamp = v * k + d
            for j in range(low, high):
                queued[net.tail[net.before[j]]] = stamp
            count = 0
            at = i - 1
            t = path
            while at >= 0 and count < most and i - at <= 8 * most:
                w = net.order[at]
                at -= 1
                if queued[w] != stamp:
                    continue
                # How long after the end of w, on each device x, v starts at the earliest on d: the longest way over
                # what follows w, each node on its best device. The receiving end of d is busy for an edge straight into
                # v.
                soonest = np.inf
                for x in range(k):
                    port[count, x] = 0.0
                    longest = 0.0
                    if time[w, x] == np.inf or (net.group[w] == net.group[v] and x != d):
                        longest = np.inf
                    for j in range(net.after_at[w], net.after_at[w + 1]):
                        if longest == np.inf:
                            break
                        e = net.after[j]
                        h = net.head[e]
                        if h == v:
                            carry = 0.0
                            if x != d:
                                carry = (
                                    net.latency[x, d] + net.size[e] * net.inverse[x, d] + net.table[net.row[e], x, d]
                                )
                                port[count, x] = carry
                            longest = max(longest, carry)
                        elif inside[h] == stamp:
                            way = np.inf
                            for z in range(k):
                                if z == x:
                                    way = min(way, time[h, z] + behind[slot[h], z])
                                elif net.group[h] != net.group[w]:
                                    carry = (
                                        net.latency[x, z]
                                        + net.size[e] * net.inverse[x, z]
                                        + net.table[net.row[e], x, z]
                                    )
                                    way = min(way, carry + time[h, z] + behind[slot[h], z])
                            longest = max(longest, way)
                    behind[count, x] = longest
                    reach[count, x] = start[w, x] + time[w, x] + longest
                    soonest = min(soonest, reach[count, x])
                # v starts no sooner than w allows on the best device.
                t = max(t, soonest)
                inside[w] = stamp
                slot[w] = count
                member[count] = w
                count += 1
                for j in range(net.before_at[w], net.before_at[w + 1]):
                    queued[net.tail[net.before[j]]] = stamp
            if t == np.inf:
                start[v, d] = t
                continue
            for c in range(count):
                begins[c] = np.inf
                for x in range(k):
                    flat[c * k + x] = reach[c, x]
                    begins[c] = min(begins[c], start[member[c], x])
            # Sort by heap: the steps at which a node may be on one more device, and the earliest starts.
            for turn in range(2):
                value_of = flat if turn == 0 else begins
                into = steps if turn == 0 else later
                bottom = count * k if turn == 0 else count
                for c in range(bottom):
                    into[c] = c
                top = bottom // 2
                while bottom > 1:
                    if top > 0:
                        top -= 1
                    else:
                        bottom -= 1
                        into[0], into[bottom] = into[bottom], into[0]
                    root = top
                    while 2 * root + 1 < bottom:
                        child = 2 * root + 1
                        if child + 1 < bottom and value_of[into[child]] < value_of[into[child + 1]]:
                            child += 1
                        if value_of[into[root]] >= value_of[into[child]]:
                            break
                        into[root], into[child] = into[child], into[root]
                        root = child
            # Try times s after which work is counted, from the latest start on, with gaps that grow as the numbers of
            # Fibonacci do.
            back, gap = 1, 1
            while back <= count:
                s = begins[later[count - back]]
                back, gap = back + gap, back
                for c in range(count):
                    w = member[c]
                    for x in range(k):
                        part[c, x] = 0.0
                        if reach[c, x] < np.inf:
                            part[c, x] = min(time[w, x], max(0.0, start[w, x] + time[w, x] - s))
                # Try weights y of the devices, and at last of the receiving end: each device alone, then all devices,
                # tuned by multiplicative weights: the load of each when every node takes its cheapest device says where
                # more weight helps.
                for trial in range(k + (2 if net.exclusive else 1) * TUNINGS):
                    if s >= t:
                        break
                    if trial < k:
                        y[:] = 0.0
                        y[trial] = 1.0
                    elif (trial - k) % TUNINGS == 0:
                        y[:] = 1.0 if trial == k else 0.0
                        y[d] = 1.0
                        y[k] = 0.0 if trial == k else 1.0
                    else:
                        load[:] = 0.0
                        for c in range(count):
                            w, chosen, lowest = member[c], -1, np.inf
                            for x in range(k):
                                if reach[c, x] <= t:
                                    moved = min(port[c, x], max(0.0, start[w, x] + time[w, x] + port[c, x] - s))
                                    value = y[x] * part[c, x] + y[k] * moved
                                    if value < lowest:
                                        lowest, chosen = value, x
                            if chosen >= 0:
                                load[chosen] += part[c, chosen]
                                load[k] += min(
                                    port[c, chosen], max(0.0, start[w, chosen] + time[w, chosen] + port[c, chosen] - s)
                                )
                        total = 0.0
                        for x in range(k + 1):
                            y[x] *= np.exp(
                                min(max(load[x] / (t - s) - 1.0, -1.0), 1.0) / (1.0 + 0.3 * ((trial - k) % TUNINGS))
                            )
                            total += y[x]
                        for x in range(k + 1):
                            y[x] /= total
                    total = 0.0
                    for x in range(k + 1):
                        total += y[x]
                    # The least time by which the work after s fits: its left side falls in steps, as nodes may be on
                    # more devices, and (t - s) sum y rises. Go from step to step until they meet.
                    reached = t
                    work = 0.0
                    for c in range(count):
                        least[c] = np.inf
                    opened = 0
                    unplaced = count
                    while True:
                        while opened < count * k and flat[steps[opened]] <= reached:
                            c, x = steps[opened] // k, steps[opened] % k
                            w = member[c]
                            moved = min(port[c, x], max(0.0, start[w, x] + time[w, x] + port[c, x] - s))
                            value = y[x] * part[c, x] + y[k] * moved
                            if least[c] == np.inf:
                                unplaced -= 1
                                least[c] = value
                                work += value
                            elif value < least[c]:
                                work += value - least[c]
                                least[c] = value
                            opened += 1
                        least_end = s + work / total if unplaced == 0 else np.inf
                        if least_end <= reached:
                            break
                        if opened == count * k or least_end < flat[steps[opened]]:
                            reached = least_end
                            break
                        reached = flat[steps[opened]]
                    if reached <= t or reached == np.inf:
                        continue
                    # Take the work anew at that time, without the rounding of differences, before the start is raised
                    # to it.
                    work = 0.0
                    for c in range(count):
                        w, lowest = member[c], np.inf
                        for x in range(k):
                            if reach[c, x] < reached:
                                moved = min(port[c, x], max(0.0, start[w, x] + time[w, x] + port[c, x] - s))
                                lowest = min(lowest, y[x] * part[c, x] + y[k] * moved)
                        work += lowest
                    if s + work / total >= reached * (1 - 1e-13):
                        t = reached
                        since[v, d] = s
                        weight[v, d, :] = y
            # Claim a little less than what was found, for rounding; where that is more than the path, the claim is by s
            # and y.
            if t > path:
                claimed = t * (1 - SAFE)
                if claimed > path:
                    start[v, d] = claimed
                    if np.isnan(since[v, d]):
                        since[v, d] = 0.0


def paths(net: DirectedNet, time: Floats, first: int, last: int, start: Floats) -> None:
    """Write ``start[v, d]`` for places *first* to *last* of the order, as :func:`earliest` does, from paths alone."""
    k = time.shape[1]
    for i in range(first, last):
        v = net.order[i]
        for d in range(k):
            path = np.inf if time[v, d] == np.inf else 0.0
            for j in range(net.before_at[v], net.before_at[v + 1]):
                if path == np.inf:
                    break
                e = net.before[j]
                u = net.tail[e]
                arrival = start[u, d] + time[u, d]
                for x in range(k):
                    if x != d and net.group[u] != net.group[v]:
                        carry = net.latency[x, d] + net.size[e] * net.inverse[x, d] + net.table[net.row[e], x, d]
                        arrival = min(arrival, start[u, x] + time[u, x] + carry)
                path = max(path, arrival)
            start[v, d] = path


def joining_steps(net: DirectedNet, k: int, most: int) -> int:
    """Return how many steps :func:`earliest` makes, about: of each edge the nodes before, times and weights tried."""
    return len(net.tail) * k * k * most * (k + (2 if net.exclusive else 1) * TUNINGS) * TIMES


def nodes_at_once(kernel: Kernel[..., Any], nodes: int, most: int, steps: int) -> int:
    """Return how many of the nodes a kernel goes through between two looks at the clock, where all take *steps*."""
    return max(1, min(CHUNK // (1 + most), nodes * kernel.portion(steps) // max(1, steps)))


EARLIEST = Kernel(earliest, STEPS_A_SECOND)
PATHS = Kernel(paths, STEPS_A_SECOND)


# A graph on links in both directions, as the bounds on its makespan take it, and where its nodes may be.


class DirectedNet(NamedTuple):
    """A graph on links as kernels take it, in either direction: reversed, "before" is after.

    Attributes:
        order, place: [n] the nodes in a topological order, and where each is in it.
        before_at, before: the edges ``before[before_at[v]:before_at[v + 1]]`` reach v; ``after`` likewise leave it.
        tail, head: [m] of every edge.
        group: [n] class of every node: nodes of one are on one device.
        latency, inverse, size, row, table: as of :class:`mtpp_dsl.core.problem.transfers.Transfers`.
        exclusive: whether transfers that leave one device, or reach one, must not overlap.
    """

    order: Ints
    place: Ints
    before_at: Ints
    before: Ints
    after_at: Ints
    after: Ints
    tail: Ints
    head: Ints
    group: Ints
    latency: Floats
    inverse: Floats
    size: Floats
    row: Ints
    table: Floats
    exclusive: bool


def net_of(problem: Problem) -> DirectedNet:
    """Return the graph of a makespan problem on links."""
    graph, carried = problem.graph, problem.transfers
    place = np.empty(graph.n, np.int64)
    place[graph.topological_order] = np.arange(graph.n)
    return inputs(
        DirectedNet(
            order=graph.topological_order,
            place=place,
            before_at=graph.offsets_in,
            before=graph.by_head,
            after_at=graph.offsets,
            after=frozen(np.arange(graph.m), np.int64),
            tail=graph.tails,
            head=graph.heads,
            group=colocated(problem),
            latency=carried.latency,
            inverse=carried.inverse,
            size=carried.size,
            row=carried.row,
            table=carried.table,
            exclusive=any(problem.of(ExclusiveLinks)),
        )
    )


def reversed_net(net: DirectedNet) -> DirectedNet:
    """Return the same graph with every edge, and time itself, turned around."""
    return inputs(
        DirectedNet(
            order=np.ascontiguousarray(net.order[::-1]),
            place=len(net.order) - 1 - net.place,
            before_at=net.after_at,
            before=net.after,
            after_at=net.before_at,
            after=net.before,
            tail=net.head,
            head=net.tail,
            group=net.group,
            latency=np.ascontiguousarray(net.latency.T),
            inverse=np.ascontiguousarray(net.inverse.T),
            size=net.size,
            row=net.row,
            table=np.ascontiguousarray(net.table.transpose(0, 2, 1)),
            exclusive=net.exclusive,
        )
    )


def class_time(problem: Problem) -> Floats:
    """Return [n, devices] running times; ``inf`` where a node's class may not be: by support, pins or its memory.

    Memories count as large as the independent check of plans lets them be.
    """
    group = colocated(problem)
    classes = int(group.max(initial=-1)) + 1
    closed = np.zeros((classes, problem.k), np.bool_)
    np.logical_or.at(closed, group, ~problem.allowed)
    size = np.bincount(group, weights=problem.graph.memory, minlength=classes)
    closed |= size[:, None] * (1 - 1e-12) > problem.memory_limit * (1 + TOLERANCE * (1 + 1e-6))
    time: Floats = np.where(closed[group], np.inf, problem.time)
    return time
