"""Lower bounds on batches: never above the optimum, proved again by other code, and not to be forged."""

from __future__ import annotations

import json
from functools import cache
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, BatchSizes, Colocate, Forbid, Memory, PinChunks
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.algorithms.windows import batch_bounds
from mtpp_dsl.solvers.proofs.batches import BatchProof
from tests.batch_problems import random_batches
from tests.oracle import optimum

METHODS = ["simple", "critical-path"]
SEEDS = range(120)


@cache
def case(seed: int) -> tuple[Problem, float | None]:
    """Return a random problem, at most three nodes, and its optimum by trying everything."""
    problem = random_batches(seed, devices=2 + seed % 2, chunks=3 - seed % 2, unit=(1.0, 1e-7, 1e8)[seed % 3])
    return problem, optimum(problem)


def bounded(name: str, problem: Problem, **limits: Any) -> Result:
    method = registry.load(registry.METHODS, name)()
    assert method.accepts(problem) is None
    result: Result = method.solve(problem, Limits(**limits), Progress())
    return result


def proved(problem: Problem, data: Any) -> float:
    """Return what a certificate proves, 0 if it is refused."""
    try:
        return BatchProof().prove(problem, json.loads(json.dumps(data)), Limits(time=60.0))
    except Refused:
        return 0.0


@pytest.mark.parametrize("name", METHODS)
def test_no_bound_is_above_the_optimum(name: str) -> None:
    """Arbitrary times by size, memory, missing links, zeros: a bound is none, or proved again and never too large."""
    tight = 0
    for seed in SEEDS:
        problem, best = case(seed)
        result = bounded(name, problem)
        if best is None:
            continue
        assert result.infeasibility is None, seed
        assert result.bound is not None
        assert result.bound.cost <= best * (1 + 1e-12), seed
        tight += result.bound.cost >= best * (1 - 1e-9)
        if result.bound.certificate is not None:
            again = proved(problem, dict(result.bound.certificate.data))
            assert result.bound.cost * (1 - 1e-12) <= again <= best * (1 + 1e-12), seed
        else:
            assert result.bound.cost == 0, seed
    assert tight > 20


def layers(depth: int = 3, width: int = 4, carry: float = 0.5) -> Problem:
    """Return layers of parallel nodes between single ones, in batches that take as long as one input."""
    names, edges = ["in"], list[tuple[int, int]]()
    for b in range(depth):
        first = len(names) - 1
        names += [f"b{b}.{w}" for w in range(width)] + [f"join{b}"]
        edges += [(first, first + 1 + w) for w in range(width)]
        edges += [(first + 1 + w, first + width + 1) for w in range(width)]
    graph = Graph.create(names, edges, work=2.0, output=carry)
    devices = [Device("a", fixed=1.0), Device("b", fixed=1.0)]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    return Problem.create(graph, devices, links, Objective("throughput", batch=4))


def test_work_between_ends_counts() -> None:
    """Where batches cost the same whatever their size, what lies between the first and the last node adds to both."""
    problem = layers(depth=1)
    simple, more = (bounded(name, problem).bound for name in METHODS)
    assert simple is not None
    assert more is not None
    assert more.certificate is not None
    assert simple.cost == pytest.approx(6.0)  # six nodes of 2 on two devices, or three after one another
    assert more.cost == pytest.approx(2.0 + 4.0 + 2.0)
    assert more.cost <= 8.0
    assert proved(problem, dict(more.certificate.data)) >= more.cost * (1 - 1e-12)


