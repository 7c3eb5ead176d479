"""What constraints cost, held against optima by brute force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import jsonschema
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.constraints import Linear, Memory, Replicate
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.altered import without
from mtpp_dsl.show.explaining.constraint_costs import ConstraintCosts, constraints
from mtpp_dsl.show.explaining.explain import explain, explain_schema
from mtpp_dsl.show.explaining.question import Question, question_of
from tests.objective_problems import random_case
from tests.oracle import optimum, plans
from tests.row_problems import small_problem

TOLERANCE = 1e-6


def _problem(seed: int) -> Problem:
    """Return a problem of a few nodes: rows, memory, soft rows, linear objectives, schedules or replicas."""
    if seed % 3 == 0:
        return small_problem(seed, "bottleneck" if seed % 2 else "makespan")
    if seed % 3 == 1:
        problem = random_case(seed).problem
        return replace(problem, later=())
    problem = small_problem(seed, "bottleneck")
    rules = [rule for rule in problem.constraints if not isinstance(rule, Linear)]
    devices = [replace(device, speed=1.0) for device in problem.devices]
    rules += [] if any(isinstance(rule, Memory) for rule in rules) else [Memory()]
    return Problem.create(problem.graph, devices, problem.interconnect, None, [*rules, Replicate(most=2, sync="none")])


def _question(problem: Problem, seed: int, best: float) -> Question:
    """Return a question about some plan, not always the best, and a bound that is not always tight."""
    r = Random(seed)
    found = sorted(plans(problem), key=lambda plan: cost_of(problem, plan))
    plan = found[0 if r.random() < 0.5 else r.randrange(len(found))]
    bound = r.choice([None, best, best - 0.5])
    return replace(question_of(problem, plan, method="exact"), bound=bound)


def _hold(problem: Problem, found: ConstraintCosts, best: float) -> int:
    """Hold what is claimed of every statement against the optima with it and without it; return how many are proved."""
    proved = 0
    for price in found.prices:
        if price.effect in ("orders", "fixed"):
            continue
        other = optimum(without(problem, price.constraints))
        slack = TOLERANCE * (1 + abs(best) + abs(other or 0.0))
        if price.impossible:
            assert other is None
            continue
        assert price.cost is None or (other is not None and price.cost >= other - slack)
        assert price.bound is None or other is None or price.bound <= other + slack
        if other is None:
            continue
        assert price.least is None or best - other >= price.least - slack
        assert price.most is None or best - other <= price.most + slack
        if price.free:
            proved += 1
            assert other == pytest.approx(best, abs=slack)
        if price.said.endswith(", which is proved") and not price.free:
            proved += 1
            assert price.least == pytest.approx(best - other, abs=slack)
    return proved


def test_no_claim_on_what_a_constraint_costs_is_wrong() -> None:
    checked = proved = 0
    for seed in range(18):
        problem = _problem(seed)
        best = optimum(problem)
        if best is None or not problem.constraints:
            continue
        question = _question(problem, seed, best)
        found = constraints(question, 20.0)
        assert found is not None
        assert sum(len(price.constraints) for price in found.prices) == len(problem.constraints)
        proved += _hold(problem, found, best)
        checked += len(found.prices)
    assert checked > 20
    assert proved > 6


SPEC = """
graph { node a[i in 0..3] (work = 2 ms, params = 3 GB) edge a[i] -> a[i + 1] for i in 0..2 }
device gpu[3] (memory = 7 GB)
interconnect shared (bandwidth = 8 GB/s)
minimize bottleneck
constraint memory
constraint together: forall d in devices: on(a[0], d) == on(a[3], d)
constraint cap: forall d in devices: load(d) <= 30 ms
constraint colocate a[1], a[2]
constraint replicas: used(gpu[2]) <= 0
"""


def test_a_spec_is_told_with_its_lines_its_slack_and_what_binds(tmp_path: Path) -> None:
    path = tmp_path / "a.mtpp"
    path.write_text(SPEC)
    problem = mtpp_dsl.load(path)
    result = mtpp_dsl.solve(problem)
    told = explain(problem, result, only=["constraints"])
    data = told.to_json()
    jsonschema.validate(data, explain_schema())
    text = "\n".join(told.words()).replace(str(path), "a.mtpp")
    assert "With all of them the plan is at 4 ms, which is proved to be the best" in text
    assert "a.mtpp:7: constraint together" in text
    by = {price["named"]: price for price in data["constraints"]}
    assert by["cap"]["least"] == by["cap"]["most"] == 0.0
    assert by["cap"]["rows"] == 3
    assert not by["cap"]["slack"][0]["binding"]
    assert by["replicas"]["slack"][0]["binding"]
    assert by["memory"]["slack"][0]["left"] == pytest.approx(1e9)
    assert "binding: replicas (0, at most 0)" in text


def test_what_says_what_is_asked_and_what_there_was_no_time_for_has_no_price() -> None:
    problem = mtpp_dsl.load("""
        graph { node a[i in 0..2] (work = 1) edge a[i] -> a[i + 1] for i in 0..1 }
        device d[2]
        interconnect shared (bandwidth = 1)
        minimize iteration (microbatches = 4)
        constraint acyclic
        constraint separate a[0], a[1]
    """)
    question = question_of(problem, mtpp_dsl.solve(problem))
    found = constraints(question, 0.0)
    assert found is not None
    said = {price.named: price.said for price in found.prices}
    assert "there was no time left for it" in said["separate"]
    assert "order" in said["acyclic"]
    assert {price.effect for price in found.prices} == {"fixed", "restricts"}
    question.progress.stop()
    stopped = constraints(question, 10.0)
    assert stopped is not None
    assert any("stopped before its turn" in price.said for price in stopped.prices)
    with pytest.raises(Refused):
        without(problem, problem.constraints[:1])


def test_amounts_have_their_unit_and_what_has_a_price_is_not_called_idle() -> None:
    """Energy in J and money in USD; a limit without which the plan would be better is not said not to bind."""
    problem = mtpp_dsl.load("""
        graph { node a[i in 0..4] (work = 20 ms) edge a[i] -> a[i + 1] for i in 0..3 }
        device slow (power = 3 W, price = 1 USD)
        device fast (power = 20 W, speed = 4, price = 3 USD)
        interconnect shared (bandwidth = 1 GB/s)
        minimize bottleneck
        constraint battery: power(fast) * load(fast) + power(slow) * load(slow) <= 0.4 J
        constraint budget: sum(price(d) * used(d) for d in devices) <= 3 USD
    """)
    result = mtpp_dsl.solve(problem, time_limit=10)
    words = "\n".join(mtpp_dsl.explain(problem, result, only=["constraints"], time_limit=10).words())
    assert "75 % better" in words
    assert "the plan is within it: battery has 0.3 J, at most 0.4 J" in words
    assert "the plan is within it: budget has 1 USD, at most 3 USD" in words
