"""Rows that count nodes on devices are read as what they amount to, and no plan is gained or lost."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Linear, On, Pin, Separate
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem


def row(terms: dict[tuple[int, int], float], sense: Any, rhs: float, label: str = "row") -> Linear:
    given = tuple((On(v, d), float(a)) for (v, d), a in terms.items() if a)
    return Linear(label=label, terms=given, sense=sense, rhs=float(rhs), origin="s.mtpp:7")


def chain(n: int, k: int, *constraints: Constraint) -> Problem:
    graph = Graph.create([f"n{v}" for v in range(n)], [(v, v + 1) for v in range(n - 1)], work=1.0)
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=constraints)


def read(*rows: Linear, n: int = 4, k: int = 3) -> list[Constraint]:
    return list(recognised(chain(n, k, *rows)).problem.constraints)


def test_rows_that_count_to_one() -> None:
    at_most_one = [row({(v, d): 1 for v in (0, 1, 3)}, "<=", 1, f"one[{d}]") for d in range(3)]
    assert read(*at_most_one) == [Separate(nodes=(0, 1, 3))]
    in_pairs = [row({(u, d): 2, (v, d): 2}, "<=", 3) for u, v in combinations(range(3), 2) for d in range(3)]
    assert read(*in_pairs) == [Separate(nodes=(0, 1, 2))]
    assert read(*at_most_one[:2]) == at_most_one[:2]  # on d2 they may be together


def test_rows_over_one_node() -> None:
    assert read(row({(2, 0): 1}, "==", 0)) == [Pin(nodes=(2,), devices=(1, 2))]
    assert read(row({(2, 0): 1, (2, 1): 1}, ">=", 1)) == [Pin(nodes=(2,), devices=(0, 1))]
    assert read(row({(2, 0): 1, (2, 1): 1}, "<=", 1)) == []  # holds anyway


@pytest.mark.parametrize("devices", [2, 3])
def test_rows_that_hold_two_nodes_together(devices: int) -> None:
    """On the last device they are together if they are on all others."""
    assert read(*(row({(0, d): 1, (3, d): -1}, "==", 0) for d in range(devices))) == [Colocate(nodes=(0, 3))]
    assert read(row({(v, d): a * d for v, a in ((0, 1), (3, -1)) for d in range(3)}, "==", 0)) == [
        Colocate(nodes=(0, 3))
    ]


def test_rows_that_count_further_stay() -> None:
    rows = [row({(v, d): 1 for v in range(4)}, "<=", 2) for d in range(3)]
    assert read(*rows) == rows
    assert read(*(row({(v, d): 1 for v in range(4)}, "<=", 4) for d in range(3))) == []


def test_a_weight_above_the_limit_keeps_its_node_away() -> None:
    heavy = row({(0, 1): 5, (1, 1): 1, (2, 1): 1}, "<=", 2)
    assert read(heavy) == [Pin(nodes=(0,), devices=(0, 2))]
    heavier = row({(0, 1): 5, (1, 1): 2, (2, 1): 1}, "<=", 2)
    assert read(heavier) == [heavier, Pin(nodes=(0,), devices=(0, 2))]


def test_what_cannot_be_is_told_of_the_rows() -> None:
    rows = [row({(v, d): 1 for v in range(4)}, "<=", 1, f"alone[{d}]") for d in range(3)]
    found = quick(chain(4, 3, *rows))
    assert found is not None
    assert found.clash == ("alone[0] (s.mtpp:7)", "alone[1] (s.mtpp:7)", "alone[2] (s.mtpp:7)")


coefficient = st.integers(-2, 3)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    n, k = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    rows: list[Linear] = []
    for number in range(draw(st.integers(1, 3))):
        nodes = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
        sense, rhs = draw(st.sampled_from(["<=", ">=", "=="])), draw(st.integers(-1, 3))
        weight = {v: draw(coefficient) for v in nodes}
        if draw(st.booleans()):
            rows += [row({(v, d): weight[v] for v in nodes}, sense, rhs, f"r{number}[{d}]") for d in range(k)]
        else:
            rows.append(row({(v, d): draw(coefficient) for v in nodes for d in range(k)}, sense, rhs, f"r{number}"))
    return chain(n, k, *rows, *([Acyclic()] if draw(st.booleans()) else []))


@given(problems())
def test_the_plans_stay_the_same(problem: Problem) -> None:
    simpler = recognised(problem).problem
    before, after = ([plan.assignment.tolist() for plan in plans(one)] for one in (problem, simpler))
    assert before == after
    assert not before or quick(problem) is None