def test_rates_stay_below_spreads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where spreads are too many to be looked at, the least time per input counts: less, and proved all the same."""
    for seed in range(40):
        problem, best = case(seed)
        monkeypatch.setattr(batch_bounds, "MAX_CELLS", 2e7)
        exact = bounded("simple", problem)
        monkeypatch.setattr(batch_bounds, "MAX_CELLS", 0.0)
        rough = bounded("simple", problem)
        if best is None or rough.bound is None or exact.bound is None:
            continue
        assert rough.bound.cost <= best * (1 + 1e-12)
        if rough.bound.certificate is not None:
            assert rough.bound.cost * (1 - 1e-12) <= proved(problem, dict(rough.bound.certificate.data))


def test_forged_certificates_prove_nothing_more() -> None:
    """Whatever a file says, no more is proved than is so."""
    problem = layers()
    best = 4 * 2.0 + 3 * 4.0
    work = {"weights": {"a": 1.0, "b": 1.0}, "prices": {}, "head": 0.0, "tail": 0.0, "rates": False}
    assert proved(problem, {"work": work}) == pytest.approx(15 * 2.0 / 2 + 1.0, abs=1.1)
    for change in (
        {"head": 1e9},
        {"tail": 1e9},
        {"head": -1.0},
        {"head": nan},
        {"head": inf},
        {"weights": {}},
        {"weights": {"a": -1.0, "b": 2.0}},
        {"weights": {"c": 1.0}},
        {"weights": {"a": 0.0}},
        {"weights": {"a": 1e308, "b": 1e308}},
        {"weights": "all"},
        {"rates": "yes"},
        {"prices": {"a": 1.0}},
        {"prices": {"c": 1.0}},
        {"prices": None},
        {"rates": True},
    ):
        assert proved(problem, {"work": {**work, **change}}) <= best, change
    for data in ({}, {"work": None}, {"path": {}}, {"path": 3}, {"path": {"target": 1e9, "count": 0, "rounds": []}}):
        assert proved(problem, data) == 0.0
    one = Problem.create(problem.graph, problem.devices, problem.interconnect, Objective("makespan"))
    with pytest.raises(Refused, match="batch"):
        BatchProof().prove(one, {"work": work}, Limits())
    with pytest.raises(Refused, match="acyclic"):
        BatchProof().prove(problem.with_constraints([Acyclic()]), {"work": work}, Limits())


def test_heads_that_are_too_late_are_refused() -> None:
    """A head above the longest path leaves no node whose work would count."""
    problem = layers(depth=1)
    work = {"weights": {"a": 1.0, "b": 1.0}, "prices": {}, "head": 2.0, "tail": 2.0, "rates": False}
    assert proved(problem, {"work": work}) == pytest.approx(8.0)
    assert proved(problem, {"work": {**work, "head": 2.1}}) <= 8.0
    assert proved(problem, {"work": {**work, "head": 6.1}}) == 0.0


def crowded(room: float = 20.0) -> Problem:
    """Return nodes that are fast where memory has room for a few of them."""
    graph = Graph.create([f"v{i}" for i in range(6)], [], work=1.0, params=8.0, memory=9.0)
    devices = [Device("fast", speed=10.0, memory=room), Device("slow", speed=1.0, memory=500.0)]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    return Problem.create(graph, devices, links, Objective("throughput", batch=2), [Memory(), BatchSizes(sizes=(2,))])


def test_memory_has_a_price() -> None:
    """Where the fast device holds two nodes of six, the slow one has to run the others: nearly so by prices."""
    problem = crowded()
    best = optimum(problem)
    assert best == pytest.approx(8.0)
    found = bounded("simple", problem).bound
    assert found is not None
    assert found.certificate is not None
    assert found.certificate.data["work"]["prices"].keys() == {"fast"}
    assert 7.0 < found.cost <= 8.0
    assert found.cost * (1 - 1e-12) <= proved(problem, dict(found.certificate.data)) <= 8.0
    work = found.certificate.data["work"]
    for factor in (0.0, 0.5, 2.0, 1e6, 1e300):
        prices = {name: m * factor for name, m in work["prices"].items()}
        assert proved(problem, {"work": {**work, "prices": prices}}) <= 8.0
    assert proved(problem, {"work": {**work, "prices": {"fast": 0.0, "slow": 1e308}}}) <= 8.0
    free = bounded("simple", crowded(1e3)).bound
    assert free is not None
    assert free.cost == pytest.approx(6 * 2 / 11, rel=1e-2)
    none = bounded("simple", crowded(0.0)).bound
    assert none is not None
    assert 11.0 < none.cost <= 12.0


def test_no_room_at_all_has_prices_that_can_be_checked() -> None:
    """Where memory holds no spread prices would grow without end; they stop where a checker can still count."""
    graph = Graph.create("a", [], work=2.0, params=1.5, memory=2.0)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    for small in (0.0, 0.1):
        devices = [Device("x", memory=2.75), Device("y", memory=small)]
        problem = Problem.create(graph, devices, links, Objective("throughput", batch=3), [Memory()])
        bound = bounded("simple", problem).bound
        assert optimum(problem) is None
        assert bound is not None
        assert bound.certificate is not None
        assert proved(problem, dict(bound.certificate.data)) >= bound.cost * (1 - 1e-12)


def test_pinned_chunks_leave_the_first_one_no_choice() -> None:
    """The path is that of the first chunk, where it is pinned to, and the checker finds the same."""
    tables = {"x": {1: [1.0], 2: [1.0]}, "y": {1: [3.0], 2: [3.0]}}
    devices, links = [Device("x", "x"), Device("y", "y")], Links(np.ones((2, 2)), np.zeros((2, 2)))
    pinned = [PinChunks(nodes=(0,), places=(1, 0))]
    graph = Graph.create("a", [], batch_times=tables)
    problem = Problem.create(graph, devices, links, Objective("throughput", batch=2), pinned)
    bound = bounded("critical-path", problem).bound
    assert bound is not None
    assert bound.certificate is not None
    assert bound.cost == pytest.approx(3.0) == optimum(problem)
    assert proved(problem, dict(bound.certificate.data)) == pytest.approx(3.0)


def infeasible(*constraints: Any, memory: float | None = None) -> Problem:
    graph = Graph.create("ab", [(0, 1)], work=1.0, params=2.0, output=1.0)
    devices = [Device("x", memory=memory), Device("y", memory=memory)]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    return Problem.create(graph, devices, links, Objective("throughput", batch=4), constraints)


@pytest.mark.parametrize("name", METHODS)
def test_what_has_no_spread_is_infeasible(name: str) -> None:
    """Sizes that a node's devices cannot add up to the batch, or memory below one input, leave no plan: and which."""
    sizes = BatchSizes(sizes=(2, 4), devices=(0,)), BatchSizes(sizes=(2,), devices=(1,))
    result = bounded(name, infeasible(*sizes, Forbid(nodes=(1,), devices=(0,))))
    assert result.infeasibility is not None
    assert "of b" in result.infeasibility.reason
    assert bounded(name, infeasible(*sizes)).infeasibility is None
    pinned = PinChunks(nodes=(0,), places=(0, 1)), PinChunks(nodes=(1,), places=(1, 0)), Colocate(nodes=(0, 1))
    assert bounded(name, infeasible(*sizes, pinned[2])).infeasibility is None
    assert bounded(name, infeasible(*sizes, *pinned)).infeasibility is not None
    assert bounded(name, infeasible(Memory(), memory=1.0)).infeasibility is not None
    assert (
        bounded(name, infeasible(Memory(), memory=2.5)).infeasibility is None
        or optimum(infeasible(Memory(), memory=2.5)) is None
    )


