"""Large neighbourhoods of a schedule, re-optimised by CP-SAT."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.batch_problem import lower_batches
from mtpp_dsl.solvers.backends.cpsat.conflict import clash
from mtpp_dsl.solvers.backends.cpsat.effort import check, effort
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, solve_request
from mtpp_dsl.solvers.backends.cpsat.first_plans import known
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import Lower
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.schedule.lns.batch_parts import BatchParts
from mtpp_dsl.solvers.schedule.lns.neighbourhoods import improve_parts
from mtpp_dsl.solvers.schedule.lns.sample_search import SampleParts

NAME = "lns"
ANNEALING, SECONDS = 0.3, 30.0
"""Of the time, and at most, for annealing: it comes near in no time, and needs long for the rest."""
FIRST = 0.5
"""Of the time, at most, for a first plan where no list scheduler finds one."""


def lns(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the best schedule found by large neighbourhoods, re-optimised by CP-SAT.

    Raises:
        Refused: a model is to be written.
        SolverError: ortools is missing, or its process died.
        UsageError: an option that CP-SAT does not have.
    """
    check(limits)
    incumbent = Incumbent(NAME, problem, limits, progress)
    try:
        incumbent.pause()
        plan = known(problem, limits, progress)
        if plan is None:
            plan, impossible = _first(problem, limits, progress, incumbent)
            if impossible:
                infeasibility = clash(problem, limits, progress, _lower(problem))
                return incumbent.result(solver="cp-sat", infeasibility=infeasibility)
        if plan is not None:
            plan = _annealed(problem, plan, limits, progress)
            incumbent.take(plan)
            with ProcessPool(cores(limits), limits.executor) as pool:
                search(problem, plan, pool, incumbent, limits, progress)
    except SearchEnded:
        pass
    return incumbent.result(solver="cp-sat")


def search(
    problem: Problem, plan: Plan, pool: ProcessPool, incumbent: Incumbent, limits: Limits, progress: Progress
) -> None:
    """Hand *incumbent* what solving parts of *plan* anew makes of it; see :func:`improve_parts`."""
    random = np.random.default_rng(limits.seed)
    if problem.objective.batch is None:
        sample = SampleParts(lower(problem, plan, strict=True), random)
        improve_parts(sample, plan, pool, incumbent, limits, progress)
    else:
        batches = BatchParts(lower_batches(problem, plan, strict=True), random)
        improve_parts(batches, plan, pool, incumbent, limits, progress)


def _lower(problem: Problem) -> Lower[Any]:
    """Return what makes whole numbers of the problem."""
    return lower if problem.objective.batch is None else lower_batches


def _annealed(problem: Problem, plan: Plan, limits: Limits, progress: Progress) -> Plan:
    """Return what annealing makes of a plan in a share of the time."""
    method: Method = registry.load(registry.METHODS, "annealing")()
    if method.accepts(problem) is not None:
        return plan
    progress.say("annealing")
    share = limits.within(min(SECONDS, ANNEALING * limits.remaining), start=plan)
    return method.solve(problem, share, progress).plan or plan


def _first(problem: Problem, limits: Limits, progress: Progress, incumbent: Incumbent) -> tuple[Plan | None, bool]:
    """Return the first plan that CP-SAT finds, and whether it has shown that there is none."""
    progress.say("looking for a first plan with CP-SAT")
    for strict in (True, False):
        whole = _lower(problem)(problem, strict=strict)
        asked = effort(limits, FIRST * limits.remaining)
        asked = replace(asked, options={"stop_after_first_solution": True, **asked.options})
        answer = solve_request(whole.request, asked, stopped=lambda: progress.stopped)
        for plan in [] if answer.solution is None else whole.plans(answer.solution):
            if incumbent.take(plan):
                return plan, False
        if answer.status != "infeasible":
            break
    else:
        if whole.complete:
            return None, True
    incumbent.note("no first plan was found to improve on")
    return None, False
