"""Labelled rows in every method: plans keep them, bounds hold, and nothing is called infeasible that is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Latency, Linear, Used
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import why_not
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.labelled_rows import rows_of
from mtpp_dsl.solvers.algorithms.mending import Mender, linear_in_places
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.auto import Auto
from mtpp_dsl.solvers.partition.annealing import one_annealing, ordered_annealing
from mtpp_dsl.solvers.partition.annealing.one_annealing import charged
from mtpp_dsl.solvers.partition.annealing.split_state import instance_of, state_of
from mtpp_dsl.solvers.schedule.search import schedule_annealing
from mtpp_dsl.solving.api import find_method, load, method_names, solve
from tests.row_problems import best_cost, larger_problem, small_problem

FEW, MANY = 8, 120
"""Problems of each kind; a quarter of the methods answers each."""
SECONDS = 0.3
TOWERS = Path(__file__).resolve().parents[2] / "examples" / "towers.mtpp"


def taking_rows(kind: str) -> list[str]:
    """Return the methods installed here that accept rows for some problem of this kind; those of plug-ins apart."""
    found = []
    for name in method_names():
        method: Any = find_method(name)
        scopes = method_traits(method).scopes
        if name == "scotch" and not method.available().ok:
            continue
        if name != "expert" and any(scope.keeps(Linear) and kind in scope.objectives for scope in scopes):
            found.append(name)
    return [*found, "auto"]


@pytest.mark.parametrize("seeds", [range(FEW), pytest.param(range(FEW, MANY), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("kind", ["bottleneck", "makespan"])
def test_every_method_that_takes_rows_keeps_them(kind: str, seeds: range) -> None:
    """By brute force: no plan breaks a row, no bound is above the optimum, nothing is falsely infeasible or optimal."""
    names = taking_rows(kind)
    assert len(names) > 10
    answers = dict.fromkeys(names, 0)
    for seed in seeds:
        given, best = small_problem(seed, kind), best_cost(seed, kind)
        for name in names[seed % 4 :: 4]:
            if why_not(find_method(name), given) is not None:
                continue
            found = solve(given, name, time_limit=SECONDS, seed=seed)
            case = f"{kind} {seed} by {name}"
            if found.plan is not None:
                assert best is not None, case
                assert not verify(given, found.plan), case
                assert found.cost >= best * (1 - 1e-6), case  # type: ignore[operator]
                answers[name] += 1
            if found.status == "infeasible":
                assert best is None, case
            if found.bound is not None and best is not None:
                assert found.bound.cost <= best * (1 + 1e-6), case
            if found.status == "optimal":
                assert found.cost == pytest.approx(best), case
    gives = {name for name in names if "plan" in find_method(name).gives}
    assert sum(answers[name] > 0 for name in gives) > len(gives) / (2 if len(seeds) > FEW else 4), answers


@pytest.mark.long
@pytest.mark.parametrize("kind", ["free", "ordered", "makespan"])
def test_annealing_compiled_and_plain_walk_the_same_way_under_rows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers lead to the same plan, which keeps the rows and is better than what it started from."""
    module, name = {
        "free": (one_annealing, "ANNEAL"),
        "ordered": (ordered_annealing, "ORDERED"),
        "makespan": (schedule_annealing, "SAMPLE_SEARCH"),
    }[kind]
    plain = getattr(module, name).plain
    given = larger_problem(3, kind)
    costs = []
    for threshold in (0.0, float("inf")):
        monkeypatch.setattr(module, name, Kernel(plain, threshold))
        found = Annealing(patience=1, moves=10).solve(given, Limits(seed=2), Progress())
        assert found.plan is not None
        assert not verify(given, found.plan)
        costs.append(found.cost)
    assert costs[0] == costs[1]


@pytest.mark.parametrize("kind", ["free", "ordered"])
def test_rows_are_what_they_say_after_many_moves(kind: str) -> None:
    """What the arrays count of a state is what the rows are of its plan."""
    given = larger_problem(5, kind)
    group = together(given)
    instance = instance_of(given)
    rows = rows_of(given, group, instance.unit)
    assert rows is not None
    rng = np.random.default_rng(0)
    for _ in range(50):
        device = rng.integers(given.k, size=len(group))
        state = state_of(instance, device)
        own = rows.fresh(device)
        rules = given.with_constraints(given.hard_rows)
        assert (charged(instance, state, own) > 0) == bool(verify(rules, Plan.create(rules, device)))


