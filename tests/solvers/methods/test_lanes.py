"""What auto runs at the same time."""

from __future__ import annotations

import pytest

from mtpp_dsl.core.constraints import Acyclic, Linear, Load, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.auto.lanes import lanes
from mtpp_dsl.solvers.methods.bounds import Configuration, Simple
from tests.split_problems import residual


def names(problem: Problem, cores: int) -> list[list[str]]:
    return [[task.method.name for task in lane] for lane in lanes(problem, cores)]


def problem_of(nodes: int, k: int, *constraints: object, unequal: bool = False) -> Problem:
    devices = [Device(f"d[{i}]", speed=2.0 if unequal and i == 0 else 1.0) for i in range(k)]
    return Problem.create(regal(nodes, "ws"), devices, Shared(1.0), constraints=list(constraints))


@pytest.mark.parametrize(
    ("problem", "first"),
    [
        (problem_of(100, 16, Acyclic()), ["annealing", "configuration"]),
        (problem_of(100, 2, Acyclic()), ["branching", "annealing", "configuration"]),
        (problem_of(50, 16, Acyclic()), ["branching", "annealing", "configuration"]),
        (problem_of(100, 16, Acyclic(), unequal=True), ["annealing", "ideals"]),
        (problem_of(100, 16), ["annealing"]),
    ],
)
def test_two_cores(problem: Problem, first: list[str]) -> None:
    """One searches, and then proves what it can; the other bounds."""
    assert names(problem, 2) == [first, ["configuration"]]


def test_orders_of_unequal_devices_with_tight_memories() -> None:
    """They have a core of their own; on one core they come after a short search for plans."""
    graph = regal(100, "ws")
    share = float(graph.memory.sum()) / 4
    devices = [Device(f"d[{i}]", speed=1.0 + i, memory=2 * share) for i in range(4)]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()])
    assert names(problem, 2) == [["orders", "configuration"], ["annealing", "ideals"]]
    assert names(problem, 1) == [["annealing", "ideals", "orders"]]
    ample = [Device(f"d[{i}]", speed=1.0 + i, memory=9 * share) for i in range(4)]
    loose = Problem.create(graph, ample, Shared(1.0), constraints=[Acyclic(), Memory()])
    assert all("orders" not in lane for lane in names(loose, 2))


def test_splits_are_made_of_the_sets_of_the_bound_where_tables_find_them() -> None:
    """Beside the bound, after a search by moves; on one core between two turns of the bound."""

    def found(cores: int) -> list[list[str]]:
        return [[task.method.name for task in lane] for lane in lanes(residual(32), cores, narrow=True)]

    assert found(1) == [["annealing", "configuration", "diving", "configuration"]]
    assert found(2) == [["annealing", "diving", "annealing"], ["configuration"]]
    assert found(3) == [*found(2), ["annealing"]]
    assert names(residual(32), 2) == [["annealing"], ["configuration"]]


def test_one_core_takes_turns() -> None:
    """Search and proof both have their turns on one core."""
    (lane,) = names(problem_of(100, 16, Acyclic()), 1)
    assert lane[:2] == ["annealing", "branching"]
    assert lane.count("configuration") > 1
    assert lane.count("annealing") > 1


def test_more_cores_have_more_lanes() -> None:
    """Every method has a core of its own, and searches with other seeds have the rest."""
    found = lanes(problem_of(100, 16, Acyclic()), 6)
    assert [[task.method.name for task in lane] for lane in found] == [
        ["annealing"],
        ["configuration"],
        ["branching"],
        ["configuration"],
        ["annealing"],
        ["annealing"],
    ]
    assert len({task.seed for lane in found for task in lane if task.method.name == "annealing"}) == 3


def test_rows_leave_one_search_and_the_bounds() -> None:
    """A row over loads is honoured by annealing; what searches everything else does not search what the row leaves."""
    row = Linear(label="l", terms=((Load(0), 1.0),), sense="<=", rhs=1e9)
    assert {name for lane in names(problem_of(50, 3, Acyclic(), row), 2) for name in lane} == {
        "annealing",
        "configuration",
    }


@pytest.mark.parametrize("problem", [problem_of(30, 4, Acyclic()), problem_of(30, 4)], ids=["ordered", "unordered"])
def test_a_bound_takes_what_others_know(problem: Problem) -> None:
    """A configuration bound goes on from a better bound of somebody else: it does not fall back behind it."""
    simple = Simple().solve(problem, Limits(), Progress()).bound
    assert simple is not None
    known = Bound(simple.cost * 1.01, "somebody", "trusted", "test")
    told = Progress()
    told.report_bound(known)
    assert Configuration().solve(problem, Limits(time=0.0), told).bound is known
