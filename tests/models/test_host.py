"""The exact model on ``host``, with CPUs, contiguity and training graphs, against trying everything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import cost_of, loads
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Linear, Load, Memory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from mtpp_dsl.solving.api import find_method, solve
from tests.oracle import optimum

PARTS = st.sampled_from(["both", "forward"])
TIMES = st.sampled_from([0.0, 1.0, 2.0, 5.0, 0.37])


@st.composite
def host_problems(draw: st.DrawFn) -> Problem:
    """Draw accelerators and CPUs around host memory, with what tarnawski2020 asks of a split."""
    n = draw(st.integers(2, 6))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    column = st.lists(TIMES, min_size=n, max_size=n)
    training = draw(st.booleans())
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        draw(st.lists(st.sampled_from(pairs), unique=True)),
        work=draw(column),
        output=draw(column),
        memory=draw(column),
        times={"cpu": draw(column)},
        backward=[training and v >= n // 2 for v in range(n)],
    )
    accelerators, cpus = draw(st.sampled_from([(1, 0), (1, 1), (2, 0), (2, 1), (1, 2), (3, 0)]))
    memory = draw(st.sampled_from([None, 4.0, 8.0]))
    devices = [Device(f"a{i}", memory=memory) for i in range(accelerators)]
    devices += [Device(f"c{i}", type="cpu", pays_io=False) for i in range(cpus)]
    k = len(devices)
    rules: list[st.SearchStrategy[Constraint]] = [
        st.builds(lambda parts, which: Contiguous(parts=parts, devices=which), PARTS, st.sampled_from([None, (0,)])),
        st.builds(lambda parts: Acyclic(parts=parts), PARTS),
        st.builds(lambda v: Colocate(nodes=(0, v)), st.integers(1, n - 1)),
        st.builds(
            lambda d, sense, rhs: Linear(label="l", terms=((Load(d), 1.0),), sense=sense, rhs=rhs),
            st.integers(0, k - 1),
            st.sampled_from(["<=", ">="]),
            st.integers(0, 8).map(float),
        ),
    ]
    constraints = draw(st.lists(st.one_of(rules), max_size=3))
    limit = [Memory()] if memory is not None and draw(st.booleans()) else []
    interconnect = draw(st.sampled_from([Host(1.0), Host(0.5)] + [Shared(1.0)] * (cpus == 0)))
    return Problem.create(graph, devices, interconnect, constraints=[*constraints, *limit])


@settings(max_examples=60, deadline=None)
@given(host_problems())
def test_exact_is_exact(problem: Problem) -> None:
    """The model's optimum is the optimum, and it calls infeasible what is."""
    best = optimum(problem)
    result = solve(problem, "exact")
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)


@st.composite
def streaming_problems(draw: st.DrawFn) -> Problem:
    """Draw accelerators and CPUs, all with memories, whose parameters are streamed; CPUs pay for nothing."""
    n = draw(st.integers(1, 4))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    column = st.lists(TIMES, min_size=n, max_size=n)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        work=draw(column),
        output=draw(column),
        params=draw(st.lists(st.sampled_from([0.0, 1.0, 4.0, 9.0]), min_size=n, max_size=n)),
        times={"cpu": draw(column)},
    )
    accelerators, cpus = draw(st.sampled_from([(1, 1), (2, 1), (1, 2), (0, 2)]))
    room = st.sampled_from([None, 0.0, 2.0, 6.0])
    devices = [Device(f"a{i}", memory=draw(room)) for i in range(accelerators)]
    devices += [Device(f"c{i}", type="cpu", pays_io=False, memory=draw(room)) for i in range(cpus)]
    rules: list[Constraint] = [Acyclic(), Memory(devices=(len(devices) - 1,))]
    constraints = draw(st.lists(st.sampled_from(rules), unique=True))
    return Problem.create(graph, devices, Host(draw(st.sampled_from([0.5, 1.0])), overflow=True), None, constraints)


def test_overflow_is_free_where_transfers_are() -> None:
    """A CPU beside host memory streams nothing: its parameters are there (tarnawski2020, section 3)."""
    graph = Graph.create("ab", [], work=1.0, params=9.0)
    devices = [Device("gpu", memory=4.0), Device("cpu", memory=4.0, pays_io=False)]
    problem = Problem.create(graph, devices, Host(1.0, overflow=True))
    evaluation = evaluate(problem, Plan.create(problem, [0, 1]))
    assert evaluation.overflow.tolist() == [5.0, 0.0]
    assert loads(problem, [0, 1]) == evaluation.load.tolist() == [6.0, 1.0]
    shared = Problem.create(graph, devices, Shared(1.0, overflow=True))
    assert evaluate(shared, Plan.create(shared, [0, 1])).overflow.tolist() == [5.0, 5.0]


METHODS = ("exact", "ideals", "annealing", "slicegraph", "simple", "node", "anchor", "count", "configuration")


@settings(max_examples=25, deadline=None)
@given(streaming_problems(), st.sampled_from(METHODS))
def test_streamed_parameters(problem: Problem, method: str) -> None:
    """Every way to plan and to bound agrees with the definitions on who pays for streamed parameters."""
    best = optimum(problem)
    if find_method(method).accepts(problem) is not None or best is None:
        return
    result = solve(problem, method, seed=1)
    assert result.plan is None or result.cost == pytest.approx(cost_of(problem, result.plan), rel=1e-9, abs=1e-12)
    assert result.bound is None or result.bound.cost <= best * (1 + 1e-9) + 1e-12
    if method in ("exact", "ideals") and (method == "exact" or problem.acyclic):
        assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9)
    if result.bound is not None and result.bound.certificate is not None:
        check_bound(problem, BoundClaim.of(problem, result_to_json(problem, result)), Limits())


def toy(*constraints: Constraint) -> Problem:
    """Return a1 -> b1, b2 -> a2 with a1, a2 together and b1, b2 together: convex sets, a cyclic quotient."""
    graph = Graph.create(["a1", "a2", "b1", "b2"], [(0, 2), (3, 1)], work=1.0, output=0.01)
    together = [Colocate(nodes=(0, 1)), Colocate(nodes=(2, 3))]
    return Problem.create(graph, [Device("x"), Device("y")], Host(1.0), constraints=[*together, *constraints])


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_contiguous_and_acyclic_differ(method: str) -> None:
    """The published integer programme allows a cyclic quotient, the dynamic programme does not (MATH, section 2)."""
    assert solve(toy(Contiguous()), method).cost == pytest.approx(2.02)
    assert solve(toy(Acyclic()), method).cost == pytest.approx(4.0)
    assert solve(toy(), method).cost == pytest.approx(2.02)


def test_backward_contiguity() -> None:
    """Asked of both parts, the backward part is convex too, which published code does not enforce."""
    graph = Graph.create(
        ["f1", "f2", "f3", "b1", "b2", "b3"],
        [(0, 1), (1, 2), (3, 4), (4, 5)],
        work=[1, 1, 1, 4, 1, 4],
        output=0.0,
        backward=[False, False, False, True, True, True],
    )
    devices = [Device("x"), Device("y")]
    both = Problem.create(graph, devices, Host(1.0), constraints=[Contiguous(), Colocate(nodes=(3, 5))])
    forward = both.with_constraints([Contiguous(parts="forward"), Colocate(nodes=(3, 5))])
    assert solve(forward, "exact").cost == 8.0
    assert solve(both, "exact").cost == 9.0
