"""Method ``annealing`` on links and trees, against all plans of small problems."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.homes.of_problem import shipping_of
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.partition.annealing.network_annealing import MOVE, _costs, _split
from tests.networks import random_problem
from tests.solvers.partition.test_ideals_networks import constrained, least


@pytest.mark.parametrize("seed", range(8))
def test_small_problems_are_solved(seed: int) -> None:
    rng = random.Random(seed)
    problem = constrained(random_problem(rng, 4, 3), rng, acyclic=False)
    best = least(problem)
    found = Annealing(patience=2, moves=20).solve(problem, Limits(), Progress())
    assert found.bound is None
    if found.plan is None:
        assert best == np.inf
        return
    assert not verify(problem, found.plan)
    assert evaluate(problem, found.plan).cost <= best * 1.3 + 1e-9


@pytest.mark.parametrize("seed", range(16))
def test_moves_keep_the_sums(seed: int) -> None:
    problem = random_problem(random.Random(seed), 6, 3)
    shipping, _ = shipping_of(problem, ordered=False)
    costs, draw = _costs(shipping, 1.0), np.random.default_rng(seed)
    split = _split(costs, draw.integers(0, shipping.k, shipping.n))
    MOVE.plain(draw.random((60, 3)), 10.0, 8.0, costs, split, split.device.copy(), np.inf)
    again = _split(costs, split.device)
    for mine, theirs in zip(split[1:7], again[1:7], strict=True):
        assert np.allclose(mine, theirs, atol=1e-6)


@pytest.mark.parametrize("seed", range(16))
def test_an_order_of_the_devices_is_kept(seed: int) -> None:
    rng = random.Random(seed)
    problem = constrained(random_problem(rng, 5, 3), rng)
    best = least(problem)
    found = Annealing(patience=4, moves=40).solve(problem, Limits(), Progress())
    if found.plan is None:
        assert best == np.inf
        return
    assert not verify(problem, found.plan)
    assert evaluate(problem, found.plan).cost <= best * 1.3 + 1e-9


def test_wide_graphs_in_an_order_are_balanced() -> None:
    """Thirty branches have 2 ** 30 ideals: only moves tell them apart."""
    n = 32
    edges = [(0, v) for v in range(1, n - 1)] + [(v, n - 1) for v in range(1, n - 1)]
    work = [0.0, *(float(1 + v % 5) for v in range(n - 2)), 0.0]
    graph = Graph.create([f"n{v}" for v in range(n)], edges, work=work, output=0.001)
    joined = Links(np.full((4, 4), 1.0), np.zeros((4, 4)))
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(4)], joined, constraints=[Acyclic()])
    found = Annealing(patience=1).solve(problem, Limits(time=20), Progress())
    assert found.evaluation is not None
    assert not verify(problem, found.plan)  # type: ignore[arg-type]
    assert found.evaluation.cost <= 1.05 * sum(work) / 4
