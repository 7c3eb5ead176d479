"""What the models take for known of plans below a cost, against all such plans."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.models.blocks.windows import steps_of
from mtpp_dsl.models.facts.graph_facts import CutNetwork
from mtpp_dsl.models.facts.scaling import scale_of
from mtpp_dsl.models.facts.within import BlockFacts, facts_below
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.formulations.fig3 import Fig3
from mtpp_dsl.models.relaxations.superblocks import Guess, Superblock
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.oracle import optimum, plans
from tests.strategies import graphs, memory_problems, plain_problems


def below(problem: Problem, cost: float) -> BlockFacts | None:
    view = hypergraph(problem)
    scale = scale_of(problem, view.least_work)
    nets = view.nets(scale.tensor_costs(problem), scale.most)
    return facts_below(problem, view, nets, scale.unit, cost)


def positions(problem: Problem, plan: Plan) -> list[Ints]:
    """The block of every node, in every order of the blocks that the edges respect."""
    graph, found = problem.graph, []
    for order in permutations(range(problem.k)):
        where = np.argsort(order)[plan.assignment]
        if (where[graph.tails] <= where[graph.heads]).all():
            found.append(where)
    return found


def assert_of(facts: BlockFacts, where: Ints) -> None:
    assert (facts.earliest <= where).all()
    assert (where <= facts.latest).all()
    assert (where[None, :] - where[:, None] >= facts.distance)[facts.after].all()
    for clique, split, net in zip(facts.cliques, facts.split, facts.asked.nets, strict=True):
        blocks = where[list(clique)]
        assert len(set(blocks.tolist())) == len(clique)
        assert not split or len(set(where[list(net.pins)].tolist())) > 1


@settings(max_examples=200)
@given(st.one_of(plain_problems(6, 4), memory_problems(5, 3)), st.data())
def test_facts_hold_of_every_plan_that_costs_no_more(problem: Problem, data: st.DataObject) -> None:
    """Law: windows, distances, cliques and split nets are true of all such plans, whatever their numbering."""
    costs = {plan: evaluate(problem, plan).cost for plan in plans(problem)}
    if not costs or max(costs.values()) == 0:
        return
    cost = data.draw(st.sampled_from(sorted(set(costs.values()))[:4]))
    facts = below(problem, cost)
    if facts is None:
        assert cost == 0
        return
    for plan, its in costs.items():
        if its <= cost:
            for where in positions(problem, plan):
                assert_of(facts, where)


def test_facts_of_a_chain() -> None:
    """Law: on a chain of equal nodes sums tell where each is, and cuts tell which tensors are paid for."""
    chain = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[6.0, 6.0, 6.0, 6.0], output=1.0)
    problem = Problem.create(chain, [Device(f"d{i}") for i in range(4)], Shared(1.0), constraints=[Acyclic()])
    facts = below(problem, 8.0)
    assert facts is not None
    assert facts.earliest.tolist() == facts.latest.tolist() == [0, 1, 2, 3]
    assert facts.split.all()
    assert facts.distance[0].tolist() == [0, 1, 2, 3]
    assert [(u, v) for u, v, _ in steps_of(facts)] == [(0, 1), (1, 2), (2, 3)]


def test_payments_count_where_work_alone_would_not() -> None:
    """Law: what a node pays for a tensor that no block can hold whole adds to its work."""
    fork = Graph.create("abc", [(0, 1), (0, 2)], work=[2.0, 5.0, 5.0], output=[3.0, 0.0, 0.0])
    problem = Problem.create(fork, [Device("x"), Device("y"), Device("z")], Shared(1.0), constraints=[Acyclic()])
    facts = below(problem, 11.0)
    assert facts is not None
    assert facts.split.tolist() == [True]


def test_memory_and_streams_make_windows() -> None:
    """Law: blocks have room for one memory each, hard or at the cost of streaming."""
    chain = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=1.0, params=4.0)
    devices = [Device(f"d{i}", memory=8.0) for i in range(2)]
    hard = Problem.create(chain, devices, Shared(1.0), constraints=[Acyclic(), Memory()])
    streamed = Problem.create(chain, devices, Shared(1.0, overflow=True), constraints=[Acyclic()])
    for problem in (hard, streamed):
        facts = below(problem, 4.0)
        assert facts is not None
        assert (facts.earliest.tolist(), facts.latest.tolist()) == ([0, 0, 1, 1], [0, 0, 1, 1])


@given(graphs(6), st.floats(0.1, 1000))
def test_cuts_are_rounded_down(graph: Graph, most: float) -> None:
    """Law: the value of a cut is never above the least cost of the sets that it stands for, nor above what is asked."""
    network = CutNetwork(graph.n, most)
    for v in range(graph.n):
        network.weight(v, float(graph.work[v]))
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        network.arc(u, v, float(graph.output[u]))
    for v in range(graph.n):
        sets = [set(np.flatnonzero([code >> u & 1 for u in range(graph.n)]).tolist()) for code in range(2**graph.n)]
        least = min(
            sum(graph.work[u] for u in held)
            + sum(graph.output[u] for u, w in zip(graph.tails, graph.heads, strict=True) if u in held and w not in held)
            for held in sets
            if v in held
        )
        found = network.least([v])
        assert found <= min(least, most) * (1 + 1e-12)
        assert found >= min(least, most) - most * 1e-6


def solved(formulation: Exact | Superblock | Guess, problem: Problem, start: Plan) -> Result:
    progress = Progress()
    progress.report_plan(start, evaluate(problem, start).cost)
    result = MipMethod(formulation, "highs").solve(problem, Limits(time=60.0, threads=1, start=start), progress)
    check_result(problem, result)
    return result


@settings(max_examples=60)
@given(st.one_of(plain_problems(5, 4), memory_problems(5, 3)), st.data())
def test_any_known_plan_leaves_the_optimum(problem: Problem, data: st.DataObject) -> None:
    """Law: told of any plan, exact finds the optimum still, and no bound is above it."""
    some = list(plans(problem))
    best = optimum(problem)
    if best is None:
        return
    cheap = sorted(some, key=lambda plan: evaluate(problem, plan).cost)
    start = data.draw(st.sampled_from(cheap[: max(1, len(cheap) // 4)]))
    for formulation in (Exact(), Superblock(), Guess()):
        result = solved(formulation, problem, start)
        assert result.infeasibility is None
        assert result.bound is not None
        assert result.bound.cost <= best * (1 + 1e-9)
        assert all(entry.bound is None or entry.bound <= best * (1 + 1e-9) for entry in result.log)
        if formulation.role == "exact":
            assert result.cost == pytest.approx(best, rel=2e-6, abs=1e-9)
            assert not any("numerical" in note for note in result.notes)


@settings(max_examples=40)
@given(plain_problems(5, 3), st.data())
def test_any_weights_give_a_bound(problem: Problem, data: st.DataObject) -> None:
    """Law: the least cost of a block that has its share of any weights is a bound (notes on bounds, 1)."""
    n = problem.graph.n
    weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.5, 1e4]), min_size=n, max_size=n)))
    best = optimum(problem)
    cost = data.draw(st.sampled_from([None, best]))
    result = MipMethod(Superblock(cost, weights), "highs").solve(problem, Limits(time=60.0, threads=1), Progress())
    assert best is not None
    assert result.bound is None or result.bound.cost <= best * (1 + 1e-9)


@settings(max_examples=25)
@given(plain_problems(5, 3))
def test_figure_3_as_printed_has_the_same_optimum(problem: Problem) -> None:
    """Law: rows (9) and (10) are weaker and no less right; where blocks need no order of their own it is refused."""
    if problem.k == 1:
        assert "two blocks" in (Fig3().accepts(problem) or "")
        return
    result = MipMethod(Fig3(), "highs").solve(problem, Limits(time=60.0, threads=1), Progress())
    check_result(problem, result)
    assert result.cost == pytest.approx(optimum(problem), rel=2e-6, abs=1e-9)
    assert Fig3().below(1.0).build(problem).tensors.component("each") is None


def test_known_plans_shrink_the_model_and_lift_its_root() -> None:
    """Law: what is known fixes variables, and the linear relaxation of what is left is dearer."""
    graph = regal(nodes=50, model="ba", reading="own-memory", seed=1)
    problem = Problem.create(graph, [Device(f"d{i}") for i in range(4)], Shared(1.0), constraints=[Acyclic()])
    plain, strong = (form.build(problem) for form in (Exact(), Exact(float(graph.work.sum()) * 0.34)))
    fixed = [sum(variable.fixed for variable in model.y.values()) for model in (plain, strong)]
    assert fixed[1] > 1.2 * fixed[0]
    assert root(strong) > 1.05 * root(plain)


def root(model: object) -> float:
    from mtpp_dsl.solvers.backends.mip.bridge import Bridge

    highs = Bridge(model).highs
    highs.setOptionValue("solve_relaxation", True)
    highs.run()
    return float(highs.getInfo().objective_function_value)
