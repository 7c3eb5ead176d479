"""Method ``ideals`` on links and trees, against all plans of small problems."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Forbid, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.homes import home_search
from mtpp_dsl.solvers.algorithms.homes.of_problem import is_exact
from mtpp_dsl.solvers.methods.bounds import Configuration, Count, Node
from mtpp_dsl.solvers.methods.branching import Branching
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.reductions.fuse import Fuse
from tests.networks import random_problem

SEEDS = [*range(60), 603]  # the last: a switch whose uplink is slower than that of the device below it


def constrained(problem: Problem, rng: random.Random, *, acyclic: bool = True) -> Problem:
    """Return the problem with constraints on devices and nodes."""
    n, k = problem.graph.n, problem.k
    found: list[Constraint] = [Acyclic()] if acyclic else []
    if rng.random() < 0.5:
        found.append(Memory())
    if n > 2 and rng.random() < 0.3:
        found.append(Colocate(nodes=tuple(sorted(rng.sample(range(n), 2)))))
    if rng.random() < 0.3:
        found.append(Pin(nodes=(rng.randrange(n),), devices=tuple(sorted(rng.sample(range(k), max(1, k - 1))))))
    if k > 1 and rng.random() < 0.3:
        found.append(Forbid(nodes=(rng.randrange(n),), devices=(rng.randrange(k),)))
    return problem.with_constraints(found)


def least(problem: Problem) -> float:
    """Return the least cost of any plan; ``inf`` where there is none."""
    best = np.inf
    for choice in product(range(problem.k), repeat=problem.graph.n):
        plan = Plan.create(problem, np.array(choice))
        if not verify(problem, plan):
            best = min(best, evaluate(problem, plan).cost)
    return float(best)


def chained(problem: Problem, rng: random.Random) -> Problem:
    """Return the same devices under a chain of nodes."""
    n = problem.graph.n
    graph = Graph.create(
        [f"n{v}" for v in range(n)],
        [(v, v + 1) for v in range(n - 1)],
        work=[float(rng.randint(0, 6)) for _ in range(n)],
        output=[float(rng.randint(0, 4)) for _ in range(n)],
        memory=[float(rng.randint(0, 3)) for _ in range(n)],
    )
    return Problem.create(graph, problem.devices, problem.interconnect)


@pytest.mark.parametrize("seed", SEEDS)
def test_splits_in_an_order_of_the_devices_are_optimal_and_proved(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every other problem the search looks at the clock all the time, and goes on where it was."""
    monkeypatch.setattr(home_search, "CHUNK", 2 if seed % 2 else home_search.CHUNK)
    rng = random.Random(seed)
    problem = random_problem(rng, rng.randint(1, 5), rng.randint(1, 3))
    if seed % 3 == 0:
        problem = chained(problem, rng)
    problem = constrained(problem, rng)
    best = least(problem)
    found = Ideals().solve(problem, Limits(), Progress())
    if found.plan is None:
        assert best == np.inf
        assert found.infeasibility is not None
        return
    assert found.evaluation is not None
    assert found.bound is not None
    assert not verify(problem, found.plan)
    assert found.bound.cost <= best * (1 + 1e-9)
    assert found.evaluation.cost >= best * (1 - 1e-9)
    if is_exact(problem):
        assert found.evaluation.cost == pytest.approx(best)
        assert found.bound.cost == pytest.approx(best)


@pytest.mark.parametrize("seed", range(12))
def test_without_an_order_it_proves_nothing(seed: int) -> None:
    rng = random.Random(seed)
    problem = constrained(random_problem(rng, 4, 3), rng, acyclic=False)
    best = least(problem)
    found = Ideals().solve(problem, Limits(), Progress())
    assert found.bound is None
    assert found.infeasibility is None or best == np.inf
    if found.plan is not None:
        assert evaluate(problem, found.plan).cost >= best * (1 - 1e-9)


def references() -> dict[str, tuple[dict[str, object], float]]:
    """Return the small instances on networks whose optima are known by hand, by their names."""
    for parent in Path(__file__).resolve().parents:
        file = parent / "shared" / "prototypes" / "extensions" / "references.json"
        if file.exists():
            found = json.loads(file.read_text(encoding="utf-8"))
            return {one["name"]: (one["data"], one["optimum"]) for one in found if one["feature"] == 2}
    return {}


@pytest.mark.parametrize("name", ["full", "none", "relay", "rule B, each", "tree"])
def test_references(name: str) -> None:
    if not references():
        pytest.skip("no shared prototypes here")
    data, optimum = references()[name]
    given = cast("dict[str, Any]", data)
    k = given["k"]
    names = [f"d{d}" for d in range(k)]
    graph = Graph.create(
        [f"n{v}" for v in range(given["n"])],
        [(u, v) for u, v in given["edges"]],
        output=given["out"],
        times={names[d]: np.array(given["time"], float)[:, d] for d in range(k)},
    )
    joined: Links | Tree
    if name == "tree":
        parents, half = np.array([0, 0, 1, 1, 2, 2, -1]), np.zeros(7, np.bool_)
        uplink = np.array([4.0, 4, 4, 4, 2, 2, np.inf])
        joined = Tree(("left", "right", "top"), parents, uplink, np.zeros(7), half, given["overlap"], given["send"])
    else:
        rate = [[given["channels"][way[0]] if way else 0.0 for way in ways] for ways in given["route"]]
        joined = Links(
            np.array(rate, float), np.zeros((k, k)), overlap=given["overlap"], send=given["send"], routing="direct"
        )
    problem = Problem.create(graph, [Device(name) for name in names], joined, constraints=[Acyclic()])
    found = Ideals().solve(problem, Limits(), Progress())
    assert found.evaluation is not None
    assert found.bound is not None
    assert found.evaluation.cost == pytest.approx(optimum)
    assert found.bound.cost == pytest.approx(optimum)


def test_what_is_invalid_on_networks_is_refused() -> None:
    """Bounds from one price of tensors, and merged nodes, are wrong there: extensions.md, section 2."""
    for seed in range(6):
        problem = random_problem(random.Random(seed), constraints=[Acyclic()])
        for method in (Count(), Configuration(), Node(), Branching(), SliceGraph()):
            assert method.accepts(problem) is not None
        for reduction in (Contract(), Fuse()):
            assert reduction.accepts(problem) is not None


@pytest.mark.parametrize("seed", range(8))
def test_auto_proves_what_ideals_prove(seed: int) -> None:
    rng = random.Random(seed)
    problem = constrained(random_problem(rng, 4, 3), rng)
    best = least(problem)
    found = mtpp_dsl.solve(problem, time_limit=20)
    if best == np.inf:
        assert found.plan is None
        return
    assert found.cost == pytest.approx(best)
    assert found.bound is not None
    assert found.bound.cost <= best * (1 + 1e-9)
