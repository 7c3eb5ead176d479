"""Nodes that share a heavy tensor: which are held together, and what annealing makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.partition.annealing import heavy_tensors
from mtpp_dsl.solvers.partition.annealing.heavy_tensors import HEAVY, joined
from tests.amount import part
from tests.solvers.partition.test_ordered_annealing import ordered


def test_what_holds_them_together_only_takes_plans_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of the stricter problem are those of the problem that cut no heavy tensor."""
    monkeypatch.setattr(heavy_tensors, "LONGEST", 9.0)  # small graphs have few plans otherwise
    seen = 0
    for seed in range(part(180)):
        problem = ordered(seed, training=seed % 2 == 0)
        strict = joined(problem)
        if strict is None or problem.k**problem.graph.n > 3_000:
            continue
        seen += 1
        graph = problem.graph
        least = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
        heavy = problem.tensor_time[graph.tails] > HEAVY * least[np.isfinite(least)].sum() / problem.k
        kept = {plan.assignment.tobytes() for plan in plans(strict)}
        for plan in plans(problem):
            device = plan.assignment
            cut = (device[graph.tails] != device[graph.heads]) & heavy
            assert (plan.assignment.tobytes() in kept) == (not cut.any()), seed
    assert seen > part(30)


def pairs(count: int) -> Problem:
    """Return pairs of nodes in two rows, each joined by a tensor that takes longer than they do, on two devices."""
    edges = [(2 * i, 2 * i + 1) for i in range(count)]
    edges += [(2 * i + 1, 2 * i + 4) for i in range(count - 2)]
    output = [8.0 if v % 2 == 0 else 0.01 for v in range(2 * count)]
    graph = Graph.create([f"v{v}" for v in range(2 * count)], edges, work=3.0, output=output)
    return Problem.create(graph, [Device("a"), Device("b")], Shared(1.0), constraints=[Acyclic()])


def test_the_best_plan_cuts_none_of_them() -> None:
    """So annealing finds it, with few moves."""
    problem = pairs(6)
    assert joined(problem) is not None
    result = Annealing(patience=1, moves=20).solve(problem, Limits(), Progress())
    assert result.plan is not None
    assert not verify(problem, result.plan)
    assert evaluate(problem, result.plan).cost == min(evaluate(problem, plan).cost for plan in plans(problem))


def test_none_are_held_together_in_vain() -> None:
    """Neither where no tensor is heavy, nor where all nodes would be on one device."""
    light = pairs(6)
    graph = Graph.create(light.graph.names, [(v, v + 1) for v in range(11)], work=3.0, output=0.1)
    assert joined(Problem.create(graph, light.devices, Shared(1.0), constraints=[Acyclic()])) is None
    graph = Graph.create(light.graph.names, [(v, v + 1) for v in range(11)], work=3.0, output=9.0)
    assert joined(Problem.create(graph, light.devices, Shared(1.0), constraints=[Acyclic()])) is None
