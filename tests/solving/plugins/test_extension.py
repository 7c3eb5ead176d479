"""What a researcher adds to a built-in formulation is kept: no plan, known or found, breaks the rows of his own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Strengthened
from mtpp_dsl.core.contracts.traits import formulation_traits, method_traits
from mtpp_dsl.core.errors import PluginError, Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, BUILTIN, FORMULATIONS, load
from mtpp_dsl.models.formulations.batched import Batched
from mtpp_dsl.models.formulations.batched_as_published import BatchedAsPublished
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.formulations.fig3 import Fig3
from mtpp_dsl.models.formulations.latency import LatencyModel
from mtpp_dsl.models.formulations.moirai import Moirai
from mtpp_dsl.models.formulations.moirai_as_published import MoiraiAsPublished
from mtpp_dsl.models.relaxations.superblocks import Guess, Superblock
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solvers.methods.modules import MilpSplit
from mtpp_dsl.solvers.reductions.coarsened import coarsened
from mtpp_dsl.solving.api import find_method, solve
from mtpp_dsl.solving.plugins.samples import small
from tests.extensions import best_of_all, capped, counts, everything
from tests.latency_cases import latency_problem
from tests.makespans import makespan_problem

STRONGER = [name for name in BUILTIN[FORMULATIONS] if isinstance(load(FORMULATIONS, name)(), Strengthened)]
HERE = [name for name in BUILTIN[BACKENDS] if load(BACKENDS, name)().available().ok]


def twelve() -> Problem:
    """A chain of twelve nodes whose best plan has most of them on one device: tensors cost more than work."""
    graph = Graph.create([f"v{v}" for v in range(12)], [(v, v + 1) for v in range(11)], work=1.0, output=20.0)
    return Problem.create(graph, [Device(f"d{d}") for d in range(4)], Shared(1.0), constraints=[Acyclic()])


def answers(problem: Problem, formulation: Any, best: float | None, start: Plan | None, solver: str = "highs") -> None:
    """Solve, and hold the answer against the optimum under the cap."""
    result = solve(problem, MipMethod(formulation, solver), start=start, time_limit=60, threads=1)
    assert result.method == "capped"
    assert (result.plan is None) == (best is None)
    if result.plan is None or best is None:
        assert result.status == "infeasible"
        return
    assert formulation.keeps(problem, result.plan)
    if formulation.exact:
        assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9)
        assert result.status == "optimal"


CASES: list[tuple[type, str, int]] = [
    *((Exact, name, 2) for name in ("diamond", "chain", "memory", "overflow", "host", "training", "separate parts")),
    *((Exact, name, 3) for name in ("anything goes", "few", "unsupported", "convex", "dear tensors", "one node")),
    *((Moirai, name, 3) for name in ("makespan", "exclusive links", "unequal devices", "makespan together")),
    *((MoiraiAsPublished, name, 3) for name in ("makespan", "makespan together")),
    *((LatencyModel, name, 2) for name in ("latency", "latency by pieces")),
    (LatencyModel, "latency on shared", 3),
    *((Batched, name, 5) for name in ("batch throughput", "batches of chunks", "batches together", "measured batches")),
    (BatchedAsPublished, "batch throughput", 5),
]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{base.__name__}, {name}" for base, name, _ in CASES])
def test_an_extension_is_solved_as_it_stands(case: int) -> None:
    """The answer keeps the cap and costs what the best plan under it does, also where one of equal devices has it."""
    base, name, most = CASES[case]
    problem = small()[name]
    for devices in (None, (case % problem.k,)):
        start = everything(problem)[0][2] if (case % 2 == 0) == (devices is None) else None
        answers(problem, capped(base, most, devices), best_of_all(problem, most, devices), start)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["diamond", "three devices", "dear tensors", "pinned", "makespan", "batches together"])
def test_an_extension_may_say_that_it_is_symmetric(name: str) -> None:
    """Where its rows treat devices alike it says so, and keeps the numbering of equal devices and what that tells."""
    problem = small()[name]
    most = 5 if problem.objective.batch else 2
    bases = [Exact, Fig3] if problem.objective.quantity == "bottleneck" else [Moirai]
    for base in [Batched] if problem.objective.batch else bases:
        form = capped(base, most, symmetric=True)
        if form.accepts(problem) is None:
            answers(problem, form, best_of_all(problem, most), everything(problem)[0][2])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_random_caps_on_random_problems(seed: int) -> None:
    """Whatever the cap, the devices it is on and the plan given, the optimum is that under the cap."""
    random = np.random.default_rng(seed)
    problem, base = (makespan_problem(seed, 4, 3), Moirai) if seed % 2 else (latency_problem(seed, 4), LatencyModel)
    most = int(random.integers(1, max(2, problem.graph.n)))
    devices = None if random.random() < 0.5 else (int(random.integers(problem.k)),)
    form = capped(base, most, devices, **({} if devices or random.random() < 0.5 else {"symmetric": True}))
    if form.accepts(problem) is None:
        given = everything(problem)[0][2] if everything(problem) and random.random() < 0.5 else None
        answers(problem, form, best_of_all(problem, most, devices), given)


def test_a_chain_that_would_rather_stay_together() -> None:
    """The least cost is that of one device with all, which list and slicing find; the cap still holds."""
    problem = twelve()
    free = solve(problem, "exact", threads=1)
    assert free.plan is not None
    assert counts(problem, free.plan).max() == 12
    result = solve(problem, MipMethod(capped(Exact, 5), "highs"), start=free.plan, threads=1)
    assert result.plan is not None
    assert counts(problem, result.plan).max() <= 5
    assert result.status == "optimal"
    assert result.cost == pytest.approx(41)  # between two cuts of 20, one node
    assert any(
        "the start, of cost 12, was left out: it keeps every constraint of the problem" in n for n in result.notes
    )
    assert any("plan and bound are of the plans that rows of 'capped' allow" in note for note in result.notes)
    assert result.bound is not None
    assert "of the plans that rows of 'capped' allow" in result.bound.detail


@pytest.mark.sampled(3)
@pytest.mark.parametrize("solver", HERE)
def test_with_every_solver(solver: str) -> None:
    """Whatever solves it, the plan given and that found by slicing are read through the model of the extension."""
    problem = small()["three devices"]
    given = Plan.create(problem, [0] * problem.graph.n)
    answers(problem, capped(Exact, 2), best_of_all(problem, 2), given, solver)


def test_a_plan_that_the_rows_allow_is_kept() -> None:
    """A start under the cap counts, with its cost, before the solver has found anything."""
    problem, progress = twelve(), Progress()
    start = Plan.create(problem, [v // 3 for v in range(12)])
    method = MipMethod(capped(Exact, 5, symmetric=True), "highs")
    result = method.solve(problem, Limits(time=60.0, threads=1, start=start), progress)
    assert result.plan is not None
    assert progress.log[0].incumbent == pytest.approx(evaluate(problem, start).cost)


def test_a_plan_that_somebody_reported_does_not_count() -> None:
    """What is in the progress that a caller brings is read through the model as well, and never returned instead."""
    problem, progress = twelve(), Progress()
    alone = Plan.create(problem, [0] * 12)
    progress.report_plan(alone, evaluate(problem, alone).cost)
    method = MipMethod(capped(Exact, 5), "highs")
    with pytest.raises(UsageError, match="give it as start"):
        solve(problem, method, progress=progress)
    result = method.solve(problem, Limits(time=60.0, threads=1), progress)
    assert result.cost == pytest.approx(41)
    assert any("a plan known from elsewhere" in note for note in result.notes)


def test_rows_that_leave_no_plan() -> None:
    """That is said of the rows, not of the problem; where constraints clash with them, of both."""
    result = solve(twelve(), MipMethod(capped(Exact, 2, adds="at most 2 nodes on a device"), "highs"), threads=1)
    assert result.infeasibility is not None
    told = "there are none of the plans that keep what formulation 'capped' adds: at most 2 nodes on a device"
    assert told in result.infeasibility.reason
    problem = twelve().with_constraints([Pin(nodes=tuple(range(6)), devices=(1,))])
    result = solve(problem, MipMethod(capped(Exact, 5), "highs"), threads=1)
    assert result.infeasibility is not None
    assert "this constraint cannot hold in any of the plans that rows of 'capped' allow" in result.infeasibility.reason


@pytest.mark.parametrize("name", STRONGER)
def test_below_keeps_the_class(name: str) -> None:
    """Strengthened, a formulation derived from a built-in one is of its class, and keeps what it was given."""
    form = type("Mine", (load(FORMULATIONS, name),), {"name": "mine"})()
    form.extra = 5
    found = form.below(3.0)
    assert type(found) is type(form)
    assert (found.name, found.extra) == ("mine", 5)
    assert name == "fig3" or (found.cost, form.cost) == (3.0, None)


@pytest.mark.parametrize(
    ("below", "told"),
    [
        (lambda _, cost: Exact(cost), "returns a Exact named 'exact', exact"),
        (lambda self, _: type("Capped", (type(self),), {"name": "other"})(), "named 'other'"),
    ],
)
def test_below_that_returns_another_formulation(below: Any, told: str) -> None:
    """What the first adds would be lost: an error, not another answer."""
    form, problem = capped(Exact, 5), twelve()
    type(form).below = below
    with pytest.raises(PluginError, match=told):
        solve(problem, MipMethod(form, "highs"), start=Plan.create(problem, [v // 3 for v in range(12)]), threads=1)


@pytest.mark.parametrize("base", [Superblock, Guess])
def test_a_relaxation_with_rows_of_its_own(base: type) -> None:
    """Plans of the problem are none of it: they neither strengthen it nor are they returned beside its bound."""
    problem = twelve()
    start = Plan.create(problem, [0] * 12)

    def build(self: Any, problem: Problem) -> Any:
        model = Superblock.build(self, problem)
        model.dear = pyo.Constraint(expr=30 / model.cost_scale <= model.T)  # as if some rows asked for that
        return model

    def members(self: Any, problem: Problem) -> list[Any]:
        return [type("Member", (Superblock,), {"name": "mine-1", "build": build})(self.cost)]

    body = {"name": "mine", "adds": "dear plans alone"}
    own = {"build": build} if base is Superblock else {"members": members}
    result = solve(problem, MipMethod(type("Mine", (base,), {**body, **own})(), "highs"), start=start, threads=1)
    assert result.plan is None
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(30, rel=1e-5)
    assert any("plan and bound are of the plans that keep what" in note for note in result.notes)
    silent = type("Mine", (base,), {**body, **own, "adds": ""})()
    with pytest.raises(PluginError, match="it has to say so, in its attribute adds"):
        solve(problem, MipMethod(silent, "highs"), start=start, threads=1)


def test_an_extract_that_loses_what_rows_ask_for_is_blamed() -> None:
    """A plan that breaks the formulation's own rows is none of its answers, though it is a plan of the problem."""
    form = capped(Exact, 5)
    type(form).extract = lambda self, problem, model: Plan.create(problem, [0] * problem.graph.n)
    result = solve(twelve(), MipMethod(form, "highs"), threads=1)
    assert result.plan is None
    assert any("'capped' returned was dropped: rows of it exclude that" in note for note in result.notes)


