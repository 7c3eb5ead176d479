"""Method ``expert``: a split that somebody made by hand."""

from __future__ import annotations

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.methods.single_device import cannot_check
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

__all__ = ["Expert"]


class Expert:
    """Method ``expert``: the given split as it stands, checked and evaluated; nothing is searched."""

    name = "expert"
    gives: Gives = "plan"
    baseline = True
    needs_start = True
    summary = "the split given with --start, checked and evaluated as it is"

    def accepts(self, problem: Problem) -> str | None:
        """Return why a split could not be checked, or None."""
        return cannot_check(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the start of *limits*; without one, or with one that breaks a constraint, a note that says so."""
        incumbent = Incumbent(self.name, problem, limits, progress)
        if limits.start is None:
            incumbent.note("there is no split to evaluate: give one as the start")
        elif not incumbent.take(limits.start):
            incumbent.note(f"the split given is no plan: {incumbent.broken}")
        return incumbent.result()
