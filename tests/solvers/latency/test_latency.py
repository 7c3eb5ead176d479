"""Searches and bounds for latencies by subgraphs, against brute force and published workloads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Contiguous, Linear, Makespan, Memory, Pin, Separate, Subgraphs
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.latency import path_hull
from mtpp_dsl.solvers.latency.first_arrangements import Orders, arrangement_of, beside, measured, worth
from mtpp_dsl.solvers.latency.latency_moves import ANNEAL, DRAWS
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance
from mtpp_dsl.solvers.methods.by_subgraphs import LatencySearch, PathHull, PublishedGreedy
from mtpp_dsl.solvers.proofs.hull import PathHullProof
from mtpp_dsl.solving import api
from tests.latency_cases import MAKESPAN, latency_problem
from tests.oracle import optimum


def search(problem: Problem, seconds: float = 20.0, patience: int = 24) -> Result:
    """Return what the search finds."""
    return LatencySearch(patience).solve(problem, Limits(time=seconds), Progress())


def msr(data: Path, name: str, rule: str = "contiguous") -> Problem:
    """Return a published latency workload."""
    path = data / "dnn-partitioning" / "latency" / name
    return api.load(
        f'mtpp 1\nimport "{path}" (format = msr)\nminimize makespan\nconstraint {rule}\nconstraint memory\n'
        "constraint colocate by color\n"
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(1000, 1025))
def test_search_finds_optima_of_small_problems(seed: int) -> None:
    """On problems of up to five nodes, with everything on and off, the best plan is that of brute force."""
    problem = latency_problem(seed)
    best, result = optimum(problem), search(problem)
    if best is None:
        assert result.plan is None
        return
    assert result.cost == pytest.approx(best, rel=1e-9)
    assert result.bound is not None
    assert result.bound.cost <= best


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(2000, 2150))
def test_no_plan_is_below_the_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound along a path is at most the optimum, and its certificate proves it again; so is that of anchors."""
    problem = latency_problem(seed, most=4)
    best = optimum(problem)
    with monkeypatch.context() as patch:
        patch.setattr(path_hull, "LARGEST", 0)
        anchored = PathHull().solve(problem, Limits(), Progress())
    if best is not None:
        assert anchored.bound is not None
        assert anchored.bound.cost <= best
    result = PathHull().solve(problem, Limits(), Progress())
    if result.infeasibility is not None:
        assert best is None
        return
    bound = result.bound
    assert bound is not None
    assert bound.certificate is not None
    proved = PathHullProof().prove(problem, bound.certificate.data, Limits())
    assert bound.cost <= proved * (1 + 1e-9)
    if best is not None:
        assert bound.cost <= best
        assert proved <= best


@pytest.mark.parametrize("factor", [1e-9, 1e12])
@pytest.mark.parametrize("seed", range(9000, 9008))
def test_costs_of_any_magnitude(seed: int, factor: float) -> None:
    """Times of 1e-9 and of 1e12: bounds stay below the optimum, and plans stay plans."""
    problem = latency_problem(seed, most=4)
    devices = [replace(device, speed=device.speed / factor) for device in problem.devices]
    assert not isinstance(problem.interconnect, Links)
    link = replace(problem.interconnect, bandwidth=problem.interconnect.bandwidth / factor)
    problem = Problem.create(problem.graph, devices, link, problem.objective, problem.constraints)
    best, result = optimum(problem), search(problem, patience=3)
    if best is None:
        assert result.plan is None
        return
    assert result.bound is not None
    assert result.bound.cost <= best
    assert result.cost is not None
    assert result.cost >= best * (1 - 1e-12)


def test_a_forged_certificate_proves_nothing() -> None:
    """A path along no edge, of no nodes of the graph, or for another objective, is refused."""
    problem = latency_problem(7)
    checker = PathHullProof()
    for path in (["nowhere"], "v0", [problem.graph.names[0]] * 2, None):
        with pytest.raises(Refused):
            checker.prove(problem, {"path": path}, Limits())
    for cuts in (
        "all",
        [[0, 0]],
        [[0, 9, 0.0]],
        [[0, -1, 0.0]],
        [[0, True, 0.0]],
        [[0, 0, -1.0]],
        [[0, 0, float("nan")]],
    ):
        with pytest.raises(Refused):
            checker.prove(problem, {"path": [problem.graph.names[0]], "cuts": cuts}, Limits())
    assert checker.prove(problem, {"path": []}, Limits()) == 0.0
    other = Problem.create(problem.graph, [Device("x")], Shared(1.0), MAKESPAN, [])
    with pytest.raises(Refused):
        checker.prove(other, {"path": [problem.graph.names[0]]}, Limits())


