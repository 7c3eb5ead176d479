"""Models at the limits of what solvers can tell apart: what the check of plans lets pass is what a model allows."""

from __future__ import annotations

from itertools import product
from shutil import which
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import TOLERANCE, check_result, loads, verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Colocate,
    Constraint,
    Decision,
    Forbid,
    Linear,
    Load,
    Memory,
    On,
    Pin,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.models.blocks.linear import greatest
from mtpp_dsl.models.facts.scaling import scale_of
from mtpp_dsl.models.facts.user_rows import PASSED, UserRow, rows_of
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.relaxations.superblocks import Guess
from mtpp_dsl.solvers.backends.mip.highs import Highs
from mtpp_dsl.solvers.methods.mip.mip_conflict import explain
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solving import api
from tests.oracle import optimum

NEEDS_GLPSOL = pytest.mark.skipif(which("glpsol") is None, reason="needs glpsol")
Sense = Literal["<=", ">=", "=="]


def solve(problem: Problem, solver: str = "highs") -> Result:
    result = MipMethod(Exact(), solver).solve(problem, Limits(time=60.0), Progress())
    check_result(problem, result)
    return result


def row(sense: Sense, rhs: float, *terms: tuple[Decision, float], label: str = "row") -> Linear:
    return Linear(label=label, terms=terms, sense=sense, rhs=rhs)


def devices(k: int) -> list[Device]:
    return [Device(f"d{d}") for d in range(k)]


def far_apart(big: float) -> Problem:
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[1e-3] * 3, output=[1e9, 1e9, 0])
    long = row("<=", big - 1.0, (On(0, 0), big), (Load(0), -1.0))
    places: list[Constraint] = [Pin(nodes=(1, 2), devices=(2,)), Forbid(nodes=(0,), devices=(2,))]
    unequal = [Device("d0"), Device("d1", speed=1e-4), Device("d2")]
    return Problem.create(graph, unequal, Shared(1e9), constraints=[long, *places])


@pytest.mark.parametrize("big", [1e4, 1e5])
def test_a_load_counts_beside_a_big_m(big: float) -> None:
    """Law: a load whose coefficient is 1e-9 of the row's largest is not lost."""
    problem = far_apart(big)
    assert solve(problem).cost == pytest.approx(1.002)
    assert optimum(problem) == pytest.approx(1.002)


def test_a_row_that_no_solver_can_read_is_refused() -> None:
    """Law: where the numbers stay too far apart, the method says which constraint it is."""
    graph = Graph.create("abcd", [], work=[1, 1, 1, 1])
    mixed = row("<=", 0.0, (On(0, 0), 1e16), (On(1, 0), -1e16), (On(2, 0), 1.0), label="mixed")
    reason = Exact().accepts(Problem.create(graph, devices(2), Shared(1.0), constraints=[mixed]))
    assert reason is not None
    assert "mixed" in reason


def test_loads_too_far_apart_for_rows_are_refused() -> None:
    """Law: rows over loads that span more than solvers resolve are refused, not called infeasible."""
    graph = Graph.create("ab", [(0, 1)], work=[1e6, 2.7e-7], output=[1e6, 0.0])
    capped = row("<=", 0.0, (Load(0), 1e4), (Bottleneck(), -1.0), label="capped")
    problem = Problem.create(graph, devices(2), Shared(1e-12), constraints=[capped])
    reason = Exact().accepts(problem)
    assert reason is not None
    assert "capped" in reason


@pytest.mark.parametrize("solver", ["highs", pytest.param("glpk", marks=NEEDS_GLPSOL)])
def test_costs_that_are_next_to_nothing_do_no_harm(solver: str) -> None:
    """Law: tensors and leftovers below a solver's resolution do not make a model infeasible."""
    graph = Graph.create("ab", [], work=[0.5818423486925539, 4.7503940865344765], output=[5, 4], params=[4, 6])
    full = [Device(name, memory=10.0, reserve=10.0) for name in ("d0", "d1")]
    asked = row(">=", 2.666118217613515, (On(0, 0), 2.0), (Bottleneck(), 2.0), (Load(0), 2.0))
    problem = Problem.create(graph, full, Shared(0.01, overflow=True), constraints=[asked])
    best = optimum(problem)
    assert best is not None
    assert solve(problem, solver).cost == pytest.approx(best)


COEFFICIENTS = st.sampled_from([-1e9, -3.0, -1.0, 0.25, 0.1, 0.2, 0.3, 1.0, 1.0000001, 2.0, 1e9])


