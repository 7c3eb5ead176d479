"""The heaviest set of supernodes when loads are sums: a knapsack."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints

__all__ = ["knapsack"]

MAX_STEPS = 2**16


def knapsack(weights: Ints, work: Ints, capacity: int, room: int) -> tuple[int, Bools]:
    """Return the largest weight of a set whose work is at most *capacity*, and the set.

    Args:
        weights: [supernodes] zero or more.
        work: [supernodes] units; supernodes above the capacity are left out.
        capacity: in units.
        room: numbers the table may hold. With fewer than it takes, work is rounded down to coarser units: the weight is
            then never too low, and may be too high.
    """
    chosen = np.flatnonzero((weights > 0) & (work <= capacity))
    coarse = max(-(-(capacity + 1) * max(len(chosen), 1) // room), -(-(capacity + 1) // MAX_STEPS), 1)
    steps = capacity // coarse
    best = np.zeros(steps + 1, np.int64)
    taken = np.zeros((len(chosen), steps + 1), np.bool_)
    for row, g in enumerate(chosen.tolist()):
        w, value = int(work[g]) // coarse, int(weights[g])
        better = best[: steps + 1 - w] + value
        taken[row, w:] = better > best[w:]
        best[w:] = np.maximum(best[w:], better)
    held = np.zeros(len(weights), np.bool_)
    left = steps
    for row in range(len(chosen) - 1, -1, -1):
        if taken[row, left]:
            held[chosen[row]] = True
            left -= int(work[chosen[row]]) // coarse
    return int(best[steps]), held
