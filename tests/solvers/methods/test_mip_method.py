"""MIP methods: starts, limits, written models, infeasibility."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Forbid, Linear, Load, Memory, On, Pin, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.relaxations.superblocks import Guess, Superblock
from mtpp_dsl.solvers.backends.mip.highs import Highs
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from tests.models.test_exact import constrained_problems
from tests.oracle import optimum
from tests.strategies import plain_problems


def devices(k: int, memory: float | None = None) -> list[Device]:
    return [Device(f"d{i}", memory=memory) for i in range(k)]


def chain(*constraints: Constraint, k: int = 2, memory: float | None = None) -> Problem:
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[2, 3, 4, 1], output=1.0, params=10.0)
    return Problem.create(graph, devices(k, memory), Shared(2.0), constraints=[Acyclic(), *constraints])


@pytest.fixture(scope="module")
def hard() -> Problem:
    """A problem that HiGHS does not solve in seconds."""
    return Problem.create(layered(150, 6, seed=1), devices(6), Shared(0.5), constraints=[Acyclic()])


def slices(problem: Problem) -> Plan:
    """Equal slices of a topological order."""
    order = problem.graph.topological_order
    where = [0] * problem.graph.n
    for position, v in enumerate(order.tolist()):
        where[v] = position * problem.k // problem.graph.n
    return Plan.create(problem, where)


@pytest.mark.long
def test_a_time_limit_gives_a_bound_that_is_no_incumbent(hard: Problem) -> None:
    """Law: stopped early, the incumbent and the dual bound are two numbers, and the time is kept."""
    began = monotonic()
    result = MipMethod(Exact(), "highs").solve(hard, Limits(time=4.0, threads=1, start=slices(hard)), Progress())
    assert monotonic() - began < 9
    check_result(hard, result)
    assert (result.status, result.termination) == ("feasible", "time_limit")
    assert result.bound is not None
    assert result.cost is not None
    assert result.gap is not None
    assert result.gap > 0.01
    assert set(result.time) == {"build", "solve", "total"}


def test_a_start_is_never_lost(hard: Problem) -> None:
    """Law: with no time at all, the plan one started from is the plan one gets."""
    start = slices(hard)
    progress = Progress()
    result = MipMethod(Exact(), "highs").solve(hard, Limits(time=0.2, threads=1, start=start), progress)
    assert result.cost is not None
    assert result.cost <= evaluate(hard, start).cost
    assert progress.plan is not None


def test_the_solver_takes_the_start(hard: Problem) -> None:
    """Law: the start completes to a solution of its own cost, before any search."""
    model = Exact().build(hard)
    start = slices(hard)
    Exact().start(hard, model, start)
    options = {"presolve": "off", "mip_max_nodes": 0, "mip_heuristic_effort": 0.0}
    outcome = Highs().solve(model, Limits(time=60.0, threads=1, solver_options=options), Progress(), lambda *_: None)
    assert outcome.objective is not None
    assert outcome.objective * model.cost_scale <= evaluate(hard, start).cost * (1 + 1e-9)


def test_a_start_that_is_no_plan_is_dropped_and_said() -> None:
    """Law: a start that breaks a constraint does not become the answer."""
    problem = chain(Pin(nodes=(0,), devices=(1,)))
    start = Plan.create(problem, [0, 0, 0, 0])
    result = MipMethod(Exact(), "highs").solve(problem, Limits(start=start, threads=1), Progress())
    assert any("start was dropped" in note for note in result.notes)
    assert result.cost == optimum(problem)


@pytest.mark.parametrize("formulation", [Exact(), Guess()])
def test_an_interrupt_keeps_what_is_known(hard: Problem, formulation: Exact | Guess) -> None:
    """Law: asked to stop, a solve is back within seconds with plan and bound as they were."""
    progress = Progress()
    timer = threading.Timer(0.5, progress.stop)
    timer.start()
    began = monotonic()
    result = MipMethod(formulation, "highs").solve(hard, Limits(threads=1, start=slices(hard)), progress)
    timer.join()
    assert monotonic() - began < 12
    check_result(hard, result)
    assert result.termination == "interrupted"
    assert result.plan is not None


def test_progress_hears_incumbents_and_bounds_as_they_come(hard: Problem) -> None:
    """Law: the log moves while the solver works, bounds up and incumbents down."""
    progress = Progress()
    MipMethod(Exact(), "highs").solve(hard, Limits(time=2.0, threads=1, start=slices(hard)), progress)
    bounds = [entry.bound for entry in progress.log if entry.bound is not None]
    costs = [entry.incumbent for entry in progress.log if entry.incumbent is not None]
    assert bounds == sorted(bounds)
    assert costs == sorted(costs, reverse=True)
    assert progress.log[0].time < 2.0


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_a_written_model_has_the_same_optimum(tmp_path: Path, suffix: str) -> None:
    """Law: the file, read by a solver on its own, has the optimum of the model that was solved."""
    import highspy

    problem = chain(Separate(nodes=(0, 3)), Linear(label="r", terms=((Load(0), 1.0),), sense=">=", rhs=5.0), k=3)
    path = tmp_path / f"model{suffix}"
    result = MipMethod(Exact(), "highs").solve(problem, Limits(write_model=path, threads=1), Progress())
    assert "objective" in path.read_text()
    reader = highspy.Highs()
    reader.setOptionValue("output_flag", False)
    reader.readModel(str(path))
    reader.run()
    assert result.cost == pytest.approx(
        reader.getInfo().objective_function_value * Exact().build(problem).cost_scale, rel=1e-7
    )
    assert any("written model" in note for note in result.notes)


def test_a_family_writes_a_file_for_each_member(tmp_path: Path) -> None:
    """Law: the members' files are named after them."""
    MipMethod(Guess(), "highs").solve(chain(k=3), Limits(write_model=tmp_path / "g.lp", threads=1), Progress())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g-j1.lp", "g-j2.lp", "g-j3.lp"]


