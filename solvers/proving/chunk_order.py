"""Bound the makespan of a batch by the order of its chunks: method ``chunk-order``.

The rows are those of certificates ``leaves`` (:mod:`mtpp_dsl.solvers.proofs.chunk_order`): how chunks are divided over
devices, and when the first, the second, ... chunk of each node starts and ends. The share of a target that they need at
least is a linear programme; that share of the target is a bound. Its multipliers are the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Bound, Certificate, Result, Termination
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.backends.mip.highs import enter_run, leave_run
from mtpp_dsl.solvers.proofs.leaves import ROUNDING, rows_below
from mtpp_dsl.solvers.proofs.rows import Rows
from mtpp_dsl.solvers.proving.leaf_search import find_leaves, leaf_again
from mtpp_dsl.solvers.proving.row_programme import RowProgramme

__all__ = ["chunk_order"]

LESS = (2e-6, 1e-5, 1e-4)
"""Relative: by so much the bound is below what the linear programme needs, so that rounded multipliers prove it."""
ABOVE, NEAR = 1.02, 1e-3
"""The next target is so many times the bound of the last one; a gain of no more than the second, as a share, is the
last."""
FEW = 1_000
"""Numbers in the first rows about the work between two nodes."""
SLOW = 0.2
"""Of the time left: a target that took more is the last."""
WHY = "batches with the work before and after them, whichever chunks start and end first"


def chunk_order(problem: Problem, name: str, limits: Limits, progress: Progress) -> Result:
    """Return the largest bound found, with its certificate.

    Of a target the rows need a share; no schedule takes less than that. Rows of smaller targets close more, and so the
    next one is just above that. First there are few rows about the work between two nodes; as a rule these prove nearly
    as much, in a tenth of the time.
    """
    target = progress.cost if progress.cost is not None else _serial(problem)
    bound: Bound | None = None
    for ordered in (FEW, True):
        last = False
        while not last and 0 < target < inf and not progress.stopped and limits.remaining > 0:
            before = limits.remaining
            found = _needed(problem, target, ordered, limits)
            if found is None or (bound is not None and found.cost <= bound.cost):
                break
            known = _again(problem, name, found)
            last = known is None or found.cost * ABOVE * (1 + NEAR) >= target
            last = last or before - limits.remaining > SLOW * limits.remaining
            known = known or (_anew(problem, name, found, limits) if bound is None else None)
            if known is not None:
                bound = known
                progress.report_bound(bound)
            target = found.cost * ABOVE
    ended: Termination = "interrupted" if progress.stopped else "time_limit" if limits.remaining <= 0 else "complete"
    return progress.result(name, limits, ended, bound=bound)


@dataclass(frozen=True)
class _Needed:
    """What rows of a target need at least, at most the target, and what shows it."""

    cost: float
    target: float
    rows: Rows
    multipliers: Floats | None
    ordered: bool | int


def _needed(problem: Problem, target: float, ordered: bool | int, limits: Limits) -> _Needed | None:
    """Return what the rows of a target need; None if that is nothing, or took too long."""
    try:
        rows = rows_below(problem, target, ordered=ordered)
    except Refused:
        return None
    enter_run()
    try:
        found = RowProgramme(rows).root(limits.remaining, loose=True)
    finally:
        leave_run()
    if found is None or found.cost <= 0:
        return None
    return _Needed(target * min(found.cost, 1.0), target, rows, found.multipliers, ordered)


def _again(problem: Problem, name: str, found: _Needed) -> Bound | None:
    """Return the bound with a certificate by the multipliers that are known; None where they do not prove it."""
    if found.multipliers is None:
        return None
    for less in LESS:
        below = found.cost * (1 - less)
        certificate = leaf_again(problem, below, found.target, found.rows, found.multipliers, found.ordered)
        if certificate is not None:
            return _bound(name, below, certificate)
    return None


def _anew(problem: Problem, name: str, found: _Needed, limits: Limits) -> Bound | None:
    """Return the bound with a certificate by the linear programme of its own target; None without one."""
    for less in LESS:
        below = found.cost * (1 - less)
        certificate = find_leaves(problem, below, limits, whole=True, ordered=found.ordered)
        if certificate is not None:
            return _bound(name, below, certificate)
    return None


def _bound(name: str, below: float, certificate: Certificate) -> Bound:
    return Bound(below * (1 - ROUNDING), name, "checked", "mtpp", WHY, certificate)


def _serial(problem: Problem) -> float:
    """Return what all batches take one after another where each takes longest: a first target."""
    instance = BatchInstance.of(problem)
    return float(np.where(np.isfinite(instance.time), instance.time, 0.0).max(axis=(1, 2), initial=0.0).sum())