def test_one_input_is_a_makespan() -> None:
    """Of a batch of one input the relaxation is the problem of one sample: the same path is the bound."""
    graph = Graph.create("abcd", [(0, 1), (0, 2), (1, 3), (2, 3)], work=[2, 3, 4, 2], output=[1, 2, 0.5, 1])
    links = Links(np.ones((2, 2)), 0.25 * np.ones((2, 2)))
    devices = [Device("x"), Device("y", speed=2.0)]
    batch = Problem.create(graph, devices, links, Objective("throughput", batch=1))
    sample = Problem.create(graph, devices, links, Objective("makespan"))
    one, other = bounded("critical-path", batch).bound, bounded("critical-path", sample).bound
    assert one is not None
    assert other is not None
    assert one.cost >= other.cost * (1 - 1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_a_bound_that_is_stopped_is_a_bound(name: str) -> None:
    """Without time, what is known is returned, and says that the time was up."""
    result = bounded(name, layers(), time=0.0)
    assert result.bound is not None
    assert result.bound.cost <= 20.0
    assert result.termination == "time_limit"


def test_weights_follow_speed() -> None:
    """Of devices that only differ in speed, with times that grow with inputs, the bound is work over speed."""
    graph = Graph.create("abc", [], work=[6.0, 3.0, 9.0])
    devices = [Device("slow", speed=0.5), Device("fast", speed=1.5)]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(graph, devices, links, Objective("throughput", batch=8))
    found = bounded("simple", problem).bound
    assert found is not None
    assert found.cost == pytest.approx(18.0 * 8 / 2.0, rel=1e-3)
    assert BatchInstance.of(problem).chunks == 8
