"""What fits by the decimals of a spec fits: for the check of plans, for searches, and for what claims bounds."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Memory
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import chain
from mtpp_dsl.solving.api import solve

ON_LINKS = ["auto", "heft", "greedy", "annealing", "ea", "branch-and-bound", "moirai", "decomposition"]
ON_SHARED = ["auto", "ideals", "slicegraph", "annealing", "branching", "exact", "local-search"]
EXACT_METHODS = {"auto", "ideals", "branching", "exact", "branch-and-bound", "moirai"}
TIGHT = [
    ([4.0, 1.0], 4.1, 0.1),  # 4.1 - 0.1 < 4 in floats
    ([0.1, 0.2, 0.3], 0.6, 0.3),  # 0.1 + 0.2 > 0.3
    ([0.7, 0.1, 0.2, 0.6], 1.1, 0.3),
]


def tight(sizes: list[float], memory: float, reserve: float, *, links: bool) -> Problem:
    """Return nodes that two devices just hold: the first of them, or the first two, on one."""
    graph = Graph.create(
        [f"v{v}" for v in range(len(sizes))],
        [(v, v + 1) for v in range(len(sizes) - 1)],
        work=1.0,
        output=1.0,
        memory=sizes,
    )
    devices = [Device(f"d{i}", memory=memory, reserve=reserve) for i in range(2)]
    if links:
        channel = Links(np.ones((2, 2)), np.zeros((2, 2)))
        return Problem.create(graph, devices, channel, Objective("makespan"), [Memory()])
    return Problem.create(graph, devices, Shared(1.0), constraints=[Memory(), Acyclic()])


@pytest.mark.sampled(13)
@pytest.mark.parametrize(("sizes", "memory", "reserve"), TIGHT)
@pytest.mark.parametrize(("method", "links"), [*((m, True) for m in ON_LINKS), *((m, False) for m in ON_SHARED)])
def test_what_just_fits_is_found(method: str, links: bool, sizes: list[float], memory: float, reserve: float) -> None:
    """Every search finds the plan, and what proves optima proves this one, not that there is none."""
    problem = tight(sizes, memory, reserve, links=links)
    first = [0] * (1 if len(sizes) == 2 else 2)
    assert not verify(problem, Plan.create(problem, first + [1] * (len(sizes) - len(first)))) or links
    result = solve(problem, method, time_limit=60)
    assert result.plan is not None
    if method in EXACT_METHODS:
        assert result.status == "optimal"


@pytest.mark.parametrize("over", [0.0, 9e-7])
def test_bounds_allow_what_the_check_allows(over: float) -> None:
    """A plan that exceeds a memory within the tolerance of the check is not excluded by any bound."""
    graph = chain(2)
    graph = Graph.create(graph.names, [(0, 1)], work=1.0, output=1.0, memory=[2.0, 2.0 * (1 + 2 * over)])
    problem = Problem.create(
        graph, [Device("d", memory=5.0, reserve=1.0)], Shared(1.0), constraints=[Memory(), Colocate(nodes=(0, 1))]
    )
    assert not verify(problem, Plan.create(problem, [0, 0]))
    for method in ("simple", "anchor", "node", "count", "configuration", "exact"):
        result = solve(problem, method, time_limit=20)
        assert result.infeasibility is None
        assert result.bound is not None
        assert result.bound.cost <= 2.0 * (1 + 1e-9)


def test_a_reserve_of_everything() -> None:
    """A reserve may take the whole memory, as its decimals say; nodes without memory have room there."""
    device = Device("d", memory=0.3, reserve=0.1 + 0.2)
    graph = Graph.create(["a"], [], work=1.0)
    problem = Problem.create(graph, [device], Shared(1.0), constraints=[Memory()])
    assert 0.0 <= device.room < 1e-15
    assert solve(problem, time_limit=10).status == "optimal"
