"""What pairs of devices send: the same tensors as those whose times the evaluation counts."""

from __future__ import annotations

import random

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.traffic import pairs
from tests.networks import random_problem
from tests.tree import ROOT

EXAMPLES = ROOT / "examples"


def test_shared_channel() -> None:
    """On a shared channel a device reads for as long as what is sent to it takes."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, k = 12, 4
        edges = sorted({(int(u), int(v)) for u, v in np.sort(rng.integers(0, n, (30, 2))) if u < v})
        graph = Graph.create([f"n{v}" for v in range(n)], edges, work=1.0, output=rng.integers(1, 9, n))
        problem = Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(2.0), Objective("bottleneck"))
        plan = Plan.create(problem, rng.integers(0, k, n))
        read = np.zeros(k)
        for (_, e), sent in pairs(problem, plan).items():
            read[e] += sent.size / 2.0
        assert read == pytest.approx(evaluate(problem, plan).input)


def test_networks() -> None:
    """Where tensors are sent to each reader by itself, channels carry what the pairs send over them."""
    seen = 0
    for seed in range(60):
        problem = random_problem(random.Random(seed), objective=Objective("bottleneck"))
        net = problem.network
        if net.send != "each" or not net.connected:
            continue
        seen += 1
        plan = Plan.create(problem, np.random.default_rng(seed).integers(0, problem.k, problem.graph.n))
        amounts = np.zeros(len(net.channels))
        for (d, e), sent in pairs(problem, plan).items():
            for channel in net.route[d][e]:
                amounts[channel] += sent.size
        assert amounts / net.bandwidth == pytest.approx(evaluate(problem, plan).channels)
    assert seen > 3


def test_schedules() -> None:
    """Links of a schedule are busy for as long as its transfers take, each edge by itself."""
    problem = mtpp_dsl.load(EXAMPLES / "unequal.mtpp")
    plan = mtpp_dsl.solve(problem, "heft").plan
    assert plan is not None
    assert plan.schedule is not None
    took = np.nansum(plan.schedule.arrived - plan.schedule.sent)
    sent = pairs(problem, plan)
    assert sum(each.time or 0.0 for each in sent.values()) == pytest.approx(took)
    assert sum(each.tensors for each in sent.values()) == np.isfinite(plan.schedule.sent).sum()
