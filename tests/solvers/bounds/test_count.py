"""The bounds ``node`` and ``count``, and what memory, streams and convexity add to the cheap ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Colocate, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import chain, regal
from mtpp_dsl.solvers.bounds.partition.around import MAX_REACHED
from tests.oracle import optimum
from tests.solvers.proofs.test_chain import pipelines

CHEAP = ("simple", "node", "anchor", "count")


def bound(name: str, problem: Problem) -> Bound:
    result = registry.load(registry.METHODS, name)().solve(problem, Limits(time=30.0), Progress())
    assert result.bound is not None
    found: Bound = result.bound
    return found


def proved(problem: Problem, found: Bound) -> float:
    assert found.certificate is not None
    checker = registry.load(registry.PROOFS, found.certificate.kind)()
    return float(checker.prove(problem, found.certificate.data, Limits(time=30.0)))


def plain(graph: Graph, k: int, bandwidth: float = 1.0) -> Problem:
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(bandwidth), constraints=[Acyclic()])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHEAP)
@settings(max_examples=120)
@given(pipelines(most=6, most_devices=4))
def test_pipelines_with_tight_memory_and_streams(name: str, problem: Problem) -> None:
    """Memory tight to equality, streams, nodes together, k above n, k = 1: never above the optimum."""
    best = optimum(problem)
    result = registry.load(registry.METHODS, name)().solve(problem, Limits(time=30.0), Progress())
    assert result.bound is not None
    assert best is None or result.bound.cost <= best * (1 + 1e-9)
    if result.bound.certificate is not None:
        assert proved(problem, result.bound) >= result.bound.cost * (1 - 1e-9)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("edges", [[(0, 1), (2, 3)], [(0, 1), (0, 2), (0, 3)], [(0, 3), (1, 3), (2, 3)], []])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_shapes(edges: list[tuple[int, int]], k: int) -> None:
    """Parallel chains, a hub, a sink, nothing joined; nodes that cost nothing, tensors that cost all; k above n."""
    for output in ([1.0] * 4, [100.0, 1, 0, 100], [0.0] * 4):
        for work in ([1.0] * 4, [0.0, 3, 0, 5]):
            problem = plain(Graph.create("abcd", edges, work=work, output=output), k)
            best = optimum(problem)
            assert best is not None
            for name in CHEAP:
                found = bound(name, problem)
                assert found.cost <= best * (1 + 1e-9)
                assert found.cost == 0 or proved(problem, found) >= found.cost * (1 - 1e-9)


def test_node_is_its_line() -> None:
    """A node with two inputs and two readers: each tensor is paid, or its other ends taken in."""
    graph = Graph.create("abcde", [(0, 2), (1, 2), (2, 3), (2, 4)], work=[1, 7, 5, 2, 2], output=[4, 4, 3, 0, 0])
    found = bound("node", plain(graph, 4))
    assert found.cost == pytest.approx(5 + min(4, 1) + min(4, 7) + min(3, 4))
    assert found.certificate is not None
    assert found.certificate.data["nodes"] == ["c"]
    assert proved(plain(graph, 4), found) == found.cost


def test_node_takes_the_cheaper_device() -> None:
    """On a CPU the node has its time alone, and so is the bound."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[9, 1, 9], output=[50, 50, 0], times={"cpu": [99.0, 14.0, 99.0]})
    devices = [Device("acc"), Device("acc2"), Device("cpu", type="cpu", pays_io=False)]
    assert bound("node", Problem.create(graph, devices, Host(1.0))).cost == pytest.approx(14.0)


