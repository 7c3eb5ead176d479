"""Searches for makespans on links: their plans are plans, and on small problems nearly optimal."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.checks.verification import check_result, verify
from mtpp_dsl.core.constraints import Contiguous, ExclusiveLinks, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.learned import Placeto
from mtpp_dsl.solvers.methods.schedules import BranchAndBound, Ea
from mtpp_dsl.solvers.schedule.search.sample_moves import SAMPLE_DRAWS, SAMPLE_SEARCH, BestSample, SampleMoves
from mtpp_dsl.solvers.schedule.search.sample_state import (
    SampleField,
    sample_field_of,
    sample_order_of,
    sample_plan_of,
    sample_state_of,
)
from mtpp_dsl.solvers.schedule.search.schedule_starts import listed, on_one_device
from mtpp_dsl.solvers.schedule.search.search_tree import BRANCH, BestInTree, tree_of
from tests.amount import part
from tests.makespans import best_of, makespan_problem
from tests.solvers.algorithms.test_timing import linked

QUICK: list[Method] = [Annealing(patience=2, moves=100), Ea(patience=20), Placeto(patience=2), BranchAndBound()]
names = pytest.mark.parametrize("method", QUICK, ids=lambda method: method.name)


def solved(method: Method, problem: Problem, **limits: Any) -> Result:
    """Solve, and check what can be checked without knowing the optimum."""
    assert method.accepts(problem) is None
    result = method.solve(problem, Limits(**limits), Progress())
    check_result(problem, result)
    if result.plan is not None:
        assert not verify(problem, result.plan)
        used = np.bincount(result.plan.assignment, weights=problem.graph.memory, minlength=problem.k)
        assert (used <= problem.memory_limit).all()
    return result


@names
def test_plans_of_mixtures_are_plans(method: Method) -> None:
    """Mixtures of all features: verified plans, none below the optimum, most of them optimal."""
    outcomes: Counter[str] = Counter()
    for seed in range(part(60, 3)):
        problem, best = makespan_problem(seed), best_of(seed)
        result = solved(method, problem)
        if best is None:
            assert result.plan is None
        elif result.cost is None:
            outcomes["missed"] += 1
        else:
            assert result.cost >= best * (1 - 1e-9)
            outcomes["optimal" if result.cost <= best * (1 + 1e-9) else "above"] += 1
    assert outcomes["missed"] == 0
    least = {"annealing": part(42, 3), "ea": part(35, 3), "placeto": part(30, 3)}.get(
        method.name, sum(outcomes.values())
    )
    assert outcomes["optimal"] >= least


@pytest.mark.sampled(2)
@pytest.mark.parametrize("informed", [True, False])
def test_the_tree_holds_every_optimum(informed: bool) -> None:
    """Without a plan to beat, and without bounds on what follows, the whole tree finds the optimum, or that none is."""
    for seed in range(part(120, 4)):
        problem, best = makespan_problem(seed), best_of(seed)
        instance = ScheduleInstance.of(problem)
        field = sample_field_of(instance)
        if not informed:
            field = field._replace(tail=np.zeros_like(field.tail))
        tree = tree_of(field)
        found = BestInTree(
            cut=np.full(1, np.inf),
            best=np.full(1, np.inf),
            loose=np.full(1, np.inf),
            device=np.zeros(instance.n, np.int64),
            start=np.zeros(instance.n),
            sent=np.zeros(instance.m),
        )
        room = instance.limit * (1 + 1e-6)
        while tree.depth[0] >= 0:
            BRANCH.compiled()(field, instance.graph.topological_order, room, np.ones(instance.k), tree, found, 97)
        assert min(found.best[0], found.loose[0]) == (np.inf if best is None else pytest.approx(best, rel=2e-9))


def test_branch_and_bound_proves() -> None:
    """Mixtures: proven optima, and proofs that there is no plan; a bound is there when it is stopped."""
    for seed in range(part(60, 3)):
        problem, best = makespan_problem(seed), best_of(seed)
        result = solved(BranchAndBound(), problem)
        assert result.status == ("infeasible" if best is None else "optimal"), seed
    problem = linked(1, 25, 3, exclusive=True)
    result = solved(BranchAndBound(), problem, time=2.0)
    assert result.termination == "time_limit"
    assert result.bound is not None
    assert result.cost is not None
    assert 0.3 * result.cost < result.bound.cost < result.cost


def test_large_graphs_are_refused() -> None:
    """Beyond some hundred nodes a tree is of no use."""
    assert "300" in (BranchAndBound().accepts(linked(0, 301, 2)) or "")


@pytest.mark.parametrize("exclusive", [False, True])
def test_the_kernel_times_what_it_holds(exclusive: bool) -> None:
    """After thousands of moves the ends, the order and the cost kept are those of the plan."""
    moves = SampleMoves(orders=0.4, near=0.5, critical=0.5, blocks=0.5, grown=8.0, swaps=0.3, along=0.5)
    for seed in range(6):
        problem = linked(seed, 40, 3, exclusive=exclusive, whole=seed % 2 == 0)
        instance = ScheduleInstance.of(problem)
        field = sample_field_of(instance)
        first = next(listed(instance))
        state = sample_state_of(field, sample_order_of(instance, first), first.assignment)
        best = BestSample(state.order.copy(), state.device.copy(), np.full(1, np.inf))
        random = np.random.default_rng(seed)
        run = SAMPLE_SEARCH.compiled()
        for _ in range(20):
            draws = random.random(10 * SAMPLE_DRAWS)
            run(draws, 500, 0.3, 1.0, moves, field, state, best, None)
            plan = sample_plan_of(instance, state.order, state.device)
            assert plan.schedule is not None
            assert verify(problem, plan) == []
            np.testing.assert_array_equal(plan.schedule.end, state.end)
            assert plan.schedule.makespan == state.cost[0]
            assert (state.place[state.order] == np.arange(instance.n)).all()
        assert sample_plan_of(instance, best.order, best.device).schedule.makespan == best.cost[0]  # type: ignore[union-attr]


def test_what_is_over_a_limit_is_never_the_best() -> None:
    """Devices may be over their limits on the way; the best state is not."""
    for seed in range(30):
        problem = makespan_problem(seed)
        instance = ScheduleInstance.of(problem)
        field: SampleField = sample_field_of(instance)
        valid = [plan for plan in (*listed(instance), *on_one_device(instance)) if not verify(problem, plan)]
        for first in valid[:1]:
            state = sample_state_of(field, sample_order_of(instance, first), first.assignment)
            best = BestSample(state.order.copy(), state.device.copy(), np.full(1, np.inf))
            draws = np.random.default_rng(seed).random(20 * SAMPLE_DRAWS)
            moves = SampleMoves(orders=0.2, near=0.5, critical=0.5, blocks=0.5, grown=8.0, swaps=0.3, along=0.5)
            SAMPLE_SEARCH.compiled()(draws, 300, 1.0, 1e-3, moves, field, state, best, None)
            if best.cost[0] < np.inf:
                assert verify(problem, sample_plan_of(instance, best.order, best.device)) == []


@names
def test_the_same_seed_gives_the_same_answer(method: Method) -> None:
    """Two runs agree; they start from a plan that is given."""
    problem = linked(3, 30, 3)
    one, other = solved(method, problem, seed=5), solved(method, problem, seed=5)
    assert one.cost == other.cost
    again = solved(method, problem, start=one.plan)
    assert again.cost is not None
    assert one.cost is not None
    assert again.cost <= one.cost


@names
def test_searches_stop(method: Method) -> None:
    """Stopped before it began, and without time, a verified plan is there all the same."""
    problem = linked(1, 60, 3)
    progress = Progress()
    progress.stop()
    assert method.solve(problem, Limits(), progress).termination == "interrupted"
    assert solved(method, problem, time=0.0).plan is not None


@names
def test_a_start_that_is_none_is_dropped(method: Method) -> None:
    """A plan without times is no start."""
    problem = linked(2, 10, 2)
    assert solved(method, problem, start=Plan.create(problem, [0] * 10)).plan is not None


@names
def test_what_cannot_be_honoured_is_refused(method: Method) -> None:
    """Contiguity, exclusive links of batches; and for ea all that is no makespan on links."""
    graph = Graph.create("ab", [(0, 1)], work=1.0)
    links = Links(np.ones((2, 2)), np.ones((2, 2)))
    devices = [Device("x"), Device("y")]
    problem = Problem.create(graph, devices, links, Objective("makespan"), [Contiguous()])
    assert "contiguous" in (method.accepts(problem) or "")
    batch = Problem.create(graph, devices, links, Objective("throughput", batch=2), [ExclusiveLinks()])
    assert "batch" in (method.accepts(batch) or "")
    assert method.accepts(Problem.create(graph, devices, Shared(1.0), Objective("makespan")))


@names
def test_nodes_that_need_nothing(method: Method) -> None:
    """A graph of one node, one without times, and one without nodes have plans."""
    links = Links(np.ones((2, 2)), np.ones((2, 2)))
    devices = [Device("x", memory=1.0), Device("y", memory=1.0)]
    for graph, cost in (
        (Graph.create("a", [], work=2.0), 2.0),
        (Graph.create("abc", [(0, 1), (1, 2)]), 0.0),
        (Graph.create("", []), 0.0),
    ):
        for rules in ([], [ExclusiveLinks(), Memory()]):
            assert solved(method, Problem.create(graph, devices, links, Objective("makespan"), rules)).cost == cost
