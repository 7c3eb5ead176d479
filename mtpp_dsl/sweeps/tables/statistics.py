"""Statistics of many runs: means, wins, performance profiles, gaps over time. Functions of arrays alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mtpp_dsl.core.errors import UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def codes(keys: Iterable[Hashable]) -> tuple[Ints, list[Any]]:
    """Number the different *keys* in the order in which they first come.

    >>> codes(["b", "a", "b"])
    (array([0, 1, 0]), ['b', 'a'])

    Returns:
        The number of each key, and the keys by number.
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64), list(numbers)


def geometric_mean(values: Floats) -> float:
    """Return the geometric mean of *values*; infinite where one is, 0 where one is 0, NaN of none.

    >>> geometric_mean(np.array([1.0, 4.0])), geometric_mean(np.array([1.0, np.inf]))
    (2.0, inf)

    Raises:
        UsageError: a value is below 0, so that there is no geometric mean.
    """
    values = np.asarray(values, dtype=float)
    if not values.size:
        return float("nan")
    if (values < 0).any():
        raise UsageError("a geometric mean needs figures of 0 and more: ask for --over mean or median")
    if np.isinf(values).any():
        return float("inf")
    if (values == 0).any():
        return 0.0
    least = values.min()
    return float(least if least == values.max() else np.exp(np.log(values).mean()))


def _of(function: Callable[[Floats], Any]) -> Callable[[Floats], float]:
    """Return *function* of an array, which is NaN of an empty one."""

    def aggregate(values: Floats) -> float:
        values = np.asarray(values, dtype=float)
        return float(function(values)) if values.size else float("nan")

    return aggregate


AGGREGATES: dict[str, Callable[[Floats], float]] = {
    "geomean": geometric_mean,
    "mean": _of(np.mean),
    "median": _of(np.median),
    "min": _of(np.min),
    "max": _of(np.max),
    "sum": _of(np.sum),
}
"""What makes one figure of several; each is NaN of none."""


def best_in_groups(values: Floats, groups: Ints, maximize: npt.NDArray[np.bool_], count: int) -> Floats:
    """Return the best value of each group, NaN where a group has none.

    Args:
        values: one a run; NaN is none.
        groups: the group of each run, from 0.
        maximize: whether larger is better, of each run.
        count: how many groups there are.
    """
    values, maximize = np.asarray(values, dtype=float), np.asarray(maximize, dtype=bool)
    signs = np.where(maximize, -1.0, 1.0)
    least, sign = np.full(count, np.nan), np.ones(count)
    np.fmin.at(least, groups, values * signs)
    sign[groups] = signs
    return least * sign


def ratios(values: Floats, best: Floats, maximize: npt.NDArray[np.bool_]) -> Floats:
    """Return how many times worse *values* are than *best*: value / best, or best / value where larger is better.

    0 beside 0 is 1. A ratio of values of different signs, or of a value below 0, is NaN: it says nothing.

    >>> ratios(np.array([3.0, 2.0]), np.array([2.0, 4.0]), np.array([False, True]))
    array([1.5, 2. ])
    """
    values, best = np.asarray(values, dtype=float), np.asarray(best, dtype=float)
    above, below = np.where(maximize, best, values), np.where(maximize, values, best)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = np.where((above == 0) & (below == 0), 1.0, above / below)
    return np.where((above < 0) | (below < 0), np.nan, quotients)


def winners(values: Floats, contests: Sequence[Sequence[int]], maximize: npt.NDArray[np.bool_], tie: float) -> Floats:
    """Return the share of its contests that each run wins; equal runs all win, runs without a value never do.

    Args:
        values: one a run; NaN is none.
        contests: the runs that meet in each.
        maximize: whether larger is better, of each run.
        tie: relative difference up to which two values are equal.
    """
    won, met = np.zeros(len(values)), np.zeros(len(values))
    for runs in contests:
        chosen = np.asarray(runs, dtype=np.int64)
        met[chosen] += 1
        signed = np.where(maximize[chosen], -values[chosen], values[chosen])
        known = ~np.isnan(signed)
        if known.any():
            least = signed[known].min()
            won[chosen[known & (signed <= least + tie * abs(least))]] += 1
    return np.divide(won, met, out=np.zeros(len(values)), where=met > 0)


def profile(ratio: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return a performance profile: the share of problems on which a method is at most so many times the best.

    The share at *tau* is that of the weights whose ratio is at most *tau* (Dolan and Moré 2002). Ratios that are
    infinite or NaN are of runs that failed: they are in the whole, and never reached.

    Args:
        ratio: of each problem, 1 where the method is the best.
        weights: of each problem.

    Returns:
        The ratios at which the share rises, in order, and the share from each of them on.
    """
    ratio, weights = np.asarray(ratio, dtype=float), np.asarray(weights, dtype=float)
    reached = np.isfinite(ratio)
    points, place = np.unique(ratio[reached], return_inverse=True)
    rises = np.bincount(place, weights=weights[reached], minlength=len(points))
    total = weights.sum()
    return points, (np.cumsum(rises) / total if total > 0 else np.zeros(len(points)))


def step_values(times: Floats, values: Floats, grid: Floats, before: float) -> Floats:
    """Return a step function at the times of *grid*: the last of *values* at or before each, *before* ahead of all.

    >>> step_values(np.array([1.0, 3.0]), np.array([0.5, 0.1]), np.array([0.0, 1.0, 2.0, 5.0]), 1.0)
    array([1. , 0.5, 0.5, 0.1])
    """
    place = np.searchsorted(np.asarray(times, dtype=float), np.asarray(grid, dtype=float), side="right")
    return np.concatenate(([before], np.asarray(values, dtype=float)))[place]
