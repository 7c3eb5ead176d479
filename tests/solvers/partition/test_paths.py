"""Splits of nodes in one path by ``ideals``: in time proportional to them, and with the same answers."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Colocate, Forbid, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.algorithms.ideals.supernodes import ordered_supernodes
from mtpp_dsl.solvers.partition.ideals import flat_run
from mtpp_dsl.solvers.partition.ideals.flat_run import path_from
from tests.oracle import optimum

SIZES = st.one_of(st.integers(0, 3).map(float), st.floats(0, 10, width=32), st.sampled_from([0.0, 1e6]))


@st.composite
def paths(draw: st.DrawFn) -> Problem:
    """Draw a path over accelerators and CPUs, with memory, pins and colocated neighbours."""
    n, k = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    cpus = draw(st.integers(0, k - 1))
    column = st.lists(SIZES, min_size=n, max_size=n)
    names = draw(st.permutations(range(n)))
    slow = st.lists(st.one_of(SIZES, st.just(inf)), min_size=n, max_size=n)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        list(pairwise(names)),
        work=draw(column),
        output=draw(column),
        params=draw(column),
        times={"cpu": draw(slow)} if cpus else {},
    )
    memory = draw(st.sampled_from([None, float(graph.memory.sum()) / 2, float(graph.memory.sum()) * 1.3 / k]))
    devices = [Device(f"acc{d}", memory=memory) for d in range(k - cpus)]
    devices += [Device(f"cpu{d}", type="cpu", pays_io=False) for d in range(cpus)]
    rules = [
        Memory(),
        Colocate(nodes=(names[0], names[min(1, n - 1)])) if n > 1 else Memory(),
        Pin(nodes=(draw(st.integers(0, n - 1)),), devices=(k - 1,)),
        Forbid(nodes=(draw(st.integers(0, n - 1)),), devices=(0,)),
    ]
    link = draw(st.sampled_from([Host(0.5), Host(1.0), Shared(0.37)]))
    chosen = draw(st.lists(st.sampled_from(rules), unique=True))
    return Problem.create(graph, devices, link, constraints=[Acyclic(), *chosen])


def solved(problem: Problem) -> Result:
    method: Method = registry.load(registry.METHODS, "ideals")()
    return method.solve(problem, Limits(time=30.0), Progress())


@settings(max_examples=60)
@given(paths())
def test_paths_are_split_as_brute_force_does(problem: Problem) -> None:
    """With ties, zeros, large numbers, CPUs that pay for no tensor, and nodes that some device may not have."""
    best, result = optimum(problem), solved(problem)
    if best is None:
        assert result.infeasibility is not None
        return
    check_result(problem, result)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(best, rel=1e-9)
    assert result.bound is not None
    assert best * (1 - 1e-9) <= result.bound.cost <= best


def test_a_long_path_is_proved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search of ideals is begun: of 50,000 nodes it had not ended after a minute."""
    random = np.random.default_rng(5)
    n = 1_500
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        [(v, v + 1) for v in range(n - 1)],
        work=random.random(n),
        output=random.random(n) / 10,
    )
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(4)], Shared(1.0), constraints=[Acyclic()])
    monkeypatch.setattr(flat_run, "RaisingSearch", None)
    result = solved(problem)
    check_result(problem, result)
    assert result.status == "optimal"


def test_what_passes_by_a_node_makes_no_path() -> None:
    """A tensor with two readers, or an edge over a node, costs what no sum along the path counts."""
    edges = [(0, 1), (1, 2), (2, 3)]

    def path(*more: tuple[int, int]) -> object:
        graph = Graph.create("abcd", [*edges, *more], work=[3, 4, 5, 6], output=[1, 2, 3, 4])
        problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()])
        types = device_types(problem)
        return path_from(ordered_supernodes(problem, types, "relaxed", absorb=False), types)

    assert path() is not None
    assert path((0, 2)) is None
    assert path((1, 3)) is None


def test_many_unequal_devices_leave_a_long_path_to_the_search_of_ideals() -> None:
    """Sets of 12 unequal devices times 1,000 nodes would take gigabytes."""

    def path(n: int, k: int) -> object:
        work = {f"t{d}": np.arange(1.0, n + 1) * (1 + d / 7) for d in range(k)}
        graph = Graph.create([f"v{v}" for v in range(n)], list(pairwise(range(n))), output=1.0, times=work)
        devices = [Device(f"d{d}", type=f"t{d}") for d in range(k)]
        problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic()])
        types = device_types(problem)
        return path_from(ordered_supernodes(problem, types, "relaxed", absorb=False), types)

    assert path(20, 6) is not None
    assert path(1_000, 12) is None