@settings(max_examples=300)
@given(
    st.lists(COEFFICIENTS, min_size=1, max_size=4),
    COEFFICIENTS,
    st.sampled_from(["<=", ">=", "=="]),
    st.sampled_from([-3.0, 0.0, 0.3, 1.0, 2.0, 1e9, 1e9 - 1]),
)
def test_a_row_holds_where_the_check_passes(ons: list[float], load: float, sense: Sense, rhs: float) -> None:
    """Law: a row keeps what the check passes, and lets pass but the sum of its terms' tolerances more."""
    most: dict[Decision, float] = {Load(0): 50.0, **{On(v, 0): 1.0 for v in range(len(ons))}}
    terms: tuple[tuple[Decision, float], ...] = (*((On(v, 0), a) for v, a in enumerate(ons)), (Load(0), load))
    rows = rows_of(Linear(label="row", terms=terms, sense=sense, rhs=rhs), 1.0, most)
    for side in rows:
        side.tighten()
    for *point, value in product(*((0, 1) for _ in ons), (0.0, 1.0, 10.0, 50.0)):
        values = {Load(0): value, **{On(v, 0): float(x) for v, x in enumerate(point)}}
        parts = [a * values[x] for x, a in terms]
        left = sum(parts)
        excess = {"<=": left - rhs, ">=": rhs - left, "==": abs(left - rhs)}[sense]
        keeps = all(_holds(side, values) for side in rows)
        if excess <= 1e-6 * max(abs(rhs), *(abs(part) for part in parts)):
            assert keeps
        elif excess > 1.01e-6 * (abs(rhs) + sum(abs(a) * most[x] for x, a in terms)):
            assert not keeps


def _holds(side: UserRow, values: dict[Decision, float]) -> bool:
    fixed = all(values[x] == value for x, value in side.fixed.items())
    left = sum(a * values[x] for x, a in side.terms.items())
    return fixed and not side.never and left <= side.high + 1e-14


def test_models_and_check_have_one_tolerance() -> None:
    """Law: what models allow is the check's tolerance, and no more than its rounding above."""
    assert TOLERANCE < PASSED < TOLERANCE * (1 + 1e-5)


def test_decimals_add_up_in_an_equality() -> None:
    """Law: 0.1 + 0.2 is 0.3."""
    graph = Graph.create("abc", [], work=[0.1, 0.2, 0.5])
    both = row("==", 0.3, (On(0, 0), 0.1), (On(1, 0), 0.2))
    result = solve(Problem.create(graph, devices(2), Shared(1.0), constraints=[Acyclic(), both]))
    assert result.cost == 0.5


def just_above() -> Problem:
    graph = Graph.create("ab", [(0, 1)], work=[5, 1], output=[1, 0])
    unequal = [Device("d0", speed=2.0), Device("d1")]
    return Problem.create(graph, unequal, Shared(1.0), constraints=[row("<=", 1.0, (On(0, 0), 1.0000001))])


def just_below() -> Problem:
    graph = Graph.create("ab", [], work=[1 / 3, 1.0])
    cap = row("<=", 0.3333333, (Load(1), 1.0))
    return Problem.create(graph, devices(2), Shared(1.0), constraints=[cap, Pin(nodes=(0,), devices=(1,))])


def just_too_full(reserve: float = 0.0) -> Problem:
    graph = Graph.create("abcd", [], work=[5, 5, 5, 5], params=[1 + 1e-6, 1, 1, 0.5])
    unequal = [Device("d0", memory=2.0 + reserve, reserve=reserve, speed=10.0), Device("d1")]
    places = [Memory(), Pin(nodes=(2, 3), devices=(1,))]
    return Problem.create(graph, unequal, Shared(1.0), constraints=places)


@pytest.mark.parametrize("problem", [just_above(), just_below(), just_too_full(), just_too_full(2.0)])
def test_what_the_check_passes_a_model_allows(problem: Problem) -> None:
    """Law: a plan that misses a constraint by less than the check's tolerance is a plan for the model too."""
    best = optimum(problem)
    assert best is not None
    result = solve(problem)
    assert result.plan is not None
    assert result.cost == pytest.approx(best, rel=1e-6)
    assert quick(problem) is None


def test_a_reserve_does_not_widen_the_rest() -> None:
    """Law: memory is told apart by the share of what the reserve leaves."""
    graph = Graph.create("ab", [], work=[5, 5], params=[100, 100])
    tight = [Device("d0", memory=1e9, reserve=1e9 - 150, speed=10.0), Device("d1")]
    problem = Problem.create(graph, tight, Shared(1.0), constraints=[Memory()])
    assert solve(problem).cost == optimum(problem) == 5
    alone = Problem.create(graph, tight[:1], Shared(1.0), constraints=[Memory()])
    assert quick(alone) is not None


def streaming(bandwidth: float, *constraints: Constraint) -> Problem:
    params = [2863311530.666667, 2863311816.9978204] * 2
    graph = Graph.create("abcd", [], work=[1e-9] * 4, params=params)
    device = Device("d", memory=17179869184.0, reserve=5726623061.333333)
    return Problem.create(graph, [device], Shared(bandwidth, overflow=True), constraints=constraints)


