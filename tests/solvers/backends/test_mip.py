"""Every MIP solver that is installed, and what all of them promise."""

from __future__ import annotations

import re
import subprocess
import sys
from ctypes import CDLL
from functools import cache
from pathlib import Path

import highspy
import pytest

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic, Linear, Load, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Backend
from mtpp_dsl.core.errors import Refused, SolverError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, available, load
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solvers.backends.mip import scip
from mtpp_dsl.solvers.backends.mip.bridge import Bridge
from mtpp_dsl.solvers.backends.mip.highs import set_options
from mtpp_dsl.solvers.backends.mip.model_files import not_above
from mtpp_dsl.solvers.backends.mip.programs import run
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solvers.runtime.lazy_highs import silent_highs
from tests.tree import files

NAMES = list(available(BACKENDS))


@pytest.fixture(params=NAMES)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each solver in turn; skips, visibly, one that is not installed."""
    found: Backend = load(BACKENDS, request.param)()
    state = found.available()
    if not state.ok:
        pytest.skip(f"{found.name} is not installed: {state.install}")
    return found


def problem(k: int = 3, *constraints: Linear | Memory, memory: float | None = None) -> Problem:
    graph = Graph.create(
        "abcdef",
        [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (4, 5)],
        work=[2, 3, 4, 3, 2, 5],
        output=[2, 1, 0.5, 3, 1, 4],
        params=[4, 1, 6, 2, 3, 5],
    )
    devices = [Device(f"d{i}", memory=memory) for i in range(k)]
    return Problem.create(graph, devices, Shared(2.0), constraints=[Acyclic(), *constraints])


def medium() -> Problem:
    """Some seconds' work, within the limits of a licence that pip installs."""
    graph = layered(60, 4, seed=2)
    return Problem.create(graph, [Device(f"d{i}") for i in range(4)], Shared(0.5), constraints=[Acyclic()])


def test_highs_is_silent_from_the_start(capfd: pytest.CaptureFixture[str]) -> None:
    """Some versions print who they are as soon as they are asked for anything, unless told before not to."""
    highs = silent_highs()
    highs.passModel(highspy.HighsLp())
    highs.run()
    CDLL(None).fflush(None)
    assert capfd.readouterr().out == ""
    noisy = [path for path in files() if "highspy.Highs()" in path.read_text(encoding="utf-8")]
    assert not noisy, "silent_highs() makes one that prints nothing"


RUNNING = """
from threading import enumerate
from time import sleep
import mtpp_dsl
from mtpp_dsl.solving.plugins.samples import large
running = mtpp_dsl.start(large(), "exact")
while running.bound is None or "highs" not in [thread.name for thread in enumerate()]:
    sleep(0.01)
"""


@pytest.mark.long
def test_a_script_ends_well_while_highs_runs() -> None:
    """An interpreter that took itself apart while HiGHS calls back would be aborted, after the last line."""
    ended = subprocess.run([sys.executable, "-c", RUNNING], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    "asked",
    [
        problem(),
        problem(2, Memory(), memory=18.0),
        problem(2, Linear(label="low", terms=((Load(0), 1.0), (Load(1), -1.0)), sense=">=", rhs=1.0)),
    ],
    ids=["plain", "memory", "row"],
)
def test_all_solvers_agree(backend: Backend, asked: Problem) -> None:
    """Law: the optimum does not depend on the solver, nor does its proof."""
    result = MipMethod(Exact(), backend.name).solve(asked, Limits(time=60.0), Progress())
    reference = MipMethod(Exact(), "highs").solve(asked, Limits(time=60.0), Progress())
    check_result(asked, result)
    assert result.status == "optimal", (result.termination, result.gap)
    assert result.cost == pytest.approx(reference.cost, rel=1e-9)
    assert result.bound is not None
    assert re.match(rf"{backend.name} \S*\d", result.bound.by)


def test_an_infeasible_model_is_proven_so(backend: Backend) -> None:
    """Law: no plan fits into so little memory, says each."""
    model = Exact().build(problem(2, Memory(), memory=13.0))
    outcome = backend.solve(model, Limits(time=60.0), Progress(), lambda *_: None)
    assert (outcome.termination, outcome.objective, outcome.bound) == ("infeasible", None, None)


def test_the_limit_separates_incumbent_and_bound(backend: Backend) -> None:
    """Law: at a time limit, what a solver gives as its bound is below the optimum, never its incumbent."""
    asked = medium()
    progress = Progress()
    result = MipMethod(Exact(), backend.name).solve(asked, Limits(time=2.0, start=_slices(asked)), progress)
    check_result(asked, result)
    best = _best_of_medium()
    bounds = [entry.bound for entry in progress.log if entry.bound is not None]
    assert all(bound <= best * (1 + 1e-9) for bound in bounds)
    if result.termination == "time_limit":
        assert result.bound is not None
        assert result.cost is not None
        assert result.bound.cost < result.cost


@cache
def _best_of_medium() -> float:
    best = MipMethod(Exact(), "highs").solve(medium(), Limits(time=60.0, gap=1e-3), Progress()).cost
    assert best is not None
    return best


