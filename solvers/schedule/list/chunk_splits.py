"""Which spreads of its chunks a list scheduler considers for a node: sizes of batches, and which chunks go where."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.schedule.state.batch_state import BatchField

__all__ = ["MAX_SPREADS", "best_sizes", "by_arrival", "least_memory", "menus"]

MAX_SPREADS = 64
"""Spreads up to which all are considered."""


def menus(field: BatchField) -> tuple[Ints, Ints]:
    """Return the sizes of batches of all spreads of every kind of class, as [kinds + 1] offsets and [spreads, k] sizes.

    Of a kind that has more than ``MAX_SPREADS``, none.
    """
    chunks, k = field.may.shape[2] - 1, field.may.shape[1]
    found: list[list[tuple[int, ...]]] = []
    for kind in range(len(field.reach)):
        may = field.may[int(np.flatnonzero(field.kind == kind)[0])]
        some: list[tuple[int, ...]] = []
        for sizes in _sizes(may, field.reach[kind], 0, chunks):
            some.append(sizes)
            if len(some) > MAX_SPREADS:
                some = []
                break
        found.append(some)
    offsets = np.concatenate(([0], np.cumsum([len(some) for some in found]))).astype(np.int64)
    return offsets, np.array([sizes for some in found for sizes in some], np.int64).reshape(-1, k)


def least_memory(field: BatchField) -> Floats:
    """Return [classes] the memory that any spread of a class takes at least: on as few devices as sizes allow."""
    most = field.may.shape[2]
    fewest = np.ones(len(field.reach))
    for kind in range(len(field.reach)):
        may = field.may[int(np.flatnonzero(field.kind == kind)[0])]
        if not may[:, most - 1].any():
            found = np.full(most, np.inf)
            found[0] = 0.0
            for menu in may:
                for s in range(most - 1, 0, -1):
                    sizes = np.flatnonzero(menu[1 : s + 1]) + 1
                    found[s] = min(found[s], 1.0 + found[s - sizes].min(initial=np.inf))
            fewest[kind] = found[-1]
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
