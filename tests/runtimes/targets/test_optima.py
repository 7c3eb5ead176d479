"""Tests that the best plan under the limits of a runtime is the best of all splits that the runtime can run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise
from random import Random

import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.stages import Stages
from mtpp_dsl.solving.answers.again import under_target
from tests.runtimes.targets.splits import stack, target_of


def every_split(target: Stages, problem: Problem) -> Iterator[Plan]:
    """Yield every split that gives stretches of items to the devices in their order, as the runtime counts them."""
    items, devices = target.items(problem), target.devices(problem)
    for cuts in combinations_with_replacement(range(len(items) + 1), len(devices) - 1):
        counts = [high - low for low, high in pairwise([0, *cuts, len(items)])]
        ends = not target.ends or (counts[0] and counts[-1])
        if ends and (target.empty or 0 not in counts):
            yield Plan.create(problem, items.assigned(counts, devices).assignment)


@pytest.mark.parametrize("name", ["vllm", "llama-cpp", "megatron", "deepspeed"])
def test_the_best_plan_for_a_runtime_is_the_best_of_its_splits(name: str) -> None:
    random, target = Random(name), target_of(name)
    assert isinstance(target, Stages)
    for _ in range(6):
        problem = stack(random)
        small = [replace(device, memory=random.choice([12.0, 30.0, 1000.0])) for device in problem.devices]
        problem = Problem.create(problem.graph, small, problem.interconnect, constraints=[Acyclic()])
        limited = under_target(problem, name)
        costs = [
            mtpp_dsl.evaluate(limited, plan).cost
            for plan in every_split(target, problem)
            if not mtpp_dsl.verify(limited, plan)
        ]
        found = mtpp_dsl.solve(replace(limited, target=None), time_limit=30)
        if costs:
            assert found.status == "optimal"
            assert found.cost == pytest.approx(min(costs))
        else:
            assert found.status == "infeasible"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["deepspeed", "torchtitan", "vllm"])
def test_items_that_no_edge_joins_keep_their_order(name: str) -> None:
    """Two parallel layers, two tables before them and two nodes behind them, the head given before the norm."""
    target, names = target_of(name), ["head", "norm", "layer[0]", "layer[1]", "embed", "wpe", "aux"]
    assert isinstance(target, Stages)
    edges = [(1, 0), (2, 1), (3, 1), (4, 2), (4, 3), (5, 3), (2, 6)]
    graph = Graph.create(names, edges, work=[1.0, 5.0, 2.0, 6.0, 4.0, 3.0, 7.0], output=[1.0] * 7)
    problem = Problem.create(graph, [Device("d[0]"), Device("d[1]", speed=2.0)], Shared(4.0))
    limited = under_target(problem, name)
    found = mtpp_dsl.solve(replace(limited, target=None), time_limit=30)
    assert found.status == "optimal"
    assert found.cost == pytest.approx(min(mtpp_dsl.evaluate(problem, p).cost for p in every_split(target, problem)))
    assert mtpp_dsl.export(mtpp_dsl.solve(limited, time_limit=30), name)
