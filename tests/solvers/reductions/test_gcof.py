"""Coarsening by operator fusion: rules, what is fused, the way back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Constraint,
    ExclusiveLinks,
    Forbid,
    Linear,
    Memory,
    Pin,
    Separate,
    Start,
    Subgraphs,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.reading import read
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.models.formulations.moirai import Moirai
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solvers.methods.partition import SliceGraph
from mtpp_dsl.solvers.reductions.coarsened import Coarse
from mtpp_dsl.solvers.reductions.fusion_rules import Rules, read_rules, shipped
from mtpp_dsl.solvers.reductions.gcof import coarsen
from tests.oracle import plans
from tests.strategies import link_problems

MAKESPAN = Objective("makespan")
EIGEN = read_rules("gcof")
KINDS = ["conv", "bn", "relu", "add"]


def on_links(graph: Graph, *constraints: Constraint, k: int = 2, memory: float | None = None) -> Problem:
    links = Links(np.full((k, k), 2.0), np.full((k, k), 0.5))
    devices = [Device(f"d{d}", memory=memory, speed=1.0 + d) for d in range(k)]
    return Problem.create(graph, devices, links, MAKESPAN, constraints)


def residual() -> Graph:
    """Two branches that meet in an add, as in Fig. 7 of the paper."""
    names = ["root", "conv1", "bn1", "relu1", "conv2", "bn2", "add", "relu2", "end"]
    kinds = ["Add", "Conv", "bn", "ReLU", "conv", "BN", "add", "relu", "conv"]
    edges = [(0, 1), (1, 2), (2, 3), (3, 6), (0, 4), (4, 5), (5, 6), (6, 7), (7, 8), (0, 6)]
    return Graph.create(names, edges, work=np.arange(1.0, 10.0), output=1.0, params=2.0, kinds=kinds)


def kinds_of(problem: Problem) -> list[str]:
    return sorted(problem.graph.kinds)


def test_operators_are_fused_as_in_the_paper() -> None:
    """Law: rules are matched whatever the case, the longest that is complete, along nodes with one successor alone."""
    smaller, _ = coarsen(on_links(residual()), EIGEN)
    fused = ["Add", "Conv ∘ bn ∘ ReLU", "conv", "conv ∘ BN ∘ add ∘ relu"]
    assert kinds_of(smaller) == fused
    assert smaller.graph.m == 4  # the two edges from the root to the second branch and its add are one
    assert smaller.time.sum() == pytest.approx(on_links(residual()).time.sum())
    assert smaller.graph.memory.sum() == on_links(residual()).graph.memory.sum()


def test_a_tensor_with_two_readers_is_not_fused_away() -> None:
    """Law: a node with several successors is the last of its group (multi-outputs)."""
    graph = Graph.create("abcd", [(0, 1), (1, 2), (1, 3)], kinds=["conv", "bn", "relu", "relu"])
    smaller, _ = coarsen(on_links(graph), EIGEN)
    assert kinds_of(smaller) == ["conv ∘ bn", "relu", "relu"]


@pytest.mark.parametrize(
    ("constraints", "kinds"),
    [
        ([Separate(nodes=(0, 1))], ["bn", "conv", "relu"]),
        ([Separate(nodes=(0, 2))], ["conv ∘ bn", "relu"]),
        ([Separate(nodes=(2, 3)), Colocate(nodes=(0, 3))], ["conv ∘ bn", "relu"]),
        ([Pin(nodes=(1,), devices=(0,)), Forbid(nodes=(2,), devices=(0,))], ["conv ∘ bn", "relu"]),
        ([Memory()], ["conv ∘ bn", "relu"]),
        ([Linear(label="row", terms=((Start(2), 1.0),), sense=">=", rhs=9.0)], ["conv ∘ bn", "relu"]),
    ],
)
def test_what_cannot_be_together_is_not_fused(constraints: list[Constraint], kinds: list[str]) -> None:
    """Law: nodes to be apart, that no device may or can have together, or whose times are named, stay as they are."""
    graph = Graph.create("abcd", [(0, 1), (1, 2)], work=1.0, params=1.0, kinds=["conv", "bn", "relu", "x"])
    smaller, _ = coarsen(on_links(graph, *constraints, memory=2.5), EIGEN)
    assert kinds_of(smaller) == sorted([*kinds, "x"])


RULES = st.lists(st.lists(st.sampled_from(KINDS), min_size=2, max_size=4).map(tuple), min_size=1, max_size=6).map(tuple)


@given(link_problems(most=6, most_devices=2), RULES, st.data())
def test_plans_come_back(problem: Problem, rules: Rules, draw: st.DataObject) -> None:
    """Law: the coarse graph has no cycle, and each of its plans is one of the graph that costs no more."""
    graph = problem.graph
    kinds = draw.draw(st.lists(st.sampled_from(KINDS[:2]), min_size=graph.n, max_size=graph.n))
    named = Graph.create(
        graph.names,
        zip(graph.tails.tolist(), graph.heads.tolist(), strict=True),
        work=graph.work,
        output=graph.output,
        params=graph.params,
        kinds=kinds,
        times=graph.times,
    )
    problem = Problem.create(named, problem.devices, problem.interconnect, MAKESPAN, problem.constraints)
    smaller, lift = coarsen(problem, rules)
    assert smaller.graph.n <= graph.n
    assert smaller.graph.memory.sum() == pytest.approx(graph.memory.sum())
    if smaller.graph.n > 4:
        return
    for plan in plans(smaller):
        fine = lift(plan)
        assert not verify(problem, fine)
        assert evaluate(problem, fine).cost <= evaluate(smaller, plan).cost * (1 + 1e-12)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("explicit", [False, True])
def test_edges_that_become_one_take_as_long_as_they_did(exclusive: bool, explicit: bool) -> None:
    """Law: two edges of a group from one node take as long as the longer, or with exclusive links as both."""
    graph = Graph.create("abc", [(0, 1), (0, 2), (1, 2)], kinds=["x", "conv", "bn"], sizes=[2.0, 6.0, 1.0], output=1.0)
    links = Links(np.full((2, 2), 2.0), np.full((2, 2), 0.5))
    if explicit:
        links = Links(links.bandwidth, links.latency, np.array([1.5, 3.5, 1.0])[:, None, None] * (1 - np.eye(2)))
    constraints = [ExclusiveLinks()] if exclusive else []
    problem = Problem.create(graph, [Device("d0"), Device("d1")], links, MAKESPAN, constraints)
    smaller, _ = coarsen(problem, EIGEN)
    assert smaller.graph.n == 2
    assert smaller.transfers.time(0, 0, 1) == (5.0 if exclusive else 3.5)


def test_bottlenecks_are_coarsened_too() -> None:
    """Law: a plan of the coarse graph costs on the graph what it did, where loads count."""
    graph = residual()
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(2.0), constraints=[Acyclic()])
    result = Coarse(SliceGraph(), EIGEN).solve(problem, Limits(time=5.0), Progress())
    assert result.plan is not None
    assert not verify(problem, result.plan)
    smaller, lift = coarsen(problem, EIGEN)
    for plan in plans(smaller):
        assert evaluate(problem, lift(plan)).cost == pytest.approx(evaluate(smaller, plan).cost)


def test_a_method_on_a_coarse_graph_gives_no_bound() -> None:
    """Law: the optimum of the coarse graph is no bound, and that it has no plan is no proof."""
    problem = on_links(residual())
    progress = Progress()
    result = Coarse(MipMethod(Moirai()), EIGEN).solve(problem, Limits(time=30.0, threads=1), progress)
    assert result.bound is None
    assert progress.bound is None
    assert result.plan is not None
    assert not verify(problem, result.plan)
    assert any("9 operators became 4" in note for note in result.notes)
    tight = Graph.create("abcd", [(0, 1), (2, 3)], params=[1, 2, 1, 2], kinds=["conv", "bn", "conv", "bn"], work=1.0)
    bounded = on_links(tight, Memory(), memory=4.0)
    smaller, _ = coarsen(bounded, EIGEN)
    assert smaller.graph.n == 2
    crowded = Problem.create(
        tight,
        [Device("d0", memory=4.0), Device("d1", memory=2.0)],
        bounded.interconnect,
        MAKESPAN,
        [Memory()],
    )
    found = Coarse(MipMethod(Moirai()), EIGEN).solve(crowded, Limits(time=30.0, threads=1), Progress())
    assert found.status == "unknown"
    assert found.infeasibility is None
    assert any("the graph itself may have" in note for note in found.notes)


def test_what_is_not_honoured_is_refused() -> None:
    """Law: a constraint that fusing might break, or that the method then refuses, is refused with a reason."""
    problem = on_links(residual(), Subgraphs(most=1))
    with pytest.raises(Refused, match="gcof does not support constraint subgraphs"):
        coarsen(problem, EIGEN)
    assert "not the makespan" in (Coarse(SliceGraph(), EIGEN).accepts(on_links(residual())) or "")


def test_published_graphs_have_no_kinds(data: Path) -> None:
    """Law: without kinds nothing is fused, and explicit times of transfers stay as they are."""
    work = read(data / "moirai" / "example-1.json", "moirai")
    assert work.interconnect is not None
    problem = Problem.create(work.graph, work.devices, work.interconnect, MAKESPAN, [ExclusiveLinks()])
    smaller, _ = coarsen(problem, EIGEN)
    assert smaller.graph.n == problem.graph.n
    assert smaller.transfers.table.sum() == problem.transfers.table.sum()


def test_rules_of_ones_own(tmp_path: Path) -> None:
    """Law: a file of rules is read, whatever the case of its kinds."""
    path = tmp_path / "own.toml"
    path.write_text('rules = [["MatMul", "Add"]]\n')
    assert read_rules(path) == (("matmul", "add"),)
    assert {"gcof", "transformer"} <= set(shipped())
    assert all(len(rule) > 1 for name in shipped() for rule in read_rules(name))


def test_rules_nested_without_end(tmp_path: Path) -> None:
    """Law: a file of rules that is nested a hundred thousand deep is an error, and soon."""
    for text in ("rules = " + "[" * 100_000, "a" + ".a" * 100_000 + " = 1", "[" + "a." * 100_000 + "a]"):
        (tmp_path / "deep.toml").write_text(text)
        with pytest.raises(UsageError, match=r"deep\.toml"):
            read_rules(tmp_path / "deep.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules = [", "own.toml"),
        ("rules = []", "one rule or more"),
        ('rules = [["conv"]]', "two kinds or more"),
        ("rules = [[1, 2]]", "two kinds or more"),
        ('rule = [["conv", "bn"]]', "not 'rule'"),
    ],
)
def test_rules_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    """Law: a file that is none is an error that names it and says what is expected."""
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_rules(path)
    with pytest.raises(UsageError, match="shipped: gcof"):
        read_rules("gcfo")


def test_large_graphs_are_coarsened_in_seconds() -> None:
    """Law: a graph of thousands of nodes in which nothing matches stays as it is."""
    graph = layered(3000, 5, seed=1)
    smaller, _ = coarsen(on_links(graph), EIGEN)
    assert smaller.graph.n == graph.n
