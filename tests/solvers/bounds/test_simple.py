"""Combinatorial bounds: never above the optimum."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.constraints import Acyclic, Forbid, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.bounds import Simple
from tests.oracle import optimum
from tests.strategies import WEIGHTS, memory_problems, plain_problems


def bound(problem: Problem) -> float:
    result = Simple().solve(problem, Limits(), Progress())
    assert result.bound is not None
    assert result.plan is None
    return result.bound.cost


@given(plain_problems(most=5))
def test_simple_on_equal_devices_is_the_papers(problem: Problem) -> None:
    """On equal devices it is max(largest node, total / k) (archer2024, eq. 13), and below the optimum."""
    work = problem.graph.work
    best = optimum(problem)
    assert best is not None
    assert bound(problem) == pytest.approx(max(work.max(), work.sum() / problem.k), rel=1e-9)
    assert bound(problem) <= best


@settings(max_examples=100)
@given(memory_problems(most=5))
def test_simple_is_below_the_optimum_with_unequal_speeds(problem: Problem) -> None:
    """Devices of different speeds and memories."""
    best = optimum(problem)
    assert best is None or bound(problem) <= best


@st.composite
def unrelated(draw: st.DrawFn) -> Problem:
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rows = st.lists(st.one_of(WEIGHTS, st.just(float("inf"))), min_size=n, max_size=n)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        [(v, v + 1) for v in range(n - 1) if draw(st.booleans())],
        output=draw(st.lists(WEIGHTS, min_size=n, max_size=n)),
        times={f"d{d}": draw(rows) for d in range(k)},
    )
    devices = [Device(f"d{d}", pays_io=draw(st.booleans())) for d in range(k)]
    constraints = [Forbid(nodes=(0,), devices=(k - 1,))] if draw(st.booleans()) and k > 1 else []
    return Problem.create(graph, devices, Host(1.0), constraints=constraints)


@settings(max_examples=150)
@given(unrelated())
def test_simple_is_below_the_optimum_on_unrelated_devices(problem: Problem) -> None:
    """A table of times per device, nodes that a device cannot take, devices that pay nothing."""
    best = optimum(problem)
    result = Simple().solve(problem, Limits(), Progress())
    if result.infeasibility is not None:
        assert best is None
    else:
        assert result.bound is not None
        assert best is None or result.bound.cost <= best


def test_speeds_share_the_work() -> None:
    """Work 12 on devices of speeds 1, 2 and 3 takes at least 2, which total / k misses."""
    graph = Graph.create([f"v{v}" for v in range(12)], [], work=1.0)
    problem = Problem.create(graph, [Device(f"d{s}", speed=s) for s in (1, 2, 3)], Shared(1.0))
    assert bound(problem) == pytest.approx(2.0)


def test_a_device_that_may_take_nothing_does_not_share() -> None:
    """Only devices that some node may go to divide the work."""
    graph = Graph.create(["a", "b"], [], work=1.0)
    nothing = Forbid(nodes=(0, 1), devices=(1,))
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[nothing])
    assert bound(problem) == pytest.approx(2.0)


def test_a_node_without_a_device_is_infeasible() -> None:
    """Constraints that leave a node nowhere to go are named."""
    graph = Graph.create(["a"], [])
    clash = [Pin(nodes=(0,), devices=(0,)), Forbid(nodes=(0,), devices=(0,))]
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic(), *clash])
    result = Simple().solve(problem, Limits(), Progress())
    assert result.status == "infeasible"
    assert result.infeasibility is not None
    assert result.infeasibility.clash == ("pin", "forbid")


def test_simple_refuses_a_makespan() -> None:
    """The argument is about loads."""
    problem = Problem.create(Graph.create(["a"], []), [Device("d")], Shared(1.0), Objective("makespan"))
    assert "makespan" in (Simple().accepts(problem) or "")
