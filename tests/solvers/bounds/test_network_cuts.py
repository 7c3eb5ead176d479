"""Method ``anchor`` on links and trees, against all plans of small problems."""

from __future__ import annotations

import random

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.problem.devices import Device, Links, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN
from mtpp_dsl.solvers.algorithms.directed_cut import DirectedCuts
from mtpp_dsl.solvers.methods.bounds import Anchor, Simple
from tests.networks import random_problem
from tests.solvers.partition.test_ideals_networks import constrained, least

SEEDS = range(30)


def bound_of(problem: Problem) -> float:
    """Return the bound, which is never below that of ``simple``."""
    found, simple = (method.solve(problem, Limits(), Progress()).bound for method in (Anchor(), Simple()))
    assert found is not None
    assert simple is not None
    assert found.cost >= simple.cost
    return found.cost


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_plan_is_below_the_bound(seed: int) -> None:
    rng = random.Random(seed)
    problem = constrained(random_problem(rng, 5, 3), rng, acyclic=seed % 3 == 0)
    best = least(problem)
    found = Anchor().solve(problem, Limits(), Progress())
    if found.bound is None:
        assert best == np.inf
    else:
        assert found.bound.cost <= best * (1 + 1e-9)


def test_the_bound_is_above_that_of_the_work_on_some() -> None:
    above = 0
    for seed in SEEDS:
        problem = random_problem(random.Random(seed), 5, 3)
        simple = Simple().solve(problem, Limits(), Progress()).bound
        assert simple is not None
        above += bound_of(problem) > simple.cost * (1 + 1e-9)
    assert above >= 5


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(("overlap", "optimum"), [("full", 4.0), ("none", 8.0)])
def test_two_nodes_and_one_tensor(overlap: str, optimum: float, *, half: bool) -> None:
    """Where transfers overlap work, the sum of both that cuts count elsewhere would be above the optimum."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=[4.0, 4.0], output=[4.0, 0.0])
    joined = Links(np.ones((2, 2)), np.zeros((2, 2)), overlap=overlap, duplex="half" if half else "full")  # type: ignore[arg-type]
    problem = Problem.create(graph, [Device("x"), Device("y")], joined)
    assert least(problem) == optimum
    assert bound_of(problem) == pytest.approx(optimum)


def test_the_best_rate_that_leads_to_a_device_counts() -> None:
    """A tensor may come from any device: the mean rate would be above the optimum, the widest one is not."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=[4.0, 4.0], output=[4.0, 0.0])
    rates = np.array([[0.0, 1.0, 8.0], [1.0, 0.0, 1.0], [8.0, 1.0, 0.0]])
    devices = [Device("x"), Device("y"), Device("z")]
    problem = Problem.create(graph, devices, Links(rates, np.zeros((3, 3)), routing="direct"))
    assert bound_of(problem) <= least(problem) == 4.5


def test_nodes_held_apart_pay_for_the_channel_between() -> None:
    """Four sources are pinned to one server and their readers to the other, whose uplink is the only way."""
    names = [f"{side}{i}" for side in "ab" for i in range(4)]
    graph = Graph.create(names, [(i, 4 + i) for i in range(4)], work=1.0, output=[6.0] * 4 + [0.0] * 4)
    tree = Tree(("top", "left"), np.array([1, 1, 0, 0, -1, 0]), np.array([8.0] * 4 + [np.inf, 3.0]), np.zeros(6),
                np.zeros(6, bool))  # fmt: skip
    pins = [Pin(nodes=(0, 1, 2, 3), devices=(0, 1)), Pin(nodes=(4, 5, 6, 7), devices=(2, 3))]
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(4)], tree, constraints=pins)
    assert bound_of(problem) == pytest.approx(8.0)
    found = mtpp_dsl.solve(problem, time_limit=60)
    assert found.status == "optimal"
    assert found.cost == pytest.approx(8.0)


@pytest.mark.parametrize("seed", range(6))
def test_directed_cuts_are_least(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, tensors = 5, 4
    producer = draw.integers(0, n, tensors)
    readers = [sorted({int(v) for v in draw.integers(0, n, 2)} - {int(p)} or {int(p + 1) % n}) for p in producer]
    price, enters, leaves = (draw.integers(0, 9, size) for size in (n, tensors, tensors))
    cuts = DirectedCuts(n, producer, readers, 1)
    state = np.where(np.arange(n) == 0, IN, FREE)
    best = None
    for choice in range(1, 1 << n, 2):
        side = np.array([bool(choice >> v & 1) for v in range(n)])
        into, out = cuts.crossing(side)
        value = int(price[side].sum() + enters[into].sum() + leaves[out].sum())
        best = value if best is None else min(best, value)
    value, side = cuts.least(state, price, enters, leaves)
    into, out = cuts.crossing(side)
    assert value == best == int(price[side].sum() + enters[into].sum() + leaves[out].sum())
