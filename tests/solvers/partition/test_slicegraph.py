"""Segment costs, slicing in both forms, and the method on top of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations_with_replacement, islice, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result, loads, verify
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Forbid, Memory, Pin, Replicate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.exchange.formats.msr import Msr
from mtpp_dsl.solvers.algorithms.slicing import long_orders as covering
from mtpp_dsl.solvers.algorithms.slicing.long_orders import Cover
from mtpp_dsl.solvers.algorithms.slicing.one_order import (
    SegmentCosts,
    Slicing,
    any_order,
    assignment_of,
    fixed_order,
    slice_order,
)
from mtpp_dsl.solvers.algorithms.slicing.orders import orders
from mtpp_dsl.solvers.algorithms.slicing.slicer import Slicer
from mtpp_dsl.solvers.methods.partition import SliceGraph
from mtpp_dsl.solving.api import solve
from tests.oracle import optimum, plans
from tests.strategies import memory_problems, plain_problems

QUICK = SliceGraph(orders=12, moves=200)


def silent(_: str) -> None:
    return None


@st.composite
def uneven_problems(draw: st.DrawFn) -> Problem:
    """Draw problems on devices that differ in all there is: speed, memory, overflow, I/O, places."""
    base = draw(memory_problems())
    graph, k = base.graph, base.k
    devices = [Device(d.name, memory=d.memory, speed=d.speed, pays_io=draw(st.booleans())) for d in base.devices]
    overflow = isinstance(base.interconnect, Shared) and base.interconnect.overflow
    constraints: list[Constraint] = [*base.constraints]
    if draw(st.booleans()) and k > 1:
        where = draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=k - 1, unique=True))
        constraints.append(draw(st.sampled_from([Pin, Forbid]))(nodes=(0,), devices=tuple(sorted(where))))
    return Problem.create(graph, devices, Host(2.0, overflow=overflow), constraints=constraints)


def all_slicings(problem: Problem, order: Ints, sequence: Sequence[int]) -> float:
    """Return the least cost of any slicing of *order* on devices in *sequence*, by trying all."""
    best = float("inf")
    n = problem.graph.n
    for borders in combinations_with_replacement(range(n + 1), problem.k - 1):
        assignment = np.empty(n, np.int64)
        for device, start, end in zip(sequence, (0, *borders), (*borders, n), strict=True):
            assignment[order[start:end]] = device
        if not verify(problem, Plan.create(problem, assignment)):
            best = min(best, max(loads(problem, assignment.tolist())))
    return best


def some_orders(problem: Problem, count: int = 3) -> list[Ints]:
    return list(islice(orders(problem.graph, problem.tensor_time, 0), 5, 5 + count))


def cost_of(found: Slicing | None) -> float:
    return float("inf") if found is None else found.cost


def check_slicing(problem: Problem, order: Ints, found: Slicing | None) -> None:
    """Check that the blocks cover the order and cost what the slicing says."""
    if found is None:
        return
    assignment, sequence = assignment_of(found.blocks, order, device_types(problem))
    assert sorted(sequence) == list(range(problem.k))
    assert [block.start for block in found.blocks] == [0, *(block.end for block in found.blocks[:-1])]
    assert max(loads(problem, assignment.tolist())) == pytest.approx(found.cost, rel=1e-9, abs=1e-9)
    assert not verify(problem, Plan.create(problem, assignment, sequence))


@given(uneven_problems())
def test_segment_costs_are_the_loads(problem: Problem) -> None:
    """Every entry is the load of the segment on a device of the class, by the definition."""
    devices = device_types(problem)
    order = some_orders(problem, 1)[0]
    costs = SegmentCosts(problem.graph, devices, order)
    relaxed = problem.with_constraints([c for c in problem.constraints if isinstance(c, Memory)])
    for kind, members in enumerate(devices.members):
        d = members[0]
        for start in range(problem.graph.n):
            for end in range(start + 1, problem.graph.n + 1):
                nodes = order[start:end]
                if not problem.allowed[nodes, d].all() or problem.graph.memory[nodes].sum() > devices.memory[kind]:
                    assert costs.on(kind)[start, end] == np.inf
                    continue
                other = (d + 1) % problem.k
                if other == d:
                    continue
                assignment = np.full(problem.graph.n, other)
                assignment[nodes] = d
                expected = loads(relaxed, assignment.tolist())[d]
                assert costs.on(kind)[start, end] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(uneven_problems())
def test_slicing_is_optimal_for_its_order_and_devices(problem: Problem) -> None:
    """Dense and sweep equal the best of all slicings, for devices in declared order."""
    devices = device_types(problem)
    kinds = devices.of.tolist()
    for order in some_orders(problem):
        expected = all_slicings(problem, order, range(problem.k))
        dense = slice_order(SegmentCosts(problem.graph, devices, order), fixed_order(kinds))
        sweep = Cover(problem.graph, devices, order, kinds, silent).slice()
        for found in (dense, sweep):
            assert cost_of(found) == pytest.approx(expected, rel=1e-9, abs=1e-9)
            check_slicing(problem, order, found)


@settings(max_examples=30)
@given(uneven_problems())
def test_slicing_over_all_orders_of_the_devices(problem: Problem) -> None:
    """The programme over sets of devices equals the best over all permutations."""
    devices = device_types(problem)
    order = some_orders(problem, 1)[0]
    stages = any_order([len(members) for members in devices.members])
    found = slice_order(SegmentCosts(problem.graph, devices, order), stages)
    expected = min(all_slicings(problem, order, sequence) for sequence in permutations(range(problem.k)))
    assert cost_of(found) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    check_slicing(problem, order, found)


def random_problem(seed: int, n: int, *, uneven: bool) -> Problem:
    """Return a sparse random problem of *n* nodes on five devices."""
    random = np.random.default_rng(seed)
    edges = {(int(random.integers(max(0, v - 12), v)), v) for v in range(1, n) for _ in range(2)}
    graph = Graph.create(
        [str(v) for v in range(n)],
        edges,
        work=random.random(n),
        output=random.exponential(1, n),
        params=random.random(n),
        memory=random.random(n),
    )
    memory = float(graph.memory.sum())
    share = [0.3, 0.3, 0.4, 0.25, 0.5] if uneven else [1.0] * 5
    devices = [Device(f"d{i}", memory=memory * part, speed=1 + i % 2 * uneven) for i, part in enumerate(share)]
    return Problem.create(graph, devices, Shared(4.0), constraints=[Acyclic(), Memory()])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("compiled", [False, True])
def test_sweep_is_dense_on_larger_graphs(seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms have the same optimum, plain and compiled; below it there is nothing."""
    monkeypatch.setattr(covering, "COVER", Kernel(covering.COVER.plain, 0 if compiled else float("inf")))
    problem = random_problem(seed, 60, uneven=bool(seed % 2))
    devices = device_types(problem)
    kinds = devices.of.tolist()
    order = some_orders(problem, 1)[0]
    dense = slice_order(SegmentCosts(problem.graph, devices, order), fixed_order(kinds))
    assert dense is not None
    cover = Cover(problem.graph, devices, order, kinds, silent)
    found = cover.slice()
    assert cost_of(found) == pytest.approx(dense.cost, rel=1e-12)
    check_slicing(problem, order, found)
    assert cover.slice(below=dense.cost * (1 - 1e-9)) is None
    assert cost_of(cover.slice(below=dense.cost * 1.01)) == pytest.approx(dense.cost, rel=1e-12)


