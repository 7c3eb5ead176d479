"""The bound ``reach``: against brute force, on shapes whose answer is known, and what it refuses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Acyclic, Colocate, Memory, Replicate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, load
from mtpp_dsl.solvers.algorithms.reach.measures import MEMORY, WORK, measured
from mtpp_dsl.solvers.algorithms.reach.trade_off import TradeOff
from tests.oracle import optimum
from tests.tight_memories import tight_problem


def bounded(problem: Problem, time: float | None = None) -> Result:
    method = load(METHODS, "reach")()
    assert method.accepts(problem) is None
    result: Result = method.solve(problem, Limits(time=time), Progress())
    return result


def chain(work: list[float], memory: list[float], devices: list[Device], *rules: object) -> Problem:
    names = [f"v{v}" for v in range(len(work))]
    graph = Graph.create(names, [(v, v + 1) for v in range(len(work) - 1)], work=work, memory=memory)
    return Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory(), *rules])  # type: ignore[list-item]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, 320, 20))
def test_never_above_the_optimum(first: int) -> None:
    """Ties, zeros, closed devices, transfers, all interconnects, magnitudes; no false word of infeasibility."""
    for seed in range(first, first + 20):
        problem = tight_problem(seed, most=4)
        if load(METHODS, "reach")().accepts(problem) is not None:
            continue
        result, best = bounded(problem), optimum(problem)
        if result.infeasibility is not None:
            assert best is None, seed
        elif best is not None:
            assert result.bound is not None
            assert result.bound.cost <= best * (1 + 1e-9), seed


@pytest.mark.parametrize("cells", [3, 64, 1 << 13])
@pytest.mark.parametrize("seed", range(6))
def test_hulls_are_above_all_ideals(seed: int, cells: int) -> None:
    """No ideal has more of one measure than its bound by the other one; nor has what is outside of an ideal."""
    measures = measured(tight_problem(seed, most=6, kinds=("shared",)))
    before = [{int(u) for u, w in measures.arcs if w == v} for v in range(measures.n)]
    sets = [set(some) for size in range(measures.n + 1) for some in combinations(range(measures.n), size)]
    ideals = [some for some in sets if all(before[v] <= some for v in some)]
    for part, outside in ((measures.part, False), (measures.mirrored, True)):
        limits = TradeOff(part, cells)
        for ideal in ideals:
            members = sorted(set(range(measures.n)) - ideal if outside else ideal)
            size = measures.values[:, members].sum(axis=1)
            for key in (MEMORY, WORK):
                assert limits.most(key, size[key : key + 1])[0] >= size[1 - key]


def test_memory_that_leaves_the_fast_device_little_work() -> None:
    """Of ten equal nodes, two fit on the device of speed 4: eight are left to the slow one."""
    devices = [Device("fast", speed=4.0, memory=2.0), Device("slow", memory=8.0)]
    result = bounded(chain([1.0] * 10, [1.0] * 10, devices))
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(8.0, rel=1e-3)
    assert result.bound.method == "reach"


def test_work_in_the_middle_is_out_of_reach() -> None:
    """Nodes of much work and little memory lie in the middle of a chain: an ideal with them holds what is before."""
    work, memory = [1.0] * 4 + [10.0] * 4 + [1.0] * 4, [3.0] * 4 + [0.1] * 4 + [3.0] * 4
    devices = [Device("fast", speed=10.0, memory=6.0), Device("slow", memory=19.0)]
    result, simple = bounded(chain(work, memory, devices)), load(METHODS, "simple")()
    loose = simple.solve(chain(work, memory, devices), Limits(), Progress()).bound
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(46.0, rel=5e-3)  # the fast one has two of the small nodes at an end
    assert loose.cost < 10.0


def test_memories_that_hold_no_chain() -> None:
    """All memories together are enough, but no cut of the chain fits."""
    result = bounded(chain([1.0] * 3, [2.0, 2.0, 2.0], [Device("a", memory=3.0), Device("b", memory=3.0)]))
    assert result.termination == "infeasible"
    assert result.infeasibility is not None
    assert result.infeasibility.clash == ("memory",)


def test_colocated_nodes_are_one() -> None:
    """With both ends together a chain is one node: it is on one device, the larger."""
    devices = [Device("a", memory=3.0), Device("b", memory=9.0)]
    result = bounded(chain([1.0] * 4, [1.0] * 4, devices, Colocate(nodes=(0, 3))))
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(4.0, rel=1e-3)


def test_what_it_refuses() -> None:
    """No order, no memory, replicas, too many different devices: each with the reason."""
    graph, method = Graph.create(["a", "b"], [(0, 1)], work=1.0, memory=1.0), load(METHODS, "reach")()
    many = [Device(f"d{d}", memory=1.0 + d) for d in range(15)]
    two = many[:2]
    for devices, rules, reason in (
        (two, [Memory()], "needs 'constraint acyclic'"),
        (two, [Acyclic()], "needs 'constraint memory'"),
        ([Device("a"), Device("b")], [Acyclic(), Memory()], "needs 'constraint memory'"),
        (
            [Device("a", memory=1.0), Device("b", memory=1.0)],
            [Acyclic(), Memory(), Replicate(most=2)],
            "does not support constraint replicate",
        ),
        (many, [Acyclic(), Memory()], "different sets of devices; here there are 32,768"),
    ):
        assert reason in method.accepts(Problem.create(graph, devices, Shared(1.0), constraints=rules))


def test_time_that_is_up() -> None:
    """What was refuted before counts."""
    result = bounded(chain([1.0] * 10, [1.0] * 10, [Device("a", memory=3.0), Device("b", memory=8.0)]), time=0.0)
    assert result.termination == "time_limit"
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(5.0)
    assert np.isfinite(result.bound.cost)
