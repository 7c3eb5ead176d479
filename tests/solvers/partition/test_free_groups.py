"""``constraint acyclic (groups = free)``: data may enter a group of devices more than once."""

from __future__ import annotations

import random
from itertools import product
from math import inf

import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.api import find_method, method_names

SPEC = """minimize bottleneck
device a[2] (group = "left")
device b (group = "right", speed = 2)
interconnect shared (bandwidth = 2 B/s, between = 1 B/s)
graph {
  node n0 (work = 6 s, output = 1 B)
  node n1 (work = 8 s, output = 1 B)
  node n2 (work = 6 s)
  edge n0 -> n1
  edge n1 -> n2
}
constraint forbid n1 on a
constraint forbid n0, n2 on b
constraint acyclic
"""
"""Node n1 is for the device on the right, and the others are for those on the left: left, right, left."""


def free(spec: str) -> Problem:
    return mtpp_dsl.load(spec.replace("constraint acyclic", "constraint acyclic (groups = free)"))


def least(problem: Problem) -> float:
    """Return the least cost of any plan, by brute force."""
    found = inf
    for assignment in product(range(problem.k), repeat=problem.graph.n):
        plan = Plan.create(problem, assignment)
        if not verify(problem, plan):
            found = min(found, cost_of(problem, plan))
    return found


def test_left_right_left() -> None:
    """Groups in an order leave no plan; free groups do, and its cost is proved."""
    ordered = mtpp_dsl.load(SPEC)
    assert least(ordered) == inf
    plan = Plan.create(ordered, [0, 2, 1])
    assert "of the groups has the cycle" in str(verify(ordered, plan)[0])
    problem = free(SPEC)
    assert verify(problem, plan) == []
    result = mtpp_dsl.solve(problem, time_limit=20)
    assert (result.status, result.cost) == ("optimal", 7.0) == ("optimal", least(problem))


def test_text_and_warning() -> None:
    """It is written as it is read; without groups it is a warning."""
    problem = free(SPEC)
    assert 'acyclic (groups = "free")' in problem.to_spec()
    assert mtpp_dsl.load(problem.to_spec()).groups_free
    flat = free(
        SPEC.replace(", between = 1 B/s", "").replace('group = "left"', "speed = 1").replace('group = "right", ', "")
    )
    assert "groups = free has no effect" in str(flat.warnings)
    with pytest.raises(SpecError, match="groups is one of ordered, free"):
        mtpp_dsl.load(SPEC.replace("acyclic", "acyclic (groups = fre)"))


def check(rng: random.Random, *, chain: bool) -> None:
    """Hold every method that takes it to brute force."""
    n = 4
    edges = [(i, i + 1) for i in range(n - 1)]
    if not chain:
        edges = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.6]
    nodes = "\n".join(
        f"  node n{v} (work = {rng.randint(0, 6)} s, output = {rng.randint(0, 3)} B, memory = {rng.randint(1, 3)} B)"
        for v in range(n)
    )
    arcs = "\n".join(f"  edge n{u} -> n{v}" for u, v in edges)
    devices = "\n".join(
        f'device {name} (group = "{name[0]}", speed = {rng.choice([1, 2])}, memory = {rng.randint(4, 9)} B)'
        for name in ("a0", "a1", "b0")
    )
    spec = (
        f"minimize bottleneck\n{devices}\ninterconnect shared (bandwidth = 4 B/s, between = {rng.choice([1, 2])} B/s)\n"
        f"graph {{\n{nodes}\n{arcs}\n}}\nconstraint acyclic (groups = free)\nconstraint memory\n"
    )
    problem = mtpp_dsl.load(spec)
    wanted = least(problem)
    for name in ("ideals", "simple", "anchor", "count", "node", "configuration"):
        result = mtpp_dsl.solve(problem, name, time_limit=10)
        if result.bound is not None:
            assert result.bound.cost <= wanted * (1 + 1e-9), (name, spec)
        if result.plan is not None:
            assert result.cost is not None
            assert result.cost >= wanted * (1 - 1e-9), (name, spec)
        assert result.infeasibility is None or wanted == inf, (name, spec)
        if name == "ideals" and chain and wanted < inf:
            assert result.cost == pytest.approx(wanted), spec
            assert result.status == "optimal", spec


@pytest.mark.sampled(2)
@pytest.mark.parametrize("chain", [True, False])
def test_against_brute_force(*, chain: bool) -> None:
    rng = random.Random(f"free groups {chain}")
    for _ in range(6):
        check(rng, chain=chain)


@pytest.mark.long
@pytest.mark.parametrize("chain", [True, False])
def test_more_against_brute_force(*, chain: bool) -> None:
    rng = random.Random(f"more free groups {chain}")
    for _ in range(60):
        check(rng, chain=chain)


def test_other_methods_refuse_it() -> None:
    """Whoever has not said that groups may be free refuses them, also one that takes ordered groups."""
    problem = free(SPEC)
    assert any(isinstance(rule, Acyclic) and rule.groups == "free" for rule in problem.constraints)
    accepting = {name for name in method_names() if find_method(name).accepts(problem) is None}
    assert accepting <= {
        "auto",
        "ideals",
        "simple",
        "anchor",
        "count",
        "node",
        "configuration",
        "single-device",
        "expert",
    }
