"""The programmes of batches, corrected and as published: optima by trying everything, windows, starts, symmetry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import BatchSizes, BreakSymmetry, ExclusiveLinks, Memory, PinChunks
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, BUILTIN, load
from mtpp_dsl.core.views.symmetry import rankings
from mtpp_dsl.models.formulations.batched import Batched
from mtpp_dsl.models.formulations.batched_as_published import BatchedAsPublished
from mtpp_dsl.models.formulations.moirai import Moirai
from mtpp_dsl.models.formulations.moirai_as_published import MoiraiAsPublished
from mtpp_dsl.solvers.backends.mip.highs import Highs
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solving.plugins.samples import small
from tests.amount import part
from tests.batch_problems import barrier_optimum, random_batches
from tests.batched_cases import built, cases
from tests.oracle import optimum, plans
from tests.strategies import link_problems

SCOPES = ("within", "between", "both")
MEASURES = ("tasks", "batches", "time")


def solve(problem: Problem, formulation: Any = None, **limits: Any) -> Result:
    threads = {} if "solver" in limits else {"threads": 1}
    return MipMethod(formulation or Batched()).solve(problem, Limits(**{"time": 60.0, **threads, **limits}), Progress())


def check(problem: Problem, result: Result, best: float | None) -> None:
    """The optimum, with a bound that is none too high, or no plan at all."""
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.plan is not None, result.notes
    assert result.bound is not None
    assert not verify(problem, result.plan)
    assert result.cost == pytest.approx(best, rel=1e-6, abs=0)
    assert best * (1 - 3e-6) - 1e-300 <= result.bound.cost <= best * (1 + 1e-9)


def test_reference_cases(data: Path) -> None:
    """Law: both optima of every reference instance; the published rule's is no bound, and none is given."""
    for name, case in cases(data).items():
        problem = built(case)
        check(problem, solve(problem), case["opt_corrected"])
        printed = solve(problem, BatchedAsPublished())
        assert printed.bound is None, name
        if case["opt_printed"] is None:
            assert printed.plan is None, name
        else:
            assert printed.cost == pytest.approx(case["opt_printed"], rel=1e-9), name


@pytest.mark.sampled(3)
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_the_programmes_find_the_optima(unit: float) -> None:
    """Law: plan and bound are the optimum found by trying everything; as published, the optimum of the barrier."""
    for seed in range(20):
        problem = random_batches(seed + round(np.log10(unit)) * 100 + 1000, unit=unit)
        best = optimum(problem)
        check(problem, solve(problem), best)
        if BatchedAsPublished().accepts(problem) is not None:
            assert problem.batching.per_input
            continue
        barrier, printed = barrier_optimum(problem), solve(problem, BatchedAsPublished())
        assert printed.bound is None
        if barrier is None or best is None:
            assert printed.plan is None
            continue
        assert printed.plan is not None
        assert not verify(problem, printed.plan)
        assert printed.cost == pytest.approx(barrier, rel=1e-6, abs=0)
        assert barrier >= best * (1 - 1e-12)


def test_windows_never_cut_off_the_optimum() -> None:
    """Law: told the optimum's own cost the programme still has its plan, which is a start that its binaries make."""
    started = 0
    for seed in range(part(25, 3)):
        problem = random_batches(seed)
        found = list(plans(problem))
        if not found:
            continue
        best = min(found, key=lambda plan: evaluate(problem, plan).cost)
        cost = evaluate(problem, best).cost
        check(problem, solve(problem, start=best), cost)
        form = Batched(cost)
        model = form.build(problem)
        form.start(problem, model, best)
        binaries = [*model.x.values(), *model.sizes.b.values(), *model.orders.o.values()]
        for variable in binaries:
            if not variable.fixed:
                variable.fix(variable.value)
        outcome = Highs().solve(model, Limits(time=10.0), Progress(), lambda *_: None)
        assert outcome.objective is not None
        assert outcome.objective * model.cost_scale == pytest.approx(cost, rel=1e-6, abs=1e-9)
        started += 1
    assert started > part(12, 3)


@settings(max_examples=15)
@given(link_problems())
def test_a_batch_of_one_is_a_makespan(problem: Problem) -> None:
    """Law: of one input the optimum is that of the makespan."""
    problem = problem.with_constraints([c for c in problem.constraints if not isinstance(c, ExclusiveLinks)])
    one = Problem.create(
        problem.graph, problem.devices, problem.interconnect, Objective("throughput", batch=1), problem.constraints
    )
    makespan = solve(problem, Moirai())
    check(one, solve(one), makespan.cost)


