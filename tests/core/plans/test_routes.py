"""Plans of several routes: their text, their costs, and every way to be none."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Copies
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

SPEC = """maximize throughput
interconnect shared (bandwidth = 1 B/s)
device d[2] (memory = 2 B)
graph {
  node n[3] (work = 1 s, memory = 1 B, output = 0 B)
  edge n[i] -> n[i + 1] for i in 0..1
}
constraint memory
constraint copies up to 2 (share = ranges)
"""
HALF = Fraction(1, 2)


def made(share: str = "ranges", most: int = 2) -> Problem:
    return mtpp_dsl.load(SPEC.replace("up to 2", f"up to {most}").replace("ranges", share))


def test_overlap_in_halves() -> None:
    """Two devices that hold two of three nodes share the one in the middle: 3/2, where one pipeline takes 2."""
    problem = made()
    plan = Plan.of_routes(problem, [(HALF, [0, 0, 1]), (HALF, [0, 1, 1])])
    assert verify(problem, plan) == []
    found = evaluate(problem, plan)
    assert found.cost == cost_of(problem, plan) == 1.5
    assert found.memory.tolist() == [2.0, 2.0]
    again = Plan.from_json(problem, json.loads(json.dumps({"plan": plan.to_json(problem)})))
    assert [(r.share, r.assignment.tolist()) for r in again.routes] == [(HALF, [0, 0, 1]), (HALF, [0, 1, 1])]


@pytest.mark.parametrize(
    ("share", "most", "routes", "message"),
    [
        ("any", 2, [(HALF, [0, 0, 1]), (Fraction(1, 3), [0, 1, 1])], "add up to 5/6"),
        ("stages", 2, [(HALF, [0, 1, 1]), (HALF, [1, 0, 0])], "d[0] runs nodes that are no single stage"),
        ("any", 2, [(HALF, [0, 0, 1]), (HALF, [0, 1, 0])], "d[0] holds 3 of 2"),
        ("any", 2, [(Fraction(3, 2), [0, 0, 1]), (-HALF, [0, 1, 1])], "has the share -1/2"),
        ("any", 1, [(HALF, [0, 0, 1]), (HALF, [0, 1, 1])], "n[1] is on 2 devices; at most 1"),
        ("pipelines", 2, [(HALF, [0, 0, 1]), (HALF, [0, 1, 1])], "pipelines share no device"),
        ("stages", 2, [(HALF, [0, 0, 1]), (HALF, [0, 1, 1])], "other stages"),
        ("ranges", 2, [(HALF, [0, 1, 0]), (HALF, [0, 1, 1])], "d[0] holds 3 of 2"),
    ],
)
def test_what_is_no_plan(share: str, most: int, routes: list[tuple[Fraction, list[int]]], message: str) -> None:
    problem = made(share, most)
    broken = verify(problem, Plan.of_routes(problem, routes))
    assert any(message in str(one) for one in broken), broken


def test_one_route_holds_ranges_too() -> None:
    """A device of a single route that returns to it holds what lies between, as it would beside other routes."""
    broken = verify(made(), Plan.create(made(), [0, 1, 0]))
    assert any("d[0] holds 3 of 2" in str(one) for one in broken), broken
    assert "n[1] is on 2 devices" in str(verify(made(most=1), Plan.create(made(most=1), [0, 1, 0]))[0])
    assert verify(made("any"), Plan.create(made("any"), [0, 1, 0])) == []


def test_routes_need_a_constraint() -> None:
    problem = made()
    without = problem.with_constraints([c for c in problem.constraints if not isinstance(c, Copies)])
    plan = Plan.of_routes(without, [(HALF, [0, 0, 1]), (HALF, [0, 1, 1])])
    assert "no constraint allows them" in str(verify(without, plan)[0])


@pytest.mark.parametrize("share", ["1/0", "-1/2", "0.5", 0.5, "1/2/3", "x"])
def test_shares_are_fractions(share: object) -> None:
    problem = made()
    rows = [{"share": share, "assign": dict.fromkeys(problem.graph.names, "d[0]")}]
    with pytest.raises(UsageError, match="is a fraction in text"):
        Plan.from_json(problem, {"plan": {"assignment": {}, "routes": rows}})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("constraint copies up to 2", "there is constraint copies"),
        ("constraint cap: load(d[0]) <= 1 s", "one device for each node"),
        ("constraint replicate d up to 2", "one device for each node"),
    ],
)
def test_what_does_not_go_together(line: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        mtpp_dsl.load(f"{SPEC}{line}\n")


def test_other_objectives_and_graphs_are_refused() -> None:
    with pytest.raises(SpecError, match="say 'maximize throughput', not 'minimize makespan'"):
        mtpp_dsl.load(SPEC.replace("maximize throughput", "minimize makespan"))
    with pytest.raises(SpecError, match="share = ranges is for a chain"):
        mtpp_dsl.load(SPEC.replace("edge n[i] -> n[i + 1] for i in 0..1", "edge n[0] -> n[2]"))
    with pytest.raises(SpecError, match="memory' in place of overflow"):
        mtpp_dsl.load(SPEC.replace("1 B/s)", "1 B/s, overflow = stream)"))