@pytest.mark.parametrize("constraints", [(), (row(">=", 1e-9, (Load(0), 1.0)),)])
def test_a_small_overflow_of_large_parameters(constraints: tuple[Constraint, ...]) -> None:
    """Law: streaming a few bytes of many gigabytes is feasible, and costs what the bytes cost."""
    problem = streaming(1e9, *constraints)
    assert solve(problem).cost == pytest.approx(max(loads(problem, [0] * 4)), rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, 30.0]), min_size=1, max_size=4),
    st.lists(st.sampled_from([0.0, 1.0, 4.0, 12.0, 1000.0]), min_size=1, max_size=2),
    st.sampled_from([">=", "==", "<="]),
    st.sampled_from([0.0, 1.0, 6.0, 20.0]),
)
def test_overflow_in_rows_of_loads(params: list[float], memories: list[float], sense: Sense, rhs: float) -> None:
    """Law: rows that push a load up do not make up overflow, whatever does or does not fit."""
    graph = Graph.create([f"v{v}" for v in range(len(params))], [], work=[1.0] * len(params), params=params)
    all_devices = [Device(f"d{d}", memory=memory) for d, memory in enumerate(memories)]
    asked = row(sense, rhs, (Load(0), 1.0))
    problem = Problem.create(graph, all_devices, Shared(1.0, overflow=True), constraints=[asked])
    result, best = solve(problem), optimum(problem)
    if best is None:
        assert result.status == "infeasible"
    else:
        assert result.cost == pytest.approx(best, rel=1e-6)


def test_nothing_is_streamed_where_there_is_no_overflow() -> None:
    """Law: what bounds every load counts parameters only where they can overflow."""
    graph = Graph.create("ab", [], work=[1, 2], params=[1e12, 1e12])

    def most(overflow: bool, memory: float | None) -> float:
        problem = Problem.create(graph, [Device("d", memory=memory)], Shared(1.0, overflow=overflow))
        scale = scale_of(problem, hypergraph(problem).least_work)
        return float(greatest(problem, scale.tensor_costs(problem), scale.unit)[0]) * scale.unit

    assert most(False, 1.0) == pytest.approx(3)
    assert most(True, 2e12) == pytest.approx(3)
    assert most(True, None) == pytest.approx(3)
    assert most(True, 1e12) == pytest.approx(1e12)


def test_the_largest_load_is_exact_beside_parameters_that_all_fit() -> None:
    """Law: rows over the bottleneck are not blurred by parameters that nobody streams."""
    graph = Graph.create("ab", [], work=[1, 2], params=[1e15, 1e15])
    asked = row(">=", 3.0, (Bottleneck(), 1.0))
    problem = Problem.create(graph, devices(2), Shared(1e-3), constraints=[asked])
    assert solve(problem).cost == 3


@pytest.mark.parametrize(
    ("constraints", "clash"),
    [
        (
            [Pin(nodes=(0,), devices=(0,), origin="pin"), row(">=", 1.0, (On(0, 1), 1.0), label="x")],
            ("x", "pin (pin)"),
        ),
        (
            [
                Pin(nodes=(0,), devices=(0,), origin="pin"),
                Pin(nodes=(0, 1), devices=(0, 1), origin="idle"),
                Forbid(nodes=(1,), devices=(0,), origin="other"),
                row(">=", 1.0, (On(0, 1), 1.0), (On(1, 0), 0.0001), label="x"),
            ],
            ("x", "pin (pin)"),
        ),
        (
            [
                Pin(nodes=(0,), devices=(0, 1), origin="idle"),
                Pin(nodes=(0,), devices=(1,), origin="one"),
                Forbid(nodes=(0,), devices=(1,), origin="other"),
            ],
            ("pin (one)", "forbid (other)"),
        ),
        (
            [
                Colocate(nodes=(0, 1), origin="both"),
                Colocate(nodes=(1, 0), origin="again"),
                Separate(nodes=(0, 1), origin="apart"),
            ],
            ("separate (apart)", "colocate (again)"),
        ),
    ],
)
def test_a_clash_names_all_and_only_who_takes_part(constraints: list[Constraint], clash: tuple[str, ...]) -> None:
    """Law: the constraints of a clash have no plan together, and would have one without any of them."""
    graph = Graph.create("ab", [], work=[1, 1])
    found = quick(Problem.create(graph, devices(2), Shared(1.0), constraints=constraints))
    assert found is not None
    assert found.clash == clash