@settings(max_examples=30)
@given(plain_problems(most=5))
def test_some_order_gives_the_optimum(problem: Problem) -> None:
    """The best slice over all topological orders is the optimum (archer2024, Theorem 4.3)."""
    devices, graph = device_types(problem), problem.graph
    best = float("inf")
    for order in permutations(range(graph.n)):
        position = np.argsort(order)
        if (position[graph.tails] < position[graph.heads]).all():
            costs = SegmentCosts(graph, devices, np.array(order))
            best = min(best, cost_of(slice_order(costs, fixed_order(devices.of.tolist()))))
    assert best == pytest.approx(optimum(problem), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("strategy", [plain_problems(), memory_problems(), uneven_problems()])
@settings(max_examples=25)
@given(st.data())
def test_plans_are_valid_and_never_below_the_optimum(strategy: st.SearchStrategy[Problem], data: st.DataObject) -> None:
    """Whatever the devices and limits, a plan satisfies every constraint; none is invented."""
    problem = data.draw(strategy)
    assert QUICK.accepts(problem) is None
    progress = Progress()
    result = QUICK.solve(problem, Limits(), progress)
    best = optimum(problem)
    check_result(problem, result)
    assert result.termination == "complete"
    assert result.bound is None
    if result.cost is None:
        assert result.notes
    else:
        assert best is not None
        assert result.cost >= best * (1 - 1e-9)
        assert progress.cost == result.cost
        assert result.log[-1].incumbent == result.cost


def test_sweep_form_solves_what_dense_does() -> None:
    """The slicer gives the same costs in its form for large graphs, up to the orders of devices it tries."""
    for seed in range(4):
        problem = random_problem(seed, 40, uneven=False)
        devices = device_types(problem)
        for order in some_orders(problem):
            dense, sweep = (Slicer(problem.graph, devices, silent, dense=size).slice(order) for size in (100, 0))
            assert cost_of(dense) == pytest.approx(cost_of(sweep), rel=1e-12)
            assert Slicer(problem.graph, devices, silent, dense=0).slice(order, cost_of(dense) * 0.999) is None


def test_equal_seeds_give_equal_plans() -> None:
    """A run depends on the problem and the seed only."""
    problem = random_problem(1, 40, uneven=True)
    one, two = (QUICK.solve(problem, Limits(seed=5), Progress()) for _ in range(2))
    assert one.plan is not None
    assert two.plan is not None
    assert (one.plan.assignment == two.plan.assignment).all()
    assert one.seed == 5


@given(plain_problems(most=5))
def test_a_start_is_never_made_worse(problem: Problem) -> None:
    """With a start that is a plan, the result costs no more, even when there is no time at all."""
    start = next(plans(problem))
    cost = max(loads(problem, start.assignment.tolist()))
    for limits in (Limits(start=start), Limits(start=start, time=0.0)):
        result = QUICK.solve(problem, limits, Progress())
        assert result.cost is not None
        assert result.cost <= cost * (1 + 1e-12)


def test_colocated_nodes_are_sliced_as_one() -> None:
    """Nodes that can be made one stay together; those that cannot, as they make different tensors, are refused."""
    edges = [("a", "c"), ("b", "c"), ("c", "d")]
    graph = Graph.create(
        "abcd", [("abcd".index(u), "abcd".index(v)) for u, v in edges], work=[1, 2, 3, 4], output=[1] * 4
    )
    devices = [Device(f"d{i}") for i in range(3)]
    kept = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Colocate(nodes=(0, 1))])
    result = solve(kept, "slicegraph")
    assert result.plan is not None
    assert result.plan.assignment[0] == result.plan.assignment[1]
    assert result.cost == optimum(kept)
    crossed = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Colocate(nodes=(0, 3))])
    assert solve(crossed, "slicegraph").cost == optimum(crossed)
    apart = crossed.with_constraints([Colocate(nodes=(0, 3))])
    assert "whose nodes cannot be made one" in (SliceGraph().accepts(apart) or "")


