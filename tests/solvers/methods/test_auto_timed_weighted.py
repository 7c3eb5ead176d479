"""Linear objectives of plans with a schedule, on links: auto and annealing against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl import evaluate, solve
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import Finish, Latency, Linear, Load, Makespan, Used
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem


def timed_problem(seed: int, n: int | None = None, k: int | None = None) -> Problem:
    """Return a graph on devices with links, a deadline that must hold or costs something, and a linear objective."""
    random = np.random.default_rng(seed)
    n, k = n or int(random.integers(2, 5)), k or int(random.integers(2, 4))
    share = 0.5 if n < 10 else 3 / n
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < share]
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        pairs,
        work=random.integers(1, 9, n).astype(float),
        output=random.integers(0, 4, n).astype(float),
    )
    bandwidth = np.full((k, k), 1.0)
    np.fill_diagonal(bandwidth, np.inf)
    goals = (
        [*((Used(d), float(random.integers(1, 9))) for d in range(k)), (Makespan(), 0.125)],
        [*((Load(d), float(random.integers(1, 4))) for d in range(k)), (Finish(n - 1), 1.0)],
        [(Makespan(), 1.0), (Latency(), 0.5)],
    )
    limit = float(graph.work.sum()) * (0.9 if n < 10 else 0.5)
    row = Linear(label="deadline", terms=((Makespan(), 1.0),), sense="<=", rhs=limit, penalty=2.0 if seed % 2 else None)
    return Problem.create(
        graph,
        [Device(f"d{d}", speed=float(random.choice([0.5, 1.0]))) for d in range(k)],
        Links(bandwidth=bandwidth, latency=np.zeros((k, k))),
        Objective.linear(goals[seed % 3], label="goal"),
        [row],
    )


@pytest.mark.sampled(21)
@pytest.mark.parametrize("method", ["auto", "annealing"])
@pytest.mark.parametrize("seed", range(18))
def test_small_problems(seed: int, method: str) -> None:
    """The best plan is found, and no bound is above it."""
    problem = timed_problem(seed)
    best = min((evaluate(problem, plan).cost for plan in plans(problem)), default=None)
    found = solve(problem, method, time_limit=20)
    assert (found.plan is None) == (best is None)
    if best is not None:
        assert found.cost == pytest.approx(best, abs=1e-5)
        assert found.bound is None or found.bound.cost <= best + 1e-6 * abs(best)


@pytest.mark.long
def test_cheapest_devices_before_the_model_has_any_plan() -> None:
    """Of a graph that is large for the model the cheapest sets of devices give a plan at once."""
    problem = timed_problem(0, n=60, k=5)
    found = solve(problem, time_limit=5)
    assert found.plan is not None
    assert found.verified
