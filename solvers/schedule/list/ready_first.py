"""Always the node that can start first: the ready nodes, and devices that wait for one of them; compiled."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.timing import Arrays, KernelTimes
from mtpp_dsl.solvers.schedule.list.free_packing import FREELY
from mtpp_dsl.solvers.schedule.list.packing import PACKING, STEPS_A_SECOND, fix, settle
from mtpp_dsl.solvers.schedule.list.placement_rules import Hold, PlacementRules
from mtpp_dsl.solvers.schedule.list.placing import PLACING, IdleLines, Score, place, reach

__all__ = ["EARLIEST", "EARLIEST_FREELY", "Queue"]


class Queue(NamedTuple):
    """The nodes whose predecessors all have their place.

    Attributes:
        ready: [n] the first ``size[0]`` are they.
        size: [1] how many.
        waiting: [n] predecessors without a place.
        arrival: [n, k] when all that a ready node reads can be on each device, at the earliest.
        refused: [n, k] where it would have left no room for others.
        level: [n] the tier of devices that it may go to.
        rank: [n] of equal starts, the larger rank comes first.
        favourite: [n] the node that should follow on the same device; -1 for none.
        last: [k] the node that each device ran last; -1 before any.
    """

    ready: Ints
    size: Ints
    waiting: Ints
    arrival: Floats
    refused: Bools
    level: Floats
    rank: Floats
    favourite: Ints
    last: Ints


def begins(instance: Arrays, idle: IdleLines, queue: Queue, v: int, d: int) -> float:
    """Return when ready node *v* can start on *d*, after all that runs there."""
    arrival = float(queue.arrival[v, d])
    return max(arrival, float(idle.free[d])) if instance.time[v, d] > 0 else arrival


def is_open(rules: PlacementRules, hold: Hold, score: Score, queue: Queue, v: int, d: int) -> bool:
    """Return whether node *v* may be tried on *d*."""
    c = rules.group[v]
    if hold.fixed[c]:
        return bool(hold.home[c] == d)
    return bool(not queue.refused[v, d] and score.tier[v, d] <= queue.level[v])


def reopen(rules: PlacementRules, hold: Hold, score: Score, queue: Queue, v: int) -> None:
    """Open the next tier of devices to *v* if none is left of those before; in the end, the home of its class."""
    least = inf
    for d in range(score.tier.shape[1]):
        if is_open(rules, hold, score, queue, v, d):
            return
        if not queue.refused[v, d]:
            least = min(least, score.tier[v, d])
    queue.level[v] = least
    if least == inf:
        queue.refused[v, hold.home[rules.group[v]]] = False


def admit(
    instance: Arrays,
    rules: PlacementRules,
    hold: Hold,
    idle: IdleLines,
    times: KernelTimes,
    score: Score,
    queue: Queue,
    v: int,
) -> None:
    """Let *v*, whose predecessors all have their place, join the ready nodes."""
    queue.ready[queue.size[0]] = v
    queue.size[0] += 1
    c = rules.group[v]
    for d in range(instance.time.shape[1]):
        queue.arrival[v, d] = inf
        if rules.may[c, d] and (not hold.fixed[c] or hold.home[c] == d):
            queue.arrival[v, d] = reach(instance, idle, times, hold.home, rules.group, v, d)
        queue.refused[v, d] = queue.arrival[v, d] == inf
    reopen(rules, hold, score, queue, v)


def awaited(
    instance: Arrays, rules: PlacementRules, hold: Hold, idle: IdleLines, score: Score, queue: Queue, d: int
) -> int:
    """Return the node that *d* waits for: the ready favourite of its last, if it can start nowhere earlier; else -1."""
    v = queue.favourite[queue.last[d]] if queue.last[d] >= 0 else -1
    if v < 0 or queue.waiting[v] != 0 or not is_open(rules, hold, score, queue, v, d):
        return -1
    at = begins(instance, idle, queue, v, d)
    for f in range(instance.time.shape[1]):
        if is_open(rules, hold, score, queue, v, f) and begins(instance, idle, queue, v, f) < at:
            return -1
    return v


def earliest(
    instance: Arrays,
    rules: PlacementRules,
    hold: Hold,
    idle: IdleLines,
    times: KernelTimes,
    score: Score,
    queue: Queue,
    looks: int,
) -> int:
    """Place nodes, of all that are ready always the one that can start first; return how many.

    It ends when none is left, an ``idle`` array is full, or the ready nodes have been looked at *looks* times.
    """
    k = instance.time.shape[1]
    waits_for = np.empty(k, np.int64)
    done = 0
    while looks > 0 and queue.size[0] > 0:
        looks -= 1
        # Devices that wait for the favourite child of the node that they ran last.
        for d in range(k):
            waits_for[d] = awaited(instance, rules, hold, idle, score, queue, d)
        # Look for the pair of a ready node and a device with the earliest start; ties by rank, running time, and place.
        best, chosen, soonest = -1, -1, inf
        for i in range(queue.size[0]):
            v = queue.ready[i]
            urgent = 0.0
            for d in range(k):
                if queue.arrival[v, d] < inf:
                    urgent = max(urgent, queue.arrival[v, d])
            for d in range(k):
                if not is_open(rules, hold, score, queue, v, d):
                    continue
                at = begins(instance, idle, queue, v, d)
                if instance.exclusive and (best < 0 or at <= soonest):  # links are busier since it was reckoned
                    queue.arrival[v, d] = reach(instance, idle, times, hold.home, rules.group, v, d)
                    at = begins(instance, idle, queue, v, d)
                # On a device that waits for another node, v starts when its inputs are there everywhere, at the
                # earliest.
                if waits_for[d] >= 0 and waits_for[d] != v:
                    at = max(at, urgent)
                better = best < 0 or at < soonest
                if not better and at == soonest:
                    u = queue.ready[best]
                    better = queue.rank[v] > queue.rank[u]
                    if queue.rank[v] == queue.rank[u]:
                        here, there = instance.time[v, d], instance.time[u, chosen]
                        better = here < there or (here == there and instance.place[v] < instance.place[u])
                if better:
                    best, chosen, soonest = i, d, at
        # End if what the node reads might fill the idle times; the caller makes room.
        v = queue.ready[best]
        c = rules.group[v]
        if idle.spans.max() + 2 + instance.offsets_in[v + 1] - instance.offsets_in[v] >= idle.since.shape[1]:
            return done
        # Settle its class there, if all others can still be placed; else this device is closed to it.
        if not hold.fixed[c]:
            if not settle(rules, hold, c, chosen):
                queue.refused[v, chosen] = True
                reopen(rules, hold, score, queue, v)
                continue
            fix(hold, c)
        # Run it, and let nodes join that waited for it alone.
        place(instance, idle, times, hold.home, rules.group, v, chosen, False)
        queue.last[chosen] = v
        queue.waiting[v] = -1
        queue.size[0] -= 1
        queue.ready[best] = queue.ready[queue.size[0]]
        done += 1
        for head in instance.heads[instance.offsets[v] : instance.offsets[v + 1]]:
            queue.waiting[head] -= 1
            if queue.waiting[head] == 0:
                admit(instance, rules, hold, idle, times, score, queue, head)
    return done


WAITING = (*PLACING, begins, is_open, reopen, admit, awaited)

EARLIEST = Kernel(earliest, STEPS_A_SECOND, *PACKING, *WAITING)
EARLIEST_FREELY = Kernel(earliest, STEPS_A_SECOND, *FREELY, *WAITING)
