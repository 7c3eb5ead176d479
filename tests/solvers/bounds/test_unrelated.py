"""Unrelated times, by node and device: every method against brute force, and the linear programme of R||Cmax."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import PROOFS, load
from mtpp_dsl.solvers.algorithms import least_load
from mtpp_dsl.solvers.algorithms.least_load import closed_shares
from mtpp_dsl.solving.api import find_method, method_names, solve
from tests.repeats import references

FLAT = {
    "shared": (Shared(1.0), Objective("bottleneck"), [Acyclic()]),
    "free": (Shared(1.0), Objective("bottleneck"), []),
    "host": (Host(2.0), Objective("bottleneck"), [Acyclic()]),
    "links": (Links(np.ones((3, 3)), np.zeros((3, 3))), Objective("makespan"), []),
    "latency": (Host(1.0), Objective("makespan"), [Contiguous()]),
    "batch": (Links(np.ones((3, 3)), np.zeros((3, 3))), Objective("throughput", batch=2), []),
}


@cache
def unrelated(seed: int, kind: str) -> tuple[Problem, float]:
    """Return a problem with times that no work and speeds give, and its optimum."""
    random = np.random.default_rng(seed)
    n, k = 3 if kind == "batch" else 4, 3
    time = random.integers(1, 10, (n, k)).astype(float)
    time[seed % n, seed % k] = np.inf
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.5]
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        edges,
        output=random.integers(0, 3, n),
        device_times={f"d{d}": time[:, d] for d in range(k)},
    )
    joined, objective, rules = FLAT[kind]
    asked: list[Constraint] = [*rules]
    asked += [Colocate(nodes=(0, n - 1))] * (seed % 3 == 2)
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(k)], joined, objective, asked)
    return problem, min(evaluate(problem, plan).cost for plan in plans(problem))


METHODS = [name for name in method_names() if name not in ("expert", "milp-split", "split-bound", "decomposition")]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", FLAT)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_unrelated_times(method: str, kind: str) -> None:
    """What accepts such a problem gives plans that hold, and no bound above the optimum; `optimal` is optimal."""
    problem, best = unrelated(len(method) % 4, kind)
    if find_method(method).accepts(problem) is not None:
        return
    found = solve(problem, method, time_limit=0.2, seed=0)
    if found.evaluation is not None:
        assert found.verified
        assert found.evaluation.cost >= best - 1e-6
    if found.bound is not None:
        assert found.bound.cost <= best + 1e-6
    if found.status == "optimal":
        assert found.evaluation is not None
        assert found.evaluation.cost == pytest.approx(best)
    assert found.status != "infeasible"


@pytest.mark.parametrize("seed", range(20))
def test_closed_shares_hold_and_are_proved(seed: int) -> None:
    """The bound is not above the optimum, and its certificate proves it."""
    problem, best = unrelated(seed, "shared" if seed % 2 else "free")
    value, _, data = least_load.simple_bound(problem)
    assert value <= best
    assert value * (1 - 1e-9) <= load(PROOFS, "shares")().prove(problem, data, Limits()) <= best


def test_closed_shares_are_stronger() -> None:
    """A node that takes 6 anywhere closes the pairs of 9: the bound is 6, where weights alone give 4."""
    graph = Graph.create(["a", "b", "c"], [], device_times={"p": [1.0, 9.0, 6.0], "q": [9.0, 1.0, 6.0]})
    problem = Problem.create(graph, [Device("p"), Device("q")], Shared(1.0), Objective("bottleneck"))
    value, shares, closed = closed_shares(problem)
    assert value == pytest.approx(6.0)
    assert closed <= 9.0
    assert set(shares) == {"p", "q"}
    assert load(PROOFS, "shares")().prove(problem, {"shares": shares, "closed": closed}, Limits()) >= value * (1 - 1e-9)


def case_problem(case: dict[str, Any], rules: tuple[Constraint, ...] = ()) -> Problem:
    """Return a reference of unrelated times as a problem."""
    data = case["data"]
    time = np.array(data["time"], np.float64)
    time[time >= data.get("inf", np.inf)] = np.inf
    graph = Graph.create(
        [f"v{v}" for v in range(data["n"])],
        data["edges"],
        output=data["out"],
        device_times={f"d{d}": time[:, d] for d in range(data["k"])},
    )
    return Problem.create(
        graph, [Device(f"d{d}") for d in range(data["k"])], Shared(1.0), Objective("bottleneck"), rules
    )


@pytest.mark.parametrize("name", ["crosswise", "rule A by one column", "one node", "not supported"])
def test_references(name: str, data: Path) -> None:
    """The optima by hand, by ``auto`` and by brute force; INVALID rule A by one column would merge a and b: 10."""
    case = references(data, 1)[name]
    problem = case_problem(case)
    assert min(evaluate(problem, plan).cost for plan in plans(problem)) == case["optimum"]
    found = solve(problem, time_limit=5)
    assert found.evaluation is not None
    assert (found.status, found.evaluation.cost) == ("optimal", case["optimum"])
    if name == "rule A by one column":
        merged = case_problem(case, (Colocate(nodes=(0, 1)),))
        assert min(evaluate(merged, plan).cost for plan in plans(merged)) == 10.0
    if name == "not supported":
        assert solve(case_problem(case, (Acyclic(),)), time_limit=5).status == "infeasible"
