"""Random keys: from priorities to orders, slices of many orders at once, the genetic algorithm, and the methods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import check_result, cost_of, verify
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Forbid, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan, device_order
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Floats, Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types, fits
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.algorithms.slicing import many_orders as slices
from mtpp_dsl.solvers.algorithms.slicing import pins
from mtpp_dsl.solvers.algorithms.slicing.long_orders import Cover
from mtpp_dsl.solvers.algorithms.slicing.one_order import SegmentCosts, assignment_of, fixed_order, slice_order
from mtpp_dsl.solvers.algorithms.slicing.orders import kahn
from mtpp_dsl.solvers.methods.genetic import Brkga, Mla, MlaWeighted, Random
from mtpp_dsl.solvers.partition.genetic import chromosomes as search
from mtpp_dsl.solvers.partition.genetic.brkga import GeneticRecipe, evolve
from mtpp_dsl.solvers.partition.genetic.chromosomes import Decoder, kahn_orders
from tests.oracle import optimum
from tests.strategies import memory_problems, plain_problems

METHODS = (
    Random(orders=60),
    Brkga(population=10, generations=6),
    Mla(population=10, generations=6),
    MlaWeighted(population=10, generations=6),
)


def silent(_: str) -> None:
    return None


@st.composite
def uneven_problems(draw: st.DrawFn) -> Problem:
    """Draw problems on devices that differ in speed, memory, overflow, I/O and the nodes they may take."""
    base = draw(memory_problems())
    devices = [Device(d.name, memory=d.memory, speed=d.speed, pays_io=draw(st.booleans())) for d in base.devices]
    constraints: list[Constraint] = [*base.constraints]
    if base.k > 1 and draw(st.booleans()):
        where = draw(st.lists(st.integers(0, base.k - 1), min_size=1, max_size=base.k - 1, unique=True))
        constraints.append(draw(st.sampled_from([Pin, Forbid]))(nodes=(0,), devices=tuple(sorted(where))))
    overflow = isinstance(base.interconnect, Shared) and base.interconnect.overflow
    return Problem.create(base.graph, devices, Host(2.0, overflow=overflow), constraints=constraints)


def look_alike(nodes: int, k: int, seed: int = 0) -> Problem:
    """Return a random graph on *k* equal stages."""
    stages = [Device(f"stage[{i}]") for i in range(k)]
    graph = regal(nodes=nodes, model="ws", reading="own-memory", seed=seed)
    return Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic()])


def dense(problem: Problem, decoder: Decoder, keys: Floats) -> Iterator[float]:
    """Yield the least cost of a slicing of each order, by the programme that holds all segment costs."""
    orders, sequences = decoder.orders(keys), decoder.sequences(keys)
    for order, sequence in zip(orders, sequences, strict=True):
        costs = SegmentCosts(problem.graph, decoder.devices, order)
        found = slice_order(costs, fixed_order(sequence.tolist()))
        yield np.inf if found is None else found.cost


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels as they stand, and compiled."""
    for module, name in ((pins, "PINS"), (search, "KAHN"), (slices, "SLICES")):
        kernel = Kernel(getattr(module, name).plain, 0 if request.param else float("inf"))
        monkeypatch.setattr(module, name, kernel)


@pytest.mark.usefixtures("either_way")
def test_orders_are_those_of_the_priorities() -> None:
    """Among ready nodes the one of the largest key comes first, of equal keys the node given first."""
    graph = regal(nodes=50, model="er", seed=3)
    keys = np.random.default_rng(0).random((6, graph.n))
    keys[3:] = np.round(keys[3:], 1)
    for row, order in zip(keys, kahn_orders(graph, keys, silent), strict=True):
        assert order.tolist() == kahn(graph, -row).tolist()


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("k", [1, 2, 7, 30, 60])
def test_slices_are_optimal_on_larger_graphs(k: int) -> None:
    """All orders at once, each alone, and under a limit, cost what the programme on all segment costs says."""
    problem = look_alike(50, k)
    decoder = Decoder(problem, silent, 1)
    keys = np.random.default_rng(1).random((4, decoder.genes))
    expected = np.array(list(dense(problem, decoder, keys)))
    costs = decoder.costs(keys)
    assert costs == pytest.approx(expected, rel=1e-12)
    below = float(np.median(expected)) * (1 - 1e-9)
    assert decoder.costs(keys, below) == pytest.approx(np.where(expected < below, expected, np.inf), rel=1e-12)
    assert decoder.costs(keys[:1], float(np.nextafter(costs[0], np.inf))) == costs[0]
    assert decoder.costs(keys[:1], float(costs[0])) == np.inf


