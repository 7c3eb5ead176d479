"""Reductions keep the optimum and map plans back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.constraints import Acyclic, Colocate, Contiguous, Memory, Pin
from mtpp_dsl.formats.msr import Msr
from mtpp_dsl.graph import Graph
from mtpp_dsl.problem import Device, Host, Links, Problem, Shared
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.verification import loads, verify
from tests.oracle import optimum, plans
from tests.strategies import plain_problems

DEVICES = [Device("d0"), Device("d1")]


def random_problem(seed: int) -> Problem:
    """Return a small problem in which most nodes have one consumer or one input and many weights are zero."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 8))
    edges = {(int(random.integers(v)), v) for v in range(1, n) if random.random() < 0.9}
    edges |= {(v, int(random.integers(v + 1, n))) for v in range(n - 1) if random.random() < 0.4}
    kind = random.integers(3)
    work = random.choice([0.0, 1.0, 2.0, 5.0], n) if kind else random.random(n)
    output = random.choice([0.0, 1.0, 3.0, 50.0], n) if kind else random.random(n) * 3
    graph = Graph.create([f"v{v}" for v in range(n)], edges, work=work, output=output)
    constraints = [Acyclic()] if random.random() < 0.8 else []
    k = 2 if n > 5 else int(random.integers(1, 4))
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=constraints)


def check(problem: Problem) -> int:
    """Check one contraction against brute force; return how many nodes it saved."""
    assert Contract().accepts(problem) is None
    smaller, back = Contract().apply(problem)
    assert optimum(smaller) == pytest.approx(optimum(problem), rel=1e-12, abs=1e-12)
    for plan in plans(smaller):
        mapped = back(plan)
        assert not verify(problem, mapped)
        assert loads(problem, mapped.assignment.tolist()) == pytest.approx(loads(smaller, plan.assignment.tolist()))
    return problem.graph.n - smaller.graph.n


@settings(max_examples=150)
@given(plain_problems(most=5))
def test_contraction_keeps_the_optimum(problem: Problem) -> None:
    """The optima are equal, and every plan of the smaller problem maps to a plan of the same loads."""
    check(problem)


def test_contraction_keeps_the_optimum_on_many_random_graphs() -> None:
    """The same on 600 graphs rich in candidates, with and without constraint acyclic; most of them shrink."""
    saved = [check(random_problem(seed)) for seed in range(600)]
    assert sum(count > 0 for count in saved) > 400


@given(plain_problems(most=6))
def test_contraction_is_finished(problem: Problem) -> None:
    """A second contraction finds nothing to merge, and weights are only ever added up."""
    smaller, _ = Contract().apply(problem)
    again, _ = Contract().apply(smaller)
    assert again.graph.names == smaller.graph.names
    assert smaller.graph.work.sum() == pytest.approx(problem.graph.work.sum())
    assert smaller.graph.params.sum() == pytest.approx(problem.graph.params.sum())


@pytest.mark.parametrize(
    ("name", "nodes"), [("bert_l-3", (235, 71)), ("bert_l-12", (783, 242)), ("resnet50", (604, 82))]
)
def test_published_operator_graphs_shrink(data: Path, name: str, nodes: tuple[int, int]) -> None:
    """Raw operator graphs become several times smaller."""
    path = data / "dnn-partitioning" / "throughput" / "OperatorGraphs" / f"{name}_inference.json"
    problem = Problem.create(Msr().read(path).graph, DEVICES, Shared(1.0), constraints=[Acyclic()])
    assert (problem.graph.n, Contract().apply(problem)[0].graph.n) == nodes


CHAIN = Graph.create(["a", "b"], [(0, 1)], work=1.0, output=10.0, params=4.0)
TRAINING = Graph.create(["a", "b"], [(0, 1)], work=1.0, output=10.0, backward=[False, True])
LINKS = Links(np.ones((2, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Problem.create(CHAIN, [Device("x", speed=2), Device("y")], Shared(1.0)), "differ"),
        (Problem.create(CHAIN, [Device("x", pays_io=False), Device("y")], Host(1.0)), "pay"),
        (Problem.create(CHAIN, [Device("x", memory=9), Device("y")], Shared(1.0), constraints=[Memory()]), "memory"),
        (Problem.create(CHAIN, [Device("x", memory=7)], Shared(1.0, overflow=True)), "overflow"),
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Colocate(nodes=(0, 1))]), "colocate"),
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Pin(nodes=(0,), devices=(0,))]), "pin"),
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Contiguous()]), "contiguous"),
        (Problem.create(TRAINING, DEVICES, Shared(1.0), constraints=[Acyclic()]), "backward"),
        (Problem.create(CHAIN, DEVICES, LINKS), "shared"),
    ],
)
def test_contract_refuses_where_the_proof_fails(problem: Problem, reason: str) -> None:
    """Unequal devices, binding memory, and constraints that look at single nodes."""
    assert reason in (Contract().accepts(problem) or "")


def test_contract_accepts_memory_that_cannot_bind() -> None:
    """A limit that holds the whole graph is none, as is one that holds all parameters."""
    devices = [Device("x", memory=28.0), Device("y", memory=30.0)]
    problem = Problem.create(CHAIN, devices, Shared(1.0, overflow=True), constraints=[Acyclic(), Memory()])
    assert Contract().accepts(problem) is None
    assert check(problem) == 1


@given(st.floats(0, 1e-15))
def test_the_conditions_are_exact(excess: float) -> None:
    """One unit in the last place more work than tensor is more."""
    chain = Graph.create(["a", "b"], [(0, 1)], work=1.0 + excess, output=1.0)
    smaller, _ = Contract().apply(Problem.create(chain, DEVICES, Shared(1.0)))
    assert (smaller.graph.n == 1) == (1.0 + excess == 1.0)
