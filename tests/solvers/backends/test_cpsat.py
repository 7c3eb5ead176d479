"""CP-SAT: what it says is what trying everything says, and a bound survives the rounding."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import (
    Bottleneck,
    Colocate,
    Constraint,
    ExclusiveLinks,
    Finish,
    Forbid,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Pin,
    Separate,
    Start,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Engine as EngineContract
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import Refused, SolverError, UsageError
from mtpp_dsl.core.executors.processes import descendants
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, availability, solve_request
from mtpp_dsl.solvers.backends.cpsat.request import INF, Busy, DecisionRow, Effort, request
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.backends.cpsat.time_windows import narrowed
from mtpp_dsl.solvers.methods.cp_sat import CpSat, Scheduling
from mtpp_dsl.solving.api import find_method, solve
from mtpp_dsl.solving.plugins.samples import large
from mtpp_dsl.solving.testing import check_method
from tests.amount import stride
from tests.oracle import optimum
from tests.solvers.algorithms.test_timing import linked

pytestmark = pytest.mark.skipif(not availability().ok, reason=f"CP-SAT is not installed: {availability().install}")


def constrained(seed: int) -> Problem:
    """Return a random small problem with random constraints of every kind that a model takes."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, 6)), int(random.integers(1, 4))
    base = linked(seed, n, k, exclusive=bool(seed % 2), whole=bool(random.integers(2)))

    def some(number: int) -> tuple[int, ...]:
        return tuple(random.choice(n, min(n, number), replace=False).tolist())

    def row(terms: dict[object, float], senses: list[str], rhs: float) -> Linear:
        return Linear(label="row", terms=tuple(terms.items()), sense=str(random.choice(senses)), rhs=rhs)  # type: ignore[arg-type]

    extra: list[tuple[float, Constraint]] = [
        (0.4, Colocate(nodes=some(2))),
        (0.4, Separate(nodes=some(2))),
        (0.3, Pin(nodes=some(1), devices=tuple({int(d) for d in random.integers(0, k, 2)}))),
        (0.3, Forbid(nodes=some(1), devices=(int(random.integers(k)),))),
        (0.5, Memory()),
        (
            0.3,
            row({On(v, 0): float(random.integers(1, 4)) for v in range(n)}, ["<=", ">=", "=="], random.integers(n + 1)),
        ),
        (0.2, row({Load(0): 1.0}, ["<=", ">="], 5 * random.random())),
        (0.2, row({Bottleneck(): 1.0, Load(0): -1.5}, ["<="], 1.0)),
        (0.2, row({Makespan(): 1.0, Load(k - 1): -2.5}, ["<="], 2.0)),
    ]
    devices = [Device(f"d{d}", memory=float(random.integers(2, 2 * n + 1))) for d in range(k)]
    links = base.interconnect
    assert isinstance(links, Links)
    bandwidth = np.where((random.random((k, k)) < 0.4) & (random.random() < 0.3), 0.0, links.bandwidth)
    chosen = [constraint for share, constraint in extra if random.random() < share]
    return Problem.create(
        base.graph, devices, Links(bandwidth, links.latency), Objective("makespan"), [*base.constraints, *chosen]
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_it_finds_and_proves_what_trying_everything_finds(start: int) -> None:
    """With every constraint on and off, the optimum in whole numbers is the optimum, and the bound no more."""
    for seed in range(start, start + 10):
        problem = constrained(seed)
        best, whole = optimum(problem), lower(problem)
        answer = solve_request(whole.request)
        assert (answer.status == "infeasible") == (best is None), seed
        if best is None or answer.solution is None:
            continue
        found = [plan for plan in whole.plans(answer.solution) if not verify(problem, plan)]
        assert min(cost_of(problem, plan) for plan in found) == pytest.approx(best, rel=1e-7), seed
        assert best * (1 - 1e-6) <= whole.scale.cost(answer.bound) <= best * (1 + 1e-12), seed


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.floats(1e-9, 1e12), min_size=8, max_size=8),
    st.lists(st.floats(1e-9, 1e12), min_size=4, max_size=4),
    st.booleans(),
)
def test_bounds_survive_the_rounding(times: list[float], sizes: list[float], exclusive: bool) -> None:
    """Whatever the times are, from 1e-9 to 1e12, the bound is none that a plan is below."""
    graph = Graph.create(
        "abcd",
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        output=sizes,
        times={"x": times[:4], "y": times[4:]},
    )
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    constraints = [ExclusiveLinks()] if exclusive else []
    problem = Problem.create(graph, [Device("x"), Device("y")], links, Objective("makespan"), constraints)
    best, whole = optimum(problem), lower(problem)
    assert best is not None
    for _ in range(2):  # the second time in units that suit the first plan
        answer = solve_request(whole.request)
        assert whole.scale.cost(answer.bound) <= best
        assert answer.solution is not None
        plan = whole.plans(answer.solution)[0]
        whole = lower(problem, plan)
    assert cost_of(problem, plan) == pytest.approx(best, rel=1e-6)


