"""Compute longest paths over tasks and devices: the time windows of tasks, and where no task can be in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF, Request

__all__ = ["heads", "lists", "narrowed", "ordered", "tails"]


def ordered(n: int, tails: Ints, heads: Ints) -> list[int]:
    """Return the tasks in an order in which every edge leads onward."""
    waiting = np.bincount(heads, minlength=n).tolist()
    after: list[list[int]] = [[] for _ in range(n)]
    for u, v in zip(tails.tolist(), heads.tolist(), strict=True):
        after[u].append(v)
    order = [v for v in range(n) if waiting[v] == 0]
    for v in order:
        for w in after[v]:
            waiting[w] -= 1
            if waiting[w] == 0:
                order.append(w)
    return order


def heads(request: Request, order: Sequence[int]) -> Ints:
    """Return [n, k] the earliest start of every task on every device, by the longest path to it.

    Each task on the path is on the device that suits the next one best; ``INF`` where none does.
    """
    head = request.head.copy()
    edges = lists(request.n, request.heads)
    for v in order:
        if len(edges[v]):
            before = request.tails[edges[v]]
            ends = np.minimum(head[before] + request.duration[before], INF)
            arrive = (ends[:, :, None] + request.table[request.row[edges[v]]]).min(axis=1)
            head[v] = np.minimum(np.maximum(head[v], arrive.max(axis=0)), INF)
    return head


def tails(request: Request, order: Sequence[int]) -> Ints:
    """Return [n, k] the least time from the end of every task on every device to the makespan."""
    tail = request.tail.copy()
    edges = lists(request.n, request.tails)
    for v in reversed(order):
        if len(edges[v]):
            after = request.heads[edges[v]]
            rest = np.minimum(tail[after] + request.duration[after], INF)
            leave = (rest[:, None, :] + request.table[request.row[edges[v]]]).min(axis=2)
            tail[v] = np.minimum(np.maximum(tail[v], leave.max(axis=0)), INF)
    return tail


def narrowed(request: Request) -> Request | None:
    """Return *request* with its time windows, and ``INF`` for durations where no task can be in time.

    Every solution within the cutoff is kept; returns None if there is none.
    """
    order = ordered(request.n, request.tails, request.heads)
    while True:
        head, tail = heads(request, order), tails(request, order)
        possible = (head + request.duration + tail <= request.cutoff) & (head <= request.latest[:, None])
        possible = _agreed(request.together, possible)
        request = replace(request, head=head, tail=tail)
        if not possible.any(axis=1).all():
            return None
        if (possible == (request.duration < INF)).all():
            least = (head + request.duration + tail).min(axis=1).max(initial=0)
            return replace(request, at_least=max(request.at_least, int(least)))
        request = replace(request, duration=np.where(possible, request.duration, INF))


def _agreed(together: Ints, possible: Bools) -> Bools:
    """Return [n, k] the devices on which every task of the same colocation class can be."""
    common = np.ones((int(together.max(initial=-1)) + 1, possible.shape[1]), np.bool_)
    np.logical_and.at(common, together, possible)
    return common[together]


def lists(n: int, ends: Ints) -> list[Ints]:
    """Return the edges at each task."""
    order = np.argsort(ends, kind="stable")
    return np.split(order, np.cumsum(np.bincount(ends, minlength=n))[:-1])
