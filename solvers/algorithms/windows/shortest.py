"""Bound a makespan on links by a longest path and by shares of the work, fast enough for every answer."""

from __future__ import annotations

from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.windows.climbing import MARGIN, bound_of, no_way
from mtpp_dsl.solvers.algorithms.windows.tighten import Refutation, Tightening

__all__ = ["share_of", "shortest"]

TUNINGS = 20


def shortest(problem: Problem, name: str, limits: Limits, progress: Progress) -> Result:
    """Return the larger of two bounds, in time linear in edges times pairs of devices.

    The longest path, every node on its best device with the transfers that this takes; and for weights y >= 0 of the
    devices ``sum over v of min over d of y[d] time[v, d] / sum of y``, as no device runs for longer than the makespan
    (archer2024, Lemma 3.3, for loads).
    """
    tightening = Tightening(problem, 0, progress.say)
    found = tightening.first(MARGIN)
    if found.target == inf:
        return no_way(problem, name, limits, progress)
    why = "the longest path, every node on its best device, with the transfers that this takes"
    share, weights = share_of(tightening.time)
    if share * (1 - MARGIN) > found.target:
        target = share * (1 - MARGIN)
        found = Refutation(target, 0, found.rounds, (0.0, target, weights))
        why = "some device takes its share of the work"
    bound = bound_of(problem, name, why, found)
    progress.report_bound(bound)
    return progress.result(name, limits, "complete", bound=bound)


def share_of(time: Floats) -> tuple[float, Floats]:
    """Return the largest share of the work found, and the weights of the devices behind it.

    Weights of devices with more than their share grow. Any weights give a bound.
    """
    k = time.shape[1]
    known = np.where(np.isinf(time), 0.0, time)
    best, chosen = 0.0, np.ones(k)
    y = np.ones(k)
    for trial in range(TUNINGS):
        weighted = np.where(np.isinf(time), inf, known * y)
        on = weighted.argmin(axis=1)
        share = float(weighted[np.arange(len(time)), on].sum() / y.sum())
        if share > best:
            best, chosen = share, y
        load = np.bincount(on, weights=known[np.arange(len(time)), on], minlength=k)
        if load.max() == 0:
            break
        y = y * np.exp((load / load.max() - 1.0) / (1.0 + 0.3 * trial))
        y = y / y.max()
    return best, chosen
