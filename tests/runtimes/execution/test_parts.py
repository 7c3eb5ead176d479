"""Which operators each stage of a plan computes: every one of them, in an order in which they can run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.plan_parts import parts_of, stages_of
from tests.runtimes.execution.splits import cut, placed, problem_of
from tests.small_models import gpt, llama


@pytest.fixture
def problem() -> Problem:
    return problem_of(gpt(layers=4), 3)


def test_stages(problem: Problem) -> None:
    """Stages come in the order of the plan, and together have each operator once."""
    stages = stages_of(problem, cut(problem))
    assert [stage.device for stage in stages] == [0, 1, 2]
    assert sorted(v for stage in stages for v in stage.nodes) == list(range(problem.graph.n))
    assert {i for stage in stages for i in stage.operators} == set(range(problem.graph.origin.model.n))
    assert parts_of(problem, cut(problem)) == stages


def test_recomputed() -> None:
    """What is computed anew wherever it is read is an operator of several stages."""
    problem = problem_of(llama(layers=4), 2)
    one, other = (set(stage.operators) for stage in stages_of(problem, cut(problem)))
    both = one & other
    assert both
    assert all(problem.graph.origin.model.operators[i].recomputable for i in both)


def test_circle(problem: Problem) -> None:
    """A plan whose stages wait for each other is no pipeline; its parts come in an order that the edges respect."""
    plan = placed(problem, lambda i: i % 2)
    with pytest.raises(UsageError, match="in a circle"):
        stages_of(problem, plan)
    parts = parts_of(problem, plan)
    place = {v: p for p, part in enumerate(parts) for v in part.nodes}
    assert len(place) == problem.graph.n
    assert all(place[u] <= place[v] for u, v in zip(problem.graph.tails, problem.graph.heads, strict=True))
    assert all(plan.assignment[v] == part.device for part in parts for v in part.nodes)


def test_refused(problem: Problem) -> None:
    """A node on several devices, and a graph that was made of no model, are refused with the reason."""
    plan = cut(problem)
    with pytest.raises(UsageError, match="several devices at once"):
        stages_of(problem, replace(plan, replicas={0: (0, 1)}))
    with pytest.raises(UsageError, match="not from a model"):
        stages_of(replace(problem, graph=replace(problem.graph, origin=None)), plan)
