"""``mtpp verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtpp_dsl.cli.arguments import read_problem
from mtpp_dsl.cli.certificate import Claim, check_bound, number
from mtpp_dsl.cli.screen import say
from mtpp_dsl.contracts import Limits
from mtpp_dsl.errors import VerificationError
from mtpp_dsl.files import read_json
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.units import format_quantity
from mtpp_dsl.verification import TOLERANCE, cost_of, verify

__all__ = ["verify_plan"]


def verify_plan(
    spec: Path,
    plan_file: Path,
    define: list[str],
    include: list[Path],
    time_limit: float | None,
    *,
    quiet: bool = False,
) -> int:
    """Check a plan, its cost and its bound; return the exit code. Where *quiet*, say nothing of what is right."""
    problem = read_problem(spec, define, include)
    data: Any = read_json(plan_file)
    wrong: list[str] = []
    right: list[str] = []
    if not (isinstance(data, dict) and data.get("plan", "") is None and data.get("bound")):
        plan = Plan.from_json(problem, data)
        cost = cost_of(problem, plan)
        broken = [str(violation) for violation in verify(problem, plan)] + _claims(problem, data, cost)
        wrong += [f"{plan_file}: not a plan for {spec}", *(f"  {message}" for message in broken)] if broken else []
        shown = format_quantity(problem.objective.value(cost), problem.objective.unit(problem.time_unit))
        right.append(f"{plan_file}: a plan for {spec}, {problem.objective.name} {shown}; every constraint holds")
    claim = Claim.of(problem, data)
    if claim is not None and not wrong:
        try:
            right.append(check_bound(problem, claim, Limits(time=time_limit)))
        except VerificationError as error:
            wrong.append(f"{plan_file}: {error}")
    if wrong or not quiet:
        say("\n".join(wrong or right))
    return VerificationError.exit_code if wrong else 0


def _claims(problem: Problem, data: Any, cost: float) -> list[str]:
    """Return what an answer says of its plan that is not so."""
    if not isinstance(data, dict):
        return []
    wrong = []
    value = problem.objective.value(cost)
    objective, bound = data.get("objective"), data.get("bound")
    claimed = number(objective, "objective") if isinstance(objective, dict) else None
    if claimed is not None and abs(claimed - value) > TOLERANCE * min(abs(value), abs(claimed)):
        wrong.append(f"objective: the answer says {claimed!r}, the plan has {value!r}")
    limit = number(bound, "bound") if isinstance(bound, dict) else None
    if limit is not None:
        sign = 1 if problem.objective.sense == "minimize" else -1
        if sign * (limit - value) > TOLERANCE * min(abs(value), abs(limit)):
            wrong.append(f"bound: the answer says that no plan beats {limit!r}; this one has {value!r}")
    return wrong
