"""Batches, module by module."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import check_result, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import BatchSizes, Colocate, Memory, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.algorithms.module_rows import split
from mtpp_dsl.solvers.methods.modules import MilpSplit
from mtpp_dsl.solvers.schedule.splitting.boundary_states import BoundaryWalk
from mtpp_dsl.solvers.schedule.splitting.module_engines import ByMethod
from mtpp_dsl.solvers.schedule.splitting.module_problems import grouped, parts
from mtpp_dsl.solvers.schedule.splitting.split_run import joined
from tests.oracle import optimum


def batched(graph: Graph, *rules: object, memory: float | None = None, transfer: str = "per_batch") -> Problem:
    """Return the throughput of 8 inputs in quarters on three unequal devices."""
    devices = [
        Device("a", speed=1.0, fixed=0.5, memory=memory),
        Device("b", speed=0.7, fixed=0.2),
        Device("c", speed=0.2),
    ]
    links = Links(np.full((3, 3), 2e9), np.full((3, 3), 1e-4))
    objective = Objective("throughput", batch=8, transfer=transfer)  # type: ignore[arg-type]
    return Problem.create(graph, devices, links, objective, [BatchSizes(sizes=(2, 4, 6, 8)), *rules])  # type: ignore[list-item]


def walked(problem: Problem, wanted: int) -> tuple[BoundaryWalk, Plan | None]:
    """Return a walk through modules solved by lists, and the plan that comes of it."""
    found = split(problem.graph, 3, wanted=wanted, cuts=False)
    classes = grouped(parts(problem, found, np.full((len(found.modules), problem.k), np.inf)))
    engine = ByMethod(registry.load(registry.METHODS, "heft")(), Limits(), 1, lambda: False)
    walk = BoundaryWalk(problem, found, classes, engine, 1.0, Limits(time=60.0), lambda: False)
    last = walk.run(lambda i: None)
    return walk, None if last is None else joined(problem, classes, last)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("transfer", ["per_batch", "per_input"])
@pytest.mark.parametrize("seed", range(6))
def test_modules_of_batches_make_a_plan(seed: int, transfer: str) -> None:
    """Whatever the modules, chunks of every tensor are where the next module has them, and the plan is one."""
    graph = rwnn(modules=4, nodes=5, channels=2, dependence="weak" if seed % 2 else "strong", seed=seed)
    problem = batched(graph, transfer=transfer)
    _, plan = walked(problem, wanted=3 + seed)
    assert plan is not None
    assert not verify(problem, plan)


def test_nothing_waits_for_boundaries_in_the_end() -> None:
    """The plan is no longer than its modules one after another."""
    problem = batched(rwnn(modules=5, nodes=5, channels=2, seed=4))
    found = split(problem.graph, 2, wanted=5, cuts=False)
    classes = grouped(parts(problem, found, np.full((len(found.modules), 3), np.inf)))
    engine = ByMethod(registry.load(registry.METHODS, "heft")(), Limits(), 1, lambda: False)
    last = BoundaryWalk(problem, found, classes, engine, 1.0, Limits(time=60.0), lambda: False).run(lambda i: None)
    assert last is not None
    assert evaluate(problem, joined(problem, classes, last)).cost <= last.cost * (1 + 1e-9)


def test_one_module_is_solved_to_the_end() -> None:
    """A graph that is one module has the optimum of that, and it is called so."""
    graph = Graph.create(list("abc"), [(0, 1), (0, 2)], work=[1.0, 2.0, 1.5], output=1.0)
    devices = [Device("x", fixed=0.5), Device("y", speed=0.6)]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(
        graph, devices, links, Objective("throughput", batch=2), [BatchSizes(sizes=(1, 2))], time_unit=""
    )
    result = MilpSplit().solve(problem, Limits(time=30.0, threads=1), Progress())
    check_result(problem, result)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(problem))


def test_constraints_on_batches_hold() -> None:
    """Colocated and separated nodes, and a memory that the modules have to share, are kept."""
    graph = rwnn(modules=3, nodes=5, channels=1, seed=5)
    problem = batched(
        graph,
        Colocate(nodes=(1, 3)),
        Separate(nodes=(6, 7)),
        Memory(),
        memory=float((graph.params + (graph.memory - graph.params) * 8).sum()) / 2,
    )
    result = MilpSplit(module_method="heft").solve(problem, Limits(time=0.6, threads=1), Progress())
    assert result.plan is not None
    check_result(problem, result)
    assert not verify(problem, result.plan)