def test_a_start_that_breaks_a_limit_is_not_taken() -> None:
    """A start that is cyclic, does not fit, or is where it may not be is left alone."""
    graph = Graph.create(["a", "b", "c"], [(0, 1), (1, 2)], work=1.0, params=1.0)
    devices = [Device("d0", memory=2.0), Device("d1", memory=2.0)]
    limits = [Acyclic(), Memory(), Pin(nodes=(2,), devices=(1,))]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=limits)
    for assignment in ([0, 1, 0], [1, 1, 1], [1, 0, 0]):
        result = QUICK.solve(problem, Limits(start=Plan.create(problem, assignment), time=0.0), Progress())
        assert result.plan is None
        assert result.termination == "time_limit"


def test_an_interrupt_keeps_the_best_plan() -> None:
    """A stop asked for while it runs ends it with the plan reported last."""
    problem = random_problem(0, 60, uneven=False)
    progress = Progress(lambda progress, _: progress.stop() if progress.cost is not None else None)
    result = SliceGraph().solve(problem, Limits(), progress)
    assert result.termination == "interrupted"
    assert result.plan is progress.plan


def test_restrictions_are_told() -> None:
    """Where the problem allows cyclic quotient graphs, the result says that none was looked at."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0, backward=[False, True])
    for constraints in ([], [Contiguous()], [Acyclic()]):
        problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=constraints)
        assert any("acyclic" in note for note in QUICK.solve(problem, Limits(), Progress()).notes)


def test_no_plan_is_not_infeasible() -> None:
    """Without a feasible slice the result has no plan, claims nothing, and says so."""
    graph = Graph.create(["a", "b"], [], params=2.0)
    problem = Problem.create(graph, [Device("d0", memory=3.0)], Shared(1.0), constraints=[Acyclic(), Memory()])
    result = QUICK.solve(problem, Limits(), Progress())
    assert (result.plan, result.infeasibility, result.termination) == (None, None, "complete")
    assert result.notes


def test_refusals_name_a_method_that_can() -> None:
    """A constraint that slices cannot honour is refused; the reason names methods that can."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0)
    devices = [Device("d0"), Device("d1")]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Replicate(most=2)])
    with pytest.raises(Refused, match=r"does not support constraint replicate for a bottleneck; auto.*ideals.* can"):
        solve(problem, "slicegraph")


