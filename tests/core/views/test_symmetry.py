"""Devices that nothing tells apart, and the numbers they get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    BreakSymmetry,
    Constraint,
    Linear,
    Load,
    Pin,
    PinChunks,
    Repeat,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.batches import Batches
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import groups_alike, interchangeable, measured, numbered, ordered, rankings
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.annealing import Annealing
from tests.amount import stride
from tests.batch_problems import random_batches
from tests.oracle import plans
from tests.strategies import link_problems, memory_problems

EVERY = stride(4)
"""Of so many plans one is tried."""


@settings(max_examples=200, deadline=None)
@given(memory_problems(), st.randoms(use_true_random=False))
def test_numbering_changes_names_alone(problem: Problem, random: st.DrawFn) -> None:
    """The same blocks, at the same cost, as valid as before; within a class the numbers follow the flow."""
    order = problem.graph.topological_order
    cuts = np.sort([random.randrange(problem.graph.n + 1) for _ in range(problem.k - 1)])  # type: ignore[attr-defined]
    devices = list(range(problem.k))
    random.shuffle(devices)  # type: ignore[attr-defined]
    assignment = np.empty(problem.graph.n, np.int64)
    assignment[order] = np.array(devices)[np.searchsorted(cuts, np.arange(problem.graph.n), side="right")]
    plan = Plan.create(problem, assignment, devices)
    classes = interchangeable(problem)
    again = numbered(problem, plan, classes)
    assert evaluate(problem, again).cost == pytest.approx(evaluate(problem, plan).cost, rel=1e-12)
    assert bool(verify(problem, again)) == bool(verify(problem, plan))
    assert again.order is not None
    for members in classes:
        assert [d for d in again.order if d in members] == sorted(members)


@pytest.mark.long
def test_annealing_numbers_stages_as_data_flow() -> None:
    """Equal stages are 0, 1, 2, … along the pipeline; one that a constraint names keeps its number."""
    stages = [Device(f"s[{i}]") for i in range(5)]
    graph = regal(40, "ws", "own-memory", 2)
    plan = (
        Annealing()
        .solve(Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic()]), Limits(), Progress())
        .plan
    )
    assert plan is not None
    assert plan.order == (0, 1, 2, 3, 4)
    first = int(graph.topological_order[0])
    pinned = Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic(), Pin(nodes=(first,), devices=(4,))])
    found = Annealing().solve(pinned, Limits(), Progress()).plan
    assert found is not None
    assert not verify(pinned, found)
    assert [d for d in found.order or () if d != 4] == [0, 1, 2, 3]


def renamed(problem: Problem, plan: Plan, to: np.ndarray) -> Plan:
    """Return *plan* with device d called to[d]."""
    if plan.batches is None:
        return Plan.create(problem, to[plan.assignment], schedule=plan.schedule)
    start, end = np.empty_like(plan.batches.start), np.empty_like(plan.batches.end)
    start[:, to], end[:, to] = plan.batches.start, plan.batches.end
    return Plan.of_batches(Batches.create(problem, to[plan.batches.device], start, end))


def exchanges(problem: Problem) -> Iterator[np.ndarray]:
    """Yield every swap of two devices, and every exchange of two groups, that is said to change nothing."""
    pairs = [((a,), (b,)) for members in interchangeable(problem) for a, b in combinations(members, 2)]
    for one, two in [*pairs, *(pair for groups in groups_alike(problem) for pair in combinations(groups, 2))]:
        to = np.arange(problem.k)
        to[list(one)], to[list(two)] = two, one
        yield to


def check_exchanges(problem: Problem) -> int:
    """Every exchange makes a plan of a plan, of the same cost; return how many there were."""
    found = list(exchanges(problem))
    for plan in islice(plans(problem), 40) if found else ():
        cost = evaluate(problem, plan).cost
        for to in found:
            again = renamed(problem, plan, to)
            assert verify(problem, again) == []
            assert evaluate(problem, again).cost == cost
    return len(found)


@settings(max_examples=60)
@given(link_problems(most=3))
def test_exchanges_on_links_change_nothing(problem: Problem) -> None:
    """Law: whatever is called alike can be exchanged in every plan: latencies, missing links, explicit times, pins."""
    check_exchanges(problem)


@pytest.mark.parametrize("kinds", [None, 1, 2])
def test_exchanges_of_batches_change_nothing(kinds: int | None) -> None:
    """Law: the same of batches: sizes, tables, chunks that are pinned; of equal devices some are found alike."""
    devices = 3 if kinds is None else 4
    problems = [random_batches(seed, nodes=2, devices=devices, chunks=2, kinds=kinds) for seed in range(15)]
    found = sum(map(check_exchanges, problems))
    assert found > 0 or kinds is None


def pairs_of(size: float, *constraints: Constraint, name: str = "ABCD", inside: float = 4.0) -> Problem:
    """Return four equal devices on links, of which two and two are close, and in groups called *name*."""
    graph = Graph.create("abc", [(0, 1), (0, 2)], work=[2, 3, 4], output=size)
    wide = np.ones((4, 4))
    wide[[0, 1, 2, 3], [1, 0, 3, 2]] = inside
    devices = [Device(f"d{d}", group=None if name[d] == "-" else name[d]) for d in range(4)]
    return Problem.create(graph, devices, Links(wide, 0 * wide), Objective("throughput", batch=2), constraints)


def test_classes_on_links() -> None:
    """Transfers, constraints and sizes tell devices apart, and nothing else does, not even the name of a group."""
    assert interchangeable(pairs_of(1.0)) == [(0, 1), (2, 3)]
    assert interchangeable(pairs_of(1.0, inside=1.0)) == [(0, 1, 2, 3)]
    assert interchangeable(pairs_of(1.0, Pin(nodes=(0,), devices=(0,)))) == [(0,), (1,), (2, 3)]
    assert interchangeable(pairs_of(1.0, Pin(nodes=(0,), devices=(0, 1)))) == [(0, 1), (2, 3)]
    assert interchangeable(pairs_of(1.0, PinChunks(nodes=(0,), places=(2, 3)))) == [(0, 1), (2,), (3,)]
    assert interchangeable(pairs_of(1.0, BatchSizes(sizes=(1,), devices=(3,)))) == [(0, 1), (2,), (3,)]
    assert interchangeable(pairs_of(1.0, *(BatchSizes(sizes=(2,), devices=(d,)) for d in (2, 3)))) == [(0, 1), (2, 3)]
    one_way = pairs_of(1.0).interconnect
    assert isinstance(one_way, Links)
    late = np.zeros((4, 4))
    late[0, 3] = 1.0
    assert interchangeable(replace(pairs_of(1.0), interconnect=replace(one_way, latency=late))) == [
        (0,),
        (1,),
        (2,),
        (3,),
    ]


def test_classes_of_groups() -> None:
    """Groups that can take each other's place as wholes, in whatever order their devices were declared."""
    assert groups_alike(pairs_of(1.0, name="AABB")) == [((0, 1), (2, 3))]
    assert groups_alike(pairs_of(1.0, name="ABBA")) == [((0, 3), (1, 2))]
    assert groups_alike(pairs_of(1.0, Pin(nodes=(0,), devices=(0,)), name="AABB")) == [((0, 1),), ((2, 3),)]
    assert groups_alike(pairs_of(1.0, name="AAB-")) == [((0, 1),), ((2,),)]
    assert groups_alike(pairs_of(1.0, name="----")) == []


