"""Reductions keep the optimum and map plans back."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, loads, verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Constraint,
    Contiguous,
    Forbid,
    Linear,
    Load,
    Memory,
    On,
    Pin,
    Replicate,
    Separate,
)
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.msr import Msr
from mtpp_dsl.solvers.reductions.all_reductions import reduce
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.reductions.fuse import Fuse
from mtpp_dsl.solvers.reductions.gcof import Gcof
from tests import amount
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
    saved = [check(random_problem(seed)) for seed in range(amount.part(600))]
    assert sum(count > 0 for count in saved) > len(saved) * 2 / 3


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


def mixed_problem(seed: int) -> Problem:
    """Return a small problem of accelerators and CPUs, with training, memory, colocation, pins and rows mixed."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 6))
    edges = {(int(random.integers(v)), v) for v in range(1, n) if random.random() < 0.9}
    edges |= {(v, int(random.integers(v + 1, n))) for v in range(n - 1) if random.random() < 0.4}
    weights = [0.0, 0.0, 1.0, 2.0, 5.0]
    memory = random.choice([0.0, 0.0, 1.0, 3.0], n)
    params = random.choice([0.0, 0.0, 2.0], n)
    training = bool(random.random() < 0.5)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        edges,
        work=random.choice(weights, n),
        output=random.choice([0.0, 1.0, 3.0, 20.0], n),
        memory=memory,
        params=params,
        times={"cpu": np.where(random.random(n) < 0.1, np.inf, random.choice([0.0, 0.0, 4.0], n))},
        backward=random.random(n) < 0.5 if training else False,
    )
    accelerators, cpus = [(2, 0), (1, 1), (2, 1), (3, 0)][int(random.integers(4))]
    limit = [None, float(memory.sum()), float(memory.sum()) * 0.7, 3.0][int(random.integers(4))]
    devices = [Device(f"a{d}", memory=limit, speed=float(random.choice([1.0, 1.0, 2.0]))) for d in range(accelerators)]
    devices += [Device(f"c{d}", type="cpu", pays_io=False) for d in range(cpus)]
    k = len(devices)
    rules: list[Constraint] = [[Acyclic()], [Acyclic(parts="forward")], []][int(random.integers(3))]
    rules += [Memory()] if limit is not None and random.random() < 0.5 else []
    rules += [Contiguous()] if random.random() < 0.2 else []

    def some(size: int, of: int) -> tuple[int, ...]:
        return tuple(sorted(random.choice(of, min(size, of), replace=False).tolist()))

    for kind, likely in (
        ("colocate", 0.6),
        ("colocate", 0.4),
        ("separate", 0.15),
        ("pin", 0.2),
        ("forbid", 0.2),
        ("row", 0.2),
    ):
        if random.random() < likely:
            match kind:
                case "colocate":
                    rules.append(Colocate(nodes=some(2, n)))
                case "separate":
                    rules.append(Separate(nodes=some(2, n)))
                case "pin":
                    rules.append(Pin(nodes=some(1, n), devices=some(2, k)))
                case "forbid":
                    rules.append(Forbid(nodes=some(1, n), devices=some(1, k)))
                case "row":
                    terms = tuple((On(v, 0), 1.0) for v in some(2, n))
                    rules.append(Linear(label="row", terms=terms, sense="<=", rhs=1.0))
    separate = training and random.random() < 0.3
    return Problem.create(
        graph,
        devices,
        Host(1.0, overflow=bool(random.random() < 0.3)),
        Objective("bottleneck", parts="separate" if separate else "together"),
        rules,
    )


def keeps(reduction: Contract | Fuse, problem: Problem) -> int:
    """Check one reduction against trying everything; return how many nodes it saved, -1 if it refused."""
    if reduction.accepts(problem) is not None:
        return -1
    smaller, back = reduction.apply(problem)
    best, found = optimum(problem), optimum(smaller)
    assert (found is None) == (best is None)
    if best is not None:
        assert found == pytest.approx(best, rel=1e-12, abs=1e-12)
    apart = problem.objective.parts == "separate"
    for plan in plans(smaller):
        mapped = back(plan)
        assert not verify(problem, mapped)
        for part in (None, False, True):
            here, there = (loads(p, x.assignment.tolist(), part) for p, x in ((problem, mapped), (smaller, plan)))
            assert (part is not None and not apart) or here == pytest.approx(there)
    return problem.graph.n - smaller.graph.n


@pytest.mark.parametrize("reduction", [Contract(), Fuse()], ids=lambda reduction: reduction.name)
def test_reductions_keep_the_optimum_of_everything_mixed(reduction: Contract | Fuse) -> None:
    """On 250 problems with CPUs, training, memory, overflow and constraints mixed, many of which shrink."""
    saved = [keeps(reduction, mixed_problem(seed)) for seed in range(amount.part(250))]
    assert sum(count > 0 for count in saved) > 0.16 * len(saved)


def test_one_after_the_other_keeps_the_optimum() -> None:
    """What fusing leaves may be contracted: the optimum is still the same."""
    for seed in range(400, 400 + amount.part(150, 3)):
        problem = mixed_problem(seed)
        smaller, back = reduce(problem)
        best = optimum(problem)
        assert optimum(smaller) == (best if best is None else pytest.approx(best, rel=1e-12, abs=1e-12))
        for plan in islice(plans(smaller), 20):
            assert not verify(problem, back(plan))
            assert cost_of(problem, back(plan)) == pytest.approx(cost_of(smaller, plan))