@pytest.mark.parametrize("seed", range(20))
def test_arrangements_cost_what_their_plans_cost(seed: int) -> None:
    """The loop of the search and the evaluation agree, and an arrangement is found again in its plan."""
    problem = latency_problem(seed, most=6)
    instance = LatencyInstance.of(problem)
    random = np.random.default_rng(seed)
    tried = 0
    for slot in random.integers(0, len(instance.home), (60, instance.n)):
        makespan, _, excess = measured(instance, slot)
        if makespan == np.inf:
            continue
        plan = instance.plan(slot)
        tried += 1
        assert cost_of(problem, plan) == pytest.approx(makespan, rel=1e-12)
        broken = {str(v).split(" ")[0].rstrip(":") for v in verify(problem, plan)}
        assert ("memory" in broken) <= (excess > 0)
        assert not {"schedule", "precedence", "subgraphs"} & broken
        again = arrangement_of(instance, plan)
        assert again is not None
        assert measured(instance, again)[0] == pytest.approx(makespan, rel=1e-12)
    assert tried


@pytest.mark.parametrize("seed", range(10))
def test_parts_of_orders_cost_no_more_than_all_in_a_row(seed: int) -> None:
    """What the dynamic programme gives is an arrangement, no slower than everything beside host memory in a row."""
    problem = latency_problem(seed, most=8)
    instance = LatencyInstance.of(problem)
    orders = Orders(instance, np.random.default_rng(0), lambda _: None)
    for slot in orders.arrangements(None, 6):
        assert np.isfinite(worth(instance, slot))
        free = beside(instance)
        if free is not None:
            assert worth(instance, slot) <= instance.time[np.arange(instance.n), instance.home[free]].sum() + 1e-9


@pytest.mark.long
def test_the_same_steps_compiled_and_plain() -> None:
    """One source, twice: the annealing ends at the same arrangement."""
    instance = LatencyInstance.of(latency_problem(4, most=6))
    graph = instance.graph
    found = []
    for kernel in (ANNEAL.plain, ANNEAL.compiled()):
        start = beside(instance)
        slot = np.zeros(instance.n, np.int64) if start is None else start
        best, value = slot.copy(), np.array([*measured(instance, slot)[:1] * 2, np.inf, np.inf])
        draws = np.random.default_rng(1).random((300, DRAWS))
        kernel(
            slot, best, value, draws, np.array([2.0, 0.1, 0.0, 1.0]), instance.pieces, instance.home,
            graph.topological_order, graph.offsets, graph.heads, graph.offsets_in, graph.producers, graph.tails,
            instance.group, instance.member_offsets, instance.members, instance.time, instance.tensor, instance.memory,
            instance.limit,
        )  # fmt: skip
        found.append((slot.tolist(), best.tolist(), value.tolist()))
    assert found[0] == found[1]


def test_what_the_search_cannot_honour_is_refused() -> None:
    """Rows over times, nodes apart, convex unions of several subgraphs: each has a reason."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 2.0])
    late = Linear(label="late", terms=((Makespan(), 1.0),), sense=">=", rhs=1.0)
    for rule in (late, Separate(nodes=(0, 1)), Subgraphs(most=2)):
        problem = Problem.create(graph, [Device("x")], Shared(1.0), MAKESPAN, [Contiguous(), rule])
        assert LatencySearch().accepts(problem) is not None
        assert PathHull().accepts(problem) is None
    training = replace(graph, backward=np.array([False, True]))
    problem = Problem.create(training, [Device("x")], Shared(1.0), MAKESPAN, [Contiguous()])
    for method in (LatencySearch(), PathHull(), PublishedGreedy()):
        reason = method.accepts(problem)
        assert reason is not None
        assert "backward" in reason


@pytest.mark.parametrize(
    ("devices", "cost"),
    [
        ([Device("cpu", speed=0.5, pays_io=False)], 6.0),
        ([Device("acc", memory=3.0)], 3.0),
        ([Device("acc", memory=2.9)], None),
        ([Device("acc", memory=2.0), Device("other", memory=2.0)], 3.5),
        ([Device("acc", memory=0.0), Device("cpu", pays_io=False)], 3.0),
    ],
)
def test_corners(devices: list[Device], cost: float | None) -> None:
    """CPUs alone, accelerators alone, no room at all: the optimum or no plan."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 2.0], output=0.25, memory=[1.0, 2.0])
    problem = Problem.create(graph, devices, Host(1.0), MAKESPAN, [Contiguous(), Memory()])
    assert search(problem).cost == (None if cost is None else pytest.approx(cost))