@cache
def some_plans(inside: float) -> list[Plan]:
    """Return plans of four devices, whatever their groups are called."""
    return list(plans(pairs_of(1.0, name="----", inside=inside)))[::9]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", ["AABB", "ABAB", "ABBA", "----", "AAB-"])
def test_every_plan_can_be_ordered(name: str) -> None:
    """Law: its devices renamed, any plan satisfies all rankings at once, at the same cost."""
    for inside, by, scope in product((4.0, 1.0), ("tasks", "batches", "time"), ("within", "between", "both")):
        problem = pairs_of(1.0, BreakSymmetry(by=by, scope=scope), name=name, inside=inside)  # type: ignore[arg-type]
        rows = rankings(problem)
        for plan in some_plans(inside)[:: EVERY if rows else 50]:
            again = ordered(problem, plan)
            assert verify(problem, again) == []
            assert evaluate(problem, again).cost == evaluate(problem, plan).cost
            does = measured(problem, again, by)  # type: ignore[arg-type]
            assert sorted(does) == sorted(measured(problem, plan, by))  # type: ignore[arg-type]
            for _, more, less in rows:
                assert does[list(more)].sum() >= does[list(less)].sum()


def test_two_measures_do_not_contradict_each_other() -> None:
    """Law: of several constraints one counts within groups, and one between them."""
    both = [BreakSymmetry(by="tasks"), BreakSymmetry(by="time")]
    assert {row.by for row in rankings(pairs_of(1.0, *both, name="AABB"))} == {"tasks"}
    apart = [BreakSymmetry(by="tasks", scope="within"), BreakSymmetry(by="time", scope="between")]
    assert [row.by for row in rankings(pairs_of(1.0, *apart, name="AABB"))] == ["tasks", "tasks", "time"]


def test_rows_of_the_user_tell_devices_apart() -> None:
    """Law: a device that a labelled constraint names is like those alone that it names in the same way."""
    graph = Graph.create("ab", [(0, 1)], work=[2, 3], output=1.0)
    devices, links = [Device(f"d{d}") for d in range(3)], Links(np.ones((3, 3)), np.zeros((3, 3)))
    row = Linear(label="even", terms=((Load(0), 1.0), (Load(1), 1.0)), sense="<=", rhs=4.0)
    assert interchangeable(Problem.create(graph, devices, links, Objective("makespan"), [row])) == [(0, 1), (2,)]


def test_devices_with_different_numbers_of_batches_are_not_equal() -> None:
    """Of several constraints ``repeat`` on a device the later counts, though their set is the same for both devices."""
    graph = Graph.create("a", [], work=1.0)
    limits = [Repeat(most=most, devices=(d,)) for most, d in ((2, 0), (1, 0), (1, 1), (2, 1))]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    objective = Objective("throughput", batch=3)
    problem = Problem.create(graph, [Device("x"), Device("y")], links, objective, [BatchSizes(sizes=(1,)), *limits])
    assert problem.batching.repeat == (1, 2)
    assert interchangeable(problem) == [(0,), (1,)]
