"""Find constraints that clash in a problem without a plan, by leaving out each in turn."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import BatchSizes, PinChunks, Repeat
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.effort import effort
from mtpp_dsl.solvers.backends.cpsat.engine import solve_request
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import Lower

ALL, EACH = 30.0, 5.0
"""Seconds for the whole filter, and for each of its questions."""


def clash(problem: Problem, limits: Limits, progress: Progress, makes: Lower[Any] = lower) -> Infeasibility:
    """Return constraints of *problem*, known to have no plan, that cannot hold together.

    A constraint without which there is still no plan stays left out. ``minimal`` is True if every question was answered
    in time: then leaving out any one of the returned constraints gives a plan. Constraints on the sizes of batches are
    never left out, since they define which batches there are, nor is ``repeat``, which allows more of them: that there
    is no plan without it proves nothing of the others. *makes* turns a problem into a request for CP-SAT.
    """
    budget = limits.within(ALL, gap=0.999, start=None)
    stay = [constraint for constraint in problem.constraints if isinstance(constraint, (BatchSizes, PinChunks, Repeat))]
    kept, minimal = [constraint for constraint in problem.constraints if constraint not in stay], True
    for constraint in list(kept):
        rest = [other for other in kept if other is not constraint]
        if progress.stopped or budget.remaining <= 0:
            minimal = False
            break
        answer = _has_plan(makes, problem.with_constraints([*stay, *rest]), budget, progress)
        kept = rest if answer is False else kept
        minimal &= answer is not None
    if not kept and stay:
        reason = "no batches that devices support make up all inputs of some node, where it can get them"
        return Infeasibility(reason, tuple(map(str, stay)))
    if not kept:
        return Infeasibility("no plan exists, whatever the constraints: no device, or no link, for some node")
    number = "this constraint cannot" if len(kept) == 1 else f"these {len(kept)} constraints cannot all"
    return Infeasibility(f"{number} hold", tuple(map(str, kept)), minimal)


def _has_plan(makes: Lower[Any], problem: Problem, budget: Limits, progress: Progress) -> bool | None:
    """Return whether *problem* has a plan, or None if the time was too short to tell."""
    if quick(problem) is not None:
        return False
    whole = makes(problem)
    answer = solve_request(whole.request, effort(budget, EACH), stopped=lambda: progress.stopped)
    if answer.status == "infeasible":
        return False if whole.complete else None
    return None if answer.solution is None else True
