"""Bounds of solvers where solvers have been seen to go wrong."""

from __future__ import annotations

import pytest

from mtpp_dsl.core.constraints import Acyclic, Bottleneck, Linear, Load, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.generate import generate
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solvers.backends.mip.highs import Highs
from mtpp_dsl.solvers.methods.mip.one_model import solve_one
from mtpp_dsl.solving.api import solve


def devices(k: int, memory: float | None = None) -> list[Device]:
    return [Device(f"d{i}", memory=memory) for i in range(k)]


def chain(n: int) -> Graph:
    edges = [(i, i + 1) for i in range(n - 1)]
    return Graph.create([f"v{i}" for i in range(n)], edges, work=range(1, n + 1), output=[3.0] * n)


PUSHED_UP = Linear(label="up", terms=((Bottleneck(), 1.0),), sense=">=", rhs=1.0)


def test_starts_set_every_binary() -> None:
    """A partial start makes HiGHS solve a MIP of its own, whose bounds must not be taken for the model's."""
    overflowing = Graph.create("abc", [(0, 1), (1, 2)], work=1.0, params=3.0)
    pushed = Linear(label="load", terms=((Load(0), 1.0),), sense=">=", rhs=1.0)
    for problem in (
        Problem.create(chain(5), devices(2), Shared(1.0), constraints=[Acyclic(), PUSHED_UP]),
        Problem.create(overflowing, devices(2, memory=4.0), Shared(1.0, True), constraints=[Acyclic(), pushed]),
    ):
        model = Exact().build(problem)
        Exact().start(problem, model, Plan.create(problem, [0] * problem.graph.n))
        missing = [v.name for v in model.component_data_objects(ctype=_var()) if v.is_integer() and v.value is None]
        assert missing == []


def _var() -> type:
    from pyomo.environ import Var

    return Var


def test_a_bad_start_proves_nothing() -> None:
    """With rows that push the bottleneck up, a plan far from the optimum does not become the bound."""
    problem = Problem.create(chain(12), devices(3), Shared(0.5), constraints=[Acyclic(), PUSHED_UP])
    result = solve(problem, "exact", start=Plan.create(problem, [0] * 12))
    assert result.cost == pytest.approx(39.0)
    assert result.status == "optimal"


def test_partial_starts_of_other_formulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formulation that starts only some binaries gets no live bounds, and a right one at the end."""

    def start(self: Exact, problem: Problem, model: object, plan: Plan) -> None:
        for number, variable in enumerate(model.y.values()):  # type: ignore[attr-defined]
            if not variable.fixed and number % 2:
                variable.set_value(1)

    monkeypatch.setattr(Exact, "start", start)
    graph = generate("layered", nodes=40, width=4, seed=2)
    problem = Problem.create(graph, devices(4), Shared(0.5), constraints=[Acyclic()])
    best = solve(problem, "exact", time_limit=30)
    started = solve(problem, "exact", start=Plan.create(problem, [0] * 40), time_limit=30)
    assert_consistent(best, started)


def assert_consistent(one: Result, two: Result) -> None:
    assert one.cost is not None
    assert two.cost is not None
    for result in (one, two):
        assert result.bound is not None
        assert result.bound.cost <= min(one.cost, two.cost) * (1 + 1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", ["superblock", "guess", "exact"])
@pytest.mark.parametrize("ratio", [1e8, 1e10, 1e11, 1e12])
def test_huge_tensors(method: str, ratio: float) -> None:
    """Tensors many orders of magnitude above the work do not lift a bound above the optimum."""
    graph = Graph.create("abc", [(1, 2)], work=[6.399595746483968, 8.550820650181103, 7.993337093834421], output=1.0)
    constraints = [Acyclic(), Separate(nodes=(0, 1))]
    problem = Problem.create(graph, devices(2), Shared(10 / ratio), constraints=constraints)
    result = solve(problem, method)
    assert result.bound is not None
    assert result.bound.cost <= 16.544157744017 * (1 + 1e-6)


def test_what_a_model_says_before_any_search_is_not_negative() -> None:
    """The bounds of variables may leave an iteration less than nothing; its bound is then nothing."""
    objective = Objective("iteration", microbatches=3, schedule="gpipe")
    problem = Problem.create(chain(4), devices(2), Shared(1.0), objective, [Acyclic()])
    solved = solve_one(Exact(), Highs(), problem, Limits(time=0.0), Progress(), lambda incumbent, proven: None)
    assert solved.proven is None or solved.proven.cost >= 0.0
    assert solved.outcome.termination == "time_limit"
