"""Irreducible sets of what clashes, held against all plans by brute force."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import jsonschema
import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Constraint,
    Contiguous,
    Forbid,
    InOrder,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Infeasibility, Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem, running_times
from mtpp_dsl.show.explaining.clash import Clashes, infeasible
from mtpp_dsl.show.explaining.constraint_costs import constraints
from mtpp_dsl.show.explaining.explain import explain, explain_schema
from mtpp_dsl.show.explaining.items import supporting
from mtpp_dsl.show.explaining.question import Question, question_of
from tests.amount import part
from tests.hostile_names import hostile_problem
from tests.oracle import optimum
from tests.row_problems import random_rows


def _asked(problem: Problem, method: str = "exact", **options: object) -> Question:
    answer = Result("infeasible", method="exact", infeasibility=Infeasibility("no plan exists")).of(problem)
    return question_of(problem, answer, method=method, **options)


def _random(seed: int) -> Problem:
    """Return a problem of four nodes with so many constraints that it often has no plan."""
    r = Random(seed)
    n, k = r.randint(3, 4), r.randint(2, 3)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if r.random() < 0.5]
    kinds = [r.choice(["x", "y"]) for _ in range(n)]
    graph = Graph.create(
        [f"n{v}" for v in range(n)],
        edges,
        work=[r.randint(1, 4) for _ in range(n)],
        params=2.0,
        output=1.0,
        kinds=kinds,
    )
    devices = [
        Device(f"d{d}", memory=float(r.randint(3, 9)), unsupported=frozenset({"x"} if r.random() < 0.3 else ()))
        for d in range(k)
    ]
    some = lambda most: tuple(sorted(r.sample(range(n), r.randint(2, most))))  # noqa: E731
    rules: list[Constraint] = [
        r.choice([Acyclic(), InOrder(empty="never"), InOrder(devices=(1, 0))]),
        Memory(),
        Colocate(nodes=some(3)),
        Separate(nodes=some(3)),
        Pin(nodes=some(2), devices=(r.randrange(k),)),
        Forbid(nodes=some(3), devices=(r.randrange(k),)),
        Contiguous(),
    ]
    chosen = [rule for rule in rules if r.random() < 0.6]
    return Problem.create(graph, devices, Shared(1.0), constraints=[*chosen, *random_rows(r, n, k, False)])


def _of(problem: Problem, rules: Sequence[Constraint], barred: Sequence[int]) -> Problem:
    """Return the problem with these constraints, in which only these devices do not support some kinds."""
    devices = tuple(
        device if d in barred else replace(device, unsupported=frozenset()) for d, device in enumerate(problem.devices)
    )
    return replace(problem, devices=devices, time=running_times(problem.graph, devices)).with_constraints(rules)


def _hold(problem: Problem, found: Clashes) -> None:
    """Hold that every clash has no plan, and that every part that is called needed is."""
    seen: list[Constraint] = []
    for clash in found.clashes:
        rules = [rule for member in clash.members for rule in member.constraints]
        barred = [d for member in clash.members for d in member.barred]
        assert optimum(_of(problem, rules, barred)) is None
        assert not set(rules) & set(seen)
        seen += rules
        if not clash.minimal:
            continue
        assert all(member.needed for member in clash.members)
        for rule in rules:
            assert optimum(_of(problem, [one for one in rules if one is not rule], barred)) is not None
        for member in clash.members:
            if member.alone is not None and not member.barred and set(member.constraints) <= set(problem.constraints):
                rest = [rule for rule in problem.constraints if rule not in member.constraints]
                assert member.alone == (optimum(problem.with_constraints(rest)) is not None)
        for d in barred:
            assert optimum(_of(problem, rules, [one for one in barred if one != d])) is not None


def test_every_part_of_a_clash_is_needed_and_all_of_them_have_no_plan() -> None:
    checked = minimal = several = 0
    for seed in range(part(16, 3)):
        problem = _random(seed)
        if optimum(problem) is not None:
            continue
        found = infeasible(_asked(problem), 20.0)
        assert found is not None
        _hold(problem, found)
        checked += 1
        minimal += found.clashes[0].minimal
        several += len(found.clashes) > 1
        left = found.rest
        assert left in (True, False, None)
        assert found.words()
    assert checked > part(7, 3)
    assert minimal > 0.8 * checked
    assert several > 0


SPEC = """
graph { node a[i in 0..3] (work = 1 ms, params = 5 GB) node b (work = 2 ms, kind = "conv") edge a[0] -> b }
device gpu[2] (memory = 8 GB, reserve = 1 GB)
device cpu (memory = 2 GB, unsupported = ["conv"])
interconnect shared (bandwidth = 8 GB/s)
minimize bottleneck
constraint memory
constraint cap: forall d in devices: load(d) <= 30 ms
constraint pin b on cpu
"""


def test_a_spec_with_two_clashes_is_told_with_its_lines_and_amounts(tmp_path: Path) -> None:
    path = tmp_path / "a.mtpp"
    path.write_text(SPEC)
    problem = mtpp_dsl.load(path)
    found = infeasible(_asked(problem, "auto"), 30.0)
    assert found is not None
    assert [clash.minimal for clash in found.clashes] == [True, True]
    assert found.rest is True
    text = "\n".join(found.words()).replace(str(path), "a.mtpp")
    assert "a.mtpp:9: constraint pin b on cpu" in text
    assert 'a.mtpp:4: unsupported = ["conv"]' in text
    assert "a.mtpp:7: constraint memory" in text
    assert "a.mtpp:3: memory = 8 GB" in text
    assert "all nodes take 20 GB; all devices together have 16 GB." in text
    assert "cap" not in text
    told = explain(problem, mtpp_dsl.solve(problem), only=["infeasible"])
    jsonschema.validate(told.to_json(), explain_schema())
    assert told.to_json()["infeasible"]["rest"] is True


def test_a_statement_that_is_not_enough_to_leave_out_is_told(tmp_path: Path) -> None:
    path = tmp_path / "b.mtpp"
    path.write_text("""
