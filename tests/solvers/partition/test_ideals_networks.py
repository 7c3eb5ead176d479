"""Method ``ideals`` on links and trees, against all plans of small problems."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.constraints import Acyclic, Colocate, Constraint, Forbid, Memory, Pin
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Graph
from mtpp_dsl.solvers.algorithms.homes.of_problem import is_exact
from mtpp_dsl.solvers.methods.partition import Ideals
from tests.networks import random_links, random_problem, random_tree

SEEDS = range(60)


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
def test_splits_in_an_order_of_the_devices_are_optimal_and_proved(seed: int) -> None:
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


def test_networks_are_drawn_of_both_kinds() -> None:
    rng = random.Random(1)
    assert random_links(rng, 3).keyword == "links"
    assert random_tree(rng, 3).keyword == "tree"
