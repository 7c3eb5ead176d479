"""Method ``single-device``: what the whole pipeline is measured against."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.errors import Refused
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Result
from mtpp_dsl.solvers.baselines.common import Taker
from mtpp_dsl.symmetry import interchangeable
from mtpp_dsl.verification import verify

__all__ = ["SingleDevice", "cannot_check"]


class SingleDevice:
    """Method ``single-device``: everything on the one device that may hold it and is fastest."""

    name = "single-device"
    gives: Gives = "plan"
    baseline = True
    summary = "everything on the one device that can hold it and is fastest"

    def accepts(self, problem: Problem) -> str | None:
        """Return why such a plan could not be checked, or None."""
        return cannot_check(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the plan, or none, with what keeps everything off each device."""
        taker = Taker(self.name, problem, limits, progress)
        for alike in interchangeable(problem):
            d = alike[0]
            if not taker.take(Plan.create(problem, np.full(problem.graph.n, d))):
                more = f" (and {len(alike) - 1} more like it)" if len(alike) > 1 else ""
                taker.note(f"not everything on {problem.devices[d].name}{more}: {taker.broken}")
        return taker.result()


def cannot_check(problem: Problem, name: str) -> str | None:
    """Return why method *name* cannot check and evaluate plans of *problem* in this version, or None."""
    plan = Plan.create(problem, np.zeros(problem.graph.n, np.int64))
    try:
        verify(problem, plan)
        evaluate(problem, plan)
    except Refused as error:
        return f"{name} can only give what can be checked: {error}"
    return None
