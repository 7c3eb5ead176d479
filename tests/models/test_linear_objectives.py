"""Linear objectives and soft rows against brute force, from data and from text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl import MipMethod
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import costs_of, penalties_of, size_of, verify
from mtpp_dsl.core.constraints import Bottleneck, Decision, Finish, Latency, Linear, Load, On, Penalties, Start, Used
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import ConstraintError, Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import relative_gap
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.formulations.moirai import Moirai
from mtpp_dsl.solving.api import find_method, method_names
from tests.amount import part, stride
from tests.objective_problems import Case, random_case, random_timed_case

OFF = 1e-6
"""What a solver's optimum may be off by, relative to the largest number in it."""


def cheapest(problem: Problem) -> float | None:
    """Return the least cost of any plan, with what the two ways to count have to agree on."""
    best = None
    for plan in plans(problem):
        found = evaluate(problem, plan)
        assert found.costs == pytest.approx(costs_of(problem, plan), rel=1e-12, abs=1e-12)
        assert dict(found.penalties) == pytest.approx(penalties_of(problem, plan), rel=1e-12, abs=1e-12)
        assert found.size == pytest.approx(size_of(problem, plan), rel=1e-12)
        best = found.cost if best is None else min(best, found.cost)
    return best


def solved(case: Case, formulation: Exact | Moirai) -> None:
    """Solve a problem by a formulation, and hold its plan and its bound against brute force."""
    problem = case.problem
    best = cheapest(problem)
    assert formulation.accepts(problem) is None
    result = MipMethod(formulation, "highs").solve(problem, Limits(time=30), Progress())
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.plan is not None
    assert result.cost is not None
    assert result.bound is not None
    assert result.evaluation is not None
    assert not verify(problem, result.plan)
    size = max(abs(best), result.evaluation.size, 1.0)
    assert result.cost == pytest.approx(best, abs=OFF * size)
    assert best - 1e-4 * size <= result.bound.cost <= best + 1e-9 * size


def timed(seed: int) -> None:
    """Solve a problem on links: by moirai where it speaks of times, else, as it is a split, by exact."""
    case = random_timed_case(seed)
    if not case.problem.timed and Exact().accepts(case.problem) is not None:
        pytest.skip("exact has no rows for splits on links whose loads are to be large")
    solved(case, Moirai() if case.problem.timed else Exact())


@pytest.mark.parametrize("seed", range(24))
def test_exact_finds_the_optimum(seed: int) -> None:
    """Of linear objectives, maximised too, of used, latency and soft rows on shared and host."""
    solved(random_case(seed), Exact())


@pytest.mark.parametrize("seed", range(12))
def test_moirai_finds_the_optimum(seed: int) -> None:
    """Of linear objectives over times, and soft rows, on links; of those that speak of no times, exact."""
    timed(seed)


@pytest.mark.sampled(21)
@pytest.mark.parametrize("seed", range(100, 200))
def test_more_optima(seed: int) -> None:
    """The same of many more problems."""
    solved(random_case(seed), Exact())
    timed(seed)


@pytest.mark.parametrize("make", [random_case, random_timed_case])
def test_text_says_the_same(make: Callable[[int], Case]) -> None:
    """A spec gives the objective, the penalties and the costs of the problem made in Python."""
    for seed in range(100):
        case = make(seed)
        problem = mtpp_dsl.load(case.text)
        assert problem.objective == case.problem.objective
        assert problem.soft_rows == case.problem.soft_rows
        assert problem.hard_rows == case.problem.hard_rows
        if seed < 10:
            assert cheapest(problem) == cheapest(case.problem)


