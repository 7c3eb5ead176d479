"""Large models in processes of their own, which can be ended."""

from __future__ import annotations

from time import monotonic

import pytest

from mtpp_dsl import solve
from mtpp_dsl.core.constraints import Acyclic, Linear, Load
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import FORMULATIONS, load
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.mip import mip_process as apart
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.solvers.runtime.test_portfolio import problem_of


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count what is solved apart, which every model is here."""
    names: list[str] = []
    run_together = apart.run_together

    def counted(problem, lanes, *arguments, **options):  # type: ignore[no-untyped-def]
        names.append(lanes[0][0].method.name)
        return run_together(problem, lanes, *arguments, **options)

    monkeypatch.setattr(apart, "LARGE", 0)
    monkeypatch.setattr(apart, "run_together", counted)
    return names


def test_it_says_the_same(started: list[str]) -> None:
    """Plan, bound, solver and notes arrive as from this process, and a certificate with them or after them."""
    problem = problem_of(6)
    here = MipMethod(load(FORMULATIONS, "exact")(), "highs").solve(problem, Limits(time=60, threads=1), Progress())
    result = solve(problem, "exact", time_limit=60, threads=1)
    assert started == ["exact"]
    assert result.status == "optimal"
    assert result.termination == here.termination
    assert result.cost == pytest.approx(here.cost)
    assert result.bound is not None
    assert here.bound is not None
    assert result.bound.cost == pytest.approx(here.bound.cost)
    assert here.bound.certificate is None or result.bound.certificate is not None
    assert result.solver == "highs"


def test_it_tells_that_there_is_no_plan(started: list[str]) -> None:
    """With the constraints that clash."""
    rows = [
        Linear(label="low", terms=((Load(0), 1.0),), sense="<=", rhs=1e-3),
        Linear(label="high", terms=((Load(0), 1.0),), sense=">=", rhs=2e-3),
    ]
    problem = Problem.create(
        regal(8, "ba", "own-memory", 1), [Device("a"), Device("b")], Shared(1.0), constraints=[Acyclic(), *rows]
    )
    result = solve(problem, "exact", time_limit=60)
    assert started == ["exact"]
    assert result.infeasibility is not None
    assert any("low" in name for name in result.infeasibility.clash)


@pytest.mark.long
def test_building_a_large_model_keeps_the_time_limit() -> None:
    """A model that takes many seconds to build is left with what was known before."""
    graph = regal(1500, "ba", "own-memory", 1)
    problem = Problem.create(graph, [Device(f"d[{i}]") for i in range(16)], Shared(1.0), constraints=[Acyclic()])
    began = monotonic()
    result = solve(problem, "exact", time_limit=1.5)
    assert monotonic() - began < 4.5
    assert result.termination == "time_limit"
    assert result.plan is not None or result.bound is not None


def test_who_is_asked_for_what_another_process_cannot_do_solves_here() -> None:
    """A solver's log, its options, a model to write, and a formulation that is not built in."""
    problem = regal(300, "ba", "own-memory", 1)
    large = Problem.create(problem, [Device(f"d[{i}]") for i in range(16)], Shared(1.0), constraints=[Acyclic()])
    form = load(FORMULATIONS, "exact")()

    class Own(type(form)):  # type: ignore[misc]
        """One of a user's own."""

    limits = Limits(time=5.0)
    assert apart.worthwhile(form, large, limits, Progress())
    assert not apart.worthwhile(Own(), large, limits, Progress())
    assert not apart.worthwhile(form, large, Limits(), Progress())
    assert not apart.worthwhile(form, large, limits, Progress(solver_log=lambda _: None))
    assert not apart.worthwhile(form, large, Limits(time=5.0, solver_options={"presolve": "off"}), Progress())
    assert not apart.worthwhile(form, problem_of(), limits, Progress())
