"""Splitting a graph into modules along few channels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.errors import UsageError
from mtpp_dsl.generators.rwnn import rwnn
from mtpp_dsl.graph import Graph
from mtpp_dsl.solvers.splitting.modules import Split, split

EDGES = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1]))
    )
)


def _graph(n: int, edges: list[tuple[int, int]]) -> Graph:
    return Graph.create([f"v{i}" for i in range(n)], edges, work=1.0, output=1.0)


def _is_row(found: Split) -> None:
    graph = found.graph
    assert sorted(np.concatenate(found.modules).tolist()) == list(range(graph.n))
    assert (found.of[graph.tails] <= found.of[graph.heads]).all()
    assert all(len(found.tensors(i)) <= found.channels for i in range(len(found.modules) - 1))


@given(EDGES, st.integers(1, 4), st.integers(1, 6))
def test_modules_are_a_row(case: tuple[int, list[tuple[int, int]]], channels: int, wanted: int) -> None:
    """Every node is in one module, edges lead onwards, and no boundary has more tensors than there may be."""
    found = split(_graph(*case), channels, wanted=wanted)
    _is_row(found)
    assert found.channels <= channels


@given(EDGES, st.data())
def test_what_is_held_together_stays_together(case: tuple[int, list[tuple[int, int]]], data: st.DataObject) -> None:
    """Nodes that are held together are in one module."""
    held = data.draw(st.lists(st.integers(0, case[0] - 1), min_size=1, max_size=3))
    found = split(_graph(*case), wanted=1, held=[held])
    _is_row(found)
    assert len({int(found.of[v]) for v in held}) == 1


@given(EDGES)
def test_a_clean_boundary_orders_everything(case: tuple[int, list[tuple[int, int]]]) -> None:
    """The last node before a clean boundary comes after all before it, and before all behind it."""
    graph = _graph(*case)
    found = split(graph, 2, wanted=2)
    reach = np.eye(graph.n, dtype=bool)
    for v in graph.topological_order.tolist():
        for u in graph.predecessors(v).tolist():
            reach[:, v] |= reach[:, u]
    for i, clean in enumerate(found.clean):
        if clean:
            (v,) = found.tensors(i).tolist()
            assert v == found.modules[i][-1]
            assert reach[found.of <= i, v].all()
            assert reach[v, found.of > i].all()


def test_strong_modules_are_found() -> None:
    """A network of modules in a row, one channel between any two, falls apart into these at its cut nodes."""
    found = split(rwnn(modules=6, channels=1, seed=3))
    assert found.channels == 1
    assert all(found.clean)
    assert max(found.sizes) <= 10


def test_the_fewest_channels_are_chosen() -> None:
    """Without a number of channels, modules are of a useful size, and no fewer channels give such."""
    found = split(rwnn(modules=8, channels=3, seed=1))
    assert max(found.sizes) <= 35
    assert found.channels == 3
    assert max(split(found.graph, 2).sizes) > 35


def test_a_module_without_a_boundary() -> None:
    """Nodes without edges are cut anywhere, and channels number one or more."""
    found = split(_graph(50, []))
    assert found.channels == 0
    assert max(found.sizes) <= 35
    with pytest.raises(UsageError, match="one channel or more"):
        split(_graph(2, []), 0)