def alike(seed: int, kinds: int, groups: bool) -> Problem:
    """Return a problem on four devices of one or two kinds, in two groups of two; or on three alone."""
    problem = random_batches(seed, nodes=2 if groups else 3, devices=4 if groups else 3, chunks=2, kinds=kinds)
    if kinds == 1:
        devices = tuple(replace(d, group=f"h{i // 2}" if groups else None) for i, d in enumerate(problem.devices))
        problem = replace(problem, devices=devices)
    return problem


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kinds", "groups"), [(1, False), (1, True), (2, True)])
def test_symmetry_never_cuts_off_the_optimum(kinds: int, groups: bool) -> None:
    """Law: with and without, by every measure and in every scope, the optimum is the same; starts keep to the order."""
    rows = 0
    for seed in range(2, 4):
        problem = alike(seed, kinds, groups)
        found = list(plans(problem))
        best = min(found, key=lambda plan: evaluate(problem, plan).cost, default=None)
        cost = None if best is None else evaluate(problem, best).cost
        for by in MEASURES:
            for scope in SCOPES:
                asked = problem.with_constraints([*problem.constraints, BreakSymmetry(by=by, scope=scope)])  # type: ignore[arg-type]
                if rankings(asked):
                    rows += 1
                    check(asked, solve(asked, start=best), cost)
    assert rows > 5


@pytest.mark.sampled(3)
@pytest.mark.parametrize("by", MEASURES)
def test_symmetry_of_a_makespan(by: Any) -> None:
    """Law: equal devices in order, and the makespan's optimum as before."""
    graph = Graph.create("abcd", [(0, 1), (0, 2), (2, 3)], work=[2, 3, 4, 2], output=1.0)
    devices = [Device(f"d{i}", group=f"g{i // 2}") for i in range(4)]
    plain = Problem.create(graph, devices, Links(np.ones((4, 4)), np.zeros((4, 4))), Objective("makespan"))
    asked = plain.with_constraints([BreakSymmetry(by=by)])
    assert len(rankings(asked)) == 3
    check(asked, solve(asked, Moirai()), optimum(plain))
    check(asked, solve(asked, MoiraiAsPublished()), optimum(plain))


@pytest.mark.parametrize("formulation", [Batched(), BatchedAsPublished()])
def test_of_nothing_the_makespan_is_nothing(formulation: Batched | BatchedAsPublished) -> None:
    """Law: a graph without nodes has a model, and the empty plan."""
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(Graph.create([], []), [Device("a"), Device("b")], links, Objective("throughput", batch=4))
    model = formulation.build(problem)
    assert Highs().solve(model, Limits(), Progress(), lambda *_: None).objective == 0
    assert verify(problem, formulation.extract(problem, model)) == []


def test_what_the_check_of_memory_lets_pass_is_a_plan() -> None:
    """Law: a limit that plans are over by less than the tolerance is no proof that there is none."""
    graph = Graph.create("a", [], work=1.0, params=2.0, output=2.0)
    problem = Problem.create(
        graph,
        [Device("d", memory=10 * (1 - 5e-7))],
        Links(np.ones((1, 1)), np.zeros((1, 1))),
        Objective("throughput", batch=4),
        [Memory()],
    )
    check(problem, solve(problem), optimum(problem))
    assert solve(problem).cost == 4


def test_infeasible_by_memory() -> None:
    """Law: the clash is told; batch sizes, without which there are other batches, are never dropped."""
    problem = small()["no memory for batches"]
    result = solve(problem)
    assert result.infeasibility is not None
    assert any("memory" in item for item in result.infeasibility.clash)


def test_pins_that_clash() -> None:
    """Law: chunks that are to be in two places at once are nowhere."""
    problem = small()["batch throughput"]
    places = [PinChunks(nodes=(0,), places=(0, 1)), PinChunks(nodes=(0,), places=(1, 1))]
    clash = problem.with_constraints(places)
    assert solve(clash).status == "infeasible"
    assert solve(clash, BatchedAsPublished()).plan is None


def test_a_device_without_sizes_runs_nothing() -> None:
    """Law: whatever the others do, it has no batch."""
    problem = small()["an idle device"]
    plan = solve(problem).plan
    assert plan is not None
    assert plan.batches is not None
    assert not plan.batches.sizes[:, 1].any()


def test_sizes_make_no_constants() -> None:
    """Law: the corrected programme has no binary but places, sizes and orders, and no M beyond the horizon."""
    problem = small()["batches of chunks"]
    model = Batched().build(problem)
    kinds = {v.parent_component().local_name for v in model.component_data_objects(pyo.Var) if v.is_binary()}
    assert kinds == {"x", "b", "o"}
    assert problem.batching.count == 2
    assert all(isinstance(c, BatchSizes | BreakSymmetry) for c in problem.constraints)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name in BUILTIN[BACKENDS] if load(BACKENDS, name)().available().ok])
def test_every_solver(name: str) -> None:
    """Law: every solver that is there finds the optima of both programmes."""
    for sample in ("measured batches", "batches and memory", "transfers by input"):
        problem = small()[sample]
        best = optimum(problem)
        assert best is not None
        check(problem, solve(problem, solver=name), best)
        if BatchedAsPublished().accepts(problem) is None:
            assert (solve(problem, BatchedAsPublished(), solver=name).cost or 0) >= best * (1 - 1e-9)
