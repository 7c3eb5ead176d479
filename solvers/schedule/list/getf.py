"""Method ``getf``: a linear programme gives every node a group of devices, the earliest start a device of it."""

from __future__ import annotations

from math import log2

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.schedule.list.list_rules import upward_ranks
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.relaxation import ProgrammeRows, minimum

__all__ = ["getf"]

DROPPED = -1
"""Group of the devices that are too slow to be of use."""


PLAIN = "with all devices in one group this is etf"


def getf(lister: Lister) -> Plan:
    """Solve the programme, round it to groups, then place nodes by their starts."""
    instance = lister.instance
    speed = speeds(instance)
    group = speed_groups(speed)
    share = shares(lister, group != DROPPED)
    if share is None:
        return lister.earliest(upward_ranks(instance))
    chosen = rounded(instance, share, group, speed)
    tier = np.where(group == chosen[:, None], 0.0, np.where(group == DROPPED, 2.0, 1.0))
    return lister.earliest(upward_ranks(instance), tier=tier)


def speeds(instance: ScheduleInstance) -> Floats:
    """Return [k] how fast every device is, the fastest 1; 0 for one that can run nothing."""
    can = np.isfinite(instance.time)
    least = np.where(can, instance.time, np.inf).min(axis=1, keepdims=True)
    best = np.where(can, least, 0.0).sum(axis=0)
    own = np.where(can, instance.time, 0.0).sum(axis=0)
    speed: Floats = np.where(own > 0, best / np.where(own > 0, own, 1.0), 1.0) * can.any(axis=0)
    if not speed.any():  # of every node some device makes nothing: there is no telling them apart
        speed = np.where(can.any(axis=0), 1.0, 0.0)
    scaled: Floats = speed / (speed.max() or 1.0)
    return scaled


def speed_groups(speed: Floats) -> Ints:
    """Return [k] the group of every device, those of faster ones higher; below a k-th of the fastest they are dropped.

    Within a group speeds differ by less than log k / log log k, or 2 where that is less.
    """
    k = len(speed)
    ratio = max(2.0, log2(k) / log2(log2(k))) if k > 4 else 2.0
    kept = speed * (1 + 1e-12) >= speed.max() / k
    slowest = float(speed[kept].min())
    levels = np.floor(np.log2(np.maximum(speed, slowest) / slowest) / log2(ratio) * (1 + 1e-12)).astype(np.int64)
    found: Ints = np.where(kept, levels, DROPPED)
    return found


def shares(lister: Lister, kept: Bools) -> Floats | None:
    """Return [n, k] the share of every node that each device gets; None, with a note, if HiGHS found no solution.

    Columns: shares, completions, the makespan. A node that no *kept* device can run is shared among all that can.
    """
    instance = lister.instance
    graph, n, k = instance.graph, instance.n, instance.k
    may = np.isfinite(instance.time)
    use = may & kept
    use[~use.any(axis=1)] = may[~use.any(axis=1)]
    node, device = np.nonzero(use)
    takes = instance.time[node, device]
    scale = float(takes.max(initial=0.0)) or 1.0
    takes = takes / scale
    count = len(node)
    entries, nodes = np.arange(count), np.arange(n)
    completed, end = count + nodes, count + n
    after = np.repeat(np.arange(graph.m), use.sum(axis=1)[graph.heads])  # a row for every edge: all shares of its head
    first = np.concatenate(([0], np.cumsum(use.sum(axis=1))))
    inside = np.arange(len(after)) - np.searchsorted(after, after)
    pieces = first[graph.heads][after] + inside
    one, each = np.ones(graph.m), np.ones(n)
    own = ProgrammeRows(
        np.append(node, nodes), np.append(entries, completed), np.append(takes, -each), np.zeros(n)
    )  # a node takes its time
    edges = np.arange(graph.m)
    follow = ProgrammeRows(
        np.concatenate([after, edges, edges]),
        np.concatenate([pieces, completed[graph.tails], completed[graph.heads]]),
        np.concatenate([takes[pieces], one, -one]),
        np.zeros(graph.m),
    )
    load = ProgrammeRows(
        np.append(device, np.arange(k)), np.append(entries, np.full(k, end)), np.append(takes, -np.ones(k)), np.zeros(k)
    )
    ended = ProgrammeRows(
        np.append(nodes, nodes), np.append(completed, np.full(n, end)), np.append(each, -each), np.zeros(n)
    )
    whole = ProgrammeRows(node, entries, np.ones(count), each)
    cost = np.zeros(end + 1)
    cost[end] = 1.0
    found = minimum(
        lister, cost, ProgrammeRows.stacked(own, follow, load, ended), np.full(end + 1, np.inf), whole, otherwise=PLAIN
    )
    if found is None:
        return None
    share = np.zeros((n, k))
    share[node, device] = found[:count]
    return share


def rounded(instance: ScheduleInstance, share: Floats, group: Ints, speed: Floats) -> Ints:
    """Return [n] the group of every node: at least as fast as half of it, and of those the one of most speed in all."""
    top = int(group.max())
    may = np.isfinite(instance.time)
    inside = np.stack([group == g for g in range(top + 1)], axis=1)  # [k, groups]
    part = share @ inside
    part[:, 0] += share[:, group == DROPPED].sum(axis=1)
    beyond = np.cumsum(part[:, ::-1], axis=1)[:, ::-1]  # [n, groups] what this group and the faster ones get
    least = (beyond >= 0.5 - 1e-9).cumsum(axis=1).argmax(axis=1)
    capacity = (may * speed) @ inside
    usable = np.arange(top + 1) >= least[:, None]
    chosen: Ints = np.where(usable, capacity, -1.0).argmax(axis=1)
    return chosen
