"""Method annealing where the quotient graph must be acyclic: plans are plans, sums stay exact, optima are found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result, verify
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Memory, Pin, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.colocation import ordered_edges, together
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.partition import SliceGraph
from mtpp_dsl.solvers.partition.annealing import ordered_annealing as walk
from mtpp_dsl.solvers.partition.annealing.device_order import arcs_of, order_of
from mtpp_dsl.solvers.partition.annealing.one_annealing import energies
from mtpp_dsl.solvers.partition.annealing.ordered_annealing import anneal_in_order
from mtpp_dsl.solvers.partition.annealing.ordered_moves import DRAWS, ORDERED, OrderedMoves
from mtpp_dsl.solvers.partition.annealing.recipes import ordered_recipe
from mtpp_dsl.solvers.partition.annealing.split_moves import BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import broken, instance_of, loads_of, state_of
from tests.amount import part
from tests.oracle import optimum
from tests.solvers.partition.test_ideals import random_problem

QUICK = Annealing(patience=3, moves=60)
NO_LOAD = np.iinfo(np.int64).max


def ordered(seed: int, *, training: bool = False) -> Problem:
    """Return a small problem with any mixture of what annealing honours in an order."""
    problem = random_problem(seed, training=training)
    random = np.random.default_rng(seed)
    kept: list[Constraint] = [c for c in problem.constraints if not isinstance(c, Contiguous)]
    if not problem.acyclic:
        kept.append(Acyclic())
    n = problem.graph.n
    if n > 2 and random.random() < 0.2:
        kept.append(Separate(nodes=tuple(sorted(random.choice(n, 2, replace=False).tolist()))))
    return problem.with_constraints(kept)


def pipeline(nodes: int, k: int, seed: int = 0, model: str = "ws", constraints: tuple[Constraint, ...] = ()) -> Problem:
    graph = regal(nodes=nodes, model=model, reading="own-memory", seed=seed)
    return Problem.create(
        graph, [Device(f"d{i}") for i in range(k)], Shared(1.0), constraints=[Acyclic(), *constraints]
    )


def solve(problem: Problem, method: Annealing = QUICK, **limits: object) -> Result:
    """Solve, and check what can be checked without knowing the optimum."""
    assert method.accepts(problem) is None
    result = method.solve(problem, Limits(**limits), Progress())  # type: ignore[arg-type]
    check_result(problem, result)
    assert result.bound is None
    if result.plan is not None:
        assert not verify(problem, result.plan)
        assert result.cost == evaluate(problem, result.plan).cost
    return result


@pytest.fixture
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    function = ORDERED.compiled()
    monkeypatch.setattr(ORDERED, "pick", lambda *_: function)


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize("training", [False, True])
def test_random_problems_are_solved_to_the_optimum(training: bool) -> None:
    """Mixtures of CPUs, memory, unsupported nodes, colocation, separation, pins: nearly always the optimum."""
    outcomes: Counter[str] = Counter()
    for seed in range(part(60, 4)):
        problem = ordered(seed, training=training)
        result, best = solve(problem), optimum(problem)
        if best is None:
            assert result.plan is None
            outcomes["none"] += 1
        elif result.cost is None:
            outcomes["missed"] += 1
        else:
            assert result.cost >= best * (1 - 1e-12)
            outcomes["optimal" if result.cost <= best * (1 + 1e-9) else "above"] += 1
    assert outcomes["none"] > part(2, 4)
    assert outcomes["optimal"] > part(40, 4)
    assert outcomes["missed"] + outcomes["above"] <= part(2, 4)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_sums_and_orders_stay_exact_move_by_move(seed: int, training: bool) -> None:
    """After hundreds of moves all sums, energies and orders are those computed anew, and loads the evaluation's."""
    problem = ordered(seed, training=training)
    group = together(problem)
    instance, arcs = instance_of(problem), arcs_of(problem, group)
    n, k = instance.time.shape
    anywhere = np.flatnonzero(instance.allowed.all(axis=0))
    if len(anywhere) == 0:
        return
    random = np.random.default_rng(seed)
    state, order = state_of(instance, np.full(n, anywhere[0], np.int64)), order_of(arcs, np.full(n, anywhere[0]), k)
    assert order is not None
    unit = float(max(1, loads_of(instance, state).max()))
    energy = energies(instance, state, 4, unit)
    best = BestSplit(state.device.copy(), np.array([NO_LOAD]))
    moves = OrderedMoves(worst=0.3, near=0.7, groups=0.5, exchanges=0.3)
    draws = random.random(300 * DRAWS)
    ORDERED.plain(draws, 300, 5.0, 0.5, 4, unit, moves, instance, state, arcs, order, energy, best, None)
    for ours, anew in zip(state, state_of(instance, state.device), strict=True):
        if ours is not state.members and ours is not state.place:
            assert (ours == anew).all()
    for d, count in enumerate(state.sizes.tolist()):
        assert sorted(state.members[d, :count].tolist()) == np.flatnonzero(state.device == d).tolist()
        assert (state.members[d, state.place[state.members[d, :count]]] == state.members[d, :count]).all()
    assert energy == pytest.approx(energies(instance, state, 4, unit), rel=1e-12)
    fresh = order_of(arcs, state.device, k)
    assert fresh is not None
    assert (fresh.quotient == order.quotient).all()
    device = state.device[group]
    for p, (tails, heads) in enumerate(ordered_edges(problem)):
        assert (order.line[p, order.rank[p]] == np.arange(k)).all()
        assert (order.rank[p, device[tails]] <= order.rank[p, device[heads]]).all()
    plan = Plan.create(problem, device)
    costs = evaluate(problem, plan).load
    assert loads_of(instance, state) * instance.unit == pytest.approx(costs.tolist(), rel=1e-9, abs=1e-9)
    assert broken(instance, state) == bool(verify(problem, plan))
    if best.load[0] < NO_LOAD:
        plan = Plan.create(problem, best.device[group])
        assert not verify(problem, plan)
        assert best.load[0] * instance.unit == pytest.approx(evaluate(problem, plan).cost, rel=1e-9, abs=1e-9)


