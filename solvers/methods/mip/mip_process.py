"""Solve a large model in a process of its own, which can be ended: building it, and presolve, cannot be interrupted."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation, FormulationFamily, Method
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, closed
from mtpp_dsl.solvers.runtime.portfolio.race import run_together

LARGE = 4_000
"""Rows, about, from which a model takes longer to build and to presolve than a process to start."""


def worthwhile(
    formulation: Formulation | FormulationFamily, problem: Problem, limits: Limits, progress: Progress
) -> bool:
    """Return whether a process of its own is worth starting, and can do all that is asked.

    It may not be able to import a formulation that is not built in, or a constraint, and it does not pass on a
    solver's log.
    """
    builtin = type(formulation).__module__.startswith("mtpp_dsl.") and not any(problem.of(CustomConstraint))
    asked = limits.write_model is not None or limits.solver_options or progress.wants_solver_log
    if not builtin or asked or limits.time is None:
        return False
    n, m, k = problem.graph.n, problem.graph.m, problem.k
    pairs = n * n // 2 if problem.timed else 0
    return (n + m + pairs) * k >= LARGE


def solve_apart(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return what *method* says at its end, or what it has reported when the time is up and its process is ended."""
    result, notes = run_together(
        problem, [[LaneTask(method)]], limits, progress, threads=limits.threads, to_the_end=True
    )
    ended: Termination
    if result:
        ended = result[0].termination
        if ended == "interrupted" and not progress.stopped:  # by us, as the time was up
            ended = "time_limit"
        return replace(result[0], termination=ended, log=tuple(progress.log), notes=(*notes, *result[0].notes))
    plan, bound = progress.plan, progress.bound
    if progress.stopped:
        ended = "interrupted"
    else:
        ended = "gap" if closed(progress, replace(limits, time=None)) else "time_limit"
    return progress.result(method.name, limits, ended, plan=plan, bound=bound, solver=limits.solver, notes=notes)
