"""A bound and a plan that are known before the exact model is solved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.relaxations.superblocks import Superblock
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.core.problem.test_objective_parts import training_problems
from tests.models.test_host import host_problems
from tests.oracle import optimum, plans
from tests.strategies import memory_problems, plain_problems


def told(problem: Problem, plan: Plan | None, bound: float, form: Exact | Superblock, start: bool = False) -> Result:
    """Solve a problem of which a plan and a bound are known."""
    progress = Progress()
    if plan is not None:
        progress.report_plan(plan, evaluate(problem, plan).cost)
    progress.report_bound(Bound(bound, "given", "checked", "trying everything"))
    limits = Limits(time=60, threads=1, start=plan if start else None)
    result = MipMethod(form, "highs").solve(problem, limits, progress)
    check_result(problem, result)
    return result


@settings(max_examples=60)
@given(
    st.one_of(host_problems(), memory_problems(4), training_problems()),
    st.sampled_from([1.0, 1 - 1e-9, 0.9, 0.5]),
    st.booleans(),
)
def test_the_optimum_stays(problem: Problem, share: float, start: bool) -> None:
    """Rows that say what is known, were it the optimum itself, cut no optimum off and lift no bound above it."""
    best = optimum(problem)
    if best is None:
        return
    some = max(plans(problem), key=lambda plan: evaluate(problem, plan).cost)
    result = told(problem, some, best * share, Exact(), start)
    assert result.infeasibility is None
    assert result.cost == pytest.approx(best, rel=2e-6, abs=1e-9)
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9) + 1e-12


@settings(max_examples=30)
@given(plain_problems(4))
def test_the_known_optimum_is_only_confirmed(problem: Problem) -> None:
    """Of an optimal plan with its bound the model finds no better plan, and the certificate names both sources."""
    best = min(plans(problem), key=lambda plan: evaluate(problem, plan).cost)
    cost = evaluate(problem, best).cost
    result = told(problem, best, cost, Exact(), start=True)
    assert result.cost == pytest.approx(cost)
    assert result.bound is not None
    assert result.bound.proof == "checked" or "'given'" in result.bound.detail or "Lemma" in result.bound.by


def test_a_relaxation_is_left_as_it_is() -> None:
    """Its optimum may be below the bound that is known: no row is added, and it answers for itself."""
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[3, 3, 3, 3], output=5.0)
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[Acyclic()])
    alone = MipMethod(Superblock(), "highs").solve(problem, Limits(time=60), Progress())
    best = optimum(problem)
    assert best is not None
    plan = Plan.create(problem, [0, 0, 0, 0])
    beside = told(problem, plan, best, Superblock())
    assert alone.bound is not None
    assert beside.bound is not None
    assert beside.bound.cost == pytest.approx(alone.bound.cost)
