"""The hypergraph of a problem: its sums, nets and conflicts are those of its nodes and tensors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.constraints import Acyclic, Colocate, Separate
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.core.views.hypergraph import compressed, hypergraph, incidence
from tests.solvers.partition.test_ideals import random_problem

TIED = Graph.create(
    "abcdef",
    [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)],
    work=[1, 2, 3, 4, 5, 6],
    output=[1, 2, 4, 8, 16, 32],
    params=[1, 1, 1, 2, 2, 2],
)


def tied(*constraints: Acyclic | Colocate | Separate, objective: Objective | None = None) -> Problem:
    return Problem.create(
        TIED, [Device("x"), Device("y")], Host(2.0), objective, constraints=[Colocate(nodes=(0, 3)), *constraints]
    )


def test_supernodes_are_colocated_nodes_and_cycles_where_order_is_asked_for() -> None:
    """``colocate`` of a and d puts b and c between them; an acyclic quotient graph then keeps all four together."""
    assert hypergraph(tied()).members == ((0, 3), (1,), (2,), (4,), (5,))
    assert hypergraph(tied(Acyclic())).members == ((0, 1, 2, 3), (4,), (5,))


def test_nets_join_tensors_of_equal_pins() -> None:
    """The tensors of b and c join supernodes {a, d} and {b}, {c}; that of a joins all three."""
    graph = hypergraph(tied())
    assert [(net.pins, net.cost, net.tensors) for net in graph.nets(np.arange(1.0, 7.0))] == [
        ((0, 1, 2), 1.0, (0,)),
        ((1, 0), 2.0, (1,)),
        ((2, 0), 3.0, (2,)),
        ((0, 3), 4.0, (3,)),
        ((3, 4), 5.0, (4,)),
    ]
    assert [net.pins for net in graph.sorted_nets(np.arange(1.0, 7.0))] == [(0, 1), (0, 1, 2), (0, 2), (0, 3), (3, 4)]
    assert [net.cost for net in graph.nets(np.arange(1.0, 7.0), most=2.5)] == [1.0, 2.0, 2.5, 2.5, 2.5]


def test_conflicts_are_between_supernodes() -> None:
    """A supernode that has two nodes of a conflict set is in it twice, and no conflict of its own."""
    graph = hypergraph(tied(Separate(nodes=(0, 3, 5)), Separate(nodes=(1, 3))))
    assert graph.conflict_sets == ((0, 0, 4), (1, 0))
    assert graph.conflicts == [{1, 4}, {0}, set(), set(), {0}]


@given(st.integers(0, 10_000), st.booleans())
def test_sums_and_nets_are_those_of_nodes_and_tensors(seed: int, training: bool) -> None:
    """For any partition into supernodes: sums, permissions, least work and the cost of every cut."""
    problem = random_problem(seed, training=training)
    graph, types = problem.graph, device_types(problem)
    for view in (hypergraph(problem), hypergraph(problem, colocated(problem)), hypergraph(problem, np.arange(graph.n))):
        assert sorted(v for nodes in view.members for v in nodes) == list(range(graph.n))
        exact, plain = view.on_types(types, exact=True), view.on_types(types)
        for c, nodes in enumerate(view.members):
            assert all(view.of[v] == c for v in nodes)
            assert exact.params[c] == float(sum(Fraction(float(graph.params[v])) for v in nodes))
            assert (view.allowed[c] == problem.allowed[list(nodes)].all(axis=0)).all()
            assert (np.isfinite(plain.time[c]) == view.allowed[c][[d[0] for d in types.members]]).all()
            finite = np.isfinite(plain.time[c])
            assert (plain.time[c, finite] == view.time[c, [d[0] for d in types.members]][finite]).all()
        paid = {frozenset(view.of[[u, *graph.successors(u).tolist()]].tolist()): 0.0 for u in range(graph.n)}
        for u in range(graph.n):
            paid[frozenset(view.of[[u, *graph.successors(u).tolist()]].tolist())] += float(types.tensor[u])
        wanted = {pins: cost for pins, cost in paid.items() if len(pins) > 1 and cost > 0}
        assert {frozenset(pins): cost for pins, cost in plain.nets} == wanted
        assert [pins for pins, _ in plain.nets] == sorted(tuple(sorted(pins)) for pins in wanted)
        assert [pins for pins, _ in exact.nets] == [pins for pins, _ in plain.nets]


def test_rows_and_incidence() -> None:
    """Lists become pointers and entries; sets become the numbers of the sets at each member."""
    start, entries = compressed([[3, 1], [], [2]])
    assert (start.tolist(), entries.tolist()) == ([0, 2, 2, 3], [3, 1, 2])
    assert incidence(3, [(0, 2), (2,)]) == [[0], [], [0, 1]]
    start, entries = compressed([])
    assert (start.tolist(), entries.tolist(), str(entries.dtype)) == ([0], [], "int64")
