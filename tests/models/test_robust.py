"""Times that are off: evaluation, the independent check, the exact rows and bounds, against all cases."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl import load as read_text
from mtpp_dsl import solve
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.constraints import Latency, Linear, Load, Replicate, Robust
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import ConstraintError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.reductions.fuse import Fuse
from mtpp_dsl.solving.api import find_method, method_names
from tests.repeats import references
from tests.robust_problems import of_reference, random_robust


def worst(problem: Problem, plan: Plan) -> float:
    """Return the largest load over all choices of the nodes that take longer, anywhere in the graph."""
    rule = problem.robust
    assert rule is not None
    usual = problem.with_constraints([c for c in problem.constraints if not isinstance(c, Robust)])
    usual = replace(usual, objective=Objective("bottleneck"))
    found = 0.0
    for late in combinations(range(problem.graph.n), min(rule.most, problem.graph.n)):
        time = np.array(problem.time)
        for v in late:
            time[v] += problem.deviation[v]
        found = max(found, evaluate(replace(usual, time=time), plan).bottleneck)
    return found


@pytest.mark.sampled(21)
@pytest.mark.parametrize("seed", range(40))
def test_all_cases(seed: int) -> None:
    """The largest load is that of the worst case; the optimum by rows is that of all plans, and no bound exceeds it."""
    problem = random_robust(seed)
    again = read_text(problem.to_spec())
    assert again.constraints == problem.constraints
    assert np.array_equal(again.deviation, problem.deviation)
    every = list(plans(problem))
    for plan in every[:: max(1, len(every) // 12)]:
        assert evaluate(problem, plan).bottleneck == pytest.approx(worst(problem, plan))
        assert evaluate(problem, plan).cost == pytest.approx(cost_of(problem, plan))
    best = min((cost_of(problem, plan) for plan in every), default=None)
    found = solve(problem, "exact", time_limit=20)
    if best is None:
        assert found.status == "infeasible"
        return
    assert found.status == "optimal"
    assert found.cost == pytest.approx(best, abs=1e-5)
    for name in method_names():
        method = find_method(name)
        if name in ("exact", "auto") or method.gives == "plan" or method.accepts(problem) is not None:
            continue
        bound = method.solve(problem, Limits(time=5.0), Progress()).bound
        assert bound is None or bound.cost <= best + 1e-6 * max(1.0, best), name


@pytest.mark.parametrize("name", ["no deviation", "one deviation", "two deviations"])
def test_references(name: str, data: Path) -> None:
    """The optima of the note, by rows and by default."""
    one = references(data, 8)[name]
    for method in ("exact", "auto"):
        found = solve(of_reference(one["data"]), method, time_limit=20)
        assert found.cost == pytest.approx(one["optimum"])
        assert found.status == "optimal"


def test_merged_nodes_keep_their_own_deviations() -> None:
    """Two nodes that are one in the model are late one at a time; a merge that adds deviations up is refused."""
    text = """mtpp 1
graph { node a (work = 1, deviation = 3) node b (work = 1, deviation = 3) node c (work = 4) }
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint colocate a, b
constraint robust up to 1
"""
    problem = read_text(text)
    assert solve(problem, "exact").cost == pytest.approx(5.0)  # 1 + 1 + 3 of two nodes, not 1 + 1 + 6
    for reduction in (Contract(), Fuse()):
        assert reduction.accepts(problem) is not None


def test_what_has_no_worst_case_is_refused() -> None:
    """Sums of loads, replicas, makespans and two rules, each with a reason; and deviations that nothing reads."""
    problem = next(
        p for p in map(random_robust, range(40)) if not p.graph.device_times and p.interconnect.keyword == "shared"
    )
    rule = Robust(most=1, share=0.1)
    total = Linear(label="total", terms=((Load(0), 1.0), (Load(1), 1.0)), sense="<=", rhs=9.0)

    def made(*constraints: object, objective: Objective | None = None) -> Problem:
        return Problem.create(problem.graph, problem.devices, problem.interconnect, objective, constraints)  # type: ignore[arg-type]

    for constraints, objective, reason in (
        ([rule, rule], None, "says already"),
        ([rule, total], None, "adds up loads"),
        ([rule, Replicate(most=2)], None, "replicate"),
        ([rule], Objective.linear([(Latency(), 1.0)]), "adds up loads"),
    ):
        with pytest.raises(ConstraintError, match=reason):
            made(*constraints, objective=objective)
    assert any("deviation of" in note for note in made().warnings)
    busy = Linear(label="busy", terms=((Load(0), 1.0),), sense=">=", rhs=1.0)
    assert "worst cases from above" in str(find_method("exact").accepts(made(rule, busy)))