def test_a_solver_that_fails_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: "no plan, whatever the constraints" is said only of a node that no device runs."""
    problem = Problem.create(Graph.create("a", [], work=[1]), devices(1), Shared(1.0), constraints=[Acyclic()])
    monkeypatch.setattr("mtpp_dsl.solvers.methods.mip.mip_conflict._feasible", lambda *_: False)
    with pytest.raises(SolverError, match="numerical"):
        explain(problem, Exact(), Highs(), Limits(time=10.0), Progress())


@NEEDS_GLPSOL
@pytest.mark.parametrize("method", [Exact(), Guess()])
def test_glpk_is_read_where_nothing_is_integer(method: Exact | Guess) -> None:
    """Law: the solution of a model whose integers are all fixed, which GLPK takes for an LP, is read as any other."""
    graph = Graph.create("a", [], work=[3])
    problem = Problem.create(graph, devices(1), Shared(1.0), constraints=[Acyclic()])
    result = MipMethod(method, "glpk").solve(problem, Limits(time=60.0), Progress())
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(3)


@NEEDS_GLPSOL
def test_glpk_is_not_believed_beyond_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: where GLPK has called feasible models infeasible, it is an error and no answer."""
    monkeypatch.setattr("mtpp_dsl.models.facts.scaling.COARSE", 1e-6)  # as wide as models may not be
    graph = Graph.create("ab", [], work=[0.0, 5e-9], output=[1, 1], params=[2e-9, 2e-9])
    fast = [Device(f"d{d}", memory=1e-9, speed=1000.0) for d in range(4)]
    together = [row("==", 0.0, (On(0, d), 1.0), (On(1, d), -1.0)) for d in range(4)]
    rules = [Acyclic(parts="forward"), *together]
    problem = Problem.create(graph, fast, Shared(1e-12, overflow=True), constraints=rules)
    with pytest.raises(SolverError, match="another --solver"):
        solve(problem, "glpk")


def test_dear_tensors_beside_no_work_at_all() -> None:
    """Law: where nothing measures the cost but tensors, HiGHS is still right (with larger coefficients it was not)."""
    graph = Graph.create(
        "ab", [(0, 1)], work=[5, 2], output=20.0, memory=[1, 0], times={"cpu": [0.0, 0.0]}, backward=[False, False]
    )
    devices = [Device("x"), Device("y", speed=2.0), Device("c", type="cpu", pays_io=False)]
    rules = [Acyclic(parts="forward"), Separate(nodes=(0, 1)), Forbid(nodes=(1,), devices=(0,))]
    problem = Problem.create(graph, devices, Host(1.0), constraints=rules)
    result = solve(problem)
    assert result.cost == pytest.approx(21.0) == optimum(problem)
    assert result.bound is not None
    assert 20.9 < result.bound.cost <= 21.0


def test_every_verified_plan_is_below_no_bound() -> None:
    """Law: the bound holds for every plan that the check passes."""
    for problem in (just_above(), just_too_full(), far_apart(1e4)):
        bound = solve(problem).bound
        assert bound is not None
        for where in product(range(problem.k), repeat=problem.graph.n):
            plan = Plan.create(problem, where)
            if not verify(problem, plan):
                assert bound.cost <= max(loads(problem, list(where))) * (1 + 1e-9)


def test_numbers_too_far_apart_for_a_closed_gap_are_told() -> None:
    """A node that streams for 1e7 times its work leaves the bound a margin above the cost, and a note says so."""
    graph = Graph.create("ab", [(0, 1)], work=1.0, params=[1e7, 1.0], output=1.0)
    devices = [Device("small", memory=1.0), Device("large", memory=2e7)]
    result = MipMethod(Exact()).solve(Problem.create(graph, devices, Shared(1.0, overflow=True)), Limits(), Progress())
    assert result.gap is not None
    assert (result.gap > 1e-6) == any("so far apart" in note for note in result.notes)
    assert any("so far apart" in note for note in result.notes)
    near = MipMethod(Exact()).solve(Problem.create(graph, devices, Shared(1.0)), Limits(), Progress())
    assert not near.notes


TINY_BESIDE_LARGE = """
graph {
  node a (work = 0.000001 s, output = 0.000001 GB)
  node b (work = 0.000001 s, output = 1 GB)
  node c (work = 1 s, output = 0.000001 GB)
  edge a -> c
}
device d0 (speed = 1, price = 5 USD)
device d1 (speed = 2, price = 2 USD)
device d2 (speed = 2, price = 5 USD)
interconnect host (bandwidth = 0.5 GB/s)
minimize cost: sum(price(d) * used(d) for d in devices)
constraint due: bottleneck <= 2.267 s
constraint acyclic
constraint pin b on d2
"""


def test_used_devices_beside_tiny_and_large_nodes() -> None:
    """HiGHS called three devices optimal where one is enough: rows had what a device has done as a share of a limit."""
    result = api.solve(api.load(TINY_BESIDE_LARGE), "exact", time_limit=30)
    assert (result.status, result.cost) == ("optimal", 5.0)
