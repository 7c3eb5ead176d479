"""List schedulers that a linear programme leads, by HiGHS through scipy: methods ``getf`` and ``m-sct``."""

from __future__ import annotations

from math import log2
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mtpp_dsl.core.base.interpreter import stop_at_exit
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import mean_carry, mean_time, upward_ranks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["getf", "m_sct"]

SHARE = 0.5
"""Of the time that is left, what a programme may take."""
GLANCE = 0.05
"""Seconds between two looks whether somebody asked to stop."""


TIME_UP = 1
"""Status of an answer of scipy that a limit cut short."""


class ProgrammeRows(NamedTuple):
    """Rows of a programme: entry i adds ``value[i]`` times column ``column[i]`` to row ``row[i]``; ``most`` [rows]."""

    row: Ints
    column: Ints
    value: Floats
    most: Floats

    def matrix(self, columns: int) -> csr_matrix:
        """Return the left sides as a sparse matrix."""
        from scipy.sparse import coo_matrix

        return coo_matrix((self.value, (self.row, self.column)), (len(self.most), columns)).tocsr()

    @classmethod
    def stacked(cls, *parts: ProgrammeRows) -> ProgrammeRows:
        """Return the rows of all *parts*, one after another."""
        starts = np.cumsum([0, *(len(part.most) for part in parts)])
        row, column, value, most = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        shift = np.repeat(starts[:-1], [len(part.row) for part in parts])
        return cls(row + shift, column, value, most)


def minimum(
    lister: Lister,
    cost: Floats,
    below: ProgrammeRows,
    upper: Floats,
    equal: ProgrammeRows | None = None,
    *,
    otherwise: str,
) -> Floats | None:
    """Return the values of columns between 0 and *upper* of least *cost*, or None, with a note, if HiGHS found none.

    Args:
        lister: whose limits and interrupts count.
        cost: [columns].
        below: rows whose left side is at most what they say.
        upper: [columns].
        equal: rows whose left side is what they say.
        otherwise: what the user is told that it means if there are none.
    """
    answers: list[Any] = []

    def run() -> None:
        from scipy.optimize import linprog

        left = SHARE * lister.limits.remaining
        answer = linprog(
            cost,
            A_ub=below.matrix(len(cost)),
            b_ub=below.most,
            A_eq=None if equal is None else equal.matrix(len(cost)),
            b_eq=None if equal is None else equal.most,
            bounds=np.stack([np.zeros(len(cost)), upper], axis=1),
            method="highs",
            options={} if left == np.inf else {"time_limit": left},
        )
        answers.append(answer)

    solving = Thread(target=run, daemon=True)  # one that is stopped may run on until its limit
    solving.start()
    stop_at_exit(solving, lambda: None)
    while solving.is_alive():
        solving.join(GLANCE)
        lister.pause()
    if answers and answers[0].status == 0:
        values: Floats = answers[0].x
        return values
    why = "in time" if answers and answers[0].status == TIME_UP else "by HiGHS"
    lister.note(f"the linear programme was not solved {why}: {otherwise}")
    return None


# Method ``getf``: the programme gives every node a group of devices, the earliest start a device of it.

DROPPED = -1
"""Group of the devices that are too slow to be of use."""


WITHOUT_GROUPS = "with all devices in one group this is etf"


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
    groups: Ints = np.where(kept, levels, DROPPED)
    return groups


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
    one, ones = np.ones(graph.m), np.ones(n)
    own = ProgrammeRows(
        np.append(node, nodes), np.append(entries, completed), np.append(takes, -ones), np.zeros(n)
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
        np.append(nodes, nodes), np.append(completed, np.full(n, end)), np.append(ones, -ones), np.zeros(n)
    )
    whole = ProgrammeRows(node, entries, np.ones(count), ones)
    cost = np.zeros(end + 1)
    cost[end] = 1.0
    values = minimum(
        lister,
        cost,
        ProgrammeRows.stacked(own, follow, load, ended),
        np.full(end + 1, np.inf),
        whole,
        otherwise=WITHOUT_GROUPS,
    )
    if values is None:
        return None
    share = np.zeros((n, k))
    share[node, device] = values[:count]
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


# Method ``m-sct``: small communication times, by favourite children.

WITHOUT_FAVOURITES = "without favourite children this is etf"


def m_sct(lister: Lister) -> Plan:
    """Solve the programme, then place nodes by their starts."""
    return lister.earliest(upward_ranks(lister.instance), favourite=favourites(lister))


def favourites(lister: Lister) -> Ints | None:
    """Return [n] the favourite child of every node, -1 for none; None, with a note, if HiGHS found no solution.

    Columns: for every edge whether it is paid (0: its head is the favourite of its tail), starts, and the makespan.
    """
    graph, n, m = lister.instance.graph, lister.instance.n, lister.instance.m
    takes, carry = mean_time(lister.instance), mean_carry(lister.instance)
    scale = max(float(takes.max(initial=0.0)), float(carry.max(initial=0.0))) or 1.0
    takes, carry = takes / scale, carry / scale
    edges, nodes, one, ones = np.arange(m), np.arange(n), np.ones(m), np.ones(n)
    paid = ProgrammeRows(
        np.concatenate([edges, edges, edges]),
        np.concatenate([m + graph.tails, m + graph.heads, edges]),
        np.concatenate([one, -one, carry]),
        -takes[graph.tails],
    )
    ended = ProgrammeRows(
        np.concatenate([nodes, nodes]),
        np.concatenate([m + nodes, np.full(n, m + n)]),
        np.append(ones, -ones),
        -takes,
    )
    children, parents = np.diff(graph.offsets), np.diff(graph.offsets_in)
    one_child = ProgrammeRows(graph.tails, edges, -one, 1.0 - np.maximum(children, 1))
    one_parent = ProgrammeRows(graph.heads, edges, -one, 1.0 - np.maximum(parents, 1))
    cost = np.zeros(m + n + 1)
    cost[-1] = 1.0
    upper = np.concatenate([one, np.full(n + 1, np.inf)])
    values = minimum(
        lister, cost, ProgrammeRows.stacked(paid, ended, one_child, one_parent), upper, otherwise=WITHOUT_FAVOURITES
    )
    return None if values is None else _matched(graph.tails, graph.heads, values[:m], n)


def _matched(tails: Ints, heads: Ints, paid: Floats, n: int) -> Ints:
    """Return [n] the head of each node's edge that is paid by less than a half; no head is the favourite of two."""
    favourite = np.full(n, -1, np.int64)
    taken = np.zeros(n, np.bool_)
    for e in np.argsort(paid, kind="stable").tolist():
        if paid[e] >= 0.5:
            break
        if favourite[tails[e]] < 0 and not taken[heads[e]]:
            favourite[tails[e]] = heads[e]
            taken[heads[e]] = True
    return favourite
