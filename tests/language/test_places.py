"""Which statement of a spec says what of its problem."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Acyclic, Linear, Pin
from mtpp_dsl.language.syntax.places import Places, SpecLines

SPEC = """mtpp 1
include "rack.mtpp"
graph {
  node a[i in 0..3] (work = 1 ms)
  node b (work = 2 ms)
  edge a[i] -> a[i + 1] for i in 0..2
  edge a[3] -> b
}
interconnect shared (bandwidth = 8 GB/s)
minimize bottleneck
constraint acyclic constraint memory on gpu[0]
constraint pin a[0] on gpu[0]
constraint cap: forall d in devices:
  load(d) <= 30 ms
constraint pin a[0] on gpu[0]
"""
RACK = """type big (memory = 8 GB)
type small (type = big, reserve = 1 GB)
device gpu[2] (type = small)
device cpu (memory = 2 GB,
            speed = 0.1)
"""


@pytest.fixture
def found(tmp_path: Path) -> mtpp_dsl.Analysis:
    (tmp_path / "rack.mtpp").write_text(RACK)
    (tmp_path / "a.mtpp").write_text(SPEC)
    found = mtpp_dsl.analyse(tmp_path / "a.mtpp")
    assert found.problem is not None
    return found


def _at(lines: tuple[SpecLines, ...]) -> list[tuple[str, int, int, str]]:
    return [(Path(one.file).name, one.first_line, one.last_line, one.text.partition("\n")[0]) for one in lines]


def test_constraints_have_their_statements_also_those_that_say_the_same_and_those_of_one_line(
    found: mtpp_dsl.Analysis,
) -> None:
    problem, places = found.problem, found.places
    assert problem is not None
    acyclic, memory, pin, *rows = problem.constraints
    assert isinstance(acyclic, Acyclic)
    assert isinstance(pin, Pin)
    assert _at(places.of_constraint(acyclic)) == [("a.mtpp", 11, 11, "constraint acyclic")]
    assert _at(places.of_constraint(memory)) == [("a.mtpp", 11, 11, "constraint memory on gpu[0]")]
    assert [line for _, line, _, _ in _at(places.of_constraint(pin))] == [12, 15]
    assert len(rows) == 3
    for row in rows:
        assert isinstance(row, Linear)
        assert _at(places.of_constraint(row)) == [("a.mtpp", 13, 14, "constraint cap: forall d in devices:")]
    by = places.by_statement(problem)
    assert [len(group) for group in by.values()] == [1, 1, 1, 3]
    assert None not in by


def test_devices_have_the_statements_of_their_types_too_over_includes(found: mtpp_dsl.Analysis) -> None:
    places = found.places
    assert [line for _, line, _, _ in _at(places.of_device("gpu[1]"))] == [1, 2, 3]
    assert _at(places.of_device("gpu[1]", "memory")) == [("rack.mtpp", 1, 1, "memory = 8 GB")]
    assert _at(places.of_device("cpu")) == [("rack.mtpp", 4, 5, "device cpu (memory = 2 GB,")]
    assert _at(places.of_device("cpu", "speed")) == [("rack.mtpp", 5, 5, "speed = 0.1")]
    assert places.of_device("cpu", "reserve") == ()
    assert places.of_device("nobody") == ()


def test_nodes_edges_and_the_rest_have_theirs(found: mtpp_dsl.Analysis) -> None:
    places = found.places
    assert [line for _, line, _, _ in _at(places.of_node("a[2]"))] == [4]
    assert [line for _, line, _, _ in _at(places.of_edge("a[0]", "a[1]"))] == [6]
    assert [line for _, line, _, _ in _at(places.of_edge("a[3]", "b"))] == [7]
    assert _at(places.of_objective()) == [("a.mtpp", 10, 10, "minimize bottleneck")]
    assert _at(places.interconnect) == [("a.mtpp", 9, 9, "interconnect shared (bandwidth = 8 GB/s)")]
    assert places.of_objective(1) == places.target == ()


def test_the_places_are_beside_the_problem_and_can_be_pickled(found: mtpp_dsl.Analysis) -> None:
    again = pickle.loads(pickle.dumps(found))
    assert again.places.by_statement(again.problem).keys() == found.places.by_statement(again.problem).keys()
    assert b"forall" not in pickle.dumps(found.problem)


def test_what_a_target_stands_for_stems_from_the_target() -> None:
    found = mtpp_dsl.analyse("""
        graph from generator chain (nodes = 4)
        device d[2]
        interconnect shared (bandwidth = 1 GB/s)
        minimize bottleneck
        target vllm
    """)
    assert _at(found.places.of_constraint(Acyclic(origin="target vllm"))) == [("<text>", 6, 6, "target vllm")]
    assert _at(found.places.of_constraint(Acyclic(origin="tied weights a, b"))) == _at(found.places.graph)


def test_a_problem_made_in_python_has_the_origin_of_its_constraints_alone() -> None:
    places = Places()
    assert places.of_constraint(Acyclic(origin="a.mtpp:7")) == (SpecLines("a.mtpp", 7, 7),)
    assert places.of_constraint(Acyclic()) == ()
    assert places.of_device("d") == places.interconnect == ()