def chain(*rows: Linear) -> Problem:
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[1.0, 2.0, 3.0])
    links = Links(np.ones((2, 2)), np.ones((2, 2)))
    return Problem.create(graph, [Device("x"), Device("y")], links, Objective("makespan"), rows)


@pytest.mark.parametrize(
    ("terms", "sense", "rhs", "best"),
    [
        ({Start(1): 1.0}, ">=", 2.5, 7.5),
        ({Start(2): 1.0, Finish(0): -1.0}, "==", 4.25, 8.25),
        ({Makespan(): 1.0}, ">=", 10.0, 10.0),
        ({Finish(2): 1.0, On(2, 1): 4.0}, "<=", 9.0, 6.0),
        ({Start(2): 2.0, Start(1): -1.0}, ">=", 7.0, 7.0),
        ({Makespan(): 1.0}, "<=", 5.0, None),
    ],
)
def test_times_may_be_constrained(terms: dict[object, float], sense: str, rhs: float, best: float | None) -> None:
    """Rows that name starts, ends and the makespan hold in the plan, also those that make it wait."""
    problem = chain(Linear(label="row", terms=tuple(terms.items()), sense=sense, rhs=rhs))  # type: ignore[arg-type]
    result = Scheduling("moirai").solve(problem, Limits(threads=1), Progress())
    if best is None:
        assert result.infeasibility is not None
        assert result.infeasibility.clash == ("row",)
        return
    assert result.plan is not None
    assert not verify(problem, result.plan)
    assert result.bound is not None
    assert result.cost == pytest.approx(best, rel=1e-6)
    assert best * (1 - 1e-6) <= result.bound.cost <= best * (1 + 1e-9)


@pytest.mark.parametrize(
    ("terms", "sense", "rhs", "best"),
    [
        ({Start(0): -1.0}, "<=", -3.3, 5.1),
        ({Start(0): 0.001}, ">=", 5.0, 5001.8),
        ({Start(0): 1e9}, ">=", 5e9, 6.8),
        ({Start(1): 1 / 3, Finish(0): -1 / 3}, "==", 0.1 / 3, 1.9),
        ({Start(0): 1.0, On(0, 0): -20.0, On(0, 1): -20.0}, ">=", 0.0, 21.8),
    ],
)
def test_rows_of_any_magnitude_have_plans(terms: dict[object, float], sense: str, rhs: float, best: float) -> None:
    """Neither coefficients that are no whole numbers nor those far from one keep rows from being met."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[1.0, 0.5, 0.3], output=1.0)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    row = Linear(label="row", terms=tuple(terms.items()), sense=sense, rhs=rhs)  # type: ignore[arg-type]
    problem = Problem.create(graph, [Device("x"), Device("y")], links, Objective("makespan"), [row])
    result = solve(problem, "moirai", solver="cp-sat", threads=1)
    assert result.cost == pytest.approx(best, rel=2e-6)
    assert result.bound is not None
    assert best * (1 - 2e-6) <= result.bound.cost <= best * (1 + 1e-9)


def test_plans_keep_limits_that_bounds_need_not() -> None:
    """A plan that only the tolerance of the check lets pass is not taken; the bound holds for it all the same."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 1.0], memory=[1e7, 1e7 + 1])
    links = Links(np.ones((2, 2)), 5 * np.ones((2, 2)))
    devices = [Device("x", memory=2e7), Device("y", memory=2e7)]
    problem = Problem.create(graph, devices, links, Objective("makespan"), [Memory()])
    result = Scheduling("moirai").solve(problem, Limits(threads=1), Progress())
    assert result.cost == 7.0
    assert result.bound is not None
    assert result.bound.cost == 2.0


