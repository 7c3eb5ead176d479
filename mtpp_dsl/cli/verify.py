"""``mtpp verify``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mtpp_dsl.cli.arguments import read_problem
from mtpp_dsl.cli.solve import read_plan
from mtpp_dsl.errors import VerificationError
from mtpp_dsl.problem import Problem
from mtpp_dsl.units import format_quantity
from mtpp_dsl.verification import TOLERANCE, cost_of, verify

__all__ = ["verify_plan"]


def verify_plan(spec: Path, plan_file: Path, define: list[str], include: list[Path]) -> int:
    """Check a plan, its cost and its bound; return the exit code."""
    problem = read_problem(spec, define, include)
    plan = read_plan(problem, plan_file)
    broken = [str(violation) for violation in verify(problem, plan)]
    cost = cost_of(problem, plan)
    value, unit = problem.objective.value(cost), problem.objective.unit(problem.time_unit)
    broken += _claims(problem, json.loads(plan_file.read_text(encoding="utf-8")), cost)
    shown = format_quantity(value, unit)
    if broken:
        print(f"{plan_file}: not a plan for {spec}")
        for message in broken:
            print(f"  {message}")
        return VerificationError.exit_code
    print(f"{plan_file}: a plan for {spec}, {problem.objective.name} {shown}; every constraint holds")
    return 0


def _claims(problem: Problem, data: Any, cost: float) -> list[str]:
    """Return what an answer says of its plan that is not so."""
    if not isinstance(data, dict):
        return []
    wrong = []
    value = problem.objective.value(cost)
    objective = data.get("objective")
    claimed = objective.get("value") if isinstance(objective, dict) else None
    if isinstance(claimed, (int, float)) and abs(claimed - value) > TOLERANCE * max(abs(value), abs(claimed)):
        wrong.append(f"objective: the answer says {claimed!r}, the plan has {value!r}")
    bound = data.get("bound")
    limit = bound.get("value") if isinstance(bound, dict) else None
    if isinstance(limit, (int, float)):
        sign = 1 if problem.objective.sense == "minimize" else -1
        if sign * (limit - value) > TOLERANCE * max(abs(value), abs(limit)):
            wrong.append(f"bound: the answer says that no plan beats {limit!r}; this one has {value!r}")
    return wrong