def test_an_objective_that_is_not_the_cost_is_blamed() -> None:
    """A bound above the cost of a plan of the formulation's own is an error of the formulation, and named so."""

    def build(self: Any, problem: Problem) -> Any:
        model = Exact.build(self, problem)
        model.objective.expr *= 2
        return model

    form = type("Twice", (Exact,), {"name": "twice", "build": build})()
    with pytest.raises(PluginError, match=r"'twice' proves that nothing costs less than .*: its objective is not"):
        solve(small()["two devices"], MipMethod(form, "highs"), threads=1)


def test_no_other_graph_and_no_other_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extension is not put on a smaller graph, or on modules, nor replaced by the model that CP-SAT has."""
    form = capped(Exact, 5)
    assert "rows of its own" in (coarsened(MipMethod(form, "highs"), "gcof").accepts(twelve()) or "")
    assert "rows of its own" not in (coarsened(MipMethod(Exact(), "highs"), "gcof").accepts(twelve()) or "")
    with pytest.raises(Refused, match="does not use cp-sat"):
        solve(small()["makespan"], MipMethod(capped(Moirai, 3)), solver="cp-sat")
    with pytest.raises(Refused, match="was made with solver 'highs', not 'scip'"):
        solve(twelve(), MipMethod(form, "highs"), solver="scip")
    there = {**registry.available(FORMULATIONS), "capped": None}
    real = registry.load
    mine = capped(Moirai, 3)
    monkeypatch.setattr(registry, "available", lambda group: there if group == FORMULATIONS else real_available(group))
    monkeypatch.setattr(registry, "load", lambda group, name: (lambda: mine) if name == "capped" else real(group, name))
    with pytest.raises(Refused, match="no model for 'capped'"):
        find_method("capped", "cp-sat")
    with pytest.raises(Refused, match="capped solves no modules"):
        solve(small()["makespan"], MilpSplit(module_method="capped"), time_limit=20)


real_available = registry.available


def test_what_a_plug_in_says_is_typed() -> None:
    """An attribute of another type is an error that names it; one that is not there has its default."""
    assert formulation_traits(Fig3()).baseline
    assert not formulation_traits(object()).baseline
    assert method_traits(MipMethod(Exact())).uses_solver
    for name, value in (("baseline", "no"), ("adds", None), ("floor", 3), ("symmetric", 1)):
        with pytest.raises(PluginError, match=f"formulation 'mine': {name} is {value!r}, not"):
            formulation_traits(type("Mine", (), {"name": "mine", name: value})())
