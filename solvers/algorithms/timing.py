"""Start every operation as early as the order on its device and its tensors allow."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel, inputs
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def timed(
    instance: ScheduleInstance,
    assignment: ArrayLike,
    priority: ArrayLike,
    sending: ArrayLike | None = None,
    release: ArrayLike | None = None,
) -> Plan:
    """Return the plan in which nodes and transfers, taken in the order of their priorities, start as early as they can.

    Whatever has its predecessors behind it may come next; of these the one of least priority does, and starts when
    its predecessors and its device (of exclusive transfers: the sender and the receiver) let it. So the order on every
    device is one that precedence allows, whatever the priorities are. Given the starts of a valid schedule it
    returns one that is no longer, in the same order. A node that takes no time does not wait for its device.

    Args:
        instance: the problem.
        assignment: [n] device of every node.
        priority: [n] of nodes, such as starts; least first, ties by the topological order.
        sending: [m] of transfers; None: as their heads. Used where links are exclusive.
        release: [n] when every node may start at the earliest; None: at once.

    Raises:
        UsageError: a node on a device that cannot run it, or a transfer between devices that nothing joins.
    """
    device = np.asarray(assignment, np.int64)
    priority = np.asarray(priority, np.float64)
    sending = priority[instance.graph.heads] if sending is None else np.asarray(sending, np.float64)
    takes = instance.time[np.arange(instance.n), device]
    tails, heads = device[instance.graph.tails], device[instance.graph.heads]
    carry = np.where(tails == heads, 0.0, instance.transfers.along(np.arange(instance.m), tails, heads))
    if not (np.isfinite(takes).all() and np.isfinite(carry).all()):
        raise UsageError("no schedule: a node is where it cannot run, or two devices have no link")
    ready = np.zeros(instance.n) if release is None else np.array(release, np.float64)
    start, end, sent, arrived = _run(instance, device, priority, sending, takes, carry, ready)
    moved = tails != heads
    schedule = Schedule.create(
        instance.graph, start, end, np.where(moved, sent, np.nan), np.where(moved, arrived, np.nan)
    )
    return Plan.create(instance.problem, device, schedule=schedule)


def compressed(instance: ScheduleInstance, plan: Plan) -> Plan:
    """Return *plan* with everything as early as its own order on devices and links allows: exact times, never later."""
    schedule = plan.schedule
    assert schedule is not None
    sending = np.where(np.isnan(schedule.sent), schedule.end[instance.graph.tails], schedule.sent)
    return timed(instance, plan.assignment, schedule.start, sending)


def _run(
    instance: ScheduleInstance,
    device: Ints,
    priority: Floats,
    sending: Floats,
    takes: Floats,
    carry: Floats,
    ready: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return starts and ends of nodes and of transfers; *ready* is when nodes may start."""
    graph, n, m = instance.graph, instance.n, instance.m
    place = np.empty(n, np.int64)
    place[graph.topological_order] = np.arange(n)
    item = np.lexsort((np.arange(n + m), np.append(place, place[graph.heads]), np.append(priority, sending)))
    rank = np.empty(n + m, np.int64)
    rank[item] = np.arange(n + m)
    times = KernelTimes.empty(n, m)
    times.start[:] = ready
    run = TIME.pick(n + m)
    run(
        graph.offsets,
        graph.heads,
        graph.tails,
        rank,
        item,
        device,
        takes,
        carry,
        instance.exclusive,
        instance.k,
        times,
    )
    return times


# Timing, compiled: the earliest times of a given assignment, in the order of priorities or in one that is given.

ITEMS_A_SECOND = 1e5


class Arrays(NamedTuple):
    """An instance as kernels take it; edges are numbered by tail, then head, as in the graph.

    Attributes:
        offsets, heads, tails: the edges ``offsets[v]`` to ``offsets[v + 1] - 1`` leave v, for these ``heads``.
        offsets_in, entering: the edges that reach v are ``entering[offsets_in[v]:offsets_in[v + 1]]``, ascending.
        place: [n] of every node in the topological order of the graph.
        time: [n, k]; ``inf`` where a node may not run.
        latency, inverse, size, row, table: as of :class:`mtpp_dsl.core.problem.transfers.Transfers`: edge e takes
            ``latency[d, f] + size[e] * inverse[d, f] + table[row[e], d, f]`` from d to another device f.
        exclusive: whether transfers that leave one device, or reach one, must not overlap.
    """

    offsets: Ints
    heads: Ints
    tails: Ints
    offsets_in: Ints
    entering: Ints
    place: Ints
    time: Floats
    latency: Floats
    inverse: Floats
    size: Floats
    row: Ints
    table: Floats
    exclusive: bool


