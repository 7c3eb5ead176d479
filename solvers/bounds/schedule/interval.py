"""Method ``interval``: what has to run in intervals of a schedule on links."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.bounds.schedule.climbing import Search, climb
from mtpp_dsl.solvers.bounds.schedule.critical_path import makespan_refusal
from mtpp_dsl.solvers.bounds.schedule.shortest import shortest

__all__ = ["Interval"]

STAGES: Sequence[tuple[int, Search]] = (
    (0, "intervals"),
    (64, "none"),
    (256, "none"),
    (64, "intervals"),
    (256, "intervals"),
)
WHY = "Fernandez and Bussell 1973, on devices that differ, with transfers: no schedule ends earlier"


class Interval:
    """Method ``interval``: no search for a plan, no solver; constraints that take plans away cannot lower it.

    A target is refuted by windows: heads and tails from longest paths with unavoidable transfers, raised where edges
    meet by what has to share devices before the node, and narrowed by the target in turn; then by intervals in which
    more has to run than devices can. Larger and larger targets are tried.
    """

    name = "interval"
    gives: Gives = "bound"
    summary = "work that must run within time intervals of a schedule on links (Fernandez, Bussell 1973)"

    def accepts(self, problem: Problem) -> str | None:
        """Return why there is no bound for the problem, or None."""
        return makespan_refusal(self.name, problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, the best so far."""
        impossible = quick(problem)
        if impossible is not None:
            return Result("infeasible", method=self.name, seed=limits.seed, infeasibility=impossible)
        first = shortest(problem, self.name, limits, progress)
        if first.infeasibility is not None:
            return first
        return climb(problem, self.name, WHY, STAGES, limits, progress, first.bound)