def test_what_does_not_fit_beside_a_node_is_paid_for() -> None:
    """Memory for one node only: a chain pays every tensor, which no cut without the memory shows."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=1.0, output=5.0, memory=2.0)
    problem = Problem.create(
        graph, [Device(f"d{d}", memory=3.0) for d in range(3)], Shared(1.0), constraints=[Acyclic(), Memory()]
    )
    for name in ("node", "anchor"):
        found = bound(name, problem)
        assert found.cost == pytest.approx(11.0) == optimum(problem)
        assert proved(problem, found) == pytest.approx(11.0)


def test_streams_are_spread_over_all_devices() -> None:
    """Parameters beyond what all devices keep are streamed somewhere; those of one node where it is."""
    graph = Graph.create("ab", [], work=[1, 1], params=[10, 10])
    problem = Problem.create(graph, [Device(f"d{d}", memory=6.0) for d in range(2)], Shared(2.0, overflow=True))
    found = bound("simple", problem)
    assert found.cost == pytest.approx(3.0) == optimum(problem)
    assert proved(problem, found) == pytest.approx(3.0)


def test_count_sees_that_a_tensor_is_shared() -> None:
    """Readers that are too heavy in pairs: the tensor is paid by as many devices as there are pins."""
    graph = Graph.create("abcxyz", [(0, 1), (0, 2)], work=[8, 8, 8, 1, 1, 1], output=[2, 0, 0, 0, 0, 0])
    problem = plain(graph, 3)
    found = bound("count", problem)
    assert bound("anchor", problem).cost == pytest.approx(10.0)
    assert found.cost == pytest.approx(11.0) == optimum(problem)
    assert found.certificate is not None
    assert found.certificate.data["nets"] == {"a": {"devices": 3, "apart": ["a", "b", "c"]}}
    assert proved(problem, found) == pytest.approx(found.cost)


def test_convexity_is_used_by_cuts() -> None:
    """A set with both ends of a chain has the middle: under acyclic the pair is apart, else it is not."""
    graph = Graph.create("abc", [(0, 1), (1, 2), (0, 2)], work=[2, 9, 2], output=[6, 6, 0])
    free = Problem.create(graph, [Device(f"d{d}") for d in range(2)], Shared(1.0))
    assert bound("anchor", free).cost <= bound("anchor", plain(graph, 2)).cost


@pytest.mark.parametrize("name", ["node", "count"])
def test_refusals(name: str) -> None:
    """What the argument does not cover is refused, with the reason."""
    problem = Problem.create(Graph.create("a", []), [Device("d")], Shared(1.0), Objective("makespan"))
    assert "makespan" in (registry.load(registry.METHODS, name)().accepts(problem) or "")


def test_strength_on_a_larger_graph() -> None:
    """At many devices tensors are what matters: count and anchor lie far above simple, and node below anchor."""
    graph = regal(nodes=80, model="ws", reading="own-memory", seed=1)
    costs = {name: bound(name, plain(graph, 32)).cost for name in CHEAP}
    assert costs["simple"] < costs["node"] <= costs["anchor"] * (1 + 1e-9)
    assert costs["count"] > 1.05 * costs["simple"]
    found = bound("count", plain(graph, 16))
    assert proved(plain(graph, 16), found) >= found.cost * (1 - 1e-9)


def test_colocated_nodes_are_one() -> None:
    """Nodes that are together have one line, with the tensors of both."""
    graph = Graph.create("abcd", [(0, 1), (2, 3)], work=[4, 1, 1, 4], output=[3, 0, 3, 0])
    problem = Problem.create(
        graph, [Device(f"d{d}") for d in range(3)], Shared(1.0), constraints=[Colocate(nodes=(1, 2))]
    )
    best = optimum(problem)
    found = bound("node", problem)
    assert best is not None
    assert found.cost == pytest.approx(2 + 3 + 3)
    assert found.cost <= best
    assert np.isclose(proved(problem, found), found.cost)


def test_large_graphs_hold_nothing_for_each_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the size at which paths are looked at, no table of what reaches what is made."""

    def reached(*_: object) -> None:
        raise AssertionError("n times n")

    for module in ("count", "around"):
        monkeypatch.setattr(f"mtpp_dsl.solvers.bounds.partition.{module}.reached", reached)
    problem = plain(chain(MAX_REACHED + 1), k=8)
    assert bound("count", problem).cost >= problem.time[:, 0].sum() / 8 * (1 - 1e-9)
    with pytest.raises(AssertionError, match="n times n"):
        bound("count", plain(chain(MAX_REACHED), k=8))