def test_one_node_and_nothing_to_do() -> None:
    """A graph of one node, and one without any cost, are solved."""
    one = Problem.create(Graph.create("a", [], work=2.0), [Device("x")], Shared(1.0), MAKESPAN, [Contiguous()])
    assert search(one).status == "optimal"
    idle = Problem.create(Graph.create("abc", [(0, 1)]), [Device("x")], Shared(1.0), MAKESPAN, [Subgraphs(most=3)])
    assert search(idle).cost == 0.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("work", [0.0, 1e-9])
def test_plans_far_slower_than_what_exceeds_memories(work: float) -> None:
    """Where all that takes next to no time exceeds a memory, a plan is found, whatever its tensors take."""
    graph = Graph.create("ab", [(0, 1)], work=work, output=[8.0, 7.0], memory=[1.0, 3.0])
    devices = [Device("acc"), Device("cpu", memory=3.0, pays_io=False)]
    rules = [Contiguous(), Memory(), Pin(nodes=(0,), devices=(1,))]
    problem = Problem.create(graph, devices, Host(1e-9), MAKESPAN, rules)
    assert search(problem).cost == pytest.approx(8e9)


def test_greedy_says_that_its_subgraph_is_left_and_entered_again() -> None:
    """A node that the accelerator cannot run, between two that it took: no plan, and no error."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=1.0, kinds=["", "odd", ""])
    devices = [Device("acc", unsupported=frozenset({"odd"})), Device("cpu", pays_io=False)]
    problem = Problem.create(graph, devices, Host(1.0), MAKESPAN, [Contiguous()])
    result = api.solve(problem, "published-greedy")
    assert result.plan is None
    assert "wait for each other" in result.notes[0]


@pytest.mark.long
def test_published_workloads(data: Path) -> None:
    """BERT-24 is proved; others get close to what long searches found, in seconds; more subgraphs do no harm."""
    result = search(msr(data, "LayerGraphs/bert24_inference.json"))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(100.2185, abs=1e-4)
    several = search(msr(data, "LayerGraphs/bert24_inference.json", "subgraphs at most 2"), 2.0)
    assert several.cost is not None
    assert several.cost <= 100.2186
    problem = msr(data, "LayerGraphs/resnet50_inference.json")
    greedy = PublishedGreedy().solve(problem, Limits(), Progress()).cost
    found = search(problem, 4.0).cost
    assert found is not None
    assert greedy is not None
    assert found <= min(1874.55, greedy)
    proved = PathHull().solve(problem, Limits(time=20.0), Progress()).bound
    assert proved is not None
    assert proved.certificate is not None
    assert proved.cost == pytest.approx(1156.88128, abs=1e-4)
    again = PathHullProof().prove(problem, proved.certificate.data, Limits())
    assert proved.cost <= again * (1 + 1e-9)


def test_anchors_bound_what_is_too_large_for_hulls() -> None:
    """Two parallel chains between two ends, on two equal devices: hulls hold half of it, and paths are far below."""
    count = 4_000
    names = ["in", *(f"{side}{i}" for i in range(count) for side in "ab"), "out"]
    edges = [(0, 1), (0, 2), (2 * count - 1, 2 * count + 1), (2 * count, 2 * count + 1)]
    edges += [(v, w) for i in range(count - 1) for v in (2 * i + 1, 2 * i + 2) for w in (2 * i + 3, 2 * i + 4)]
    graph = Graph.create(names, edges, work=1.0, output=0.0)
    devices = [Device("a"), Device("b")]
    problem = Problem.create(graph, devices, Shared(1.0), MAKESPAN, [Contiguous()])
    result = PathHull().solve(problem, Limits(), Progress())
    assert result.bound is not None
    assert 0.99 * graph.n <= result.bound.cost <= graph.n
