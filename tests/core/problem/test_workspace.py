"""The largest workspace of a device's nodes: defined once more in fractions, and held against every method."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import Acyclic, Copies, Forbid, InOrder, Memory, Pin, Replicate, StageMemory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import PROOFS, load
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.api import find_method
from tests.amount import part


def instance(draw: Random) -> Problem:
    """Return a small split with memories that bind, workspaces with ties and zeros, and devices that are closed."""
    n, k, unit = draw.randint(2, 5), draw.randint(1, 3), draw.choice([1.0, 1e-3, 1e9])
    levels = draw.choice([[0, 1], [0, 1, 2], [1], [2, 3], [0, 0, 5], [0, 0.1, 0.3, 1.7]])
    graph = Graph.create(
        [f"n{v}" for v in range(n)],
        [(u, v) for v in range(n) for u in range(v) if draw.random() < 0.5],
        work=[draw.choice([0, 1, 2, 5]) for _ in range(n)],
        output=[draw.choice([0, 1, 2]) for _ in range(n)],
        memory=[draw.choice([0, 0, 1, 2, 3]) * unit for _ in range(n)],
        workspace=[draw.choice(levels) * unit for _ in range(n)],
    )
    rooms = [draw.choice([None, 1, 2, 3, 4, 6, 12]) for _ in range(k)]
    devices = [
        Device(f"d{d}", memory=None if room is None else room * unit, speed=draw.choice([1, 1, 2]))
        for d, room in enumerate(rooms)
    ]
    rules = [Memory(), draw.choice([Acyclic(), InOrder(), Pin(nodes=(0,), devices=(k - 1,))])]
    if draw.random() < 0.3:
        rules.append(Forbid(nodes=(draw.randrange(n),), devices=(draw.randrange(k),)))
    return Problem.create(graph, devices, Shared(2.0), constraints=rules)


def fits(problem: Problem, assignment: list[int]) -> bool:
    """Return whether every device has room for the memory of its nodes and the largest of their workspaces."""
    graph = problem.graph
    for d, device in enumerate(problem.devices):
        nodes = [v for v, home in enumerate(assignment) if home == d]
        if device.memory is not None and nodes:
            need = sum(Fraction(float(graph.memory[v])) for v in nodes)
            need += max(Fraction(float(graph.workspace[v])) for v in nodes)
            if need > Fraction(device.memory) * (1 + Fraction(1, 10**9)):
                return False
    return True


@pytest.mark.parametrize("seed", range(part(30, 10)))
def test_methods_prove_the_best_plan_that_fits(seed: int) -> None:
    """Plans fit by the definition, bounds are none above the best of them, and certificates prove them again."""
    problem = instance(Random(f"workspace {seed}"))
    free = replace(problem, graph=replace(problem.graph, workspace=np.zeros(problem.graph.n)))
    allowed = {tuple(plan.assignment.tolist()) for plan in plans(problem)}
    assert allowed == {a for plan in plans(free) if fits(problem, list(a := tuple(plan.assignment.tolist())))}
    best = min((evaluate(problem, Plan.create(problem, one)).cost for one in allowed), default=None)
    for name in ("exact", "ideals", "simple", "anchor", "node", "count", "configuration", "reach", "annealing"):
        if find_method(name).accepts(problem) is not None:
            assert name in ("reach", "annealing")
            continue
        result = mtpp_dsl.solve(problem, method=name, time_limit=20)
        if best is None:
            assert result.plan is None
            assert name not in ("exact", "ideals") or result.infeasibility is not None
            continue
        assert result.infeasibility is None
        if name == "exact" or (name == "ideals" and problem.acyclic):
            assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9)
            assert result.status == "optimal"
        if result.bound is not None:
            assert result.bound.cost <= best * (1 + 1e-6) + 1e-12
            if result.bound.certificate is not None:
                certificate = result.bound.certificate
                load(PROOFS, certificate.kind)().prove(problem, certificate.data, Limits())


def chain(workspace: list[float], memory: float, **more: object) -> Problem:
    """Return a chain of nodes of memory 1 on two devices."""
    n = len(workspace)
    graph = Graph.create(
        [f"n{v}" for v in range(n)], [(v, v + 1) for v in range(n - 1)], work=1.0, memory=1.0, workspace=workspace
    )
    devices = [Device(f"d{d}", memory=memory, **more) for d in range(2)]  # type: ignore[arg-type]
    return Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()])


def test_equal_workspaces_are_as_a_reserve() -> None:
    """Every method takes them, and finds what it finds with that much more kept free."""
    even, reserved = chain([2.0] * 6, 5.0), chain([0.0] * 6, 5.0, reserve=2.0)
    assert not even.uneven_workspace
    assert even.memory_limit.tolist() == reserved.memory_limit.tolist() == [3.0, 3.0]
    for method in ("annealing", "slicegraph", "branching", "ideals"):
        assert mtpp_dsl.solve(even, method=method).cost == mtpp_dsl.solve(reserved, method=method).cost == 3.0
    assert Contract().accepts(even) is None


def test_different_ones_are_refused_by_those_that_add_up() -> None:
    problem = chain([0.0, 0.0, 0.0, 0.0, 0.0, 2.0], 5.0)
    assert problem.uneven_workspace
    assert Contract().accepts(problem) is not None
    for method in ("annealing", "slicegraph", "branching"):
        assert "different workspaces" in str(find_method(method).accepts(problem))
    assert not chain([0.0, 0.0, 0.0, 0.0, 0.0, 2.0], 50.0).uneven_workspace  # all nodes fit anyway
    result = mtpp_dsl.solve(problem)
    assert (result.cost, result.status) == (3.0, "optimal")
    data = result_to_json(problem, result)
    assert sorted((row["memory"], row["workspace"]) for row in data["devices"]) == [(3.0, 0.0), (5.0, 2.0)]


def test_what_needs_too_much_alone_has_no_device() -> None:
    problem = chain([0.0, 6.0], 5.0)
    result = mtpp_dsl.solve(problem)
    assert result.infeasibility is not None
    assert "n1" in result.infeasibility.reason
    assert any("memory" in rule for rule in result.infeasibility.clash)


def test_a_spec_says_it_and_gets_it_back() -> None:
    text = """mtpp 1
