"""Of recorded plans, and of the same with fields changed, checkers and evaluation say what they said.

``python -m tests.tools.recorded_plans`` records them anew: small ones that take the checkers through most of their
branches. A cost is recorded only where the two ways to count it, in ``checks`` and in ``evaluation``, agree.
``python -m tests.tools.mutants.telling`` records those that tell a small fault from the code as it is, and what brute
force and counting say of problems.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import cost_of, costs_of, verify
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

RECORD = Path(__file__).parent / "recorded_plans.jsonl"
FOR_FAULTS = Path(__file__).parent / "recorded_for_faults.jsonl"
COUNTED = Path(__file__).parent / "counted_for_faults.jsonl"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


RECORDS = [*lines_of(RECORD), *lines_of(FOR_FAULTS)]
PROBLEMS = lines_of(COUNTED)
MANY = 60
"""Plans of a problem that are looked at."""
FIELDS = ("work", "input", "output", "overflow", "memory", "params", "sync", "load", "forward", "backward", "deviation")


def judged(problem: Problem, data: Any) -> dict[str, Any]:
    """Return what is broken, what the plan costs, counted twice, and the parts of its loads; or why it is no plan."""
    try:
        plan = Plan.from_json(problem, data)
        broken = [str(violation) for violation in verify(problem, plan)]
    except UsageError as error:
        return {"error": type(error).__name__}
    if broken:
        return {"broken": broken}
    result = evaluate(problem, plan)
    parts = {name: np.asarray(getattr(result, name)).tolist() for name in FIELDS}
    return {"broken": [], "cost": float(result.cost), "costs": [float(x) for x in costs_of(problem, plan)], **parts}


def counted(problem: Problem) -> dict[str, Any]:
    """Return what counting says against a problem, and how many plans it has, of many the first, with their costs."""
    why = quick(problem)
    impossible = None if why is None else [why.reason, *why.clash]
    try:
        costs = [float(cost_of(problem, plan)) for plan in islice(plans(problem), MANY)]
    except UsageError as error:
        return {"impossible": impossible, "error": type(error).__name__}
    return {"impossible": impossible, "plans": len(costs), "least": min(costs, default=None), "sum": sum(costs)}


@cache
def problem_of(spec: str) -> Problem:
    return mtpp_dsl.load(spec)


@pytest.mark.parametrize("number", range(len(RECORDS)), ids=lambda i: f"{RECORDS[i]['of']}-{i}")
def test_they_are_judged_as_before(number: int) -> None:
    record = RECORDS[number]
    for data, wanted in record["cases"]:
        assert_same(judged(problem_of(record["spec"]), data), wanted)


def assert_same(said: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """All is as it was recorded; numbers may differ by the rounding of their sums."""
    assert said.keys() == wanted.keys()
    for key, value in wanted.items():
        exact = key in ("broken", "error", "impossible") or value is None
        assert said[key] == (value if exact else pytest.approx(value, rel=2e-13, abs=0.0, nan_ok=True)), key


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_problems_are_counted_as_before(number: int) -> None:
    """What counting shows to be impossible, and what brute force finds, stay what they were."""
    record = PROBLEMS[number]
    for _, wanted in record["cases"]:
        assert_same(counted(problem_of(record["spec"])), wanted)