def test_makespan_and_links_are_refused() -> None:
    """Slicing is about loads on a shared interconnect."""
    graph, devices = Graph.create(["a"], []), [Device("d")]
    links = Problem.create(graph, devices, Links(np.ones((1, 1)), np.zeros((1, 1))))
    makespan = Problem.create(graph, devices, Shared(1.0), Objective("makespan"))
    assert SliceGraph().accepts(links)
    assert SliceGraph().accepts(makespan)
    assert isinstance(SliceGraph(), Method)


def test_a_graph_without_nodes() -> None:
    """Nothing to place is placed at no cost."""
    problem = Problem.create(Graph.create([], []), [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()])
    assert QUICK.solve(problem, Limits(), Progress()).cost == 0.0


@pytest.mark.parametrize(
    ("file", "k", "best"),
    [
        ("OperatorGraphs/bert_l-3_inference", 4, 27.186),
        ("LayerGraphs/gnmt_inference", 8, 25.850),
        ("LayerGraphs/resnet50_inference", 4, 50.990),
        ("LayerGraphs/bert24_inference", 16, 7.196),
    ],
)
def test_published_workloads_are_solved_to_their_optimum(data: Path, file: str, k: int, best: float) -> None:
    """The optima are those of an exact search over ideals."""
    graph = Msr().read(data / "dnn-partitioning" / "throughput" / f"{file}.json").graph
    problem = Problem.create(graph, [Device(f"d{i}") for i in range(k)], Shared(1.0), constraints=[Acyclic()])
    result = SliceGraph(moves=500).solve(problem, Limits(), Progress())
    check_result(problem, result)
    assert result.cost == pytest.approx(best, abs=5e-4)


def test_numba_is_not_loaded_for_a_small_graph() -> None:
    """Neither importing the method nor solving a graph of a dozen nodes pays for a compiler."""
    program = """
import sys
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.problem import Device, Problem, Shared
from mtpp_dsl.solvers.methods.partition import SliceGraph
graph = Graph.create([str(v) for v in range(7)], [(v, v + 1) for v in range(6)], work=1.0)
SliceGraph(moves=1_000).solve(Problem.create(graph, [Device("a"), Device("b")], Shared(1.0)), Limits(), Progress())
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
