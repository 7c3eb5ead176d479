"""The least bottleneck within budgets, and with times that are off, by the programme over ideals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtpp_dsl import load, solve
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.constraints import Bottleneck, Constraint, Decision, Linear, Load, On, Robust, Used
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solving.api import find_method
from tests.amount import part
from tests.solvers.partition.test_ideals_priced import priced


def budgeted(seed: int) -> Problem:
    """Return a problem of a few nodes, with one or two budgets, some with times that are off."""
    random = np.random.default_rng(seed)
    problem = priced(5 * seed)
    n, k = problem.graph.n, problem.k
    rules: list[Constraint] = [c for c in problem.constraints if not isinstance(c, Linear)]
    robust = seed % 3 == 0
    kinds: list[list[tuple[Decision, float]]] = [
        [(Used(d), float(1 + d % 2)) for d in range(k)],
        [(On(v, d), float(random.integers(-2, 3))) for v in range(n) for d in range(k)],
        [(Load(d), float(1 + 2 * (d % 2))) for d in range(k)],
    ]
    limits = [(2, 6), (-4, 5), (5, 60)]
    for what in random.choice(2 if robust or np.isfinite(problem.overflow_limit).any() else 3, 2, replace=False):
        low, high = limits[what]
        sign = float(random.choice([1.0, -1.0]))
        terms = tuple((decision, sign * a) for decision, a in kinds[what])
        sense = "<=" if sign > 0 else ">="
        rules.append(Linear(label=f"b{what}", terms=terms, sense=sense, rhs=sign * float(random.integers(low, high))))
    if random.random() < 0.3:
        rules.append(Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=float(random.integers(3, 20))))
    graph = problem.graph
    if robust:
        graph = replace(graph, deviation=np.where(random.random(n) < 0.5, random.integers(0, 5, n), np.nan))
        rules.append(Robust(most=int(random.integers(1, 4)), share=0.25))
    return Problem.create(graph, problem.devices, problem.interconnect, Objective("bottleneck"), rules)


@pytest.mark.parametrize("seed", range(part(40, 4)))
def test_brute_force(seed: int) -> None:
    """The least bottleneck of all plans within the budgets, proved."""
    problem = budgeted(seed)
    assert Ideals().keeps_all(problem)
    best = min((cost_of(problem, plan) for plan in plans(problem)), default=None)
    found = solve(problem, "ideals", time_limit=20)
    if best is None:
        assert found.status == "infeasible"
    else:
        assert found.cost == pytest.approx(best, abs=1e-6)
        assert found.status == "optimal"
        assert found.bound is not None
        assert found.bound.cost <= best + 1e-9


@pytest.mark.parametrize("seed", range(0, 40, 5))
def test_prices_with_times_that_are_off(seed: int) -> None:
    """The cheapest devices that keep a deadline when some nodes take longer."""
    problem = priced(seed)
    n = problem.graph.n
    random = np.random.default_rng(seed)
    graph = replace(problem.graph, deviation=random.integers(0, 5, n).astype(float))
    due = Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=14.0)
    kept = [c for c in problem.constraints if not isinstance(c, Linear)]
    problem = Problem.create(
        graph, problem.devices, problem.interconnect, problem.objective, [*kept, due, Robust(most=2, share=0.5)]
    )
    best = min((cost_of(problem, plan) for plan in plans(problem)), default=None)
    found = solve(problem, "ideals", time_limit=20)
    assert found.status == ("infeasible" if best is None else "optimal")
    if best is not None:
        assert found.cost == pytest.approx(best, abs=1e-6)


POOL = """mtpp 1
graph {
  node layer[i in 0..47] (work = 6 + i, output = 1)
  edge layer[i] -> layer[i + 1] for i in 0..46
}
device a[8] (price = 1)
device b[8] (speed = 2.2, price = 2)
device c[8] (speed = 4.1, price = 3.5)
device d[8] (speed = 9, price = 9)
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint budget: sum(price(d) * used(d) for d in devices) <= 12
constraint acyclic
"""


@pytest.mark.long
def test_a_pool_of_equal_devices_is_counted() -> None:
    """The best within a price of eight devices of each of four types is proved."""
    found = solve(load(POOL), "auto", time_limit=60)
    assert found.status == "optimal"
    assert found.method == "auto"


def test_rows_that_are_no_budgets_are_only_checked() -> None:
    """A least load is no budget: ideals checks it, as before."""
    problem = budgeted(1)
    row = Linear(label="busy", terms=((Load(0), 1.0),), sense=">=", rhs=1.0)
    asked = problem.with_constraints([*problem.constraints, row])
    assert not Ideals().keeps_all(asked)
    assert find_method("ideals").accepts(asked) is None
