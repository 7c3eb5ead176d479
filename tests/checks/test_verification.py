"""Evaluation and verification, which share no code, agree; every constraint is checked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result, loads, verify
from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.errors import Refused, UsageError, VerificationError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests.strategies import memory_problems, plain_problems


@given(st.one_of(plain_problems(), memory_problems()), st.data())
def test_two_ways_to_count(problem: Problem, data: st.DataObject) -> None:
    """Loads by arrays equal loads by the definitions, tensor by tensor."""
    assignment = [data.draw(st.integers(0, problem.k - 1)) for _ in range(problem.graph.n)]
    evaluation = evaluate(problem, Plan.create(problem, assignment))
    assert evaluation.load.tolist() == pytest.approx(loads(problem, assignment), rel=1e-12)


def test_one_tensor_many_readers() -> None:
    """A tensor is written once and read once per device, however many consumers (archer2024, Figure 2)."""
    graph = Graph.create("uvwx", [(0, 1), (0, 2), (0, 3)], output=2.0)
    problem = Problem.create(graph, [Device("a"), Device("b"), Device("c")], Shared(4.0))
    evaluation = evaluate(problem, Plan.create(problem, [0, 1, 1, 2]))
    assert evaluation.output.tolist() == [0.5, 0, 0]
    assert evaluation.input.tolist() == [0, 0.5, 0.5]
    free = [Device("a"), Device("b", pays_io=False), Device("c")]
    host = Problem.create(graph, free, Host(4.0))
    assert evaluate(host, Plan.create(host, [0, 1, 1, 2])).load.tolist() == [0.5, 0, 0.5]


def test_overflow() -> None:
    """Parameters beyond memory less reserve are streamed, unless the limit is hard (archer2024, eq. 2)."""
    graph = Graph.create("uv", [], params=[3.0, 5.0])
    problem = Problem.create(graph, [Device("a", memory=4.0, reserve=1.0)], Shared(2.0, overflow=True))
    plan = Plan.create(problem, [0, 0])
    assert evaluate(problem, plan).overflow.tolist() == [2.5]
    hard = problem.with_constraints([c.Memory()])
    assert evaluate(hard, plan).overflow.tolist() == [0]
    assert "needs 8 of 4, 1 of them reserved" in verify(hard, plan)[0].message


CHAIN = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[1, 2, 3, 4], output=1.0, memory=[1, 1, 1, 1])
CASES = [
    (c.Acyclic(), [0, 1, 0, 1], "the quotient graph has the cycle x -> y -> x"),
    (c.Contiguous(), [0, 1, 0, 0], "a path leaves x and comes back at c"),
    (c.Contiguous(devices=(0,)), [0, 1, 0, 0], "a path leaves x and comes back at c"),
    (c.Memory(), [0, 0, 0, 1], "x needs 3 of 2"),
    (c.Memory(devices=(0,)), [0, 0, 0, 1], "x needs 3 of 2"),
    (c.Colocate(nodes=(0, 2)), [0, 0, 1, 1], "a is on x, c on y"),
    (c.Separate(nodes=(0, 1, 2)), [0, 1, 1, 1], "b and c are both on y"),
    (c.Pin(nodes=(0, 1), devices=(0,)), [0, 1, 1, 1], "b is on y"),
    (c.Forbid(nodes=(0,), devices=(0,)), [0, 1, 1, 1], "a is on x"),
    (
        c.Linear(label="l", terms=((c.On(0, 0), 2.0), (c.On(1, 0), 1.0)), sense="<=", rhs=2.0),
        [0, 0, 1, 1],
        "3 <= 2 does not hold",
    ),
    (c.Linear(label="l", terms=((c.Load(1), 1.0),), sense="<=", rhs=7.0), [0, 0, 1, 1], "8 <= 7 does not hold"),
    (c.Linear(label="l", terms=((c.Bottleneck(), 1.0),), sense=">=", rhs=9.0), [0, 0, 1, 1], "8 >= 9 does not hold"),
]


@pytest.mark.parametrize(("constraint", "assignment", "message"), CASES, ids=[case[2] for case in CASES])
def test_constraints(constraint: c.Constraint, assignment: list[int], message: str) -> None:
    """Each constraint is broken by a plan that breaks it, and only then."""
    devices = [Device("x", memory=2.0), Device("y", memory=2.0)]
    problem = Problem.create(CHAIN, devices, Shared(1.0), constraints=[constraint])
    assert [violation.message for violation in verify(problem, Plan.create(problem, assignment))] == [message]
    without = problem.with_constraints([])
    assert verify(without, Plan.create(without, assignment)) == []


def test_contiguous_is_not_acyclic() -> None:
    """Two convex sets may have a cyclic quotient (MATH, section 2)."""
    graph = Graph.create(["a1", "a2", "b1", "b2"], [(0, 2), (3, 1)])
    devices = [Device("x"), Device("y")]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[c.Acyclic(), c.Contiguous()])
    assert [violation.constraint for violation in verify(problem, Plan.create(problem, [0, 0, 1, 1]))] == ["acyclic"]


def test_training_graphs_by_parts() -> None:
    """Of a training graph the forward and the backward part are held to it, each by itself."""
    graph = Graph.create(["f1", "f2", "b2", "b1"], [(0, 1), (1, 2), (2, 3)], backward=[False, False, True, True])
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[c.Acyclic(), c.Contiguous()])
    assert verify(problem, Plan.create(problem, [0, 1, 1, 0])) == []
    long = Graph.create(["f", "b3", "b2", "b1"], [(0, 1), (1, 2), (2, 3)], backward=[False, True, True, True])
    problem = Problem.create(long, [Device("x"), Device("y")], Shared(1.0), constraints=[c.Acyclic(), c.Contiguous()])
    plan = Plan.create(problem, [0, 0, 1, 0])
    assert [violation.constraint for violation in verify(problem, plan)] == ["acyclic", "contiguous"]
    forward = problem.with_constraints([c.Acyclic(parts="forward"), c.Contiguous(parts="forward")])
    assert verify(forward, plan) == []


def test_unsupported_nodes() -> None:
    """A node on a device that cannot run it is a violation of its own."""
    graph = Graph.create("ab", [], kinds=["conv", "gelu"], work=1.0)
    problem = Problem.create(graph, [Device("x", unsupported=frozenset({"gelu"}))], Shared(1.0))
    assert verify(problem, Plan.create(problem, [0, 0]))[0].message == "x cannot run b"


def test_what_cannot_be_checked_is_refused() -> None:
    """No silent pass: a constraint or objective the verifier does not know is refused."""
    problem = Problem.create(CHAIN, [Device("x")], Shared(1.0), constraints=[c.Subgraphs(most=1)])
    with pytest.raises(Refused, match="subgraphs"):
        verify(problem, Plan.create(problem, [0] * 4))
    problem = Problem.create(CHAIN, [Device("x")], Shared(1.0), Objective("makespan"))
    with pytest.raises(Refused, match="how many subgraphs"):
        verify(problem, Plan.create(problem, [0] * 4))


def test_results_are_held_to_account() -> None:
    """A plan infeasible plan, a cost that is not the plan's and a bound above it are bugs, and said to be."""
    problem = Problem.create(CHAIN, [Device("x"), Device("y")], Shared(1.0), constraints=[c.Acyclic()])
    plan = Plan.create(problem, [0, 0, 1, 1])
    good = Result("complete", plan=plan, evaluation=evaluate(problem, plan), bound=Bound(8.0, "m", "trusted", "b"))
    check_result(problem, good)
    with pytest.raises(VerificationError, match=r"the bound 8\.1 of 'm' \(b\) is above the cost 8\.0"):
        check_result(problem, replace(good, bound=Bound(8.1, "m", "trusted", "b")))
    other = Plan.create(problem, [0, 0, 0, 1])
    with pytest.raises(VerificationError, match="the plan costs"):
        check_result(problem, replace(good, plan=other))
    with pytest.raises(VerificationError, match="infeasible plan"):
        check_result(problem, replace(good, plan=Plan.create(problem, [0, 1, 0, 1])))


def test_plans_as_json() -> None:
    """A plan survives JSON; a node missing, unknown or on no device is an error that says which."""
    problem = Problem.create(CHAIN, [Device("x"), Device("y")], Shared(1.0))
    plan = Plan.create(problem, [1, 1, 0, 0])
    data = plan.to_json(problem)
    assert data["order"] == ["y", "x"]
    assert Plan.from_json(problem, {"plan": data}).assignment.tolist() == [1, 1, 0, 0]
    assert Plan.from_json(problem, data["assignment"]).assignment.tolist() == [1, 1, 0, 0]
    for broken, message in [
        ({"a": "x"}, "does not place node 'b' and 2 more"),
        ({**data["assignment"], "e": "x"}, "'e', which is no node"),
        ({**data["assignment"], "a": "z"}, "'z', which is no device"),
        ([], "a plan is a JSON answer"),
    ]:
        with pytest.raises(UsageError, match=message):
            Plan.from_json(problem, broken)
