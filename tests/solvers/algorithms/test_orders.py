"""Topological orders."""

from __future__ import annotations

from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.solvers.algorithms.slicing.orders import kahn, orders
from tests.strategies import graphs

COUNT = 16


def is_topological(graph: Graph, order: np.ndarray) -> bool:
    position = np.empty(graph.n, int)
    position[order] = np.arange(graph.n)
    return sorted(order.tolist()) == list(range(graph.n)) and bool(
        (position[graph.tails] < position[graph.heads]).all()
    )


@given(graphs(most=9), st.integers(0, 5))
def test_every_order_is_topological(graph: Graph, seed: int) -> None:
    """Every order holds every node once, producers before consumers."""
    for order in islice(orders(graph, graph.output, seed), COUNT):
        assert is_topological(graph, order)


@given(graphs(most=9))
def test_orders_are_deterministic_by_seed(graph: Graph) -> None:
    """Equal seeds give equal orders."""
    for one, two in islice(zip(orders(graph, graph.output, 3), orders(graph, graph.output, 3), strict=True), COUNT):
        assert (one == two).all()


def test_seeds_differ_in_the_random_orders_only() -> None:
    """The constructed orders come first and do not depend on the seed; the random ones do."""
    graph = Graph.create([str(v) for v in range(30)], [])
    one, two = (list(islice(orders(graph, graph.output, seed), 11)) for seed in (0, 1))
    same = [bool((a == b).all()) for a, b in zip(one, two, strict=True)]
    assert same == [True] * 7 + [False] * 4


@given(graphs(most=7))
def test_kahn_realises_any_topological_order(graph: Graph) -> None:
    """Priorities that are the positions of an order give that order (archer2024, Theorem 4.3)."""
    for order in islice(orders(graph, graph.output, 0), COUNT):
        position = np.empty(graph.n)
        position[order] = np.arange(graph.n)
        assert (kahn(graph, position) == order).all()


def test_small_cut_keeps_weights_beside_their_users() -> None:
    """In a chain whose steps each read a large weight, at most one weight is alive at a time."""
    steps = 5
    edges = [(i, i + 1) for i in range(steps - 1)] + [(steps + i, i) for i in range(steps)]
    graph = Graph.create([str(v) for v in range(2 * steps)], edges, output=[1.0] * steps + [100.0] * steps)
    order = list(islice(orders(graph, graph.output, 0), 7))[6]
    position = np.empty(graph.n, int)
    position[order] = np.arange(graph.n)
    assert all(position[i] - position[steps + i] == 1 for i in range(steps))
