"""Devices that nothing tells apart, and the numbers they get."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.constraints import Acyclic, Pin
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.generators.regal import regal
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Device, Problem, Shared
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.symmetry import interchangeable, numbered
from mtpp_dsl.verification import verify
from tests.strategies import memory_problems


@settings(max_examples=200, deadline=None)
@given(memory_problems(), st.randoms(use_true_random=False))
def test_numbering_changes_names_alone(problem: Problem, random: st.DrawFn) -> None:
    """The same blocks, at the same cost, as valid as before; within a class the numbers follow the flow."""
    order = problem.graph.topological_order
    cuts = np.sort([random.randrange(problem.graph.n + 1) for _ in range(problem.k - 1)])  # type: ignore[attr-defined]
    devices = list(range(problem.k))
    random.shuffle(devices)  # type: ignore[attr-defined]
    assignment = np.empty(problem.graph.n, np.int64)
    assignment[order] = np.array(devices)[np.searchsorted(cuts, np.arange(problem.graph.n), side="right")]
    plan = Plan.create(problem, assignment, devices)
    classes = interchangeable(problem)
    again = numbered(problem, plan, classes)
    assert evaluate(problem, again).cost == pytest.approx(evaluate(problem, plan).cost, rel=1e-12)
    assert bool(verify(problem, again)) == bool(verify(problem, plan))
    assert again.order is not None
    for members in classes:
        assert [d for d in again.order if d in members] == sorted(members)


def test_annealing_numbers_stages_as_data_flow() -> None:
    """Equal stages are 0, 1, 2, … along the pipeline; one that a constraint names keeps its number."""
    stages = [Device(f"s[{i}]") for i in range(5)]
    graph = regal(40, "ws", "own-memory", 2)
    plan = (
        Annealing()
        .solve(Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic()]), Limits(), Progress())
        .plan
    )
    assert plan is not None
    assert plan.order == (0, 1, 2, 3, 4)
    first = int(graph.topological_order[0])
    pinned = Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic(), Pin(nodes=(first,), devices=(4,))])
    found = Annealing().solve(pinned, Limits(), Progress()).plan
    assert found is not None
    assert not verify(pinned, found)
    assert [d for d in found.order or () if d != 4] == [0, 1, 2, 3]
