"""Tests of what other hardware would change: what is said of the best costs holds by brute force."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.explain import explain_schema
from mtpp_dsl.show.explaining.question import question_of
from mtpp_dsl.show.explaining.what_if import Case, cases_of, never_worse, what_if
from tests.amount import part
from tests.show.explaining.mixed import problem_of
from tests.tree import ROOT

SPEC = """mtpp 1
graph { node a[i in 0..5] (work = 1 ms, memory = 1 GB, output = 1 MB) edge a[i] -> a[i + 1] for i in 0..4 }
device gpu[2] (memory = 2 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint acyclic
constraint memory
"""


def best(problem: Problem) -> float | None:
    """Return the least cost of any plan, by brute force."""
    return min((cost_of(problem, plan) for plan in plans(problem)), default=None)


@pytest.mark.parametrize(("kind", "seeds"), [("network", 6), ("links", 12), ("stages", 1)])
def test_no_alteration_that_cannot_harm_does(kind: str, seeds: int) -> None:
    """Where an alteration is said to make nothing worse, the best cost is no higher with it."""
    claimed = 0
    for seed in range(part(3 * seeds)):
        problem = problem_of(kind, seed)
        now = best(problem)
        for altered in cases_of(question_of(problem, Result("complete"))):
            if now is None or not never_worse(problem, altered.kind):
                continue
            try:
                then = best(altered.make(problem))
            except Refused:
                continue
            assert then is not None, (kind, seed, altered.kind)
            assert then <= now * (1 + 1e-9) + 1e-12, (kind, seed, altered.kind)
            claimed += 1
    assert claimed > 0


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_ratios_hold_for_the_best_costs(share: float) -> None:
    """The best cost then, as a multiple of that now, lies where plans and bounds say, tight or not."""
    seen = 0
    for seed in range(part(9)):
        problem = problem_of("network", seed)
        now = best(problem)
        if now is None:
            continue
        worst = max(plans(problem), key=lambda plan: cost_of(problem, plan))
        question = replace(question_of(problem, worst), bound=share * now)
        found = what_if(question, 0.6)
        assert found is not None
        for altered, case in zip(cases_of(question), found.cases, strict=True):
            if case.why:
                continue
            then = best(altered.make(problem))
            least, most = case.ratios(cost_of(problem, worst), share * now)
            if then is not None and now > 0:
                assert least is None or least <= then / now * (1 + 1e-6)
                assert most is None or most >= then / now * (1 - 1e-6)
                seen += 1
    assert seen > 1


def test_an_infeasible_spec_may_have_a_plan_with_more() -> None:
    from jsonschema import Draft202012Validator

    problem = mtpp_dsl.load(SPEC)
    result = mtpp_dsl.solve(problem, time_limit=10)
    assert result.status == "infeasible"
    found = mtpp_dsl.explain(problem, result, only=["what-if"], time_limit=10)
    Draft202012Validator(explain_schema()).validate(found.to_json())
    words = "\n".join(found.words())
    assert "one more device like gpu[0..1]: 4 ms, where there is no plan now; proved to be the best then" in words
    assert "twice the bandwidth: no plan exists either" in words


def test_says_what_one_more_device_gains() -> None:
    problem = mtpp_dsl.load(ROOT / "examples" / "quickstart.mtpp")
    result = mtpp_dsl.solve(problem, time_limit=10)
    found = mtpp_dsl.explain(problem, result, only=["what_if"], time_limit=10)
    cases = found.to_json()["what_if"]["cases"]
    assert [case["kind"] for case in cases] == ["device", "bandwidth", "memory"]
    assert cases[0]["device"] == "stage[3]"
    assert cases[0]["value"] == pytest.approx(0.01246484375)
    assert "12.465 ms, 14 % less; proved to be the best then" in "\n".join(found.words())


def test_a_bound_above_the_plan_by_rounding_gives_no_empty_range() -> None:
    case = Case("device", "one more", cost=1.0, bound=1.0 + 1e-12, better=True)
    least, most = case.ratios(1.0, 1.0)
    assert least == most == 1.0
