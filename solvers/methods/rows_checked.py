"""Make a method leave constraints out of its search that its plans are only checked against."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.scopes import Scoped, searched
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem

M = TypeVar("M", bound=Scoped)


def rows_checked(
    solve: Callable[[M, Problem, Limits, Progress], Result],
) -> Callable[[M, Problem, Limits, Progress], Result]:
    """Return the ``solve`` of a method for problems with what its scopes only check, given that for those without.

    It may be called for any problem; see :func:`mtpp_dsl.solvers.algorithms.mending.without_rows`.
    """

    @wraps(solve)
    def solved(self: M, problem: Problem, limits: Limits, progress: Progress) -> Result:
        left = searched(self.scopes, problem)
        if left is problem:
            return solve(self, problem, limits, progress)
        from mtpp_dsl.solvers.algorithms.mending import without_rows

        return without_rows(lambda *given: solve(self, *given), problem, left, limits, progress)

    return solved