@pytest.mark.parametrize("seed", range(0, 12, stride(3)))
def test_no_bound_is_above_the_optimum(seed: int) -> None:
    """Every method that gives a bound and takes the problem gives one that is no higher than the best plan."""
    problem = (random_case if seed % 2 else random_timed_case)(seed + 1000).problem
    best = cheapest(problem)
    if best is None:
        return
    for name in method_names():
        method = find_method(name)
        if "bound" not in method.gives or name in ("auto", "exact", "fig3", "moirai") or method.accepts(problem):
            continue
        result = method.solve(problem, Limits(time=5, threads=1), Progress())
        if result.bound is not None:
            assert result.bound.cost <= best + OFF * max(1.0, abs(best)), name


@pytest.mark.parametrize("seed", range(part(24)))
def test_penalties_are_proved_beside_times_that_lie_far_apart(seed: int) -> None:
    """What a row of places costs is no less exact where a device takes no time, and a tensor takes very long."""
    draw = np.random.default_rng(seed)
    time = draw.choice([0.0, 0.25, 2.0, 9.0], (3, 2))
    graph = Graph.create(
        "abc", [(0, 1), (0, 2)], times={"d": time[:, 0], "e": time[:, 1]}, output=draw.choice([0.0, 1e-6, 1.0], 3)
    )
    places = [(On(v, d), float(draw.integers(1, 4))) for v in range(3) for d in range(2) if draw.random() < 0.6]
    rows = [row(terms=tuple(places) or ((On(0, 0), 1.0),), sense="<=", penalty=0.5)]
    weighted = Objective.linear([(On(v, v % 2), float(v + 1)) for v in range(3)])
    problem = Problem.create(
        graph, [Device("d"), Device("e")], Shared(4e-6), Objective("bottleneck") if seed % 2 else weighted, rows
    )
    best = cheapest(problem)
    result = MipMethod(Exact(), "highs").solve(problem, Limits(time=30), Progress())
    assert best is not None
    assert result.bound is not None
    assert result.bound.cost <= best + 1e-9 * max(1.0, best)
    if problem.objective.is_linear:  # that of a time is off by what times are
        assert result.bound.cost >= best - 1e-3 * max(1.0, best)


