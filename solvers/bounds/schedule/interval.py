"""Bound makespans on links by the work that has to run within intervals: method ``interval``."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.windows.climbing import Search, climb, shortest

NAME = "interval"
STAGES: Sequence[tuple[int, Search]] = (
    (0, "intervals"),
    (64, "none"),
    (256, "none"),
    (64, "intervals"),
    (256, "intervals"),
)
WHY = "Fernandez and Bussell 1973, on devices that differ, with transfers: no schedule ends earlier"


def interval(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound by windows and intervals; if stopped early, the best so far."""
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(NAME, limits, "infeasible", infeasibility=impossible)
    first = shortest(problem, NAME, limits, progress)
    if first.infeasibility is not None:
        return first
    return climb(problem, NAME, WHY, STAGES, limits, progress, first.bound)
