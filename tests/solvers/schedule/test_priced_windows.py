"""Prices of windows: the least cost of labels, and bounds on modules that no schedule is below."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest

from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule, modules
from mtpp_dsl.solvers.algorithms.least_labelling import Labelling
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.schedule.decomposition.module_answers import path_bounds
from mtpp_dsl.solvers.schedule.decomposition.module_choices import ModuleChoices
from mtpp_dsl.solvers.schedule.decomposition.priced_windows import PricedModule
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece, piece_of
from tests.amount import part
from tests.makespans import best_of, makespan_problem


@pytest.mark.parametrize("seed", range(part(60, 4)))
def test_the_least_labels_are_those_of_trying_all(seed: int) -> None:
    """Together, for every label of a node, and for every two labels at an edge."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, 6)), int(random.integers(1, 4))
    ends = [(u, v) for u in range(n) for v in range(u) if random.random() < 0.5]
    tails, heads = (np.array([pair[i] for pair in ends], np.int64) for i in (0, 1))
    nodes, edges = random.integers(0, 9, (n, k)) * 1.0, random.integers(0, 9, (len(ends), k, k)) * 1.0
    nodes[random.random(nodes.shape) < 0.15], edges[random.random(edges.shape) < 0.15] = inf, inf
    least, of_nodes, of_edges = inf, np.full_like(nodes, inf), np.full_like(edges, inf)
    for labels in product(range(k), repeat=n):
        cost = sum(nodes[v, d] for v, d in enumerate(labels))
        cost += sum(edges[e, labels[u], labels[v]] for e, (u, v) in enumerate(ends))
        least = min(least, cost)
        for v, d in enumerate(labels):
            of_nodes[v, d] = min(of_nodes[v, d], cost)
        for e, (u, v) in enumerate(ends):
            of_edges[e, labels[u], labels[v]] = min(of_edges[e, labels[u], labels[v]], cost)
    found = Labelling(n, tails, heads).costs(nodes, edges)
    assert found.least == least
    np.testing.assert_array_equal(found.nodes, of_nodes)
    np.testing.assert_array_equal(found.edges, of_edges)


def whole_module(problem: Problem) -> tuple[ModulePiece, float]:
    """Return a graph as one module without ends, and what a unit is worth."""
    whole, graph = lower(problem), problem.graph
    nodes, edges = tuple(graph.topological_order.tolist()), tuple(range(graph.m))
    return piece_of(whole, CutModule(NONE, NONE, nodes, edges), exclusive=True), whole.scale.unit


@pytest.mark.parametrize("seed", range(part(120, 8)))
def test_prices_bound_from_below(seed: int) -> None:
    """Whatever the limit, neither the best bound nor that of one question is above the optimum."""
    problem, best = makespan_problem(seed), best_of(seed)
    exclusive = any(problem.of(ExclusiveLinks))
    if best is None or not exclusive or not problem.allowed.any(axis=1).all():
        return
    piece, unit = whole_module(problem)
    priced, optimum = PricedModule(piece), best / unit * (1 + 1e-9)
    for limit in (0.5 * optimum, best / unit, 1.001 * optimum, 1.1 * optimum, 3.0 * optimum + 1):
        assert priced.below(0, 0, limit).time <= min(limit, optimum)
    bound = priced.least_time(0, 0, float(path_bounds(piece)[0, 0]), 3.0 * optimum + 1)
    assert bound is None or path_bounds(piece)[0, 0] < bound.time <= optimum


def branches(count: int, output: float) -> Problem:
    """Return equal branches between two nodes on two equal devices, and transfers that take *output*."""
    edges = [*((0, v) for v in range(1, count + 1)), *((v, count + 1) for v in range(1, count + 1))]
    times = {"d0": [1.0] * (count + 2), "d1": [1.0] * (count + 2)}
    graph = Graph.create([f"v{v}" for v in range(count + 2)], edges, output=output, times=times)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    rules = [ExclusiveLinks()]
    return Problem.create(graph, [Device("d0"), Device("d1")], links, Objective("makespan"), rules)


@pytest.mark.parametrize(("output", "time"), [(9.0, 9.0), (0.0, 5.0), (1.0, 5.5)])
def test_devices_and_ports_are_told_apart(output: float, time: float) -> None:
    """Eight branches are shared out where transfers are free, stay where they are long, and half go at a cost."""
    problem = branches(8, output)
    whole = lower(problem)
    piece = piece_of(whole, modules(problem.graph)[1], exclusive=True)
    known = float(path_bounds(piece)[0, 0])
    bound = PricedModule(piece).least_time(0, 0, known, 20.0 / whole.scale.unit)
    assert bound is not None
    assert bound.time * whole.scale.unit == pytest.approx(time, rel=1e-6)


def test_what_is_on_no_short_path_is_closed() -> None:
    """Below the length of a branch on the other device it is closed there, and below all paths nothing is left."""
    problem = branches(2, 9.0)
    whole = lower(problem)
    unit, choices = whole.scale.unit, ModuleChoices(piece_of(whole, modules(problem.graph)[1], exclusive=True), 0, 0)
    assert choices.length * unit == pytest.approx(2.0)
    assert choices.close_paths(4.5 / unit)
    assert not np.isfinite(choices.through[:, 0, 1]).any()
    assert not choices.close_paths(2.0 / unit)


def test_modules_that_are_joined_too_closely_are_left_alone() -> None:
    """A complete graph has no narrow order of its nodes."""
    n = 14
    graph = Graph.create([f"v{v}" for v in range(n)], [(u, v) for v in range(n) for u in range(v)], work=1.0)
    links = Links(np.ones((3, 3)), np.zeros((3, 3)))
    devices = [Device(f"d{d}") for d in range(3)]
    problem = Problem.create(graph, devices, links, Objective("makespan"), [ExclusiveLinks()])
    assert not PricedModule(whole_module(problem)[0]).suits
