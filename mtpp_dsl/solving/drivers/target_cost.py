"""One call of ``solve`` for a problem that is for a runtime: under its limits, and then without them."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Any

from mtpp_dsl.core.constraints import InOrder, Memory
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import Refused, SolverError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.target_cost import TargetCost
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import free_of
from mtpp_dsl.solving.api import solve
from mtpp_dsl.solving.drivers.stage import Stage
from mtpp_dsl.solving.drivers.target_starts import first_plan, wants_start

SHARE = 0.75
"""Of the time limit, what the search under the limits of a target takes at most: the rest says what they cost."""
LEAST_FREE, AT_MOST = 5.0, 3.0
"""The search without the limits takes at most so many seconds, or so many times what the search under them took."""
LEAST_SECONDS = 0.05
"""With less time left nothing is searched without the limits."""


def solve_under(
    problem: Problem, method: Method, *, time_limit: float | None, progress: Progress | None, **options: Any
) -> Result:
    """Solve under the limits of the problem's target, and then without them in what is left of the time.

    ``auto`` starts from the best of the target's first splits where few searches know its limits; if none of them keeps
    all constraints, all of the time is for the search under the limits. The second search, for which there has to be a
    plan or a proof that there is none, keeps to the memories of the devices if the first does, starts from the first
    one's plan, takes at most three times as long (or 5 s), and its results are in ``target`` of the result alone.

    Args:
        problem: with a target.
        method: for both.
        time_limit: seconds of both together.
        progress: of the first; the second stops when this one is asked to.
        options: the other arguments of :func:`mtpp_dsl.solving.api.solve`.
    """
    assert problem.target is not None
    began, progress = monotonic(), progress or Progress()
    share = SHARE
    if options.get("start") is None and progress.plan is None and wants_start(problem, method):
        options["start"] = first_plan(problem, time_limit, lambda: progress.stopped)
        share = 1.0 if options["start"] is None else SHARE
    own = None if time_limit is None else max(LEAST_SECONDS, time_limit * share - (monotonic() - began))
    result = solve(replace(problem, target=None), method, time_limit=own, progress=progress, **options)
    taken = monotonic() - began
    left = max(LEAST_FREE, AT_MOST * taken)
    left = left if time_limit is None else min(left, time_limit - taken)
    sought = result.plan is None and result.infeasibility is None and "plan" in method.gives
    free = None if progress.stopped or sought else _free(problem, method, result, left, progress, options)
    under = (result.cost, None if result.bound is None else result.bound.cost)
    without = (None, None) if free is None else (free.cost, None if free.bound is None else free.bound.cost)
    notes = result.notes
    if free is None:
        why = "no plan was found under them" if sought else "there was no time left"
        why = "the search was stopped" if progress.stopped else why
        notes = (*notes, f"what the limits of {problem.target.name} cost is not known: {why}")
    better = _other_order(problem, result, free)
    notes = (*notes, better) if better else notes
    time = {**result.time, "total": monotonic() - began}
    rate = problem.objective.name == "throughput"
    target = TargetCost.between(problem.target.name, under, without, of_rate=rate)
    return replace(result, target=target, notes=notes, time=time).of(problem)


def _other_order(problem: Problem, result: Result, free: Result | None) -> str:
    """Return that another order of the devices may be better, where the limits ask for that in which they stand."""
    ordered = any(isinstance(rule, InOrder) for rule in problem.constraints)
    if free is None or free.plan is None or free.plan.order is None or not ordered:
        return ""
    if result.cost is not None and free.cost is not None and free.cost >= result.cost:
        return ""
    used = [d for d in free.plan.order if d in free.plan.assignment]
    if used == sorted(used):
        return ""
    names = ", ".join(problem.devices[d].name for d in used)
    return f"without these limits the devices come in the order {names}: declare devices in that order to reach it"


def _free(
    problem: Problem, method: Method, result: Result, left: float, progress: Progress, options: dict[str, Any]
) -> Result | None:
    """Return the result without the limits; None where there is no time for it, or the method does not take it."""
    if left < LEAST_SECONDS:
        return None
    free = free_of(problem)
    kept = [rule for rule in problem.constraints[len(free.constraints) :] if isinstance(rule, Memory)]
    asked = free.with_constraints([*free.constraints, *kept]).asking(problem.objective)  # memories are no limit of it
    own = {name: value for name, value in options.items() if name not in ("start", "write_model", "checkpoint")}
    inner = Stage(progress, asked.objective, f"without the limits of {problem.target.name}" if problem.target else "")
    try:
        return solve(asked, method, time_limit=left, start=result.plan, progress=inner, **own)
    except (Refused, SolverError):
        return None