def test_compiled_and_plain_walk_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled kernel is the plain one: the same numbers lead to the same split."""
    problem = pipeline(30, 4)
    instance, arcs = instance_of(problem), arcs_of(problem, np.arange(30))
    found = []
    for threshold in (0.0, float("inf")):
        monkeypatch.setattr(walk, "ORDERED", Kernel(ORDERED.plain, threshold))
        random = np.random.default_rng(5)
        known = BestSplit(np.zeros(30, np.int64), np.array([int(instance.time[:, 0].sum())]))
        chosen, start = ordered_recipe(random), np.zeros(30, np.int64)
        found.append(
            anneal_in_order(instance, None, arcs, start, known, chosen, 4_000, random, lambda _: None, lambda _: False)
        )
    assert (found[0].device == found[1].device).all()
    assert found[0].load[0] == found[1].load[0] < known.load[0]


def test_a_state_without_load_is_the_end() -> None:
    """From a state that costs nothing, with no plan known, it returns that state, and divides by no load."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=0.0, output=[4.0, 1.0])
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()])
    arcs, random = arcs_of(problem, np.arange(2)), np.random.default_rng(0)
    none, start = BestSplit(np.zeros(2, np.int64), np.array([np.iinfo(np.int64).max])), np.zeros(2, np.int64)
    found = anneal_in_order(
        instance_of(problem),
        None,
        arcs,
        start,
        none,
        ordered_recipe(random),
        1_000,
        random,
        lambda _: None,
        lambda _: False,
    )
    assert found.load[0] == 0


def test_equal_seeds_give_equal_plans() -> None:
    """The seed alone decides; another may find another plan."""
    problem = pipeline(30, 4)
    one, other = (solve(problem, seed=4) for _ in range(2))
    assert one.plan is not None
    assert other.plan is not None
    assert one.termination == "complete"
    assert (one.plan.assignment == other.plan.assignment).all()


@pytest.mark.parametrize("k", [4, 8, 16])
def test_it_is_better_than_slices(k: int) -> None:
    """On random graphs of 60 nodes it beats slices of topological orders."""
    problem = pipeline(60, k, seed=3)
    found, sliced = solve(problem).cost, SliceGraph(starts=0).solve(problem, Limits(), Progress()).cost
    assert found is not None
    assert sliced is not None
    assert found < sliced * 0.995


def test_devices_change_places() -> None:
    """Two chains on devices that stand the wrong way round: a node moves only after the devices have changed places."""
    graph = Graph.create("abcd", [(0, 1), (2, 3)], work=[1.0, 3.0, 2.0, 2.0], output=0.5)
    devices = [Device(f"d{i}") for i in range(2)]
    pinned = [Pin(nodes=(1,), devices=(0,)), Pin(nodes=(0,), devices=(1,))]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), *pinned])
    result = solve(problem)
    assert result.cost == pytest.approx(optimum(problem))
    assert result.plan is not None
    assert result.plan.order == (1, 0)


