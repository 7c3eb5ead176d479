"""Split the chunks of nodes over devices: sizes of batches, which chunks go where, and the same split for all nodes."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.schedule.state.batch_state import ROUNDING, BatchField

MAX_SPREADS = 64
"""Spreads up to which all are considered."""


def menus(field: BatchField) -> tuple[Ints, Ints]:
    """Return the sizes of batches of all spreads of every kind of class, as [kinds + 1] offsets and [spreads, k] sizes.

    Of a kind that has more than ``MAX_SPREADS``, none.
    """
    chunks, k = field.may.shape[2] - 1, field.may.shape[1]
    spreads: list[list[tuple[int, ...]]] = []
    for kind in range(len(field.reach)):
        may = field.may[int(np.flatnonzero(field.kind == kind)[0])]
        some: list[tuple[int, ...]] = []
        for sizes in _sizes(may, field.reach[kind], 0, chunks):
            some.append(sizes)
            if len(some) > MAX_SPREADS:
                some = []
                break
        spreads.append(some)
    offsets = np.concatenate(([0], np.cumsum([len(some) for some in spreads]))).astype(np.int64)
    return offsets, np.array([sizes for some in spreads for sizes in some], np.int64).reshape(-1, k)


def least_memory(field: BatchField) -> Floats:
    """Return [classes] the memory that any spread of a class takes at least: on as few devices as sizes allow."""
    most = field.may.shape[2]
    fewest = np.ones(len(field.reach))
    for kind in range(len(field.reach)):
        may = field.may[int(np.flatnonzero(field.kind == kind)[0])]
        if not may[:, most - 1].any():
            devices = np.full(most, np.inf)
            devices[0] = 0.0
            for menu in may:
                for s in range(most - 1, 0, -1):
                    sizes = np.flatnonzero(menu[1 : s + 1]) + 1
                    devices[s] = min(devices[s], 1.0 + devices[s - sizes].min(initial=np.inf))
            fewest[kind] = devices[-1]
    least: Floats = field.weights * fewest[field.kind] + field.share * (most - 1)
    return least


def _sizes(may: Bools, reach: Bools, d: int, left: int) -> Iterator[tuple[int, ...]]:
    """Yield the sizes on devices from *d* on that are *left* chunks together."""
    if d == len(may):
        yield ()
        return
    for p in range(left, -1, -1):
        if may[d, p] and reach[d + 1, left - p]:
            for rest in _sizes(may, reach, d + 1, left - p):
                yield (p, *rest)


def best_sizes(cost: Floats, add: bool, size: Ints) -> bool:
    """Write the sizes on all devices of least cost; return whether there are any.

    Args:
        cost: [k, chunks + 1] of so many chunks on a device; ``inf`` where they may not be.
        add: whether costs add up; else the largest counts.
        size: [k] gets the sizes.
    """
    k, most = cost.shape
    best = np.full((k + 1, most), np.inf)
    taken = np.zeros((k, most), np.int64)
    best[0, 0] = 0.0
    for d in range(k):
        for p in range(most):
            if cost[d, p] == inf:
                continue
            for s in range(p, most):
                value = best[d, s - p] + cost[d, p] if add else max(best[d, s - p], cost[d, p])
                if value < best[d + 1, s]:
                    best[d + 1, s] = value
                    taken[d, s] = p
    left = most - 1
    for i in range(k):
        d = k - 1 - i
        size[d] = taken[d, left]
        left -= size[d]
    return bool(best[k, most - 1] < inf)


def by_arrival(size: Ints, arrival: Floats, chosen: Ints, row: Ints) -> bool:
    """Write a row of given sizes with chunks where their inputs arrive early; return whether they all arrive.

    Args:
        size: [k] chunks of each device.
        arrival: [chunks, k] when what each chunk needs can be on a device; ``inf`` where it may not be.
        chosen: [chunks] the chunks, those first for which the device matters most.
        row: [chunks] gets the devices.
    """
    left = size.copy()
    able = True
    for i in chosen:
        best = -1
        for d in range(len(left)):
            if left[d] > 0 and (best < 0 or arrival[i, d] < arrival[i, best]):
                best = d
        row[i] = best
        left[best] -= 1
        able = able and arrival[i, best] < inf
    return bool(able)


# All nodes with their chunks on the same devices: everything on one device, or the inputs parted among several.


def alone(instance: BatchInstance) -> list[int]:
    """Return the devices that can run every node in one batch of all inputs, the fastest first."""
    total = _totals(instance)[:, -1]
    return [d for d in np.argsort(total, kind="stable").tolist() if np.isfinite(total[d])]


def parted(instance: BatchInstance) -> Ints | None:
    """Return [chunks] devices, the same for all nodes, such that the device with most to do ends first; None if none.

    Every device runs all nodes on its share of the inputs, and nothing is sent. The least makespan of such plans, by
    dynamic programming over devices and chunks. Memory, support, ``pin`` and ``forbid`` are kept to.
    """
    total, k, chunks = _totals(instance), instance.k, instance.chunks
    best = np.full((k + 1, chunks + 1), np.inf)
    best[0, 0] = 0.0
    taken = np.zeros((k, chunks + 1), np.int64)
    for d in range(k):
        for s in range(chunks + 1):
            ends = np.maximum(best[d, s::-1], total[d, : s + 1])
            taken[d, s] = ends.argmin()
            best[d + 1, s] = ends[taken[d, s]]
    if not np.isfinite(best[k, chunks]):
        return None
    row, left = [], chunks
    for d in range(k - 1, -1, -1):
        row += [d] * int(taken[d, left])
        left -= int(taken[d, left])
    return np.array(row[::-1], np.int64)


def alike(instance: BatchInstance, row: Ints) -> Plan:
    """Return the plan in which every node has its chunks on the devices of *row*, one node after another."""
    rank = np.empty(instance.n)
    rank[instance.graph.topological_order] = np.arange(instance.n)
    return instance.plan(np.tile(row, (instance.n, 1)), np.repeat(rank[:, None], instance.k, axis=1))


def _totals(instance: BatchInstance) -> Floats:
    """Return [k, chunks + 1] what all nodes take one after another; ``inf`` where one cannot be, or memory ends."""
    total: Floats = instance.time.sum(axis=0)
    chunks = np.arange(instance.chunks + 1)
    used = np.where(chunks > 0, instance.batching.weights.sum(), 0.0) + instance.batching.share.sum() * chunks
    return np.where(used <= instance.limit[:, None] * (1 + ROUNDING), total, np.inf)
