"""The integer programme for latencies by subgraphs has the optimum of brute force, and proves it."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Colocate, Contiguous, Linear, Makespan, Separate, Subgraphs
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.formulations.latency import LatencyModel
from mtpp_dsl.solvers.methods.by_subgraphs import LatencySearch
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.latency_cases import MAKESPAN, latency_problem
from tests.oracle import optimum


def solved(problem: Problem, **limits: object) -> Result:
    """Return what HiGHS makes of the programme."""
    return MipMethod(LatencyModel(), "highs").solve(problem, Limits(time=60.0, threads=1, **limits), Progress())  # type: ignore[arg-type]


def check(problem: Problem, result: Result) -> None:
    """Hold a result against brute force."""
    best = optimum(problem)
    if best is None:
        assert result.infeasibility is not None
        return
    assert result.infeasibility is None
    assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-12)
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)
    assert result.bound.cost == pytest.approx(best, rel=1e-5, abs=1e-9)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3000, 3022))
def test_programme_has_the_optimum(seed: int) -> None:
    """With devices that differ, CPUs, memory, colocation, nodes apart, pins and up to two subgraphs."""
    problem = latency_problem(seed, most=4, apart=True)
    check(problem, solved(problem))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3100, 3108))
def test_a_plan_to_start_from_cuts_nothing_off(seed: int) -> None:
    """Told what a plan costs, by a search or a bad one, the programme still finds and proves the optimum."""
    problem = latency_problem(seed, most=4)
    start = LatencySearch(2).solve(problem, Limits(time=5.0), Progress()).plan
    check(problem, solved(problem, start=start))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(3200, 3206))
@pytest.mark.parametrize("pieces", [1, 2])
def test_nothing_takes_any_time(seed: int, pieces: int) -> None:
    """Subgraphs that would wait for each other are no plan, even where no time passes: something else is found."""
    random = np.random.default_rng(seed)
    edges = [(u, v) for u in range(5) for v in range(u + 1, 5) if random.random() < 0.4]
    graph = Graph.create("abcde", edges, output=0.0, work=np.where(random.random(5) < 0.2, 1.0, 0.0))
    groups = [Colocate(nodes=(0, 3)), Separate(nodes=(1, 2))]
    devices = [Device("x"), Device("y")]
    problem = Problem.create(graph, devices, Shared(1.0), MAKESPAN, [Subgraphs(most=pieces), *groups])
    check(problem, solved(problem))


def test_models_of_scaled_costs_are_the_same() -> None:
    """Costs of 1e-9 and of 1e12 have the optimum of costs of 1, times the factor."""
    for factor in (1e-9, 1.0, 1e12):
        graph = Graph.create(
            "abcd",
            [(0, 1), (0, 2), (1, 3), (2, 3)],
            work=np.array([1, 2, 3, 4]) * factor,
            output=np.array([0.5, 0.25, 1, 9]) * factor,
        )
        devices = [Device("x"), Device("y"), Device("cpu", speed=0.5, pays_io=False)]
        problem = Problem.create(graph, devices, Host(1.0), MAKESPAN, [Contiguous()])
        assert solved(problem).cost == pytest.approx(optimum(problem), rel=1e-6)


def test_what_the_programme_cannot_honour_is_refused() -> None:
    """Rows over times, and several subgraphs that are convex together, have a reason."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 2.0])
    late = Linear(label="late", terms=((Makespan(), 1.0),), sense=">=", rhs=1.0)
    for rules in ([Contiguous(), late], [Contiguous(), Subgraphs(most=2)], []):
        assert LatencyModel().accepts(Problem.create(graph, [Device("x")], Shared(1.0), MAKESPAN, rules)) is not None


def test_building_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Pyomo's complaints about rules that it expands are not the user's."""
    with caplog.at_level(logging.DEBUG):
        LatencyModel().build(latency_problem(3, most=4))
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