def test_a_start_is_never_made_worse() -> None:
    """From a plan given, the answer costs no more; a start that is no plan is dropped, with a note."""
    problem = pipeline(40, 4, constraints=(Colocate(nodes=(3, 7)),))
    best = solve(problem)
    assert best.plan is not None
    again = solve(problem, start=best.plan, seed=9)
    assert again.cost is not None
    assert best.cost is not None
    assert again.cost <= best.cost
    broken_start = np.zeros(40, np.int64)
    broken_start[3] = 1
    dropped = solve(problem, start=Plan.create(problem, broken_start), seed=9)
    assert "dropped" in dropped.notes[0]


def test_a_start_may_miss_a_memory_as_the_check_lets_it() -> None:
    """A plan that is over a memory by less than the check's tolerance is a plan, and is improved."""
    graph = Graph.create(list("abcd"), [], work=[2, 3, 4, 5], memory=[0.5, 0.5 + 4e-7, 0, 0])
    devices = [Device(f"d{d}", memory=1.0) for d in range(2)]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory(), Colocate(nodes=(0, 1))])
    start = Plan.create(problem, [0, 0, 0, 0])
    assert not verify(problem, start)
    result = solve(problem, start=start)
    assert result.plan is not None
    assert result.cost is not None
    assert result.cost <= evaluate(problem, start).cost


@pytest.mark.parametrize("method", [QUICK, SliceGraph()])
def test_a_reserve_may_leave_next_to_nothing_of_a_memory(method: Annealing | SliceGraph) -> None:
    """Room for rounding is a share of what the reserve leaves, as in the check, not of the whole memory."""
    graph = Graph.create(list("abcd"), [(0, 1), (0, 2)], work=1.0, memory=[1.0, 3e-7, 1e6, 0.0])
    devices = [Device(f"d{d}", memory=1e6, reserve=1e6) for d in range(2)]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory(devices=(0,))])
    plan = method.solve(problem, Limits(), Progress()).plan
    assert plan is not None
    assert not verify(problem, plan)


def test_it_ends_with_the_bound_the_time_or_a_stop() -> None:
    """A plan that meets the bound ends it, as do the end of the time and a stop, with the best plan so far."""
    problem = pipeline(60, 6)
    assert solve(problem, gap=0.99).termination == "gap"
    cost = solve(problem).cost
    assert cost is not None
    progress = Progress()
    progress.report_bound(Bound(cost, "any", "trusted", "any"))
    assert Annealing().solve(problem, Limits(gap=1e-2), progress).termination == "gap"
    ended = solve(problem, Annealing(patience=10**6), time=0.5)
    assert ended.termination == "time_limit"
    assert ended.plan is not None
    progress = Progress()
    progress.stop()
    assert Annealing().solve(problem, Limits(), progress).termination == "interrupted"


def test_contiguous_goes_with_acyclic() -> None:
    """Where an acyclic quotient graph makes all sets convex, asking for that changes nothing."""
    problem = pipeline(30, 3)
    both = problem.with_constraints([Acyclic(), Contiguous()])
    assert solve(both).cost == solve(problem).cost


def test_memory_that_only_few_splits_fit_into() -> None:
    """A chain that fills three devices to the last byte: the split is found."""
    graph = Graph.create(
        [f"v{i}" for i in range(9)], [(i, i + 1) for i in range(8)], work=1.0, params=[5, 3, 2, 4, 6, 1, 2, 3, 4]
    )
    devices = [Device(f"d{i}", memory=10.0) for i in range(3)]
    result = solve(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()]))
    assert result.cost is not None


def test_nothing_to_place_and_nothing_to_pay() -> None:
    """No work at all costs nothing, at once; one device has one split; more devices than nodes are no harm."""
    nothing = Problem.create(Graph.create("ab", [(0, 1)]), [Device("x"), Device("y")], Shared(1.0), None, [Acyclic()])
    assert solve(nothing).cost == 0.0
    assert solve(nothing).termination == "gap"
    alone = Problem.create(Graph.create("ab", [(0, 1)], work=1.0), [Device("x")], Shared(1.0), None, [Acyclic()])
    assert solve(alone).cost == 2.0
    together_only = [Acyclic(), Colocate(nodes=(0, 1)), Pin(nodes=(0,), devices=(1,))]
    pinned = Problem.create(Graph.create("ab", [(0, 1)], work=1.0), [Device("x"), Device("y")], Shared(1.0), None)
    assert solve(pinned.with_constraints(together_only)).cost == 2.0
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[2.0, 3.0, 1.0], output=0.1)
    many = Problem.create(graph, [Device(f"d{i}") for i in range(9)], Shared(1.0), constraints=[Acyclic()])
    assert solve(many).cost == pytest.approx(optimum(many))
