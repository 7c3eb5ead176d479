"""All nodes with their chunks on the same devices: everything on one device, or the inputs parted among several."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.schedule.state.batch_state import ROUNDING

__all__ = ["alike", "alone", "parted"]


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
