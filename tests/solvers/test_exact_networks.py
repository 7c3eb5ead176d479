"""The exact programme on links and trees, against trying everything and against reference optima."""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks import brute_force
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Colocate,
    Constraint,
    Contiguous,
    Latency,
    Linear,
    Load,
    Memory,
    Used,
)
from mtpp_dsl.core.problem.devices import Device, Links, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests.networks import random_problem
from tests.staging import references

ON_CHANNELS = ("full", "none", "relay", "rule B, each", "tree", "tree, acyclic on both levels")


def asked(rng: random.Random) -> dict[str, object]:
    """Return constraints, rows and an objective, some now and then."""
    every: list[tuple[float, Constraint]] = [
        (0.3, Acyclic()),
        (0.3, Memory()),
        (0.2, Contiguous()),
        (0.2, Colocate(nodes=(0, 1))),
        (0.2, Linear(label="load", terms=((Load(0), 1.0),), sense="<=", rhs=8.0)),
        (0.2, Linear(label="late", terms=((Latency(), 1.0),), sense="<=", rhs=20.0)),
    ]
    cost = Objective.linear([(Used(0), 2.0), (Used(1), 1.0), (Bottleneck(), 0.5)])
    objective = rng.choices([Objective("bottleneck"), Objective("latency"), cost], [6, 2, 2])[0]
    return {"constraints": [one for share, one in every if rng.random() < share], "objective": objective}


def assert_optimal(problem: Problem) -> None:
    """Assert that ``exact`` finds and proves what trying every plan finds."""
    best = min((cost_of(problem, plan) for plan in brute_force.plans(problem)), default=inf)
    result = mtpp_dsl.solve(problem, method="exact", time_limit=60)
    if best == inf:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert result.bound is not None
    assert result.bound.cost <= best + 1e-9
    assert result.plan is not None
    assert not verify(problem, result.plan)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [*range(14), *(pytest.param(s, marks=pytest.mark.long) for s in range(14, 40))])
def test_exact_is_brute_force(seed: int) -> None:
    """On links and trees of every sort, with rows, several objectives, and through text too."""
    rng = random.Random(seed)
    problem = random_problem(rng, n=5, k=3, **asked(rng))
    assert_optimal(mtpp_dsl.load(problem.to_spec()) if seed % 3 == 0 else problem)


def referred(data: Mapping[str, Any], name: str) -> Problem:
    """Return a reference instance as a problem: links from its pairs of devices, or its tree."""
    graph = Graph.create(
        [f"n{v}" for v in range(data["n"])],
        [tuple(edge) for edge in data["edges"]],
        output=data["out"],
        device_times={f"d{d}": [row[d] for row in data["time"]] for d in range(data["k"])},
    )
    devices, k = [Device(f"d{d}") for d in range(data["k"])], data["k"]
    if name.startswith("tree"):
        parents = [*(1 + d // 2 for d in range(k)), -1, 0, 0]
        uplink = np.array([4.0] * k + [np.inf, 2.0, 2.0])
        joined: Links | Tree = Tree(
            ("root", "a", "b"),
            np.array(parents),
            uplink,
            np.zeros(k + 3),
            np.zeros(k + 3, bool),
            overlap=data["overlap"],
        )
    else:
        bandwidth = np.array(data["channels"], float).reshape(k, k) * (1 - np.eye(k))
        joined = Links(bandwidth, 0 * bandwidth, overlap=data["overlap"], send=data["send"], routing="direct")
    return Problem.create(graph, devices, joined)


@pytest.mark.parametrize("name", ON_CHANNELS)
def test_reference_optima(name: str) -> None:
    """Those of bottlenecks on channels; "acyclic on both levels" numbers the devices in the order of the plan."""
    case = references(2)[name]
    problem = referred(case["data"], name)
    costs = {tuple(plan.assignment.tolist()): cost_of(problem, plan) for plan in brute_force.plans(problem)}
    if "acyclic" in name:
        graph = problem.graph
        costs = {device: cost for device, cost in costs.items() if all(device[u] <= device[v] for u, v in edges(graph))}
    else:
        assert mtpp_dsl.solve(problem, method="exact").cost == pytest.approx(case["optimum"])
    assert min(costs.values()) == pytest.approx(case["optimum"])


def edges(graph: Graph) -> list[tuple[int, int]]:
    """Return the edges of a graph."""
    return list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