def test_cp_sat_reads_rows_over_used_devices_and_refuses_what_it_cannot_read() -> None:
    """A row over a decision that the model does not have is refused, not left out."""
    graph = Graph.create("abcd", [(0, 1), (2, 3)], work=2.0)
    links = Links(np.full((3, 3), 2.0), np.zeros((3, 3)))
    few = Linear(label="few", terms=tuple((Used(d), 1.0) for d in range(3)), sense="<=", rhs=1.0)
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(3)], links, Objective("makespan"), [few])
    found = solve(problem, "moirai", solver="cp-sat", time_limit=10)
    assert (found.cost, found.status) == (8.0, "optimal")
    idle = replace(few, terms=((Latency(), 1.0),))
    with pytest.raises(Refused, match=r"latency\(\)"):
        solve(problem.with_constraints([idle]), "moirai", solver="cp-sat")


def test_a_plan_is_mended() -> None:
    """Few nodes move until the rows hold, and none where they do."""
    given = larger_problem(1, "free")
    everything = Plan.create(given, np.zeros(given.graph.n, np.int64))
    mended = Mender(given).mended(everything, 5.0)
    assert mended is not None
    without = [row for row in given.hard_rows if linear_in_places(row)]
    assert not verify(given.with_constraints(without), mended)
    assert Mender(given).mended(mended, 5.0) is None


MIXTURE = """
mtpp 1
graph {{
  node embed (work = 1.0, output = 2)
  node attention (work = 4.0, output = 2)
  node router (work = 0.7, output = 1)
  node expert[i in 0..4] (work = 2.0 + 0.17 * i, output = 1)
  node combine (work = 0.8, output = 2)
  node head (work = 2.5, output = 1)
  edge embed -> attention -> router
  edge router -> expert[i] for i in 0..4
  edge attention -> expert[i] for i in 0..4
  edge expert[i] -> combine for i in 0..4
  edge attention -> combine
  edge combine -> head
}}
device gpu[3]
constraint few:   forall d in devices: sum(on(expert[i], d) for i in 0..4) <= 2
constraint apart: forall i in 0..1: forall d in devices: on(expert[i], d) + on(expert[i + 1], d) <= 1
{rest}
"""
SHARED = "interconnect shared (bandwidth = 4)\nminimize bottleneck"
LINKED = (
    "interconnect links\nlink a -> b (bandwidth = 4) for a in devices for b in devices if a != b\nminimize makespan"
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rest", [LINKED, SHARED], ids=["makespan", "bottleneck"])
def test_auto_closes_a_mixture_of_experts(rest: str) -> None:
    """With at most so many experts on a device, and some apart, plan and bound meet within one per cent."""
    problem = load(MIXTURE.format(rest=rest))
    found = solve(problem, time_limit=60)  # on a busy machine; it ends when it is closed
    assert found.gap is not None
    assert found.gap <= 0.01
    assert found.plan is not None
    device = dict(zip(problem.graph.names, found.plan.assignment.tolist(), strict=True))
    assert max(sum(device[f"expert[{i}]"] == d for i in range(5)) for d in range(3)) <= 2
    assert device["expert[0]"] != device["expert[1]"] != device["expert[2]"]


def test_what_keeps_rows_comes_first_in_auto() -> None:
    """Slices and ideals know no rows: under a short limit they would leave a small problem without a plan."""
    assert Auto().outline(load(TOWERS))[:2] == ("annealing", "exact")


def test_a_start_is_one_of_the_problem_that_is_searched() -> None:
    """A plan to start from has all nodes; where neighbours are merged first, the search is given none of it."""
    towers = load(TOWERS)
    best = solve(towers, time_limit=30)
    again = solve(towers, time_limit=30, start=best.plan)
    assert again.plan is not None
    assert again.cost == pytest.approx(best.cost)