class KernelTimes(NamedTuple):
    """What a kernel writes: start and end of [n] nodes and [m] transfers; of edges within a device their tail's end."""

    start: Floats
    end: Floats
    sent: Floats
    arrived: Floats

    @classmethod
    def empty(cls, n: int, m: int) -> KernelTimes:
        """Return zeros."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m))


def arrays(instance: ScheduleInstance) -> Arrays:
    """Return the arrays of *instance*."""
    graph, transfers = instance.graph, instance.transfers
    place = np.empty(graph.n, np.int64)
    place[graph.topological_order] = np.arange(graph.n)
    return inputs(
        Arrays(
            offsets=graph.offsets,
            heads=graph.heads,
            tails=graph.tails,
            offsets_in=graph.offsets_in,
            entering=graph.by_head,
            place=place,
            time=instance.time,
            latency=transfers.latency,
            inverse=transfers.inverse,
            size=transfers.size,
            row=transfers.row,
            table=transfers.table,
            exclusive=instance.exclusive,
        )
    )


def sweep(instance: Arrays, order: Ints, device: Ints, times: KernelTimes, free: Floats) -> float:
    """Time nodes in a topological *order*, each after what reaches it; return the makespan, ``inf`` of none.

    What ``timed(instance, device, priority)`` gives if the priorities are the places in the order: exclusive transfers
    take their turn when their head does, those of one head by the numbers of their tails. Linear in nodes and edges.

    Args:
        instance: whose plan is timed.
        order: [n] all nodes, tails before heads.
        device: [n] where each runs.
        times: written.
        free: [3 k] room to work in: when every device, its sending and its receiving end are next free.
    """
    k = instance.time.shape[1]
    free[:] = 0.0
    makespan = 0.0
    for v in order:
        f = device[v]
        ready = 0.0
        for i in range(instance.offsets_in[v], instance.offsets_in[v + 1]):
            e = instance.entering[i]
            u = instance.tails[e]
            d = device[u]
            at = times.end[u]
            times.sent[e] = at
            if d != f:
                carry = (
                    instance.latency[d, f]
                    + instance.size[e] * instance.inverse[d, f]
                    + instance.table[instance.row[e], d, f]
                )
                if instance.exclusive and carry > 0:
                    at = max(at, free[k + d], free[2 * k + f])
                    times.sent[e] = at
                    free[k + d] = free[2 * k + f] = at + carry
                at = at + carry
            times.arrived[e] = at
            ready = max(ready, at)
        if instance.time[v, f] > 0:
            ready = max(ready, free[f])
            free[f] = ready + instance.time[v, f]
        times.start[v] = ready
        times.end[v] = ready + instance.time[v, f]
        makespan = max(makespan, times.end[v])
    return makespan


def _time(
    offsets: Ints,
    heads: Ints,
    tails: Ints,
    rank: Ints,
    item: Ints,
    device: Ints,
    takes: Floats,
    carry: Floats,
    exclusive: bool,
    k: int,
    times: KernelTimes,
) -> None:
    """Time nodes (items 0..n-1) and transfers (n..n+m-1) by rank, each as soon as what it needs lies behind it.

    No node before what ``times.start`` says when called.
    """
    start, end, sent, arrived = times
    n = len(takes)
    waiting = np.zeros(n, np.int64)
    for e in range(len(heads)):
        waiting[heads[e]] += 1
    ready = start.copy()
    free, sends, receives = np.zeros(k), np.zeros(k), np.zeros(k)
    queue = [rank[v] for v in range(n) if waiting[v] == 0]
    heapify(queue)
    while queue:
        v = item[heappop(queue)]
        if v >= n:
            first, last = v - n, v - n + 1
            u = tails[first]
        else:
            first, last = offsets[v], offsets[v + 1]
            u = v
            d = device[v]
            start[v] = ready[v]
            if takes[v] > 0:
                start[v] = max(ready[v], free[d])
                free[d] = start[v] + takes[v]
            end[v] = start[v] + takes[v]
        d = device[u]
        for e in range(first, last):
            head = heads[e]
            f = device[head]
            at = end[u]
            if v >= n:
                at = max(at, sends[d], receives[f])
                sends[d] = receives[f] = at + carry[e]
            elif exclusive and d != f and carry[e] > 0:
                heappush(queue, rank[n + e])
                continue
            sent[e] = at
            arrived[e] = at + carry[e]
            ready[head] = max(ready[head], arrived[e])
            waiting[head] -= 1
            if waiting[head] == 0:
                heappush(queue, rank[head])


SWEEP = Kernel(sweep, ITEMS_A_SECOND)
TIME = Kernel(_time, ITEMS_A_SECOND)