phase p, q
graph {
  node a (work = 1 ms, memory = 1 GB, workspace = {p: 1 GB, q: 3 GB})
  node b (work = 1 ms, memory = 1 GB)
  edge a -> b
}
device d[2] (memory = 4 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint memory
"""
    problem = mtpp_dsl.load(text)
    assert problem.graph.workspace.tolist() == [3e9, 0.0]
    assert mtpp_dsl.load(problem.to_spec()).graph.workspace.tolist() == [3e9, 0.0]
    warned = mtpp_dsl.load(text.replace("constraint memory\n", "").replace(" (memory = 4 GB)", ""))
    assert any("workspace of a is given" in warning for warning in warned.warnings)
    graph = phased_graph({"p": chain([1.0, 0.0], 5.0).graph, "q": chain([0.0, 2.0], 5.0).graph})
    assert graph.workspace.tolist() == [1.0, 2.0]


def test_it_is_refused_where_it_is_not_defined() -> None:
    problem = chain([1.0, 0.0], 5.0)
    stages = StageMemory(schedule="1f1b", microbatches=2)
    for rule in (Copies(most=2), Replicate(most=2), stages):
        with pytest.raises(ConstraintError, match="workspace of n0"):
            Problem.create(problem.graph, problem.devices, problem.interconnect, constraints=[Acyclic(), rule])
    with pytest.raises(UsageError, match="workspace of n0"):
        Problem.create(
            problem.graph, problem.devices, problem.interconnect, Objective("throughput", batch=2), constraints=[]
        )
