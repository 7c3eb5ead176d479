"""Modules in a row: a bound that is never above the optimum, plans of them, and equal modules looked at once."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Constraint, ExclusiveLinks, Forbid
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.windows import module_kinds
from mtpp_dsl.solvers.bounds.schedule.series import series
from mtpp_dsl.solvers.methods.schedules import Series
from tests.amount import part
from tests.makespans import best_of, makespan_problem
from tests.oracle import optimum


def row_of_modules(seed: int) -> Problem:
    """Return two forks and joins in a row, equal ones in every other problem, on two or three devices."""
    random = np.random.default_rng(seed)
    widths = [2, 2] if seed % 2 else random.choice([1, 2], 2).tolist()
    names, edges, work, output = ["in"], [], [float(random.integers(0, 3))], [float(random.integers(0, 4))]
    drawn = random.integers(0, 5, (len(widths), 4)), random.integers(0, 4, (len(widths), 4))
    works, outputs = (np.repeat(rows[:1], len(widths), axis=0) if seed % 2 else rows for rows in drawn)
    for j, width in enumerate(widths):
        entry = len(names) - 1
        names += [f"m{j}.{w}" for w in range(width)] + [f"out{j}"]
        edges += [(entry, entry + 1 + w) for w in range(width)]
        edges += [(entry + 1 + w, entry + width + 1) for w in range(width)]
        edges += [(entry, entry + width + 1)] if random.random() < 0.3 else []
        work += [*works[j, :width].tolist(), float(works[j, 3])]
        output += [*outputs[j, :width].tolist(), float(outputs[j, 3])]
    k = int(random.integers(2, 4))
    devices = [Device(f"d{d}", speed=float(random.choice([1.0, 1.0, 0.5, 2.0]))) for d in range(k)]
    rules: list[Constraint] = [ExclusiveLinks()] if random.random() < 0.5 else []
    rules += [Forbid(nodes=(int(random.integers(len(names))),), devices=(0,))] if random.random() < 0.3 else []
    latency = np.where(random.random((k, k)) < 0.3, 0.5, 0.0)
    graph = Graph.create(names, edges, work=work, output=output)
    return Problem.create(graph, devices, Links(np.ones((k, k)), latency), Objective("makespan"), rules)


def bounded(problem: Problem, **limits: float) -> Result:
    return series(problem, Limits(**limits), Progress())  # type: ignore[arg-type]


def test_no_bound_is_above_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mixtures of all features, and rows of modules, with modules as they are and with several taken as one."""
    reached = 0
    cases = [(makespan_problem(seed), best_of(seed)) for seed in range(part(24, 8))]
    rows = [row_of_modules(seed) for seed in range(part(16, 8))]
    for problem, best in [*cases, *((row, optimum(row)) for row in rows)]:
        for most in (4_000, 2):
            monkeypatch.setattr(module_kinds, "MAX_MODULES", most)
            result = bounded(problem)
            if best is None:
                continue
            assert result.bound is not None
            assert result.bound.cost <= best * (1 + 1e-9)
            reached += most > 2 and result.bound.cost >= best * (1 - 1e-6)
    assert reached > 0.5 * part(24, 8)


def equal_modules() -> Problem:
    """Return forty equal forks and joins in a row on two equal devices."""
    names, edges = ["in"], []
    for j in range(40):
        entry = len(names) - 1
        names += [f"m{j}.{w}" for w in range(6)] + [f"out{j}"]
        edges += [(entry, entry + 1 + w) for w in range(6)] + [(entry + 1 + w, entry + 7) for w in range(6)]
    graph = Graph.create(names, edges, work=1.0, output=0.25)
    devices = [Device(f"d{d}") for d in range(2)]
    return Problem.create(graph, devices, Links(np.ones((2, 2)), np.zeros((2, 2))), Objective("makespan"))


def test_equal_modules_are_looked_at_once() -> None:
    """Forty equal modules are of one kind, and add up; no path sees what their nodes compete for."""
    problem = equal_modules()
    result = bounded(problem)
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(40 * 4 + 1)  # three on each device, and the exit
    assert "41 modules of 2 kinds" in result.bound.detail
    simple = registry.load(registry.METHODS, "simple")().solve(problem, Limits(), Progress()).bound
    assert simple.cost < 0.9 * result.bound.cost


def test_plans_of_modules_are_joined() -> None:
    """The plan of equal modules is that of the best of one, again and again."""
    problem = equal_modules()
    plan = Series().solve(problem, Limits(), Progress()).plan
    assert plan is not None
    assert verify(problem, plan) == []
    assert evaluate(problem, plan).cost == pytest.approx(40 * 4.5 + 1)  # half a module goes and comes back


def test_joined_plans_are_plans() -> None:
    """With every feature and any ends, what is found is a plan, and no better than the best."""
    count = 0
    cases = [
        *(row_of_modules(seed) for seed in range(100, 100 + part(8, 4))),
        *map(makespan_problem, range(part(12, 4))),
    ]
    for problem in cases:
        plan = Series(1, 5).solve(problem, Limits(), Progress()).plan
        best = optimum(problem)
        count += plan is not None
        if plan is not None:
            assert best is not None
            assert verify(problem, plan) == []
            assert evaluate(problem, plan).cost >= best * (1 - 1e-9)
    assert count >= len(cases) // 2


def test_a_limit_of_time_leaves_what_was_gone_through() -> None:
    """Without any time there is a bound, if only that no time is negative."""
    result = bounded(row_of_modules(1), time=0.0)
    assert result.termination == "time_limit"
    assert result.bound is not None
    assert result.bound.cost == 0.0
