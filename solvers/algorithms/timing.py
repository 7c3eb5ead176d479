"""The earliest times for a given assignment and order: what turns decisions into a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing_kernel import TIME, KernelTimes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["compressed", "timed"]


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
