"""Compute longest paths over tasks, batches and devices: time windows, and what cannot be in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest
from mtpp_dsl.solvers.backends.cpsat.request import INF, Request


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


def lists(n: int, ends: Ints) -> list[Ints]:
    """Return the edges at each task."""
    order = np.argsort(ends, kind="stable")
    return np.split(order, np.cumsum(np.bincount(ends, minlength=n))[:-1])


def narrowed_batches(request: BatchRequest) -> BatchRequest | None:
    """Return *request* with its time windows, and ``INF`` for batches that cannot be in time.

    Every chunk of a task comes from some batch of each predecessor and goes to one of each successor. So a batch starts
    no earlier than the longest path of least durations to it, and the makespan is no sooner than that path after its
    end. Every solution within the cutoff is kept; returns None if there is none.
    """
    order = ordered(request.n, request.tails, request.heads)
    menu = _agreed(request.together, _pinned(request))
    while True:
        head, tail = _heads(request, menu, order), _tails(request, menu, order)
        ends = head[:, :, None] + np.where(menu, request.duration, 0) + tail[:, :, None]
        possible = menu & (ends <= request.cutoff)
        possible[:, :, 0] = menu[:, :, 0]
        possible = _agreed(request.together, possible)
        least = max((_complete(ends[v], possible[v], request.chunks) for v in range(request.n)), default=0)
        if least > request.cutoff:
            return None
        if (possible == menu).all():
            duration = np.where(menu, request.duration, INF)
            return replace(request, duration=duration, head=head, tail=tail, at_least=max(request.at_least, least))
        menu = possible


def _pinned(request: BatchRequest) -> Bools:
    """Return [n, k, chunks + 1] which batches have a duration and agree with the pins of their task."""
    counts = (request.pins[:, :, None] == np.arange(request.k)).sum(axis=1)
    free = (request.pins < 0).any(axis=1)
    left: Bools = np.arange(request.chunks + 1) == counts[:, :, None]
    left[free] = True
    left &= request.duration < INF
    return left


def _agreed(together: Ints, menu: Bools) -> Bools:
    """Return [n, k] the devices, or [n, k, chunks + 1] the batches, that all tasks of a colocation class can have."""
    common = np.ones((int(together.max(initial=-1)) + 1, *menu.shape[1:]), np.bool_)
    np.logical_and.at(common, together, menu)
    return common[together]


def _least(request: BatchRequest, menu: Bools) -> Ints:
    """Return [n, k] the least duration of a batch; ``INF`` where no batch can be."""
    least: Ints = np.where(menu, request.duration, INF)[:, :, 1:].min(axis=2)
    return least


def _carried(request: BatchRequest) -> Ints:
    """Return [rows, k, k] the transfer time of one chunk."""
    carried: Ints = np.minimum(request.fixed + request.growing, INF)
    return carried


def _heads(request: BatchRequest, menu: Bools, order: Sequence[int]) -> Ints:
    head, least, carried = request.head.copy(), _least(request, menu), _carried(request)
    edges = lists(request.n, request.heads)
    for v in order:
        if len(edges[v]):
            before = request.tails[edges[v]]
            ends = np.minimum(head[before] + least[before], INF)
            arrive = (ends[:, :, None] + carried[request.row[edges[v]]]).min(axis=1)
            head[v] = np.minimum(np.maximum(head[v], arrive.max(axis=0)), INF)
    return head


def _tails(request: BatchRequest, menu: Bools, order: Sequence[int]) -> Ints:
    tail, least, carried = request.tail.copy(), _least(request, menu), _carried(request)
    edges = lists(request.n, request.tails)
    for v in reversed(order):
        if len(edges[v]):
            after = request.heads[edges[v]]
            rest = np.minimum(tail[after] + least[after], INF)
            leave = (rest[:, None, :] + carried[request.row[edges[v]]]).min(axis=2)
            tail[v] = np.minimum(np.maximum(tail[v], leave.max(axis=0)), INF)
    return tail


def _complete(ends: Ints, menu: Bools, chunks: int) -> int:
    """Return the least time by which batches that end at [k, chunks + 1] can cover all chunks, or ``INF``."""
    times = np.unique(ends[:, 1:][menu[:, 1:]]).tolist()
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        if _adds_up(menu & (ends <= times[middle]), menu[:, 0], chunks):
            high = middle
        else:
            low = middle + 1
    return int(times[low]) if low < len(times) else INF


def _adds_up(menu: Bools, none: Bools, chunks: int) -> bool:
    """Return whether batch sizes, one of each row of *menu* (or 0 where *none* allows it), sum to *chunks*."""
    reached = 1
    for sizes, nothing in zip(menu, none.tolist(), strict=True):
        before, reached = reached, reached if nothing else 0
        for size in (np.flatnonzero(sizes[1:]) + 1).tolist():
            reached |= before << size
    return bool(reached >> chunks & 1)