def _slices(asked: Problem) -> Plan:
    where = [0] * asked.graph.n
    for position, v in enumerate(asked.graph.topological_order.tolist()):
        where[v] = position * asked.k // asked.graph.n
    return Plan.create(asked, where)


def test_an_unknown_option_is_an_error_that_names_it(backend: Backend) -> None:
    """Law: a misspelt option never passes in silence."""
    model = Exact().build(problem())
    limits = Limits(time=20.0, solver_options={"mip_rel_gab": 1})
    with pytest.raises(UsageError, match="mip_rel_gab"):
        backend.solve(model, limits, Progress(), lambda *_: None)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("highs", "time_limit"),
        ("scip", "limits/time"),
        ("cbc", "seconds"),
        ("glpk", "tmlim"),
        ("gurobi", "TimeLimit"),
    ],
)
def test_an_option_that_says_the_limits_again_is_refused(name: str, option: str) -> None:
    """Law: there is one way to give a limit; an option that contradicts it is not chosen between."""
    found: Backend = load(BACKENDS, name)()
    if not found.available().ok:
        pytest.skip(f"{name} is not installed")
    with pytest.raises(UsageError, match=option):
        found.solve(Exact().build(problem()), Limits(solver_options={option: 1}), Progress(), lambda *_: None)


def test_what_a_solver_cannot_do_is_refused(backend: Backend) -> None:
    """Law: several threads for a solver that has one is an error, not a shrug."""
    if "threads" in backend.features:
        assert backend.solve(Exact().build(problem()), Limits(threads=2), Progress(), lambda *_: None).bound
        return
    with pytest.raises(Refused, match="thread"):
        backend.solve(Exact().build(problem()), Limits(threads=2), Progress(), lambda *_: None)


def test_a_solver_that_is_not_there_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: asking for a missing solver is a SolverError with the command that installs it."""
    monkeypatch.setattr(scip, "package", lambda *_: Availability(ok=False, install="pip install x"))
    with pytest.raises(SolverError, match="pip install x"):
        MipMethod(Exact(), "scip").solve(problem(), Limits(), Progress())


def test_availability_imports_no_solver() -> None:
    """Law: asking what there is costs no import of any solver."""
    code = (
        "import sys\n"
        "from mtpp_dsl.registry import BACKENDS, load\n"
        "for name in ('scip', 'gurobi', 'cbc', 'glpk'):\n"
        "    load(BACKENDS, name)().available()\n"
        "print([m for m in ('pyscipopt', 'gurobipy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.long
def test_a_model_beyond_the_licence_says_so() -> None:
    """Law: a size limit is a SolverError with a way out."""
    if not load(BACKENDS, "gurobi")().available().ok:
        pytest.skip("gurobi is not installed")
    graph = layered(300, 6, seed=1)
    large = Problem.create(graph, [Device(f"d{i}") for i in range(8)], Shared(0.5), constraints=[Acyclic()])
    if _has_licence():
        pytest.skip("gurobi has a licence here")
    with pytest.raises(SolverError, match="--solver highs"):
        MipMethod(Exact(), "gurobi").solve(large, Limits(time=60.0), Progress())


def _has_licence() -> bool:
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.addVars(2100)
        try:
            model.optimize()
        except gurobipy.GurobiError:
            return False
    return True


@pytest.mark.parametrize(
    ("text", "digits", "below"),
    [("103.087", 6, 103.086), ("1.031358929e+02", 10, 103.1358928), ("-5", 6, -5.00001), ("0", 6, 0.0)],
)
def test_printed_bounds_are_read_downwards(text: str, digits: int, below: float) -> None:
    """Law: rounding in a solver's log never lifts a bound."""
    assert not_above(text, digits) == pytest.approx(below, rel=1e-12)
    assert not_above(text, digits) <= float(text)


def test_options_are_read_as_their_type() -> None:
    """Law: text from a command line becomes the option's type, or an error that says which."""
    highs = Bridge(Exact().build(problem())).highs
    set_options(highs, {"mip_max_nodes": "7", "mip_heuristic_effort": "0.5", "mip_detect_symmetry": "off"})
    assert highs.getOptionValue("mip_max_nodes")[1] == 7
    assert highs.getOptionValue("mip_detect_symmetry")[1] is False
    for name, value, word in (("mip_max_nodes", "many", "whole number"), ("presolve", "perhaps", "perhaps")):
        with pytest.raises(UsageError, match=word):
            set_options(highs, {name: value})
    with pytest.raises(UsageError, match="did you mean 'mip_rel_gap'"):
        set_options(highs, {"mip_relgap": 1})


def test_a_program_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: a solver that ignores an interrupt and its limit does not hold us up."""
    monkeypatch.setattr("mtpp_dsl.solvers.backends.mip.programs.GRACE", 0.3)
    deaf = (
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('here', flush=True); time.sleep(60)"
    )
    heard: list[str] = []
    progress = Progress()
    done = run([sys.executable, "-c", deaf], tmp_path, 0.5, progress, heard.append, can_stop=True)
    assert done.killed
    assert heard == ["here"]
