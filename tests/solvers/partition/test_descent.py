"""Local search: loads that are updated are the loads, and where it stops no move helps."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Forbid, Memory, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solvers.methods.classical import LocalSearch
from mtpp_dsl.solvers.partition.classical import local_search
from mtpp_dsl.solvers.partition.classical.linear import conflicts, movable
from mtpp_dsl.solvers.partition.classical.local_search import (
    DESCEND,
    GAIN,
    DescentState,
    Fixed,
    fixed_of,
    loads_of,
    random_split,
    state_of,
)
from tests.amount import part
from tests.oracle import optimum
from tests.solvers.partition.test_classical import solve, workload
from tests.solvers.partition.test_ideals import random_problem


def free(seed: int) -> Problem:
    """Return a random problem whose blocks need no order, with nodes that must be apart."""
    problem = random_problem(seed, training=seed % 2 == 1)
    rules: list[Constraint] = [c for c in problem.constraints if not isinstance(c, (Acyclic, Contiguous))]
    random = np.random.default_rng(seed)
    if problem.graph.n > 1 and random.random() < 0.5:
        rules.append(Separate(nodes=tuple(sorted(random.choice(problem.graph.n, 2, replace=False).tolist()))))
    return problem.with_constraints(rules)


def began(problem: Problem, seed: int = 0) -> tuple[Fixed, DescentState] | None:
    """Return a random state of a problem without an order."""
    devices = device_types(problem)
    units = movable(problem, devices)
    others = conflicts(problem, units)
    fixed = fixed_of(units, devices, others)
    place = random_split(fixed, others, None, np.random.default_rng(seed))
    return None if place is None else (fixed, state_of(fixed, place))


def test_updated_loads_are_the_loads() -> None:
    """After every move, the loads, memory and parameters kept are those of the split, evaluated."""
    moves = 0
    for seed in range(30):
        graph = layered(40, 5, seed=seed)
        devices = [Device(f"a{i}", memory=0.6 * float(graph.params.sum())) for i in range(3)]
        cpu = Device("cpu", speed=0.2, pays_io=False)
        pairs = [Colocate(nodes=(v, v + 1)) for v in range(0, 10, 2)]
        problem = Problem.create(graph, [*devices, cpu], Host(3.0, overflow=seed % 2 == 0), constraints=pairs)
        state_and = began(problem, seed)
        assert state_and is not None
        fixed, state = state_and
        units = movable(problem, device_types(problem))
        while DESCEND.plain(1, GAIN, fixed, state):
            moves += 1
            assignment = np.empty(40, np.int64)
            for nodes, place in zip(units.members, state.place.tolist(), strict=True):
                assignment[list(nodes)] = place
            costs = evaluate(problem, Plan.create(problem, assignment))
            assert loads_of(fixed, state) == pytest.approx(costs.load, rel=1e-9)
            assert state.memory == pytest.approx(costs.memory)
    assert moves > 100


def test_a_local_optimum_is_one() -> None:
    """Where a descent ends, no group of colocated nodes alone can go elsewhere and leave a lower bottleneck."""
    checked = 0
    for seed in range(part(150)):
        problem = free(seed)
        result = solve(LocalSearch(restarts=1), problem)
        if result.plan is None or result.cost is None:
            continue
        checked += 1
        for nodes in movable(problem, device_types(problem)).members:
            for d in range(problem.k):
                assignment = result.plan.assignment.copy()
                assignment[list(nodes)] = d
                moved = Plan.create(problem, assignment)
                if not verify(problem, moved):
                    assert evaluate(problem, moved).cost >= result.cost * (1 - 1e-6)
    assert checked > part(100)


def test_restarts_find_most_optima_of_small_problems() -> None:
    """Ten starts, on problems of up to six nodes: mostly the optimum."""
    hits = total = 0
    for seed in range(part(100)):
        problem = free(seed)
        best, result = optimum(problem), solve("local-search", problem)
        if best is not None and result.cost is not None:
            total += 1
            assert result.cost >= best * (1 - 1e-9)
            hits += result.cost <= best * (1 + 1e-9)
    assert hits > 0.7 * total > part(50)


@pytest.mark.long
def test_compiled_and_plain_descend_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled kernel is the plain one."""
    problem = Problem.create(layered(60, 6, seed=2), [Device(f"d{i}") for i in range(4)], Shared(2.0))
    found = []
    for threshold in (0.0, float("inf")):
        monkeypatch.setattr(local_search, "DESCEND", Kernel(local_search.DESCEND.plain, threshold))
        plan = solve(LocalSearch(restarts=3), problem, seed=5).plan
        assert plan is not None
        found.append(plan.assignment.tolist())
    assert found[0] == found[1]


def test_the_start_comes_first() -> None:
    """From a plan that is given the search descends too: the answer is never worse, even with no other start."""
    graph = layered(30, 4, seed=9)
    problem = Problem.create(graph, [Device(f"d{i}") for i in range(3)], Shared(5.0), constraints=[Acyclic()])
    start = Plan.create(problem, np.zeros(30, np.int64))
    result = LocalSearch(restarts=0).solve(problem, Limits(start=start), Progress())
    assert result.cost is not None
    assert result.cost < evaluate(problem, start).cost


def test_tight_memory_is_filled() -> None:
    """Where only one way to fill the devices is left, a split is still found; where none is, it is said."""
    graph = Graph.create("abcd", [], work=1.0, params=[6, 6, 4, 4])
    devices = [Device("d0", memory=10.0), Device("d1", memory=10.0)]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Memory()])
    assert solve("local-search", problem).cost == 2.0
    tight = Problem.create(
        graph, [Device("d0", memory=12.0), Device("d1", memory=7.0)], Shared(1.0), constraints=[Memory()]
    )
    result = solve("local-search", tight)
    assert result.plan is None
    assert "10 of 10 starts" in result.notes[0]


@pytest.mark.long
def test_published_values(data: Path) -> None:
    """Without CPUs or an order, values are near those of Table 1; the largest graph takes seconds, not minutes."""
    folder = data / "dnn-partitioning" / "throughput"
    for name, published in (
        ("LayerGraphs/resnet50_inference", 35.63),
        ("LayerGraphs/bert24_training", 39.93),
        ("LayerGraphs/gnmt_inference", 31.75),
        ("OperatorGraphs/bert_L-12_training", 737.99),
    ):
        path = folder / f"{name}.json"
        if not path.is_file():
            pytest.skip(f"no {path.name}")
        problem = workload(path, Memory())
        cpus = tuple(d for d, device in enumerate(problem.devices) if not device.pays_io)
        everywhere = tuple(range(problem.graph.n))
        rules = [*problem.constraints, Forbid(nodes=everywhere, devices=cpus)]
        begin = perf_counter()
        result = solve("local-search", problem.with_constraints(rules))
        assert perf_counter() - begin < 30
        assert result.cost is not None
        assert result.cost < 1.05 * published
