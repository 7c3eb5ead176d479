"""Schedules on links: what transfers take, what a schedule is, and what the verifier says of one that is none."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.schedule_check import travel
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import ExclusiveLinks, Finish, Linear, Load, Makespan, Memory, On, Start
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.transfers import routed
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import compressed, timed
from tests.oracle import optimum
from tests.strategies import link_problems

FORK = Graph.create(
    "abcd", [(0, 1), (0, 2), (1, 3), (2, 3)], work=[1, 2, 3, 1], output=[4, 2, 2, 0], memory=[1, 2, 3, 4]
)
PAIR = Links(bandwidth=np.array([[0, 2.0], [4.0, 0]]), latency=np.array([[0, 1.0], [0.5, 0]]))


def fork(*constraints: object, memory: float | None = None) -> Problem:
    devices = [Device("x", memory=memory), Device("y", speed=2.0, memory=memory)]
    return Problem.create(FORK, devices, PAIR, Objective("makespan"), constraints)  # type: ignore[arg-type]


def split(problem: Problem, priority: list[float] | None = None) -> Plan:
    """a, b, d on x and c on y: two transfers."""
    return timed(ScheduleInstance.of(problem), [0, 0, 1, 0], priority or [0, 1, 2, 3])


def test_times_by_hand() -> None:
    """A transfer takes latency and size over bandwidth of its own direction, beside the computation."""
    plan = split(fork())
    schedule = plan.schedule
    assert schedule is not None
    assert schedule.start.tolist() == [0, 1, 4, 6.5]  # a -> c: 1 + 1 + 4/2; c ends at 5.5; c -> d: 0.5 + 2/4
    assert schedule.end.tolist() == [1, 3, 5.5, 7.5]
    assert np.nan_to_num(schedule.sent, nan=-1).tolist() == [-1, 1, -1, 5.5]
    assert verify(fork(), plan) == []
    evaluation = evaluate(fork(), plan)
    assert (evaluation.cost, evaluation.load.tolist()) == (7.5, [4, 1.5])
    assert (evaluation.input.tolist(), evaluation.output.tolist()) == ([1, 3], [3, 1])
    assert evaluation.carried == 4


@pytest.mark.parametrize(
    ("field", "place", "value", "message"),
    [
        ("end", 1, 2.5, "b takes 2"),
        ("start", 0, -1.0, "a takes 1"),
        ("start", 3, 6.0, "d"),
        ("sent", 1, 0.5, "a -> c"),
        ("arrived", 1, 3.0, "a -> c"),
        ("arrived", 3, 9.0, "c -> d"),
        ("sent", 0, 1.0, "stays on x"),
        ("sent", 1, float("nan"), "a -> c leaves its device"),
    ],
)
def test_tampered_times_are_found(field: str, place: int, value: float, message: str) -> None:
    """Whatever time of a schedule is changed, the verifier says of what."""
    plan = split(fork())
    assert plan.schedule is not None
    times = np.array(getattr(plan.schedule, field))
    times[place] = value
    broken = verify(fork(), replace(plan, schedule=replace(plan.schedule, **{field: times})))
    assert any(message in str(violation) for violation in broken)


def test_overlaps_are_found() -> None:
    """Two nodes on one device, and exclusive transfers at one end point, do not overlap."""
    graph = Graph.create("abcd", [(0, 2), (1, 3)], work=1.0, output=4.0)
    wide = Links(bandwidth=np.ones((4, 4)), latency=np.zeros((4, 4)))
    devices = [Device(name) for name in "wxyz"]
    at_once = Schedule.create(graph, [0, 0, 5, 5], [1, 1, 6, 6], [1, 1], [5, 5])
    for assignment, message in (
        ([0, 0, 2, 3], "a and b at once on w"),
        ([0, 1, 2, 2], "c and d at once on y"),
        ([0, 1, 2, 3], ""),
    ):
        problem = Problem.create(graph, devices, wide, Objective("makespan"), [ExclusiveLinks()])
        broken = [str(v) for v in verify(problem, Plan.create(problem, assignment, schedule=at_once))]
        assert any(message in text for text in broken) if message else broken == []
    late = Schedule.create(graph, [0, 1, 5, 6], [1, 2, 6, 7], [1, 2], [5, 6])
    problem = Problem.create(graph, devices, wide, Objective("makespan"), [ExclusiveLinks()])
    for assignment, message in (([0, 0, 2, 3], "leave at once w"), ([0, 1, 2, 2], "reach at once y")):
        assert any(message in str(v) for v in verify(problem, Plan.create(problem, assignment, schedule=late)))
    plain = problem.with_constraints([])
    assert verify(plain, Plan.create(plain, [0, 0, 2, 3], schedule=late)) == []


def test_what_takes_no_time_is_in_nobodys_way() -> None:
    """A node that takes no time may lie inside another on its device; one that takes any may not."""
    nowhere = Links(np.zeros((1, 1)), np.zeros((1, 1)))
    for takes, at, valid in ((0.0, 2.0, True), (1e-6, 2.0, False), (1e-6, 4.0, True)):
        graph = Graph.create("ab", [], work=[4, takes])
        problem = Problem.create(graph, [Device("x")], nowhere, Objective("makespan"))
        plan = Plan.create(problem, [0, 0], schedule=Schedule.create(graph, [0, at], [4, at + takes]))
        assert (verify(problem, plan) == []) == valid


def test_labelled_constraints_on_times() -> None:
    """start, finish, makespan, load and on can be limited, and are checked on the schedule."""
    row = {
        "start": Linear(label="late", terms=((Start(1), 1.0),), sense=">=", rhs=2.0),
        "finish": Linear(label="early", terms=((Finish(3), 1.0),), sense="<=", rhs=7.0),
        "makespan": Linear(label="all", terms=((Makespan(), 1.0),), sense="<=", rhs=7.0),
        "load": Linear(label="little", terms=((Load(0), 1.0),), sense="<=", rhs=3.0),
        "on": Linear(label="there", terms=((On(0, 1), 1.0),), sense="==", rhs=1.0),
    }
    for constraint in row.values():
        problem = fork(constraint)
        assert [str(v).split(":")[0] for v in verify(problem, split(problem))] == [constraint.label]


def test_memory_and_a_missing_schedule() -> None:
    """Memory counts as ever; a plan without a schedule is none, and has no cost."""
    problem = fork(Memory(), memory=6.0)
    assert "x needs 7 of 6" in str(verify(problem, split(problem))[0])
    bare = Plan.create(problem, [0, 0, 1, 0])
    assert "not when" in str(verify(problem, bare)[0])
    for cost in (cost_of, evaluate):
        with pytest.raises(UsageError, match="not when"):
            cost(problem, bare)


def test_json_keeps_a_schedule() -> None:
    """A plan written and read again has the same times; what is missing or unknown is said."""
    problem = fork()
    data = json.loads(json.dumps(split(problem).to_json(problem)))
    again = Plan.from_json(problem, data)
    assert again.schedule is not None
    assert again.to_json(problem) == data
    for broken, message in (
        ({**data, "schedule": data["schedule"][1:]}, "leaves out node 'a'"),
        ({**data, "schedule": [*data["schedule"], data["schedule"][0]]}, "twice"),
        ({**data, "schedule": [{**data["schedule"][0], "node": "e"}]}, "not a node"),
        ({**data, "schedule": [{**data["schedule"][0], "end": "soon"}]}, "no time"),
        ({**data, "schedule": {}}, "list of objects"),
        ({**data, "transfers": [{**data["transfers"][0], "target": "b", "source": "d"}]}, "no edge joins"),
    ):
        with pytest.raises(UsageError, match=message):
            Plan.from_json(problem, broken)


def test_a_schedule_has_the_shape_of_its_graph() -> None:
    """Lengths, ends that are no numbers, and negative pieces are refused."""
    for arguments in (
        ([0.0], [1.0]),
        ([0.0] * 4, [float("inf")] * 4),
        ([0.0] * 4, [1.0] * 4, [0.0], [0.0]),
        ([0.0] * 4, [1.0] * 4, None, None, [0, 0, 0, -1]),
    ):
        with pytest.raises(UsageError, match="schedule"):
            Schedule.create(FORK, *arguments)


def test_a_schedule_on_other_devices_is_refused() -> None:
    """The rows of a schedule and the assignment beside it name the same devices."""
    data = split(fork()).to_json(fork())
    data["schedule"][0]["device"] = "y"
    with pytest.raises(UsageError, match="the schedule on 'y'"):
        Plan.from_json(fork(), data)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (Links(np.ones((1, 1)), np.ones((2, 2))), "bandwidth of links has the shape"),
        (Links(-np.ones((2, 2)), np.ones((2, 2))), "negative"),
        (Links(np.ones((2, 2)), np.full((2, 2), np.nan)), "no number"),
        (Links(np.ones((2, 2)), np.ones((2, 2)), np.ones((1, 2, 2))), "transfers of links has the shape"),
        (Links(np.ones((2, 2)), np.full((2, 2), 1e120)), "add up to"),
    ],
)
def test_tables_of_links_are_checked(links: Links, message: str) -> None:
    """A table of the wrong shape, a negative time and one that nothing computes with are refused."""
    with pytest.raises(UsageError, match=message):
        Problem.create(FORK, [Device("x"), Device("y")], links, Objective("makespan"))


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_routes_are_widest_paths(k: int, seed: int) -> None:
    """Without a link of its own a pair takes the widest path, of those that of least latency; so says the check."""
    random = np.random.default_rng(seed)
    bandwidth = random.choice([0.0, 0.0, 1.0, 2.0, 3.0], (k, k)) * (1 - np.eye(k))
    links = Links(bandwidth, random.choice([0.0, 1.0, 5.0], (k, k)))
    graph = Graph.create("ab", [(0, 1)], output=3.0)
    problem = Problem.create(graph, [Device(f"d{i}") for i in range(k)], links, Objective("makespan"))
    wide, late = routed(links)
    for d, f in permutations(range(k), 2):
        ways = [
            (min(bandwidth[a, b] for a, b in pairwise(way)),
             -sum(links.latency[a, b] for a, b in pairwise(way)))
            for size in range(k - 1)
            for middle in permutations(sorted(set(range(k)) - {d, f}), size)
            for way in [(d, *middle, f)]
        ]  # fmt: skip
        width, late_by = (bandwidth[d, f], -links.latency[d, f]) if bandwidth[d, f] > 0 else max(ways)
        expected = 3.0 / width - late_by if width > 0 else float("inf")
        assert travel(problem, 0, d, f) == pytest.approx(expected)
        assert problem.transfers.time(0, d, f) == pytest.approx(expected)
        assert problem.transfers.of(0)[d, f] == pytest.approx(expected)
        assert (wide[d, f] == 0) == np.isinf(late[d, f]) == (expected == float("inf"))


@given(link_problems(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_timed_plans_are_plans(problem: Problem, seed: int) -> None:
    """Any assignment and any priorities give a valid schedule, no shorter than the optimum, which compression keeps."""
    random = np.random.default_rng(seed)
    plain = problem.with_constraints([c for c in problem.constraints if isinstance(c, ExclusiveLinks)])
    instance = ScheduleInstance.of(plain)
    assignment = random.integers(0, problem.k, problem.graph.n)
    try:
        plan = timed(instance, assignment, random.random(instance.n), random.random(instance.m))
    except UsageError:
        assert np.isinf(problem.time[np.arange(instance.n), assignment]).any() or any(
            np.isinf(problem.transfers.time(e, assignment[u], assignment[v]))
            for e, (u, v) in enumerate(zip(problem.graph.tails, problem.graph.heads, strict=True))
        )
        return
    assert verify(plain, plan) == []
    best = optimum(plain)
    assert best is not None
    assert cost_of(plain, plan) >= best - 1e-9
    again = compressed(instance, plan)
    assert again.schedule is not None
    assert plan.schedule is not None
    assert np.array_equal(again.schedule.start, plan.schedule.start)


def test_times_as_shared_are_not_there() -> None:
    """Transfers of edges are a thing of links."""
    problem = Problem.create(FORK, [Device("x")], Shared(1.0))
    with pytest.raises(UsageError, match="only links"):
        _ = problem.transfers