@pytest.mark.parametrize("strategy", [plain_problems(), memory_problems(), uneven_problems()])
@settings(max_examples=40)
@given(st.data())
def test_slices_are_optimal_for_their_order(strategy: st.SearchStrategy[Problem], data: st.DataObject) -> None:
    """Whatever the devices and limits: the dense programme, the sweep and the pass over many orders agree."""
    problem = data.draw(strategy)
    decoder = Decoder(problem, silent, 1)
    keys = np.random.default_rng(2).random((3, decoder.genes))
    costs = decoder.costs(keys)
    assert costs == pytest.approx(list(dense(problem, decoder, keys)), rel=1e-9, abs=1e-9)
    for row, cost, kinds in zip(keys, costs, decoder.sequences(keys), strict=True):
        if cost == np.inf:
            continue
        order, blocks = decoder.slicing(row, float(cost))
        plan = Plan.create(problem, *assignment_of(blocks, order, decoder.devices))
        assert not verify(problem, plan)
        assert cost_of(problem, plan) == pytest.approx(cost, rel=1e-9, abs=1e-9)
        swept = Cover(problem.graph, device_types(problem), order, kinds.tolist(), silent).slice()
        assert swept is not None
        assert swept.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)


def test_tensors_closed_leave_nothing() -> None:
    """Sums that differ by a rounding do not make a block cheaper than its work, which no slicing could then reach."""
    graph = Graph.create("abcd", [(0, 3), (1, 3), (2, 3)], work=[0, 0, 0, 1e-3], output=[0.3, 0.2, 0.1, 0.0])
    problem = Problem.create(graph, [Device("d")], Shared(1.0), constraints=[Acyclic()])
    assert 0.3 + 0.2 + 0.1 < 0.1 + 0.2 + 0.3
    assert Random(20).solve(problem, Limits(), Progress()).cost == 1e-3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", [plain_problems(most=5), uneven_problems()])
@settings(max_examples=40)
@given(st.data())
def test_keys_of_an_optimal_plan_give_the_optimum(strategy: st.SearchStrategy[Problem], data: st.DataObject) -> None:
    """archer2024, Theorem 4.3, and the same for devices that differ: every plan has keys that cost no more."""
    problem = data.draw(strategy)
    decoder = Decoder(problem, silent, 1)
    costs = []
    for plan in plans(problem):
        sequence = device_order(problem, plan.assignment)
        assert sequence is not None
        costs.append(float(decoder.costs(decoder.keys_of(plan.assignment, sequence)[None])[0]))
        assert costs[-1] <= cost_of(problem, plan) * (1 + 1e-9) + 1e-9
    if costs:
        assert min(costs) == pytest.approx(optimum(problem), rel=1e-9, abs=1e-9)


@settings(max_examples=30)
@given(plain_problems(most=5))
def test_orders_of_all_permutations_give_the_optimum(problem: Problem) -> None:
    """The best slice over all priorities is the optimum."""
    decoder = Decoder(problem, silent, 1)
    keys = np.array(list(permutations(range(problem.graph.n))), float)
    assert decoder.costs(keys).min() == pytest.approx(optimum(problem), rel=1e-9, abs=1e-9)


def test_costs_left_out_do_not_change_the_evolution() -> None:
    """A fitness that says ``inf`` where it is not below the limit leads to the same chromosomes."""
    weights = np.random.default_rng(0).random(9)
    shown: list[list[bytes]] = [[], []]

    def fitness(keys: Floats, below: float, pruned: bool) -> Floats:
        shown[pruned].append(keys.tobytes())
        costs: Floats = np.round(keys @ weights, 1)
        return np.where(costs < below, costs, np.inf) if pruned else costs

    for pruned in (False, True):
        evolve(
            lambda keys, below: fitness(keys, below, pruned),  # noqa: B023
            9,
            GeneticRecipe(population=20, generations=15),
            np.random.default_rng(4),
        )
    assert shown[False] == shown[True]


