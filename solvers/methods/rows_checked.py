"""What makes a method leave labelled constraints out of its search, and check its plans against them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from mtpp_dsl.constraints import Linear
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem

__all__ = ["rows_checked"]

M = TypeVar("M")


def rows_checked(
    solve: Callable[[M, Problem, Limits, Progress], Result],
) -> Callable[[M, Problem, Limits, Progress], Result]:
    """Return the ``solve`` of a method for problems with labelled constraints, given that for problems without.

    It may be called for any problem; see :func:`mtpp_dsl.solvers.algorithms.without_rows.without_rows`.
    """

    @wraps(solve)
    def solved(self: M, problem: Problem, limits: Limits, progress: Progress) -> Result:
        if not any(problem.of(Linear)):
            return solve(self, problem, limits, progress)
        from mtpp_dsl.solvers.algorithms.without_rows import without_rows

        return without_rows(lambda *given: solve(self, *given), problem, limits, progress)

    return solved