def test_nothing_is_lost_by_narrowing() -> None:
    """Asked for no more than the optimum it is found; asked for less, there is nothing."""
    for seed in range(12):
        whole = lower(linked(seed, 7, 3, exclusive=bool(seed % 2), whole=True))
        best = solve_request(whole.request).value
        assert best is not None
        assert solve_request(replace(whole.request, cutoff=best)).value == best
        less = solve_request(replace(whole.request, cutoff=best - 1))
        assert (less.status, less.bound) == ("infeasible", best)
        least = narrowed(whole.request)
        assert least is not None
        assert least.at_least <= best


def test_requests_with_times_orders_and_ports_that_are_taken() -> None:
    """Heads, tails, latest starts, sequences, rows and busy ports all count."""
    duration = np.array([[2, 9], [2, 9], [3, 1]])
    table = np.array([[[0, 4], [4, 0]]])
    edges = np.array([0, 1]), np.array([2, 2]), np.array([0, 0])

    def value(**more: object) -> int | None:
        return solve_request(request(duration, *edges, table, cutoff=60, **more)).value  # type: ignore[arg-type]

    assert value() == 7
    assert value(head=np.array([[5, 5], [0, 0], [0, 0]])) == 10
    assert value(tail=np.array([[0, 0], [0, 0], [20, 10]])) == 4 + 4 + 1 + 10
    assert value(sequences=((2, 1),)) is None
    assert value(rows=(DecisionRow(((("start", 2, 0), 1),), 30, None),), capacity=np.array([INF, INF])) == 31
    apart = np.where(np.array([[1, 0], [1, 0], [0, 1]]), duration, INF)
    parts = {"exclusive": True, "cutoff": 60}
    ask = request(apart, *edges, table, **parts)  # type: ignore[arg-type]
    assert solve_request(ask).value == 2 + 4 + 4 + 1
    assert solve_request(replace(ask, busy=(Busy("out", 0, 0, 20, False),))).value == 20 + 8 + 1
    assert solve_request(replace(ask, busy=(Busy("in", 1, 9, 5, True),))).value == 2 + 4 + 4 + 9
    assert solve_request(replace(ask, latest=np.array([INF, INF, 9]))).status == "infeasible"


