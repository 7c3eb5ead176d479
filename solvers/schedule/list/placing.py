"""Nodes in turn, each where its score is best: when devices and links are idle, what arrives when; compiled."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.timing import Arrays, KernelTimes
from mtpp_dsl.solvers.schedule.list.free_packing import FREELY
from mtpp_dsl.solvers.schedule.list.packing import PACKING, STEPS_A_SECOND, fix, settle
from mtpp_dsl.solvers.schedule.list.placement_rules import Hold, PlacementRules

__all__ = ["IN_TURN", "IN_TURN_FREELY", "PLACING", "IdleLines", "Score", "place", "reach"]


ROUNDING = 1e-14
"""What a difference of two times may be off by, as a share of the times."""


class IdleLines(NamedTuple):
    """When devices (lines 0 to k-1), their sending ends (k to 2k-1) and their receiving ends are idle.

    Attributes:
        since, until: [3 k, room] of each line, the first ``spans`` in order; the last is without end.
        spans: [3 k] how many each line has.
        shortest: [3 k] the shortest time that is ever asked for; what is idle for less is left out.
        free: [k] when each device has run all it has.
    """

    since: Floats
    until: Floats
    spans: Ints
    shortest: Floats
    free: Floats


def with_room(idle: IdleLines, more: int) -> IdleLines:
    """Return *idle*, with twice the room if so many more idle times could fill it."""
    while idle.spans.max() + more >= idle.since.shape[1]:
        since, until = (np.concatenate([row, np.zeros_like(row)], axis=1) for row in (idle.since, idle.until))
        idle = IdleLines(since, until, idle.spans, idle.shortest, idle.free)
    return idle


class Score(NamedTuple):
    """What makes a device better than another for a node: least first.

    Attributes:
        tier: [n, k] counts first.
        bias: [n, k] is added to when the node ends there.
        insert: whether a node may run before others that its device has been given.
    """

    tier: Floats
    bias: Floats
    insert: bool


def fit(idle: IdleLines, line: int, at: float, takes: float) -> float:
    """Return the earliest time from *at* on from which *line* is idle for *takes*."""
    until = idle.until[line]
    low, high = 0, idle.spans[line] - 1
    while low < high:  # the first idle time that ends after *at*
        middle = (low + high) // 2
        if until[middle] > at:
            high = middle
        else:
            low = middle + 1
    at = max(at, idle.since[line, low])
    while at + takes > until[low]:
        low += 1
        at = idle.since[line, low]
    return at


def book(idle: IdleLines, line: int, at: float, end: float) -> None:
    """Take a time that :func:`fit` has found; what is left before and after it is kept if it can be of use.

    What is left may be shorter than the shortest by rounding alone, and another transfer to the same node may have been
    given just that time before anything was booked.
    """
    since, until, count = idle.since[line], idle.until[line], idle.spans[line]
    low, high = 0, count - 1
    while low < high:  # the idle time that begins last before *at*
        middle = (low + high + 1) // 2
        if since[middle] <= at:
            low = middle
        else:
            high = middle - 1
    shortest = idle.shortest[line] - ROUNDING * end
    before, after = at - since[low] >= shortest, until[low] - end >= shortest
    if before and after:
        for i in range(count, low + 1, -1):
            since[i], until[i] = since[i - 1], until[i - 1]
        since[low + 1], until[low + 1], until[low] = end, until[low], at
        idle.spans[line] += 1
    elif before:
        until[low] = at
    elif after:
        since[low] = end
    else:
        for i in range(low, count - 1):
            since[i], until[i] = since[i + 1], until[i + 1]
        idle.spans[line] -= 1


def by_end(tails: Ints, end: Floats, edges: Ints) -> None:
    """Sort *edges* in place by when their tails end, ties by number (Shell 1959)."""
    gap = len(edges) // 2
    while gap > 0:
        for i in range(gap, len(edges)):
            e, j = edges[i], i
            at = end[tails[e]]
            while j >= gap:
                x = edges[j - gap]
                if end[tails[x]] < at or (end[tails[x]] == at and x < e):
                    break
                edges[j] = x
                j -= gap
            edges[j] = e
        gap //= 2


def reach(instance: Arrays, idle: IdleLines, times: KernelTimes, home: Ints, group: Ints, v: int, d: int) -> float:
    """Return when all that node *v* reads can be on *d*; and note when it is sent.

    Exclusive transfers take turns in the order in which their tails end, each in the first time in which both ends are
    idle.
    """
    k = instance.time.shape[1]
    first, last = instance.offsets_in[v], instance.offsets_in[v + 1]
    edges = instance.entering[first:last].copy()
    if instance.exclusive:
        by_end(instance.tails, times.end, edges)
    ready = 0.0
    for i in range(len(edges)):
        e = edges[i]
        u = instance.tails[e]
        f = home[group[u]]
        at = times.end[u]
        carry = 0.0
        if f != d:
            carry = (
                instance.latency[f, d]
                + instance.size[e] * instance.inverse[f, d]
                + instance.table[instance.row[e], f, d]
            )
        if carry == inf:
            return inf
        if instance.exclusive and carry > 0:
            later = True
            while later:
                begun = at
                at = fit(idle, k + f, at, carry)
                at = fit(idle, 2 * k + d, at, carry)
                for x in edges[:i]:
                    if times.sent[x] < min(at + carry, times.arrived[x]) and at < times.arrived[x]:
                        at = times.arrived[x]
                later = at > begun
        times.sent[e] = at
        times.arrived[e] = at + carry
        ready = max(ready, at + carry)
    return ready


def place(
    instance: Arrays, idle: IdleLines, times: KernelTimes, home: Ints, group: Ints, v: int, d: int, insert: bool
) -> None:
    """Run node *v* on *d* as early as it can be."""
    k = instance.time.shape[1]
    takes = instance.time[v, d]
    at = reach(instance, idle, times, home, group, v, d)
    for i in range(instance.offsets_in[v], instance.offsets_in[v + 1]):
        e = instance.entering[i]
        if instance.exclusive and times.arrived[e] > times.sent[e]:
            book(idle, k + home[group[instance.tails[e]]], times.sent[e], times.arrived[e])
            book(idle, 2 * k + d, times.sent[e], times.arrived[e])
    if takes > 0:
        at = fit(idle, d, at, takes) if insert else max(at, idle.free[d])
        if insert:
            book(idle, d, at, at + takes)
        idle.free[d] = max(idle.free[d], at + takes)
    times.start[v], times.end[v] = at, at + takes


def in_turn(
    instance: Arrays,
    rules: PlacementRules,
    hold: Hold,
    idle: IdleLines,
    times: KernelTimes,
    score: Score,
    order: Ints,
    first: int,
    last: int,
) -> int:
    """Place ``order[first:last]``, each on the device of the best score that leaves a way on; return the next place.

    It is less than *last* when an ``idle`` array is full.
    """
    k = instance.time.shape[1]
    value = np.empty(k)
    for i in range(first, last):
        v = order[i]
        c = rules.group[v]
        if idle.spans.max() + 2 + instance.offsets_in[v + 1] - instance.offsets_in[v] >= idle.since.shape[1]:
            return i
        if not hold.fixed[c]:
            for d in range(k):
                value[d] = inf
                if rules.may[c, d]:
                    at = reach(instance, idle, times, hold.home, rules.group, v, d)
                    takes = instance.time[v, d]
                    if takes > 0 and at < inf:
                        at = fit(idle, d, at, takes) if score.insert else max(at, idle.free[d])
                    value[d] = at + takes + (rules.work[c, d] - takes) + score.bias[v, d]
            chosen = -1
            while chosen < 0:
                for d in range(k):
                    if value[d] < inf and (
                        chosen < 0
                        or score.tier[v, d] < score.tier[v, chosen]
                        or (score.tier[v, d] == score.tier[v, chosen] and value[d] < value[chosen])
                    ):
                        chosen = d
                if chosen < 0:
                    chosen = hold.home[c]
                if not settle(rules, hold, c, chosen):
                    value[chosen] = inf
                    chosen = -1
            fix(hold, c)
        place(instance, idle, times, hold.home, rules.group, v, hold.home[c], score.insert)
    return last


PLACING = (fit, book, by_end, reach, place)

IN_TURN = Kernel(in_turn, STEPS_A_SECOND, *PACKING, *PLACING)
IN_TURN_FREELY = Kernel(in_turn, STEPS_A_SECOND, *FREELY, *PLACING)
