"""The exact formulation against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Bottleneck,
    Colocate,
    Constraint,
    Finish,
    Forbid,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Pin,
    Replicate,
    Separate,
    Start,
    Subgraphs,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Interconnect, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.models.formulations.device_numbering import layout_of
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.oracle import optimum, plans
from tests.strategies import graphs, memory_problems, plain_problems


def solve(problem: Problem, start: Plan | None = None) -> Result:
    result = MipMethod(Exact(), "highs").solve(problem, Limits(time=60.0, threads=1, start=start), Progress())
    check_result(problem, result)
    return result


def same_as_brute_force(problem: Problem) -> None:
    result, best = solve(problem), optimum(problem)
    if best is None:
        assert result.status == "infeasible", result
        return
    assert result.status in ("optimal", "feasible"), (result.status, result.infeasibility, result.notes)
    assert result.cost == pytest.approx(best, rel=2e-6, abs=1e-9 * scale(problem)), result.notes
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(best, rel=1e-5, abs=1e-7 * scale(problem))
    assert result.bound.cost <= best * (1 + 1e-9)


def scale(problem: Problem) -> float:
    """The largest cost in sight: what differs by less than a share of it, solvers do not tell apart."""
    return max(problem.time.max(), problem.tensor_time.max(), problem.graph.params.max(), 1e-300)


@st.composite
def device_sets(draw: st.DrawFn, k: int, n: int) -> list[Device]:
    kinds = [draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])) for _ in range(k)]
    return [Device(f"d{i}", speed=speed) for i, speed in enumerate(kinds)]


@st.composite
def placements(draw: st.DrawFn, n: int, k: int) -> Constraint:
    nodes = tuple(sorted(draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=3))))
    devices = tuple(sorted(draw(st.sets(st.integers(0, k - 1), min_size=1, max_size=2))))
    kind = draw(st.sampled_from(["pin", "forbid", "colocate", "separate"]))
    return {
        "pin": Pin(nodes=nodes, devices=devices),
        "forbid": Forbid(nodes=nodes, devices=devices),
        "colocate": Colocate(nodes=nodes),
        "separate": Separate(nodes=nodes),
    }[kind]


@st.composite
def rows(draw: st.DrawFn, graph: Graph, k: int) -> Linear:
    """Draw a row whose numbers are coarse, so that no plan sits within a tolerance of it by accident."""
    decisions = st.one_of(
        st.builds(On, st.integers(0, graph.n - 1), st.integers(0, k - 1)),
        st.builds(Load, st.integers(0, k - 1)),
        st.just(Bottleneck()),
    )
    chosen = draw(st.lists(decisions, min_size=1, max_size=4, unique=True))
    return Linear(
        label="row",
        terms=tuple((decision, draw(st.sampled_from([1.0, -1.0, 0.5, 3.0]))) for decision in chosen),
        sense=draw(st.sampled_from(["<=", ">=", ">=", "=="])),
        rhs=draw(st.sampled_from([0.0, 1.0, 2.0, 4.5, 10.0])),
    )


@st.composite
def constrained_problems(draw: st.DrawFn) -> Problem:
    base = draw(graphs(4))
    whole = st.integers(0, 10).map(float)
    columns = {name: draw(st.lists(whole, min_size=base.n, max_size=base.n)) for name in ("work", "output", "params")}
    edges = list(zip(base.tails.tolist(), base.heads.tolist(), strict=True))
    graph = Graph.create(base.names, edges, **columns)
    k = draw(st.integers(1, 3))
    extra = draw(st.lists(st.one_of(placements(graph.n, k), rows(graph, k)), max_size=3))
    memory = draw(st.sampled_from([None, 12.0]))
    return Problem.create(
        graph,
        [Device(d.name, speed=d.speed, memory=memory) for d in draw(device_sets(k, graph.n))],
        Shared(1.0, overflow=draw(st.booleans())),
        constraints=[*([Acyclic()] if draw(st.booleans()) else []), *extra],
    )


@given(plain_problems())
def test_plain_problems_have_the_optimum_of_brute_force(problem: Problem) -> None:
    """Law: on identical devices, acyclic, the cost is the least of all plans and the bound meets it."""
    same_as_brute_force(problem)


@given(memory_problems())
def test_memories_speeds_and_overflow_have_the_optimum_of_brute_force(problem: Problem) -> None:
    """Law: devices that differ, hard limits and streamed parameters change nothing of that."""
    same_as_brute_force(problem)


@settings(max_examples=150)
@given(constrained_problems())
def test_constraints_have_the_optimum_of_brute_force(problem: Problem) -> None:
    """Law: nor do placements, nor rows that push loads and the bottleneck up."""
    same_as_brute_force(problem)


@given(graphs(5), st.data())
def test_training_graphs_keep_each_part_acyclic_by_itself(graph: Graph, data: st.DataObject) -> None:
    """Law: forward and backward parts may use the devices in different orders, and must each use one."""
    back = data.draw(st.lists(st.booleans(), min_size=graph.n, max_size=graph.n))
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    split = Graph.create(graph.names, edges, work=graph.work, output=graph.output, backward=back)
    parts = data.draw(st.sampled_from(["both", "forward"]))
    pairs = data.draw(st.lists(placements(graph.n, 2), max_size=1))
    problem = Problem.create(split, [Device("a"), Device("b")], Shared(2.0), constraints=[Acyclic(parts=parts), *pairs])
    same_as_brute_force(problem)


@settings(max_examples=40)
@given(graphs(4), st.permutations([1.0, 1.0, 2.0, 2.0]), st.data())
def test_two_classes_of_devices_keep_an_optimum(graph: Graph, speeds: list[float], data: st.DataObject) -> None:
    """Law: ordering equal devices within each class, and the classes freely, cuts off no cost."""
    devices = [Device(f"d{i}", speed=speed) for i, speed in enumerate(speeds)]
    acyclic = [Acyclic()] if data.draw(st.booleans()) else []
    extra = data.draw(st.lists(placements(graph.n, 4), max_size=1))
    same_as_brute_force(Problem.create(graph, devices, Shared(2.0), constraints=[*acyclic, *extra]))


def crossed() -> Graph:
    return Graph.create("abcd", [(0, 2), (3, 1)], work=[5, 5, 4, 4], output=0.25)


def test_an_order_of_the_devices_other_than_the_declared_one_is_found() -> None:
    """Law: acyclic means acyclic in some order: here the pins force the second device first."""
    chain = Graph.create("ab", [(0, 1)], work=[3, 3], output=1.0)
    pins = [Pin(nodes=(0,), devices=(1,)), Pin(nodes=(1,), devices=(0,))]
    problem = Problem.create(chain, [Device("x"), Device("y")], Shared(1.0), constraints=[Acyclic(), *pins])
    result = solve(problem)
    assert result.plan is not None
    assert (result.plan.assignment.tolist(), result.cost) == ([1, 0], 4.0)


def test_a_cycle_of_the_quotient_is_refused_where_the_devices_differ() -> None:
    """Law: with a→c on one pair of groups and d→b back, {a,b} and {c,d} may not be the two parts."""
    groups = [Colocate(nodes=(0, 1)), Colocate(nodes=(2, 3))]
    devices = [Device("x"), Device("y", speed=1.25)]
    free = solve(Problem.create(crossed(), devices, Shared(1.0), constraints=groups))
    acyclic = solve(Problem.create(crossed(), devices, Shared(1.0), constraints=[*groups, Acyclic()]))
    assert free.cost is not None
    assert acyclic.cost is not None
    assert free.cost < acyclic.cost


def test_figure_3_is_used_exactly_where_the_devices_cannot_be_told_apart() -> None:
    """Law: the prefix form numbers devices in the order of the quotient; a pin on one of them forbids that."""
    same = Problem.create(crossed(), [Device("x"), Device("y")], Shared(1.0), constraints=[Acyclic()])
    pinned = same.with_constraints([Acyclic(), Pin(nodes=(0,), devices=(1,))])
    faster = Problem.create(crossed(), [Device("x"), Device("y", speed=2.0)], Shared(1.0), constraints=[Acyclic()])
    assert [
        layout_of(problem, hypergraph(problem)).in_order
        for problem in (same, pinned, faster, same.with_constraints([]))
    ] == [
        True,
        False,
        False,
        False,
    ]


@settings(max_examples=40)
@given(st.one_of(plain_problems(4), memory_problems(4), constrained_problems()))
def test_every_plan_is_a_start_that_satisfies_the_model(problem: Problem) -> None:
    """Law: a start is the plan it comes from, up to the names of interchangeable devices, and spoils nothing."""
    some = next(iter(plans(problem)), None)
    if some is None:
        return
    model = Exact().build(problem)
    Exact().start(problem, model, some)
    renamed = Exact().extract(problem, model)
    result = solve(problem, start=some)
    assert result.cost is not None
    assert not any("dropped" in note for note in result.notes)
    assert groups_of(renamed) == groups_of(some)


def groups_of(plan: Plan) -> set[tuple[int, ...]]:
    where = plan.assignment
    return {tuple((where == d).nonzero()[0].tolist()) for d in set(where.tolist())}


def test_a_start_with_a_cycle_sets_nothing() -> None:
    """Law: a plan that breaks acyclic gives the solver no values at all."""
    problem = Problem.create(crossed(), [Device("x"), Device("y")], Shared(1.0), constraints=[Acyclic()])
    model = Exact().build(problem)
    Exact().start(problem, model, Plan.create(problem, [0, 0, 1, 1]))
    assert all(v.fixed or v.value is None for v in model.y.values())


LINKS = Links(np.ones((2, 2)), np.zeros((2, 2)))


def row(*terms: tuple[object, float]) -> Linear:
    return Linear(label="mine", terms=terms, sense="<=", rhs=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("interconnect", "objective", "constraint", "word"),
    [
        (LINKS, Objective("bottleneck"), Subgraphs(most=1), "subgraphs"),
        (Shared(1.0), Objective("makespan"), Acyclic(), "makespan"),
        (LINKS, Objective("throughput", batch=4), Acyclic(), "makespan"),
        (Shared(1.0), Objective("bottleneck"), Subgraphs(most=1, origin="s.mtpp:3"), "s.mtpp:3"),
        (Shared(1.0), Objective("bottleneck"), Subgraphs(most=1), "subgraphs"),
        (Shared(1.0), Objective("bottleneck"), BatchSizes(sizes=(1,)), "batch"),
        (Shared(1.0), Objective("bottleneck"), Replicate(most=2), "replicate"),
        (Shared(1.0), Objective("bottleneck"), row((Start(0), 1.0)), "start()"),
        (Shared(1.0), Objective("bottleneck"), row((Finish(0), 1.0)), "finish()"),
        (Shared(1.0), Objective("bottleneck"), row((Makespan(), 1.0)), "makespan()"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(
    interconnect: Interconnect, objective: Objective, constraint: Constraint, word: str
) -> None:
    """Law: a problem beyond the model is refused, with a reason that says which part."""
    problem = Problem.create(crossed(), [Device("x"), Device("y")], interconnect, objective, [constraint])
    reason = Exact().accepts(problem)
    assert reason is not None
    assert word in reason


@pytest.mark.parametrize("tiny", [1e-45, 1e-12, 1e9, 1e30])
def test_the_unit_of_the_costs_does_not_matter(tiny: float) -> None:
    """Law: costs times a factor give the optimum times that factor."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[3 * tiny, 2 * tiny, 4 * tiny], output=tiny)
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[Acyclic()])
    assert solve(problem).cost == pytest.approx(6 * tiny, rel=1e-9)


