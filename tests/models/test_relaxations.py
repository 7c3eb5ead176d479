"""The relaxations: never above the optimum, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.constraints import Acyclic, Contiguous, Linear, Load, Memory, Pin, Replicate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.relaxations.superblocks import Guess, Superblock
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.oracle import optimum
from tests.strategies import memory_problems, plain_problems


def bound(formulation: Superblock | Guess, problem: Problem) -> Result:
    return MipMethod(formulation, "highs").solve(problem, Limits(time=60.0, threads=1), Progress())


def valid(result: Result, best: float | None) -> None:
    if best is None:
        return
    assert result.infeasibility is None
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)
    assert all(entry.bound is None or entry.bound <= best * (1 + 1e-9) for entry in result.log)


@settings(max_examples=100)
@given(st.one_of(plain_problems(5, 4), memory_problems()))
def test_neither_bound_is_above_the_optimum(problem: Problem) -> None:
    """Law: superblock and guess are at most the least cost, with any speeds, memories and overflow."""
    best = optimum(problem)
    for formulation in (Superblock(), Guess()):
        valid(bound(formulation, problem), best)


@given(plain_problems(5), st.data())
def test_constraints_that_take_plans_away_leave_the_bounds_valid(problem: Problem, data: st.DataObject) -> None:
    """Law: pins, rows and memory may be ignored by a bound, for they only make the optimum larger."""
    n, k = problem.graph.n, problem.k
    pin = Pin(nodes=(data.draw(st.integers(0, n - 1)),), devices=(data.draw(st.integers(0, k - 1)),))
    row = Linear(label="row", terms=((Load(0), 1.0),), sense=">=", rhs=data.draw(st.sampled_from([0.0, 3.0])))
    narrower = problem.with_constraints([*problem.constraints, pin, row, Memory()])
    best = optimum(narrower)
    for formulation in (Superblock(), Guess()):
        valid(bound(formulation, narrower), best)


@given(plain_problems(5))
def test_guess_is_exact_on_two_devices_and_never_below_superblock(problem: Problem) -> None:
    """Law: for k = 2 guessing loses nothing (archer2024, section 5); for any k it dominates superblock."""
    two = Problem.create(problem.graph, [Device("a"), Device("b")], problem.interconnect, constraints=[Acyclic()])
    weak, strong = bound(Superblock(), two), bound(Guess(), two)
    assert weak.bound is not None
    assert strong.bound is not None
    best = optimum(two)
    size = float(max(two.time.max(), two.tensor_time.max(), 1e-300))
    assert strong.bound.cost == pytest.approx(best, rel=1e-5, abs=1e-7 * size)
    assert strong.bound.cost >= weak.bound.cost * (1 - 1e-6) - 1e-7 * size


def test_a_bound_is_no_plan() -> None:
    """Law: a relaxation returns a bound with its certificate, and no plan."""
    chain = Graph.create("abc", [(0, 1), (1, 2)], work=[2, 3, 2], output=1.0)
    problem = Problem.create(chain, [Device("x"), Device("y")], Shared(1.0), constraints=[Acyclic()])
    result = bound(Guess(), problem)
    assert (result.status, result.plan, result.cost) == ("bound", None, None)
    assert result.bound is not None
    assert (result.bound.method, result.bound.proof) == ("guess", "trusted")
    assert "tolerance" in result.bound.detail
    model = Superblock().build(problem)
    with pytest.raises(UsageError, match="relaxation"):
        Superblock().extract(problem, model)


@pytest.mark.parametrize(
    ("constraints", "word"),
    [([], "acyclic"), ([Contiguous()], "acyclic"), ([Acyclic(), Replicate(most=2)], "replicate")],
)
def test_what_the_proof_needs_is_asked_for(constraints: list[Contiguous], word: str) -> None:
    """Law: without an order of the blocks, or with plans beyond partitions, the bound is refused."""
    chain = Graph.create("ab", [(0, 1)], work=1.0)
    problem = Problem.create(chain, [Device("x"), Device("y")], Shared(1.0), constraints=constraints)
    for formulation in (Superblock(), Guess()):
        assert word in (formulation.accepts(problem) or "")
        with pytest.raises(Refused):
            bound(formulation, problem)


def test_training_graphs_and_hosts_are_refused() -> None:
    """Law: two parts with two orders, and devices that pay nothing, are beyond the proof."""
    both = Graph.create("ab", [(0, 1)], work=1.0, backward=[False, True])
    assert Superblock().accepts(Problem.create(both, [Device("x")], Shared(1.0), constraints=[Acyclic()]))
    one = Graph.create("ab", [(0, 1)], work=1.0)
    assert Guess().accepts(Problem.create(one, [Device("x")], Host(1.0), constraints=[Acyclic()]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("edges", "work", "output", "bandwidth", "k"),
    [
        (
            [(1, 3), (1, 4), (1, 5), (6, 0), (6, 1), (6, 2), (6, 3), (6, 4), (6, 5)],
            [0, 1, 1, 0, 0, 1e6, 1],
            [0, 1e6, 1e6, 0, 1e6, 0, 1],
            1e9,
            3,
        ),
        ([(2, 0), (2, 1), (2, 3)], [1e6, 7.3, 7.3, 1e6], [1, 1e-3, 5.1, 1e-3], 1e3, 2),
        ([], [2e8, 3e8, 3e8, 3e8, 3e8, 2e8], [2, 7, 9, 7, 5, 2], 1.0, 3),
    ],
)
def test_what_a_plan_costs_is_no_bound_on_a_variable(
    edges: list[tuple[int, int]], work: list[float], output: list[float], bandwidth: float, k: int
) -> None:
    """With the bottleneck held between two bounds HiGHS found no solution here, or none below the upper one."""
    graph = Graph.create([f"v{v}" for v in range(len(work))], edges, work=work, output=output)
    devices = [Device(f"d{d}") for d in range(k)]
    problem = Problem.create(graph, devices, Shared(bandwidth), constraints=[Acyclic()])
    best = optimum(problem)
    assert best is not None
    members = Guess(best).members(problem)
    found = [MipMethod(member, "highs").solve(problem, Limits(threads=1), Progress()) for member in members]
    costs = [result.bound.cost for result in found if result.bound is not None]
    assert min(costs) <= best * (1 + 1e-9)
    for formulation in (Superblock(), Guess()):
        result = MipMethod(formulation, "highs").solve(problem, Limits(threads=1), Progress())
        assert result.bound is not None
        assert result.bound.cost <= best * (1 + 1e-9)
        assert result.infeasibility is None
