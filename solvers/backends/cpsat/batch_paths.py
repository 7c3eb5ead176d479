"""Compute longest paths over batches: the time windows of batches, and which batches cannot be in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest
from mtpp_dsl.solvers.backends.cpsat.request import INF
from mtpp_dsl.solvers.backends.cpsat.task_paths import lists, ordered

__all__ = ["narrowed_batches"]


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
    """Return the batches that every task of the same colocation class can have."""
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
