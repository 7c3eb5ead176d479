"""Moirai's programme, derived and as published: optima by trying everything, windows, labelled constraints, numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Constraint,
    Contiguous,
    ExclusiveLinks,
    Finish,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Start,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.reading import read
from mtpp_dsl.models.extract.retiming import ItemOrder, earliest
from mtpp_dsl.models.formulations.moirai import Moirai
from mtpp_dsl.models.formulations.moirai_as_published import MoiraiAsPublished
from mtpp_dsl.solvers.backends.mip.highs import Highs
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.oracle import optimum, plans
from tests.strategies import link_problems

MAKESPAN = Objective("makespan")


def solve(problem: Problem, formulation: Moirai | MoiraiAsPublished | None = None, **limits: Any) -> Result:
    return MipMethod(formulation or Moirai()).solve(
        problem, Limits(**{"time": 30.0, "threads": 1, **limits}), Progress()
    )


def check(problem: Problem, result: Result, best: float | None, close: float = 1e-6) -> None:
    """The optimum, with a bound that is none too high, or no plan at all."""
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.plan is not None
    assert result.bound is not None
    assert not verify(problem, result.plan)
    assert result.cost == pytest.approx(best, rel=close, abs=1e-9)
    assert result.bound.cost <= best * (1 + 1e-9)
    assert result.bound.cost >= best * (1 - 1e-6) - 3e-6


@settings(max_examples=80)
@given(link_problems())
def test_the_programme_finds_the_optimum(problem: Problem) -> None:
    """Law: plan and bound are the optimum found by trying everything; without one it is called infeasible."""
    check(problem, solve(problem), optimum(problem))


@settings(max_examples=40)
@given(link_problems())
def test_windows_never_cut_off_the_optimum(problem: Problem) -> None:
    """Law: told the optimum's own cost, the programme still finds it, and takes its plan as a start."""
    best = min(plans(problem), key=lambda plan: evaluate(problem, plan).cost, default=None)
    if best is not None:
        cost = evaluate(problem, best).cost
        check(problem, solve(problem, Moirai(cost), start=best), cost)
        check(problem, solve(problem, Moirai(1.5 * cost)), cost)


@settings(max_examples=30)
@given(link_problems(most=3), st.sampled_from([1e-9, 1e-5, 3.7, 1e9]))
def test_units_do_not_matter(problem: Problem, unit: float) -> None:
    """Law: with all times in another unit plan and bound are those in that unit."""
    graph, link = problem.graph, problem.interconnect
    assert isinstance(link, Links)
    scaled = Problem.create(
        Graph.create(
            graph.names,
            zip(graph.tails.tolist(), graph.heads.tolist(), strict=True),
            work=graph.work * unit,
            output=graph.output,
            params=graph.params,
            times={kind: times * unit for kind, times in graph.times.items()},
        ),
        problem.devices,
        Links(link.bandwidth / unit, link.latency * unit, None if link.transfers is None else link.transfers * unit),
        MAKESPAN,
        problem.constraints,
    )
    one, other = solve(problem), solve(scaled)
    assert one.status == other.status
    if one.cost is not None:
        assert other.cost == pytest.approx(one.cost * unit, rel=1e-6, abs=1e-9 * unit)


@settings(max_examples=40)
@given(link_problems(most=4, most_devices=2))
def test_the_printed_programme_finds_the_optimum(problem: Problem) -> None:
    """Law: as published or derived, the optimum is one, where the published rows hold."""
    if MoiraiAsPublished().accepts(problem) is None:
        check(problem, solve(problem, MoiraiAsPublished()), optimum(problem))


def test_the_start_completes_to_its_cost() -> None:
    """Law: the binaries set from a plan leave a solution that costs what the plan does, before any search."""
    problem = fork(ExclusiveLinks())
    for number, plan in enumerate(plans(problem)):
        for formulation in (Moirai(evaluate(problem, plan).cost), MoiraiAsPublished()):
            if formulation.accepts(problem) is not None or number % 5:
                continue
            model = formulation.build(problem)
            formulation.start(problem, model, plan)
            options = {"presolve": "off", "mip_max_nodes": 0, "mip_heuristic_effort": 0.0}
            limits = Limits(time=20.0, threads=1, solver_options=options)
            outcome = Highs().solve(model, limits, Progress(), lambda *_: None)
            assert outcome.objective is not None
            scale = getattr(model, "cost_scale", 1.0)
            assert outcome.objective * scale <= evaluate(problem, plan).cost * (1 + 1e-6)


def fork(*constraints: Constraint, k: int = 2) -> Problem:
    """One source, two branches of two nodes, one sink; devices of different speeds."""
    graph = Graph.create(
        "abcdef",
        [(0, 1), (1, 2), (0, 3), (3, 4), (2, 5), (4, 5)],
        work=[1, 3, 2, 2, 4, 1],
        output=1.0,
        times={"d0": [1, 3, 2, 2, 4, 1], "d1": [2, 2, 2, 3, 3, 2]},
    )
    links = Links(np.ones((k, k)), np.zeros((k, k)))
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, MAKESPAN, constraints)


