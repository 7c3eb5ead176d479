"""What splits on links and trees cost, by the evaluation and by the independent check."""

from __future__ import annotations

import random
from math import inf

import numpy as np
import pytest

from mtpp_dsl.checks import verification
from mtpp_dsl.checks.network_check import counted
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from tests.networks import random_problem


@pytest.mark.parametrize("seed", range(40))
def test_the_evaluation_and_the_check_agree(seed: int) -> None:
    """Loads of devices and channels, the latency, and where no way leads, of random plans on random networks."""
    rng = random.Random(seed)
    problem = random_problem(rng)
    for _ in range(8):
        device = [rng.randrange(problem.k) for _ in range(problem.graph.n)]
        plan = Plan.create(problem, device)
        found, again = evaluate(problem, plan), counted(problem, device)
        assert (found.cost == inf) == bool(verification.verify(problem, plan))
        if found.cost < inf:
            assert found.cost == pytest.approx(verification.cost_of(problem, plan))
            assert found.load.tolist() == pytest.approx(again.load)
            pairs = zip(problem.network.channels, found.channels.tolist(), strict=True)
            assert {name: load for name, load in pairs if load} == pytest.approx(again.channels)
            assert found.latency == pytest.approx(sum(again.work) + again.shipped)


@pytest.mark.parametrize("seed", range(20))
def test_equal_links_without_overlap_are_shared(seed: int) -> None:
    """One bandwidth, sent once, without overlap: the loads are exactly those of one shared channel."""
    rng = random.Random(seed)
    edges = [(u, v) for u in range(6) for v in range(u + 1, 6) if rng.random() < 0.5]
    output = [float(rng.randint(0, 5)) for _ in range(6)]
    graph = Graph.create([f"n{v}" for v in range(6)], edges, work=[1.0, 2.0, 0.0, 3.0, 1.0, 4.0], output=output)
    devices = [Device(f"d{d}") for d in range(3)]
    one = Problem.create(graph, devices, Shared(2.0))
    other = Problem.create(graph, devices, Links(np.full((3, 3), 2.0), np.zeros((3, 3))))
    for _ in range(10):
        device = [rng.randrange(3) for _ in range(6)]
        loads = [evaluate(problem, Plan.create(problem, device)) for problem in (one, other)]
        assert loads[0].load.tolist() == pytest.approx(loads[1].load.tolist())
        assert loads[0].cost == pytest.approx(loads[1].cost)
