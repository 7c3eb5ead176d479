"""The model of splits for CP-SAT, against brute force."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl import load
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Forbid, Memory, Pin, Separate
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.engine import solve_request
from mtpp_dsl.solvers.backends.cpsat.split_problem import lower_split
from mtpp_dsl.solving.api import solve
from tests.amount import part
from tests.row_problems import best_cost, small_problem


def without_rows(seed: int) -> Problem:
    """Return a problem with any mixture of the other constraints, on either interconnect, with uneven numbers."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, 6)), int(random.integers(1, 4))
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.5]
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        edges,
        work=random.choice([0.0, 1.0, 2.0, 0.1, np.pi], n),
        output=random.choice([0.0, 1.0, 0.3], n),
        memory=random.choice([0.0, 1.0, 0.1], n),
        backward=(np.arange(n) >= n // 2).tolist() if random.random() < 0.5 else [False] * n,
    )
    devices = [
        Device(f"d{d}", speed=float(random.choice([1.0, 2.0])), memory=1.2, pays_io=random.random() < 0.7)
        for d in range(k)
    ]

    def some() -> tuple[int, ...]:
        return tuple(sorted(random.choice(n, min(n, 2), replace=False).tolist()))

    kinds: list[Constraint] = [
        Acyclic(), Contiguous(), Memory(), Colocate(nodes=some()), Separate(nodes=some()),
        Pin(nodes=some()[:1], devices=(0,)), Forbid(nodes=some()[:1], devices=(k - 1,)),
    ]  # fmt: skip
    rules = [kind for kind in kinds if random.random() < 0.3]
    link = Shared(1.0) if random.random() < 0.5 else Host(1.0)
    separate = random.random() < 0.6
    objective = Objective("bottleneck", parts="separate" if separate else "together")
    return Problem.create(graph, devices, link, objective, rules)


@pytest.mark.parametrize("rows", [False, True])
def test_it_is_right_on_small_problems(rows: bool) -> None:
    """What is proved is no more than the optimum, and nearly it; what it finds is a plan that costs as much."""
    seen: Counter[str] = Counter()
    for seed in range(part(70, 5)):
        problem = small_problem(seed, "bottleneck") if rows else without_rows(seed)
        best = best_cost(seed, "bottleneck") if rows else None
        if not rows:
            best = min((evaluate(problem, plan).cost for plan in plans(problem)), default=None)
        whole = lower_split(problem)
        answer = solve_request(whole.request)
        seen[answer.status] += 1
        seen[problem.objective.parts] += 1
        if best is None:
            assert answer.status == "infeasible", seed
            continue
        assert answer.status == "optimal", seed
        assert whole.scale.cost(answer.bound) <= best * (1 + 1e-12), seed
        assert whole.scale.cost(answer.bound) >= best * (1 - 1e-6) - 1e-12, seed
        assert answer.solution is not None
        (plan,) = whole.plans(answer.solution)
        assert not verify(problem, plan), seed
        known = lower_split(problem, plan, strict=True)
        again = solve_request(known.request)
        assert again.value is not None, seed
        assert known.scale.cost(again.value) == pytest.approx(best, rel=1e-6, abs=1e-9), seed
    assert seen["optimal"] > part(30, 5)
    assert rows or seen["separate"] > part(10, 5)
    assert seen["infeasible"] > 0


def test_no_path_leads_from_one_of_two_colocated_nodes_to_the_other() -> None:
    """So those between which they stand may share a device, although a supernode of both would be between them."""
    graph = Graph.create("aubw", [(0, 1), (3, 2)], work=1.0)
    rules: list[Constraint] = [Contiguous(), Colocate(nodes=(1, 3))]
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=rules)
    answer = solve_request(lower_split(problem, next(plans(problem))).request)
    whole = lower_split(problem)
    free = solve_request(whole.request)
    assert answer.status in ("optimal", "infeasible")
    assert free.value is not None
    assert whole.scale.cost(free.value) == pytest.approx(2.0) == min(evaluate(problem, p).cost for p in plans(problem))


def test_a_solver_of_its_own_for_exact() -> None:
    """By name, from a plan that is given; what it has no model for is refused."""
    problem = small_problem(1, "bottleneck")
    best = best_cost(1, "bottleneck")
    found = solve(problem, "exact", solver="cp-sat", time_limit=20)
    assert (found.status, found.cost) == ("infeasible" if best is None else "optimal", best)
    graph = Graph.create("ab", [(0, 1)], work=1.0, params=2.0)
    streamed = Problem.create(graph, [Device("a", memory=1.0)], Shared(1.0, overflow=True))
    with pytest.raises(Refused, match="stream"):
        solve(streamed, "exact", solver="cp-sat")


def test_rows_with_multiples_of_loads_are_not_presolved() -> None:
    """Presolving such rows, in which factors multiply loads, does not look at the clock: minutes for twelve nodes."""
    rows = Path(__file__).parents[3] / "benchmarks" / "mtpplib" / "specs" / "rows.mtpp"
    result = solve(load(rows, n=12, rule="balance"), "exact", solver="cp-sat", time_limit=20)
    assert result.status == "optimal"