def test_a_class_that_makes_one_tensor_becomes_a_node() -> None:
    """Colocated nodes with the same readers are one, whose tensor is theirs together; no colocation is left."""
    graph = Graph.create("abcd", [(0, 2), (1, 2), (2, 3)], work=[1, 2, 3, 4], output=[5, 6, 7, 0], memory=[1, 2, 3, 4])
    problem = Problem.create(graph, DEVICES, Shared(1.0), constraints=[Acyclic(), Colocate(nodes=(0, 1))])
    smaller, back = Fuse().apply(problem)
    assert smaller.graph.names == ("a", "c", "d")
    assert smaller.graph.work.tolist() == [3, 3, 4]
    assert smaller.graph.output.tolist() == [11, 7, 0]
    assert smaller.constraints == (Acyclic(),)
    assert back(Plan.create(smaller, [0, 1, 1])).assignment.tolist() == [0, 0, 1, 1]


def test_a_class_that_makes_two_tensors_stays_two_nodes() -> None:
    """Different readers are different tensors; the rest of the class goes with one of them."""
    graph = Graph.create("abcde", [(0, 3), (1, 4)], work=1.0, output=[5, 6, 7, 0, 0])
    problem = Problem.create(graph, DEVICES, Shared(1.0), constraints=[Acyclic(), Colocate(nodes=(0, 1, 2))])
    smaller, _ = Fuse().apply(problem)
    assert smaller.graph.names == ("a", "b", "d", "e")
    assert smaller.constraints == (Acyclic(), Colocate(nodes=(0, 1)))


def test_published_training_graphs_shrink(data: Path) -> None:
    """Colocation classes and weightless operators make a training graph several times smaller."""
    file = Msr().read(data / "dnn-partitioning" / "throughput" / "OperatorGraphs" / "bert_l-3_training.json")
    assert file.interconnect is not None
    colors = file.graph.colors
    held = [Colocate(nodes=tuple(np.flatnonzero(colors == c).tolist())) for c in set(colors.tolist()) - {-1}]
    rules = [Acyclic(parts="forward"), *(group for group in held if len(group.nodes) > 1)]
    problem = Problem.create(file.graph, file.devices, file.interconnect, constraints=rules)
    smaller, _ = Fuse().apply(problem)
    again, _ = Contract().apply(smaller)
    assert (problem.graph.n, smaller.graph.n, again.graph.n) == (600, 281, 281)


CHAIN = Graph.create(["a", "b"], [(0, 1)], work=1.0, output=10.0, params=4.0)
TRAINING = Graph.create(["a", "b"], [(0, 1)], work=1.0, output=10.0, backward=[False, True])
LINKS = Links(np.ones((2, 2)), np.zeros((2, 2)))


ON_LOADS = Linear(label="busy", terms=((Load(0), 1.0),), sense=">=", rhs=1.0)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Contiguous()]), "contiguous"),
        (
            Problem.create(TRAINING, DEVICES, Shared(1.0), constraints=[Contiguous(), Acyclic(parts="forward")]),
            "contig",
        ),
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[ON_LOADS]), "loads"),
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Replicate(most=2, sync="none")]), "replicate"),
        (Problem.create(CHAIN, DEVICES, LINKS), "shared"),
    ],
)
def test_contract_refuses_where_the_proof_fails(problem: Problem, reason: str) -> None:
    """Convexity without an order, rows over loads, and what loads are not made for."""
    assert reason in (Contract().accepts(problem) or "")


@pytest.mark.parametrize(
    ("problem", "merges"),
    [
        (Problem.create(CHAIN, [Device("x", speed=2), Device("y")], Shared(1.0)), True),
        (Problem.create(CHAIN, [Device("x", pays_io=False), Device("y")], Host(1.0)), False),
        (Problem.create(CHAIN, [Device("x", memory=9), Device("y")], Shared(1.0), constraints=[Memory()]), False),
        (Problem.create(CHAIN, [Device("x", memory=7)], Shared(1.0, overflow=True)), False),
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Separate(nodes=(0, 1))]), False),
        (Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Pin(nodes=(0,), devices=(0,))]), True),
        (
            Problem.create(CHAIN, DEVICES, Shared(1.0), constraints=[Pin(nodes=(v,), devices=(v,)) for v in (0, 1)]),
            False,
        ),
        (Problem.create(TRAINING, DEVICES, Shared(1.0), constraints=[Acyclic()]), False),
        (Problem.create(TRAINING, DEVICES, Shared(1.0)), True),
    ],
)
def test_only_what_may_move_is_merged(problem: Problem, merges: bool) -> None:
    """What takes time on a CPU, memory that binds or parameters that overflow, is kept apart, or is pinned, stays."""
    assert (Contract().apply(problem)[0].graph.n == 1) == merges
    keeps(Contract(), problem)


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


def test_problems_that_ask_for_single_phases_are_not_merged() -> None:
    """A merged node would have the times of all phases together; auto must not merge, and gives the optimum."""
    problem = mtpp_dsl.load(
        "phase p (weight = 2), q\n"
        "graph {\n  node a (work = {p: 1, q: 2}, output = 3)\n  node b (work = {p: 0, q: 1}, output = 1)\n"
        "  node c (work = {p: 2, q: 0})\n  edge a -> b -> c\n}\n"
        "device d[2]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
        "constraint few: bottleneck(p) <= 3\nconstraint colocate a, b\n"
    )
    assert problem.phased
    assert all("all phases" in str(step.accepts(problem)) for step in (Fuse(), Contract(), Gcof(())))
    assert reduce(problem)[0] is problem
    assert mtpp_dsl.solve(problem, time_limit=20).cost == pytest.approx(optimum(problem))