graph {
  node a[i in 0..2] (work = 1 ms, params = 1 GB)
  edge a[i] -> a[i + 1] for i in 0..1
}
device gpu[2] (memory = 2 GB)
interconnect shared (bandwidth = 8 GB/s)
minimize bottleneck
constraint acyclic
constraint memory
constraint colocate a[0], a[2]
constraint few: forall d in devices: sum(on(v, d) for v in nodes) <= 2
""")
    problem = mtpp_dsl.load(path)
    found = infeasible(_asked(problem, "auto"), 30.0)
    assert found is not None
    (clash,) = found.clashes
    alone = {member.lines[0].first_line: member.alone for member in clash.members}
    assert len(alone) == 3
    assert alone[9] is True
    assert alone[11] is True
    assert [alone.get(line) for line in (10, 12) if line in alone] == [False]
    text = "\n".join(found.words()).replace(str(path), "b.mtpp")
    assert "Without any one of b.mtpp:9, b.mtpp:11 there is a plan." in text
    assert "alone there is still no plan: something else clashes then." in text


def test_what_was_not_found_out_in_the_time_is_not_called_minimal() -> None:
    problem = mtpp_dsl.load(SPEC)
    question = _asked(problem, "auto")
    question.progress.stop()
    rules = problem.with_constraints([rule for rule in problem.constraints if rule.keyword != "memory"])
    rules = rules.with_constraints([*rules.constraints, Separate(nodes=(0, 1)), Colocate(nodes=(2, 3))])
    found = infeasible(_asked(rules, "auto", progress=question.progress), 5.0)
    assert found is not None
    clash = found.clashes[0]
    assert clash.minimal == all(member.needed for member in clash.members)
    answer = Result("complete").of(problem)
    assert infeasible(question_of(problem, answer), 1.0) is None


def test_a_false_claim_that_there_is_no_plan_is_refused() -> None:
    problem = mtpp_dsl.load(SPEC.replace("constraint pin b on cpu", "").replace("params = 5 GB", "params = 1 GB"))
    with pytest.raises(Refused, match="one was found"):
        infeasible(_asked(problem, "auto"), 20.0)


def test_hostile_names_are_told_as_they_are_and_short() -> None:
    problem = hostile_problem()
    few = [replace(device, memory=3.0) for device in problem.devices]
    tight = Problem.create(
        problem.graph, few, problem.interconnect, problem.objective, problem.constraints, origin=problem.origin
    )
    found = infeasible(_asked(tight, "auto"), 20.0)
    assert found is not None
    assert [member.named for member in found.clashes[0].members] == ["memory"]
    assert max(map(len, found.words())) < 2_000
    json.dumps(found.to_json())
    costs = constraints(question_of(problem, mtpp_dsl.solve(problem)), 20.0)
    assert costs is not None
    assert max(map(len, costs.words())) < 2_000
    json.dumps(costs.to_json())


def test_a_device_that_supported_a_kind_would_run_it_beside_its_own_times() -> None:
    """A device with a ``time`` statement of another node would take the work of the node that it does not support."""
    spec = """
    graph { node a (work = 4) node b (work = 2, kind = "relu") edge a -> b }
    device gpu[2] (speed = 2, unsupported = ["relu"])
    time a on gpu[0] = 6
    interconnect shared (bandwidth = 4)
    minimize bottleneck
    """
    found = infeasible(_asked(mtpp_dsl.load(spec), "auto"), 20.0)
    assert found is not None
    (clash,) = found.clashes
    assert clash.minimal
    assert sorted(d for member in clash.members for d in member.barred) == [0, 1]
    made = supporting(mtpp_dsl.load(spec), [0, 1])
    assert made.time.tolist() == [[6.0, 2.0], [1.0, 1.0]]


def test_what_says_how_many_subgraphs_there_are_is_kept_and_named() -> None:
    """Without it nothing is asked; that is no matter of time."""
    spec = """
    graph { node a (work = 4, output = 1) node b (work = 2, params = 9) edge a -> b }
    device gpu[2] (memory = 8)
    interconnect host (bandwidth = 4)
    minimize makespan
    constraint contiguous
    constraint memory
    """
    found = infeasible(_asked(mtpp_dsl.load(spec), "auto"), 20.0)
    assert found is not None
    assert [clash.minimal for clash in found.clashes] == [True]
    assert [member.named for member in found.clashes[0].members] == ["memory"]
    assert found.to_json()["kept"] == ["contiguous (<text>:6)"]
    assert "would be another one without it: contiguous (<text>:6)." in found.words()[-1]
