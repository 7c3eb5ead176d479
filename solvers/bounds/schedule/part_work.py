"""Bound parts of a graph by the work of the devices, for all chunks of a batch or for some."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF

__all__ = ["STEPS", "PartWork", "interval", "monotone", "rounded", "spread"]

ROUNDING = 1e-12
LINES = 128
"""Values of heads, and of tails, that are tried as the beginning and the end of an interval."""
TURNS = 30
"""Weights of the devices that are tried."""
STEPS = 3e9
"""Steps that all of them may take."""


class WorkSpread(NamedTuple):
    """The cheapest ways to split the chunks of every node: cost [n, chunks + 1], and [n, k] time for all chunks."""

    cost: Floats
    load: Floats


class PartWork:
    """Weighted shares of the work (archer2024, Lemma 3.3), for devices that differ, and for batches.

    For weights y >= 0 of the devices, the sum over nodes v of the least ``sum over d of y[d] time[v, d, p[d]]``, where
    p is the number of chunks on each device, is at most the makespan times the sum of y. The weights are those that
    give the best bound for the whole graph, by cutting planes (Kelley 1960); any weights give a bound for any part.

    Args:
        duration: [n, k, chunks + 1] whole numbers; ``INF`` where a batch may not be, 0 for none.
        stopped: returns whether to stop tuning the weights.
    """

    def __init__(self, duration: Ints, stopped: Callable[[], bool]) -> None:
        self._duration = duration
        steps = max(1, duration.size * duration.shape[2])
        self._spread = spread if steps <= STEPS else _even
        self.weights = np.full(duration.shape[1], 1.0 / duration.shape[1])
        self._best = -1.0
        self._tune(max(1, min(TURNS, int(STEPS / steps))) if steps <= STEPS else TURNS, stopped)
        self.least = self._spread(self._duration, self.weights).cost[:, -1]

    def _tune(self, turns: int, stopped: Callable[[], bool]) -> None:
        """Search for the weights that give the best bound."""
        planes: list[Floats] = []
        y = self.weights
        for _ in range(turns):
            split = self._spread(self._duration, y)
            value = float(split.cost[:, -1].sum())
            if value > self._best:
                self._best, self.weights = value, y
            planes.append(split.load.sum(axis=0))
            step = _highest(np.array(planes))
            if stopped() or step is None or step[0] <= self._best * (1 + 1e-9):
                return
            y = step[1]


def interval(head: Ints, tail: Ints, work: Floats) -> int:
    """Return a lower bound on the makespan in units, from [n] heads, tails and work of nodes.

    All nodes with heads of at least a and tails of at least b run between a and the makespan less b, which has to be
    long enough for their work; for all a and b that are tried.
    """
    starts, stops = _lines(head), _lines(tail)
    rows = np.searchsorted(starts, head, side="right") - 1
    columns = np.searchsorted(stops, tail, side="right") - 1
    within = np.zeros((len(starts), len(stops)))
    np.add.at(within, (rows, columns), work)
    within = within[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    total = np.where(within > 0, starts[:, None] + stops[None, :] + within, 0.0)
    return rounded(float(total.max(initial=0.0)), len(head))


def rounded(units: float, terms: int) -> int:
    """Return the least whole number that is not below a sum of so many terms, whatever its rounding error."""
    return ceil(units * (1 - ROUNDING * (1 + terms / 1e3))) if units < INF else INF


def spread(duration: Ints, y: Floats) -> WorkSpread:
    """Return the cheapest ways to split so many chunks over devices, whose time has these prices."""
    n, k, sizes = duration.shape
    time = np.where(duration < INF, duration, np.inf).astype(np.float64)
    cost = np.full((n, sizes), np.inf)
    cost[:, 0] = 0.0
    chosen = np.zeros((k, n, sizes), np.int64)
    for d in range(k):
        before, cost = cost, np.full((n, sizes), np.inf)
        for p in range(sizes):
            priced = time[:, d, p] * y[d] if y[d] > 0 else np.where(np.isinf(time[:, d, p]), np.inf, 0.0)
            if np.isfinite(priced).any():
                total = before[:, : sizes - p] + priced[:, None]
                better = total < cost[:, p:]
                cost[:, p:][better] = total[better]
                chosen[d, :, p:][better] = p
    load = np.zeros((n, k))
    left, every = np.full(n, sizes - 1), np.arange(n)
    for d in reversed(range(k)):
        size = chosen[d, every, left]
        load[:, d] = time[every, d, size]
        left = left - size
    return WorkSpread(cost, load)


def _even(duration: Ints, y: Floats) -> WorkSpread:
    """Return as :func:`spread` a lower bound on the cost: each chunk counts its share of the time of a batch."""
    chunks = duration.shape[2] - 1
    time = np.where(duration < INF, duration, np.inf)[:, :, 1:] / np.arange(1, chunks + 1)
    whole = time.min(axis=2) * chunks
    priced = np.where(np.isinf(whole), np.inf, np.where(np.isinf(whole), 0.0, whole) * y)
    on = priced.argmin(axis=1)
    load = np.zeros_like(whole)
    load[np.arange(len(whole)), on] = whole[np.arange(len(whole)), on]
    return WorkSpread(priced.min(axis=1)[:, None], load)


def _lines(values: Ints) -> Floats:
    """Return up to so many of the values, ascending, among them the least."""
    distinct = np.unique(values)
    places = np.unique(np.linspace(0, len(distinct) - 1, LINES).astype(np.int64))
    return distinct[places].astype(np.float64)


def _highest(planes: Floats) -> tuple[float, Floats] | None:
    """Return the highest point under planes over the weights that add up to 1, and its weights."""
    from scipy.optimize import linprog

    if not np.isfinite(planes).all() or planes.max(initial=0.0) <= 0:
        return None
    size = float(planes.max())
    count, k = planes.shape
    answer = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.hstack([-planes / size, np.ones((count, 1))]),
        b_ub=np.zeros(count),
        A_eq=np.append(np.ones(k), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)],
        method="highs",
    )
    if not answer.success:
        return None
    y = np.maximum(answer.x[:k], 0.0)
    return float(-answer.fun * size), y / y.sum()


def monotone(duration: Ints) -> Ints:
    """Return times that no larger batch undercuts, with a finite time for every smaller size.

    A device that runs a batch can then run every part of it in no more time. So any schedule of all chunks is one of
    fewer chunks, with these times.
    """
    least = np.minimum.accumulate(duration[:, :, :0:-1], axis=2)[:, :, ::-1]
    return np.concatenate([np.zeros_like(duration[:, :, :1]), least], axis=2)