def row(*terms: tuple[Any, float], sense: Any, rhs: float) -> Linear:
    return Linear(label="row", terms=terms, sense=sense, rhs=rhs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "constraint",
    [
        row((Load(0), 1.0), sense=">=", rhs=9.0),
        row((Load(0), 1.0), (Load(1), -1.0), sense="==", rhs=0.0),
        row((Bottleneck(), 1.0), sense=">=", rhs=11.0),
        row((Bottleneck(), 1.0), (Load(0), -1.0), sense="<=", rhs=0.0),
        row((On(1, 0), 1.0), (On(4, 0), 1.0), sense="==", rhs=1.0),
        Acyclic(),
        Contiguous(),
    ],
    ids=str,
)
@pytest.mark.parametrize("others", [[], [ExclusiveLinks()]], ids=["plain", "exclusive"])
def test_rows_without_times(constraint: Constraint, others: list[Constraint]) -> None:
    """Law: rows over places and loads take plans away, and the best of the rest is found."""
    problem = fork(constraint, *others)
    check(problem, solve(problem), optimum(problem))


def whole_schedules(problem: Problem, longest: int) -> Iterator[Plan]:
    """Yield every plan whose starts are whole numbers up to *longest*."""
    graph = problem.graph
    for where in product(range(problem.k), repeat=graph.n):
        takes = problem.time[np.arange(graph.n), where]
        carry = [
            problem.transfers.time(e, where[u], where[v])
            for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
        ]
        moved = np.array([where[u] != where[v] for u, v in zip(graph.tails, graph.heads, strict=True)])
        for begin in product(range(longest + 1), repeat=graph.n):
            start = np.array(begin, float)
            sent = np.where(moved, (start + takes)[graph.tails], np.nan)
            schedule = Schedule.create(graph, start, start + takes, sent, sent + np.array(carry))
            plan = Plan.create(problem, where, schedule=schedule)
            if not verify(problem, plan):
                yield plan


TIMED = [
    row((Start(1), 1.0), sense=">=", rhs=3.0),
    row((Finish(0), 1.0), sense=">=", rhs=4.0),
    row((Start(2), 1.0), (Finish(0), -1.0), sense=">=", rhs=2.0),
    row((Start(1), 2.0), (Start(2), -2.0), sense="==", rhs=2.0),
    row((Finish(2), 1.0), sense="<=", rhs=2.0),
    row((Start(1), 1.0), (Start(2), 1.0), sense="<=", rhs=2.0),
    row((Makespan(), 1.0), (Start(0), -1.0), sense="<=", rhs=3.0),
    row((Makespan(), 1.0), sense="<=", rhs=2.0),
    row((Start(0), 1.0), (On(1, 1), -2.0), sense=">=", rhs=0.0),
    row((Start(0), 1.0), (Load(1), -1.0), sense=">=", rhs=0.0),
]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("constraint", TIMED, ids=lambda c: f"{c.terms} {c.sense} {c.rhs}")
def test_rows_with_times(constraint: Linear) -> None:
    """Law: rows over starts, ends and the makespan are kept, with exact times, and the best plan is found."""
    graph = Graph.create("abc", [(0, 1), (0, 2)], output=1.0, times={"d0": [1, 2, 1], "d1": [1, 1, 2]})
    devices = [Device("d0"), Device("d1")]
    problem = Problem.create(graph, devices, Links(np.ones((2, 2)), np.zeros((2, 2))), MAKESPAN, [constraint])
    best = min((evaluate(problem, plan).cost for plan in whole_schedules(problem, 6)), default=None)
    result = solve(problem)
    check(problem, result, best)


@pytest.mark.parametrize(
    ("constraint", "word"),
    [
        (row((Makespan(), 1.0), sense=">=", rhs=30.0), "long makespan"),
        (row((Start(1), 1.0), (Start(2), 1.0), sense=">=", rhs=9.0), "late times of several nodes"),
        (row((Start(1), 1.0), (Start(2), -2.0), sense=">=", rhs=9.0), "late times of several nodes"),
    ],
)
def test_rows_without_a_horizon_are_refused(constraint: Linear, word: str) -> None:
    """Law: where no bound on the schedule's length follows, there is no M, and no answer."""
    assert word in (Moirai().accepts(fork(constraint)) or "")


def test_the_printed_constant_is_refused_where_it_is_too_small() -> None:
    """Law: where schedules may be longer than M = 1e5, the published rows would cut them off: refused."""
    graph = Graph.create("ab", [], work=6e4)
    problem = Problem.create(graph, [Device("d0")], Links(np.ones((1, 1)), np.zeros((1, 1))), MAKESPAN)
    assert "M = 100000" in (MoiraiAsPublished().accepts(problem) or "")
    assert Moirai().accepts(problem) is None


def test_lags_that_go_round_have_no_times() -> None:
    """Law: a start that would have to come after itself is none."""
    order = ItemOrder([0, 1], [(0, 1, 1.0)])
    assert earliest(order, [(1, 0, -1.0)]) is not None
    assert earliest(order, [(1, 0, -0.5)]) is None


@pytest.mark.parametrize("exclusive", [False, True])
def test_the_published_example(data: Path, exclusive: bool) -> None:
    """Law: example-1, whose memories add up to just what is needed, takes 30, with links exclusive or not."""
    work = read(data / "moirai" / "example-1.json", "moirai")
    constraints = [Memory(), *([ExclusiveLinks()] if exclusive else [])]
    assert work.interconnect is not None
    problem = Problem.create(work.graph, work.devices, work.interconnect, MAKESPAN, constraints)
    check(problem, solve(problem, Moirai(31.0), time=60.0), 30.0)
