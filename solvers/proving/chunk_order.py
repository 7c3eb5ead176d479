"""Bound the makespan of a batch by the order of its chunks: method ``chunk-order``.

The rows are those of certificates ``leaves`` (:mod:`mtpp_dsl.solvers.proofs.chunk_order`): how chunks are divided over
devices, and when the first, the second, ... chunk of each node starts and ends. The share of a target that they need at
least is a linear programme; that share of the target is a bound. Its multipliers are the certificate.
"""

from __future__ import annotations

from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Bound, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.backends.mip.highs import enter_run, leave_run
from mtpp_dsl.solvers.proofs.leaves import ROUNDING, rows_below
from mtpp_dsl.solvers.proving.leaf_search import find_leaves
from mtpp_dsl.solvers.proving.row_programme import RowProgramme

__all__ = ["chunk_order"]

LESS = (2e-6, 1e-5, 1e-4)
"""Relative: by so much the bound is below what the linear programme needs, so that rounded multipliers prove it."""
ABOVE, NEAR = 1.02, 1e-3
"""The next target is so many times the bound of the last one; a gain of no more than the second, as a share, is the
last."""
SLOW = 0.2
"""Of the time left: a target that took more is the last."""
WHY = "batches with the work before and after them, whichever chunks start and end first"


def chunk_order(problem: Problem, name: str, limits: Limits, progress: Progress) -> Result:
    """Return the largest bound found, with its certificate.

    Of a target the rows need a share; no schedule takes less than that. Rows of smaller targets close more, and so the
    next one is just above that.
    """
    target, bound = progress.cost if progress.cost is not None else _serial(problem), None
    while 0 < target < inf and not progress.stopped and limits.remaining > 0:
        before = limits.remaining
        known = _bound(problem, name, target, limits)
        if known is None or (bound is not None and known.cost <= bound.cost):
            break
        gain = inf if bound is None else known.cost / bound.cost - 1
        bound = known
        progress.report_bound(bound)
        if gain <= NEAR or bound.cost * ABOVE >= target or before - limits.remaining > SLOW * limits.remaining:
            break
        target = bound.cost * ABOVE
    ended: Termination = "interrupted" if progress.stopped else "time_limit" if limits.remaining <= 0 else "complete"
    return progress.result(name, limits, ended, bound=bound)


def _bound(problem: Problem, name: str, target: float, limits: Limits) -> Bound | None:
    """Return what the rows of a target show, at most the target, with a certificate; None if they show nothing."""
    try:
        rows = rows_below(problem, target, ordered=True)
    except Refused:
        return None
    enter_run()
    try:
        found = RowProgramme(rows).root(limits.remaining)
    finally:
        leave_run()
    if found is None or found.cost <= 0:
        return None
    for less in LESS:
        below = target * min(found.cost, 1.0) * (1 - less)
        certificate = find_leaves(problem, below, limits, whole=True)
        if certificate is not None:
            return Bound(below * (1 - ROUNDING), name, "checked", "mtpp", WHY, certificate)
    return None


def _serial(problem: Problem) -> float:
    """Return what all batches take one after another where each takes longest: a first target."""
    instance = BatchInstance.of(problem)
    return float(np.where(np.isfinite(instance.time), instance.time, 0.0).max(axis=(1, 2), initial=0.0).sum())