def test_an_engine_stops_dies_and_starts_again() -> None:
    """It stops when asked; a process that dies is an error that says so, and the next request finds another."""
    long = lower(linked(1, 60, 3, exclusive=True)).request
    short = lower(linked(2, 3, 2)).request
    assert solve_request(long, stopped=lambda: True).status in ("unknown", "feasible")
    assert solve_request(short).status == "optimal"

    def die() -> bool:
        for pid in descendants(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        return False

    with pytest.raises(SolverError, match="died"):
        solve_request(long, stopped=die)
    assert solve_request(short).status == "optimal"


def test_ctrl_c_spares_a_process_that_is_only_starting() -> None:
    """What a terminal sends to all processes of a command does not reach those that the command has to stop itself."""
    code = (
        "import os, signal; from mtpp_dsl.core.executors.local import LOCAL\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "process = LOCAL.start('mtpp_dsl.solvers.backends.cpsat.cpsat_worker'); os.killpg(0, signal.SIGINT)\n"
        "print(process.hear(1.0), process.alive); process.end()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
    assert done.stdout.split() == ["None", "True"], done.stderr


def test_a_pool_answers_as_one_engine_does() -> None:
    """Requests of several threads get the answers of one process."""
    requests = [lower(linked(seed, 6, 2)).request for seed in range(6)]
    with ProcessPool(2) as pool:
        answers = [future.result() for future in [pool.submit(one) for one in requests]]
    assert [answer.value for answer in answers] == [solve_request(one).value for one in requests]


def test_options_are_honoured_or_refused() -> None:
    """Parameters of CP-SAT by name; one that it has not, or whose value it refuses, is an error."""
    asked = lower(linked(1, 5, 2)).request
    assert solve_request(asked, Effort(options={"cp_model_presolve": False, "search_branching": "FIXED_SEARCH"})).value
    with pytest.raises(UsageError, match="no parameter 'cp_model_presolv'; did you mean 'cp_model_presolve'"):
        solve_request(asked, Effort(options={"cp_model_presolv": False}))
    with pytest.raises(UsageError, match="refuses 'much'"):
        solve_request(asked, Effort(options={"linearization_level": "much"}))
    for name in ("num_workers", "presolve_inclusion_work_limit"):
        with pytest.raises(UsageError, match="decided here"):
            solve(linked(1, 5, 2), "moirai", solver="cp-sat", solver_options={name: 1})


def test_without_ortools_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is missing is a solver error with the command that installs it."""
    missing = replace(availability(), ok=False)
    monkeypatch.setattr("mtpp_dsl.solvers.backends.cpsat.engine.availability", lambda: missing)
    monkeypatch.setattr("mtpp_dsl.solvers.backends.cpsat.effort.availability", lambda: missing)
    with pytest.raises(SolverError, match=r"pip install ortools"):
        solve(linked(1, 5, 2), "moirai", solver="cp-sat")
    with pytest.raises(SolverError, match=r"pip install ortools"):
        solve_request(lower(linked(1, 5, 2)).request)


def test_the_solver_has_models_for_some_formulations() -> None:
    """``--solver cp-sat`` is a method for exact and moirai, and refused with a word for everything else."""
    assert isinstance(CpSat(), EngineContract)
    assert isinstance(find_method("moirai", "cp-sat"), Method)
    with pytest.raises(Refused, match="only for exact and moirai"):
        find_method("fig3", "cp-sat")
    with pytest.raises(Refused, match="cp-sat"):
        solve(large(), "auto", solver="cp-sat")
    with pytest.raises(Refused, match="not a bottleneck"):
        solve(large(), "moirai", solver="cp-sat")


def test_the_whole_solve_reports_and_repeats() -> None:
    """Plans and bounds are reported on the way; the same seed gives the same answer; a stop gives what there is."""
    problem = linked(5, 9, 3, exclusive=True)
    results = [solve(problem, "moirai", solver="cp-sat", threads=1, seed=3) for _ in range(2)]
    one, other = (result.plan for result in results)
    assert one is not None
    assert other is not None
    assert one.assignment.tolist() == other.assignment.tolist()
    assert results[0].status == "optimal"
    assert results[0].bound is not None
    assert "rounded down" in results[0].bound.detail
    assert results[0].log
    progress = Progress()
    progress.stop()
    stopped = Scheduling("moirai").solve(linked(5, 60, 3), Limits(threads=1), progress)
    assert stopped.termination == "interrupted"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("formulation", CpSat.formulations)
def test_what_it_solves_keeps_the_contract_of_methods(formulation: str) -> None:
    """Plans are plans, bounds are bounds, the same twice, on sample problems; limits and stops are heard."""
    check_method(CpSat().method(formulation), every=stride(8), every_claim=stride(48))
