"""Splitting a graph into modules along few channels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Colocate, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import PluginError, Refused, UsageError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.algorithms.module_rows import ModuleRow, split
from mtpp_dsl.solvers.methods.cp_sat import Scheduling
from mtpp_dsl.solvers.methods.modules import MilpSplit
from mtpp_dsl.solvers.schedule.splitting.boundary_states import BoundaryWalk
from mtpp_dsl.solvers.schedule.splitting.module_engines import ByMethod
from mtpp_dsl.solvers.schedule.splitting.module_problems import grouped, parts
from tests.amount import part
from tests.makespans import best_of, makespan_problem
from tests.oracle import optimum

MAKESPAN = Objective("makespan")
EDGES = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1]))
    )
)


def _graph(n: int, edges: list[tuple[int, int]]) -> Graph:
    return Graph.create([f"v{i}" for i in range(n)], edges, work=1.0, output=1.0)


def _is_row(found: ModuleRow) -> None:
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
    found = split(_graph(*case), wanted=1, together=[held])
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


def _solved(problem: Problem, method: MilpSplit, seconds: float = 20.0) -> Result:
    """Return an answer whose plan and bound have been checked."""
    limits = Limits(time=seconds, threads=2)
    result = method.solve(problem, limits, Progress())
    assert result.plan is None or not verify(problem, result.plan)
    check_result(problem, result)
    return result


def _chain_of_diamonds(seed: int, count: int) -> Problem:
    """Return diamonds in a row: every fourth node is a cut node."""
    random = np.random.default_rng(seed)
    edges = []
    for i in range(count):
        a = 3 * i
        edges += [(a, a + 1), (a, a + 2), (a + 1, a + 3), (a + 2, a + 3)]
    n = 3 * count + 1
    times = random.integers(1, 9, (2, n)).astype(float)
    graph = Graph.create(
        [f"v{v}" for v in range(n)], edges, output=random.integers(0, 4, n), times={"a": times[0], "b": times[1]}
    )
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    return Problem.create(graph, [Device("a"), Device("b")], links, MAKESPAN)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_between_cut_nodes_it_is_exact(seed: int) -> None:
    """Where every boundary is a cut node the value is the optimum, and called so."""
    problem = _chain_of_diamonds(seed, 4)
    result = _solved(problem, MilpSplit())
    whole = Scheduling("moirai").solve(problem, Limits(time=60.0, threads=1), Progress())
    assert result.status == "optimal"
    assert result.cost == pytest.approx(whole.cost)
    assert any("exact" in note for note in result.notes)


@pytest.mark.parametrize("seed", range(part(24, 4)))
def test_plans_and_bounds_of_any_problem(seed: int) -> None:
    """Plans break nothing, bounds are never above the optimum, and what is called optimal is."""
    problem = makespan_problem(seed)
    method = MilpSplit(module_method="heft" if seed % 4 else None)
    assert method.accepts(problem) is None
    result = _solved(problem, method, 1.0)
    best = best_of(seed)
    assert (result.infeasibility is None) or best is None
    if best is not None and result.bound is not None:
        assert result.bound.cost <= best * (1 + 1e-6)
    if result.status == "optimal":
        assert best is not None
        assert result.cost == pytest.approx(best, rel=1e-6)


def test_a_chain_is_modules_of_one_node() -> None:
    """Every node of a chain is a cut node: each is a module, and the way through them is the optimum."""
    times = np.random.default_rng(3).integers(1, 9, (2, 7)).astype(float)
    graph = Graph.create(
        [f"v{v}" for v in range(7)], [(v, v + 1) for v in range(6)], output=2.0, times={"a": times[0], "b": times[1]}
    )
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("a"), Device("b")], links, MAKESPAN)
    assert split(graph).sizes == (1,) * 7
    result = _solved(problem, MilpSplit(module_method="heft"))
    assert result.status == "optimal"
    assert result.cost == optimum(problem)


def test_modules_that_nothing_joins() -> None:
    """Without an edge modules are joined by no channel, and make a plan all the same."""
    problem = makespan_of(_graph(30, []))
    result = _solved(problem, MilpSplit(module_method="heft"), 1.0)
    assert result.plan is not None
    assert any("0 channels" in note for note in result.notes)


@pytest.mark.long
def test_without_the_premise_nothing_is_called_exact() -> None:
    """Where a boundary is no cut node the answer says so, and its own bound is none."""
    result = _solved(makespan_of(rwnn(modules=3, nodes=8, channels=2, dependence="weak", seed=1)), MilpSplit(), 4.0)
    assert result.plan is not None
    assert any("no cut nodes" in note for note in result.notes)
    assert result.bound is None or result.bound.method != "milp-split"


def makespan_of(graph: Graph) -> Problem:
    """Return the makespan of a graph on three unequal devices."""
    devices = [Device(f"d{d}", speed=speed) for d, speed in enumerate((0.5, 0.8, 1.0))]
    return Problem.create(graph, devices, Links(np.full((3, 3), 2e9), np.full((3, 3), 1e-5)), MAKESPAN)


def test_equal_modules_are_solved_once() -> None:
    """A chain of equal modules asks for no more than one of them does, however long it is."""

    def asked(count: int) -> int:
        edges = [(2 * i + a, 2 * i + 2 + b) for i in range(count - 1) for a in (0, 1) for b in (0, 1)]
        graph = Graph.create([f"v{v}" for v in range(2 * count)], edges, work=1.0, output=0.1)
        problem = makespan_of(graph)
        found = split(graph, 2, wanted=4)
        walked = walk_of(problem, found)
        assert walked.run(lambda i: None) is not None
        return walked.asked

    assert asked(30) <= asked(12) + 8


def test_equal_modules_hold_the_same_nodes_together() -> None:
    """Modules are told apart by what colocation amounts to, in whatever order it is said."""
    edges = [(5 * i + a, 5 * i + b) for i in range(4) for v in (1, 2, 3, 4) for a, b in ((0, v), (v, 5))]
    graph = _graph(21, edges)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))

    def different(*pairs: tuple[int, int]) -> int:
        held = [Colocate(nodes=nodes) for nodes in ((6, 7), (8, 9), (7, 8), *pairs)]
        problem = Problem.create(graph, [Device("a"), Device("b")], links, MAKESPAN, held)
        found = split(graph, together=[c.nodes for c in held])
        return len(grouped(parts(problem, found, np.full((len(found.modules), 2), np.inf))).firsts)

    assert different((12, 13), (11, 12), (13, 14)) == 4
    assert different((11, 12), (12, 13)) == 5


def walk_of(problem: Problem, found: ModuleRow) -> BoundaryWalk:
    """Return a walk through modules solved by lists."""
    rooms = np.full((len(found.modules), problem.k), np.inf)
    engine = ByMethod(registry.load(registry.METHODS, "heft")(), Limits(), 1, lambda: False)
    return BoundaryWalk(
        problem, found, grouped(parts(problem, found, rooms)), engine, 1.0, Limits(time=60.0), lambda: False
    )


def test_one_process_or_two_give_one_answer() -> None:
    """What is solved at the same time makes no difference."""
    problem = _chain_of_diamonds(7, 3)
    answers = [MilpSplit().solve(problem, Limits(time=30.0, threads=n), Progress()) for n in (1, 2)]
    one, other = (answer.plan for answer in answers)
    assert one is not None
    assert other is not None
    assert one.assignment.tolist() == other.assignment.tolist()


@pytest.mark.long
def test_modules_share_memory_out() -> None:
    """Where modules fit by themselves and not together, every one gets its share, and the plan keeps the limit."""
    graph = rwnn(modules=4, nodes=6, channels=1, seed=2)
    devices = [Device("a", speed=1.0, memory=float(graph.memory.sum()) * 0.6), Device("b", speed=0.3)]
    links = Links(np.full((2, 2), 1e9), np.zeros((2, 2)))
    problem = Problem.create(graph, devices, links, MAKESPAN, [Memory()])
    result = _solved(problem, MilpSplit(), 4.0)
    assert result.plan is not None


def test_modules_that_do_not_fit_together_are_not_exact() -> None:
    """Where every module by itself has the memory of all, their optimum is a bound, and its plan none."""
    graph = Graph.create(["a", "b"], [(0, 1)], memory=1.0, times={"x": [1.0, 1.0], "y": [9.0, 9.0]})
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    devices = [Device("x", memory=1.0), Device("y", memory=1.0)]
    result = _solved(Problem.create(graph, devices, links, MAKESPAN, [Memory()]), MilpSplit(), 4.0)
    assert result.cost == 10.0
    assert not any("exact" in note for note in result.notes)


def test_options_that_mean_nothing_are_refused() -> None:
    """A module method that is none, gives no plan, or would ignore the solver is an error."""
    problem = _chain_of_diamonds(0, 1)
    with pytest.raises(PluginError, match="no method 'hefty' for modules"):
        MilpSplit(module_method="hefty").solve(problem, Limits(), Progress())
    with pytest.raises(Refused, match="solves no modules"):
        MilpSplit(module_method="critical-path").solve(problem, Limits(), Progress())
    with pytest.raises(Refused, match="uses no solver"):
        MilpSplit(module_method="heft").solve(problem, Limits(solver="scip"), Progress())
    with pytest.raises(UsageError, match="one channel or more"):
        MilpSplit(channels=0)


def test_modules_by_a_mixed_integer_programme() -> None:
    """Modules can be solved by a formulation and a MIP solver, and prove the optimum too."""
    problem = _chain_of_diamonds(1, 2)
    result = _solved(problem, MilpSplit(module_method="moirai"), 60.0)
    assert result.status == "optimal"
    assert any("moirai with highs" in note for note in result.notes)