def made(objective: Objective | Sequence[Objective], *rows: Linear, links: bool = False) -> Problem:
    """Return a problem of two nodes on two devices."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=[2.0, 3.0], output=1.0)
    joined = Links(bandwidth=np.ones((2, 2)), latency=np.zeros((2, 2))) if links else Shared(1.0)
    return Problem.create(graph, [Device("d"), Device("e")], joined, objective, rows)


def row(**fields: Any) -> Linear:
    """Return the soft row that node a is on device d, at 7 for each unit of violation."""
    given: dict[str, Any] = {"label": "near", "terms": ((On(0, 0), 1.0),), "sense": ">=", "rhs": 1.0, "penalty": 7.0}
    return Linear(**{**given, **fields})


def test_costs_of_all_objectives() -> None:
    """Each objective has its cost; what soft rows cost is in the first alone."""
    objectives = [
        Objective.linear([(Used(0), 1.0), (Used(1), 4.0)], unit="USD", label="cost"),
        Objective("bottleneck"),
        Objective("latency"),
        Objective.linear([(Load(1), 2.0)], "maximize", label="busy"),
    ]
    problem = made(objectives, row())
    assert evaluate(problem, Plan.create(problem, [1, 1])).costs == (11.0, 5.0, 5.0, -10.0)
    found = evaluate(problem, Plan.create(problem, [1, 0]))
    assert found.costs == (12.0, 4.0, 7.0, -6.0)
    assert dict(found.penalties) == {"near": 7.0}
    assert problem.objectives[3].value(found.costs[3]) == 6.0
    alone = problem.asking(problem.objectives[1])
    assert evaluate(alone, Plan.create(alone, [1, 0])).cost == 4.0


def test_all_objectives_are_timed_if_one_is() -> None:
    """Beside a makespan on links a bottleneck is a linear objective, and its plans have times."""
    problem = made([Objective("bottleneck"), Objective("makespan")], links=True)
    assert [objective.kind for objective in problem.objectives] == ["bottleneck", "makespan"]
    assert all(objective.timed for objective in problem.objectives)
    assert problem.objective.terms == ((Bottleneck(), 1.0),)


def test_a_throughput_takes_no_penalty() -> None:
    """It is one divided by a cost, to which nothing can be added."""
    with pytest.raises(ConstraintError, match="cannot be added to a throughput"):
        made(Objective("throughput"), row())


@pytest.mark.parametrize("penalty", [-1.0, float("inf")])
def test_a_penalty_is_a_number(penalty: float) -> None:
    """A negative one would reward what breaks the row."""
    with pytest.raises(ConstraintError, match="a number that is not negative"):
        made(Objective("bottleneck"), row(penalty=penalty))


@pytest.mark.parametrize(
    ("terms", "message"), [((On(0, 9), 1.0), "there is no device 9"), ((Penalties(), 1.0), "cannot be a term")]
)
def test_terms_are_of_the_problem(terms: tuple[Decision, float], message: str) -> None:
    """Nodes and devices of terms exist, and what soft rows cost is no term."""
    with pytest.raises(UsageError, match=message):
        made(Objective.linear([terms]))


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        ([Objective("bottleneck"), Objective("bottleneck")], "two objectives are called"),
        ([Objective("throughput", batch=4), Objective("makespan")], "goes with no other objective"),
        ([Objective("makespan"), Objective("throughput")], "write bottleneck"),
        ([], "needs an objective"),
    ],
)
def test_objectives_go_together(objectives: list[Objective], message: str) -> None:
    """Several objectives that do not are an error."""
    with pytest.raises(UsageError, match=message):
        made(objectives)


def test_moirai_refuses_what_gains_from_delay() -> None:
    """Its schedules are as early as can be, so what gains from being late is refused, with the term."""
    with pytest.raises(Refused, match=r"gains from a late start\(a\)"):
        mtpp_dsl.solve(made(Objective.linear([(Start(0), 1.0)], "maximize"), links=True), "moirai")
    late = row(terms=((Finish(1), 1.0),), rhs=9.0)
    with pytest.raises(Refused, match=r"late finish\(b\)"):
        mtpp_dsl.solve(made(Objective("makespan"), late, links=True), "moirai")


def test_methods_refuse_by_scope() -> None:
    """Who does not support a linear objective, a penalty or several objectives says so, and names who does."""
    with pytest.raises(Refused, match=r"not a linear objective; .*exact.* can"):
        mtpp_dsl.solve(made(Objective.linear([(Latency(), 1.0)], label="all")), "slicegraph")
    with pytest.raises(Refused, match=r"constraint near; .*exact.* can"):
        mtpp_dsl.solve(made(Objective("bottleneck"), row()), "pipedream")
    several = made([Objective("bottleneck"), Objective("latency")])
    assert "one objective at a time" in str(find_method("slicegraph").accepts(several))


def test_costs_may_be_negative_or_nothing() -> None:
    """A gap is a share of the size of a cost, of 0 a share of the bound, and none where solvers see none."""
    assert relative_gap(-10.0, -11.0) == pytest.approx(0.1)
    assert relative_gap(0.0, -1.0) == 1.0
    assert relative_gap(0.0, -1e-9, size=1.0) == 0.0
    result = mtpp_dsl.solve(made(Objective.linear([(On(0, 0), -1.0)], label="there")), "exact")
    assert (result.status, result.value, result.bound_value) == ("optimal", -1.0, -1.0)


def test_a_bound_is_the_next_cost_that_there_can_be() -> None:
    """Prices of 2.5 and 4 USD make costs that are multiples of half a dollar, and the proof is exact."""
    objective = Objective.linear([(Used(0), 2.5), (Used(1), 4.0)], unit="USD", label="cost")
    result = mtpp_dsl.solve(made(objective), "exact")
    assert result.bound is not None
    assert result.bound.cost == 2.5
    assert "multiples of 0.5" in result.bound.detail