@pytest.mark.parametrize("name", ["model.txt", "no/such/folder.lp"])
def test_a_model_that_cannot_be_written_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """Law: a suffix or folder that will not do is said before any solving."""
    with pytest.raises(UsageError, match="cannot write"):
        MipMethod(Exact(), "highs").solve(chain(), Limits(write_model=tmp_path / name, threads=1), Progress())


def test_a_clash_that_counting_misses_is_found_and_minimal() -> None:
    """Law: the constraints reported cannot hold together, and any of them dropped leaves a plan."""
    problem = chain(
        Pin(nodes=(0,), devices=(0,), origin="s.mtpp:1"),
        Pin(nodes=(1,), devices=(1,), origin="s.mtpp:2"),
        Pin(nodes=(2,), devices=(0,), origin="s.mtpp:3"),
        Pin(nodes=(3,), devices=(0, 1), origin="s.mtpp:4"),
    )
    assert quick(problem) is None
    result = MipMethod(Exact(), "highs").solve(problem, Limits(threads=1), Progress())
    assert result.status == "infeasible"
    assert result.plan is None
    assert result.infeasibility is not None
    assert result.infeasibility.minimal
    assert result.infeasibility.clash == ("acyclic", "pin (s.mtpp:1)", "pin (s.mtpp:2)", "pin (s.mtpp:3)")


def test_the_rows_of_one_statement_clash_as_one() -> None:
    """Law: a forall that expands to many rows is one item of a clash."""
    rows = [
        Linear(label=f"high[d{d}]", terms=((Load(d), 1.0),), sense=">=", rhs=5.4, origin="s.mtpp:7") for d in range(2)
    ]
    problem = chain(*rows, Linear(label="low", terms=((Load(0), 1.0),), sense="<=", rhs=5.0))
    result = MipMethod(Exact(), "highs").solve(problem, Limits(threads=1), Progress())
    assert result.infeasibility is not None
    assert result.infeasibility.clash == ("high (s.mtpp:7)", "low")


GiB = 2.0**30


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (lambda: chain(Pin(nodes=(0,), devices=(0,)), Forbid(nodes=(0,), devices=(0,))), ["a", "pin", "forbid"]),
        (lambda: chain(Memory(), memory=5.0), ["a takes 11", "d0", "has 5"]),
        (lambda: chain(Memory(), memory=15.0), ["44", "30"]),
        (lambda: chain(Memory(), Colocate(nodes=(0, 1)), memory=15.0), ["a and b take 22", "15"]),
        (lambda: chain(Separate(nodes=(0, 1, 2))), ["a, b and c", "3 devices", "2 devices"]),
        (lambda: chain(Colocate(nodes=(0, 1)), Separate(nodes=(1, 0))), ["a and b", "together and apart"]),
        (lambda: chain(Linear(label="never", terms=(), sense=">=", rhs=1.0)), ["never", "at most 0"]),
        (
            lambda: chain(Linear(label="most", terms=((On(0, 0), 1.0), (On(0, 1), 2.0)), sense=">=", rhs=3.0)),
            ["most", "at most 2"],
        ),
    ],
)
def test_counting_finds_and_names_what_is_impossible(problem: Callable[[], Problem], words: list[str]) -> None:
    """Law: each kind of contradiction is found without a solver, in the names and sizes of the spec."""
    found = quick(problem())
    assert found is not None
    text = f"{found.reason} {' '.join(found.clash)}"
    assert all(word in text for word in words), text
    assert optimum(problem()) is None


def test_sizes_are_said_in_units() -> None:
    """Law: bytes are reported as people write them."""
    graph = Graph.create("ab", [], work=1.0, params=3 * GiB, size_unit="B", work_unit="s")
    problem = Problem.create(graph, devices(2, 2 * GiB), Shared(1.0), constraints=[Memory()])
    found = quick(problem)
    assert found is not None
    assert "3 GiB" in found.reason
    assert "2 GiB" in found.reason


@given(st.one_of(constrained_problems(), plain_problems(4)))
def test_counting_never_calls_a_feasible_problem_infeasible(problem: Problem) -> None:
    """Law: whatever has a plan passes."""
    if quick(problem) is not None:
        assert optimum(problem) is None


def test_relaxations_need_no_backend_of_their_own() -> None:
    """Law: the solver of the limits is used where none was given."""
    result = MipMethod(Superblock()).solve(chain(), Limits(solver="highs", threads=1), Progress())
    assert result.solver == "highs"


def test_models_are_built_by_one_thread_at_a_time() -> None:
    """Law: no build begins within another, which may be that of a method left behind when its time was up.

    Pyomo changes how its sets are gone through, for all threads, while it makes a template of a rule.
    """
    inside, most = 0, 0

    class Watched(Exact):
        def build(self, problem: Problem) -> object:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            model = super().build(problem)
            inside -= 1
            return model

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        found: list[float | None] = []

        def solve() -> None:
            result = MipMethod(Watched()).solve(chain(), Limits(threads=1), Progress())
            found.append(None if result.plan is None else evaluate(chain(), result.plan).cost)

        threads = [threading.Thread(target=solve) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == [optimum(chain())] * 3
    assert most == 1