@pytest.mark.parametrize(
    ("population", "elites", "mutants", "counts", "evaluations"),
    [(100, 0.2, 0.1, (20, 10), 100 + 9 * 80), (3, 0.2, 0.1, (1, 0), 3 + 9 * 2), (10, 0.01, 0.9, (1, 8), 10 + 9 * 9)],
)
def test_shares_leave_an_elite_another_and_a_child(
    population: int, elites: float, mutants: float, counts: tuple[int, int], evaluations: int
) -> None:
    """However small the population; and the number of chromosomes told is that of chromosomes shown."""
    recipe = GeneticRecipe(population, 10, elites, mutants)
    assert recipe.counts == counts
    assert recipe.evaluations == evaluations
    seen = 0

    def fitness(keys: Floats, _: float) -> Floats:
        nonlocal seen
        seen += len(keys)
        return keys.sum(axis=1)

    evolve(fitness, 2, recipe, np.random.default_rng(0))
    assert seen == evaluations


@pytest.mark.parametrize(
    "wrong",
    [{"population": 2}, {"generations": 0}, {"elites": 0.0}, {"elites": 0.7, "mutants": 0.3}, {"bias": 1.1}],
)
def test_recipes_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    """There must be a population, a generation, elites, others and children."""
    with pytest.raises(UsageError):
        Brkga(**wrong)  # type: ignore[arg-type]


def test_evolution_beats_chance() -> None:
    """With as many orders, bred ones are better than random ones; and each says how many there were."""
    problem = look_alike(60, 8)
    recipe = Brkga(generations=25)
    bred = recipe.solve(problem, Limits(), Progress())
    chance = Random(recipe.recipe.evaluations).solve(problem, Limits(), Progress())
    assert bred.cost is not None
    assert chance.cost is not None
    assert bred.cost < chance.cost
    assert bred.notes == chance.notes == ("2,020 orders were sliced",)


def test_arrangements_are_short() -> None:
    """The best slice of the only order without a long edge is found; weights are those of the tensors."""
    names = [f"{line}{i}" for i in range(6) for line in "ab"]
    graph = Graph.create(
        names, [(i, i + 2) for i in range(10)], work=1.0, output=[9.0 if i % 2 else 0.1 for i in range(12)]
    )
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()])
    for method in (Mla(), MlaWeighted()):
        result = method.solve(problem, Limits(), Progress())
        assert result.cost == optimum(problem) == 6.0
    assert MlaWeighted().weights(problem).tolist() == [0.1, 9.0] * 5
    assert Mla().weights(problem).tolist() == [1.0] * 10


@pytest.mark.parametrize("strategy", [plain_problems(), memory_problems(), uneven_problems()])
@settings(max_examples=15)
@given(st.data())
def test_plans_are_valid_and_never_below_the_optimum(strategy: st.SearchStrategy[Problem], data: st.DataObject) -> None:
    """Whatever the devices and limits, a plan satisfies every constraint; none is invented."""
    problem = data.draw(strategy)
    best = optimum(problem)
    for method in METHODS:
        assert method.accepts(problem) is None
        result = method.solve(problem, Limits(), Progress())
        check_result(problem, result)
        assert result.termination == "complete"
        if result.cost is None:
            assert any("does not prove" in note for note in result.notes)
        else:
            assert best is not None
            assert result.cost >= best * (1 - 1e-9)
            assert result.log[-1].incumbent == result.cost


@settings(max_examples=20)
@given(plain_problems(most=5))
def test_a_start_is_never_made_worse(problem: Problem) -> None:
    """With a start that is a plan, the result costs no more, even when there is no time at all."""
    start = next(plans(problem))
    assert fits(problem, start.assignment)
    for method in METHODS:
        for limits in (Limits(start=start), Limits(start=start, time=0.0)):
            result = method.solve(problem, limits, Progress())
            assert result.cost is not None
            assert result.cost <= cost_of(problem, start) * (1 + 1e-12)