def test_small_coefficients_count_beside_large_ones() -> None:
    """Law: a row that mixes 1e9 and 1 is honoured to the last unit."""
    graph = Graph.create("abcd", [], work=[4, 4, 4, 4])
    devices = [Device("x"), Device("y")]
    few = tuple((On(v, 0), 1e9 if v == 0 else 1.0) for v in range(4))
    at_most = Linear(label="few", terms=few, sense="<=", rhs=1.0)
    at_least = Linear(label="some", terms=few, sense=">=", rhs=2.0)
    pinned = Pin(nodes=(0,), devices=(1,))
    assert solve(Problem.create(graph, devices, Shared(1.0), constraints=[at_most])).cost == 12
    assert solve(Problem.create(graph, devices, Shared(1.0), constraints=[at_least, pinned])).cost == 8


def test_memory_is_counted_by_the_device() -> None:
    """Law: without acyclic, two devices of one size hold what fits, and an unlimited one the rest."""
    graph = Graph.create("abcd", [], work=[1, 1, 1, 9], params=[2, 2, 2, 2])
    devices = [Device("x", memory=4.0), Device("y", memory=4.0), Device("z")]
    result = solve(Problem.create(graph, devices, Shared(1.0), constraints=[Memory()]))
    assert result.cost == 9


def test_a_plan_within_tolerances_only_is_no_plan() -> None:
    """Law: where a solver's tolerance hides a constraint, its plan is dropped and the note says which."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 1.0], output=5.0)
    used = Linear(label="used", terms=((Load(1), 1.0),), sense=">=", rhs=1e-9)
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[used, Acyclic()])
    result = solve(problem)
    if result.plan is None:
        assert any("used" in note for note in result.notes)
    else:
        assert result.cost == optimum(problem)
