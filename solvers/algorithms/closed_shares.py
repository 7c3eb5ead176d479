"""The share of the work that some device has, where no node is on a device on which it alone takes too long."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["closed_shares"]

TUNINGS = 20
POLISH = 80
"""Steps of the weights for each deadline that is tried, and for the best one."""
MAX_ENTRIES = 2_000_000
"""Nodes times types of device; beyond it, equal shares and those by speed are all that is looked at."""
ROUNDING = 1e-12


def closed_shares(problem: Problem) -> tuple[float, dict[str, float], float]:
    """Return a number that no plan's bottleneck is below, the weights of the devices behind it, and a deadline T.

    Formula: ``min(T, max over p >= 0 of sum_v min { p_d time[v,d] : time[v,d] < T } / sum_d p_d)``. A plan with a
    bottleneck below T has no node on a device on which it alone takes T, so the weighted work of the others counts. The
    inner maximum is the dual of R||Cmax with the pairs closed that are longer than T (Lenstra, Shmoys, Tardos 1990). It
    grows and T falls from one distinct time to the next: the best T is found by bisection, and p by multiplicative
    steps, of which any gives a bound.

    Returns:
        The bound, lowered by a relative 1e-12 for rounding; p by name; T. The bound is 0.0 where devices take the same
        times, so that equal shares are as good, and where there are too many pairs.
    """
    time = np.where(problem.allowed, problem.time, np.inf)
    columns, kind, count = np.unique(time, axis=1, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    if columns.shape[1] < 2 or columns.size > MAX_ENTRIES or not columns.size:
        return 0.0, {}, np.inf
    deadlines = np.append(np.unique(columns[np.isfinite(columns) & (columns > 0)]), np.inf)
    weights = np.ones(columns.shape[1])
    best, chosen, until = 0.0, weights, np.inf
    low, high = 0, len(deadlines) - 1
    while low <= high:
        middle = (low + high) // 2
        share, weights = _tuned(columns, count, float(deadlines[middle]), weights, TUNINGS)
        value = min(float(deadlines[middle]), share)
        if value > best:
            best, chosen, until = value, weights, float(deadlines[middle])
        if share < deadlines[middle]:
            high = middle - 1
        else:
            low = middle + 1
    for deadline in sorted({until, *deadlines[low - 1 : low + 1].tolist()}):
        share, weights = _tuned(columns, count, deadline, chosen, POLISH)
        if min(deadline, share) > best:
            best, chosen, until = min(deadline, share), weights, deadline
    names = [device.name for device in problem.devices]
    shares = {name: float(chosen[c]) for name, c in zip(names, kind.tolist(), strict=True) if chosen[c] > 0}
    return best * (1 - ROUNDING), shares, until


def _tuned(time: Floats, count: Ints, deadline: float, weights: Floats, steps: int) -> tuple[float, Floats]:
    """Return the largest weighted share found with the pairs closed that take *deadline* or longer, and its weights.

    Args:
        time: [n, types].
        count: [types] devices of each.
        deadline: of single nodes.
        weights: [types] to begin with.
        steps: of the weights.
    """
    left = np.where(time < deadline, time, np.inf)
    if not np.isfinite(left).any(axis=1).all():
        return np.inf, weights
    useful = np.isfinite(left).any(axis=0)
    y = np.where(useful, np.maximum(weights, 1e-9 * weights.max()), 0.0)
    best, chosen = 0.0, y
    rows = np.arange(len(left))
    for step in range(steps):
        with np.errstate(invalid="ignore"):
            cost = np.where(np.isfinite(left), left * y, np.inf)
        pick = cost.argmin(axis=1)
        share = float(cost[rows, pick].sum() / (y * count).sum())
        if share > best:
            best, chosen = share, y
        load = np.bincount(pick, weights=left[rows, pick], minlength=len(y)) / count
        if load.max(initial=0.0) <= 0:
            break
        y = np.where(useful, y * np.exp((load / load.max() - 1.0) / (1.0 + 0.3 * step)), 0.0)
        y = y / y.max()
    return best, chosen