def test_equal_seeds_give_equal_plans() -> None:
    """A run depends on the problem and the seed only; another seed shows other orders."""
    problem = look_alike(50, 6)
    for method in METHODS:
        one, two, other = (method.solve(problem, Limits(seed=seed), Progress()) for seed in (5, 5, 6))
        assert one.plan is not None
        assert two.plan is not None
        assert other.plan is not None
        assert one.plan.assignment.tolist() == two.plan.assignment.tolist() != other.plan.assignment.tolist()
        assert one.seed == 5


def test_it_ends_within_the_gap_of_a_bound() -> None:
    """A plan as good as a bound that is known ends the search."""
    problem = look_alike(50, 6)
    for method in METHODS[:2]:
        progress = Progress()
        progress.report_bound(Bound(1.0, "simple", "checked", "us"))
        result = method.solve(problem, Limits(gap=0.9999), progress)
        assert result.termination == "gap"
        assert result.plan is not None


def test_without_time_there_is_a_plan_all_the_same() -> None:
    """Loading compiled code may take longer than a limit; some orders are sliced all the same."""
    problem = look_alike(50, 6)
    for method in METHODS:
        result = method.solve(problem, Limits(time=0.0), Progress())
        assert result.termination == "time_limit"
        assert result.plan is not None


def test_an_interrupt_keeps_the_best_plan() -> None:
    """A stop asked for while it runs ends it with the plan reported last."""
    problem = look_alike(50, 6)
    for method in (Random(), Brkga()):
        progress = Progress(lambda progress, _: progress.stop() if progress.cost is not None else None)
        result = method.solve(problem, Limits(), progress)
        assert result.termination == "interrupted"
        assert result.plan is progress.plan is not None


def test_a_limit_leaves_arrangements_the_time_for_a_slice() -> None:
    """With less time than the evolution takes there is a plan all the same."""
    result = Mla(generations=10**6).solve(look_alike(60, 4), Limits(time=0.3), Progress())
    assert result.termination == "time_limit"
    assert result.plan is not None


def test_colocated_nodes_are_one_or_refused() -> None:
    """Nodes that can be made one stay together; those that cannot, as they make different tensors, are refused."""
    graph = Graph.create("abcd", [(0, 2), (1, 2), (2, 3)], work=[1, 2, 3, 4], output=[1] * 4)
    devices = [Device(f"d{i}") for i in range(3)]
    kept = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Colocate(nodes=(0, 1))])
    apart = kept.with_constraints([Colocate(nodes=(0, 3))])
    for method in METHODS:
        result = method.solve(kept, Limits(), Progress())
        assert result.plan is not None
        assert result.plan.assignment[0] == result.plan.assignment[1]
        assert result.cost == optimum(kept)
        assert "whose nodes cannot be made one" in (method.accepts(apart) or "")


def test_restrictions_are_told() -> None:
    """Where the problem allows cyclic quotient graphs, the result says that none was looked at."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0, backward=[False, True])
    for constraints in ([], [Acyclic()]):
        problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=constraints)
        for method in METHODS:
            assert any("acyclic" in note for note in method.solve(problem, Limits(), Progress()).notes)


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programme over one order has to fit into memory."""
    problem = look_alike(50, 6)
    monkeypatch.setattr(search, "MAX_ENTRIES", 350)
    assert "at most 350, and here 357" in (Brkga().accepts(problem) or "")
    assert Mla().accepts(problem) is None


def test_memory_steers_the_search() -> None:
    """Where only one split fits, it is found."""
    graph = Graph.create([str(i) for i in range(6)], [], work=1.0, params=[4, 4, 1, 3, 3, 3])
    problem = Problem.create(
        graph, [Device(f"d{i}", memory=9.0) for i in range(2)], Shared(1.0), constraints=[Acyclic(), Memory()]
    )
    for method in (Random(500), Brkga()):
        assert method.solve(problem, Limits(), Progress()).cost == optimum(problem) == 3.0
