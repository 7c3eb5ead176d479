"""Methods that do not look at the clock, and what is kept of them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from threading import Event, Timer
from time import monotonic, sleep
from typing import Any

import pytest

from mtpp_dsl import solve
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Outcome
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.mip import highs
from tests.solvers.runtime.test_portfolio import problem_of
from tests.tree import ROOT

SLACK = 3.0
"""Seconds that a busy machine may take longer than its clock says."""


@dataclass
class Deaf:
    """Reports a plan and a bound, then hears and sees nothing until it is released; then it reports a lie."""

    name: str = "deaf"
    summary: str = ""
    gives: Any = "plan and bound"
    release: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    error: Exception | None = None
    share: float = 0.5
    first: float = 0.0

    def accepts(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        if self.error is not None:
            raise self.error
        self.release.wait(self.first)
        plan = Plan.create(problem, [0] * problem.graph.n)
        progress.report_plan(plan, evaluate(problem, plan).cost)
        progress.report_bound(Bound(self.share * evaluate(problem, plan).cost, self.name, "trusted", "test"))
        self.release.wait(60)
        progress.report_bound(Bound(1e9, self.name, "trusted", "a lie"))
        progress.report_plan(Plan.create(problem, [1] * problem.graph.n), 0.0)
        self.ended.set()
        return Result("complete", plan=plan, method=self.name)


def test_a_method_that_overruns_is_left_behind_with_what_it_reported() -> None:
    """Plan and bound count, the time limit is kept, and what comes later is not heard."""
    deaf, progress = Deaf(), Progress()
    began = monotonic()
    result = solve(problem_of(), deaf, time_limit=0.3, progress=progress)
    assert monotonic() - began < 0.3 + SLACK
    assert result.termination == "time_limit"
    assert result.verified
    assert result.bound is not None
    assert result.bound.method == "deaf"
    assert "still at work when its time was up" in " ".join(result.notes)
    deaf.release.set()
    assert deaf.ended.wait(10)
    sleep(0.05)
    assert progress.cost == result.cost
    assert progress.bound is not None
    assert progress.bound.cost < 1e9


def test_the_first_plan_may_come_a_moment_late() -> None:
    """A method that has no plan yet when its time is up is given another second, and no more."""
    late = Deaf(first=0.5)
    result = solve(problem_of(6), late, time_limit=0.3)
    late.release.set()
    assert result.plan is not None
    never = Deaf(first=30.0)
    began = monotonic()
    result = solve(problem_of(6), never, time_limit=0.3)
    never.release.set()
    assert result.plan is None
    assert 1.2 < monotonic() - began < 1.3 + SLACK


def test_nothing_was_cut_off_where_plan_and_bound_have_met() -> None:
    """Then a method that is still at work can find no more, and no note says that it was left behind."""
    deaf = Deaf(share=1.0)
    result = solve(problem_of(), deaf, time_limit=0.3)
    deaf.release.set()
    assert result.status == "optimal"
    assert not result.notes


def test_a_stop_ends_a_method_that_does_not_listen() -> None:
    """Also without a time limit: Ctrl-C leads to an answer."""
    deaf, progress = Deaf(), Progress()
    Timer(0.1, progress.stop).start()
    began = monotonic()
    result = solve(problem_of(), deaf, time_limit=None, progress=progress)
    deaf.release.set()
    assert monotonic() - began < 2 + SLACK
    assert result.termination == "interrupted"
    assert result.plan is not None


def test_what_a_method_raises_reaches_the_caller() -> None:
    """From its thread, as it is."""
    with pytest.raises(ZeroDivisionError, match="oops"):
        solve(problem_of(), Deaf(error=ZeroDivisionError("oops")), time_limit=5)


CALL = """
import sys, mtpp_dsl.core.registry as registry
from tests.solving.plugins.test_supervision import Deaf
registry_load = registry.load
registry.load = lambda group, name: Deaf if name == "met" else registry_load(group, name)
from mtpp_dsl.cli.main import main
sys.argv = ["mtpp", "solve", "examples/quickstart.mtpp", "--method", "met", "--time-limit", "1s", "-D", "k=3"]
main()
"""


def test_the_command_does_not_wait_for_what_it_left_behind() -> None:
    """The process ends with the answer on stdout, though a thread of it would go on for a minute."""
    spec = (ROOT / "examples" / "generated.mtpp").relative_to(ROOT)
    began = monotonic()
    done = subprocess.run(
        [sys.executable, "-c", CALL.replace("examples/quickstart.mtpp", spec.as_posix()).replace("k=3", "n=20")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "bottleneck" in done.stdout
    assert monotonic() - began < 30


def test_highs_hands_over_its_last_solution_when_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that does not come back from presolve or a heuristic keeps nothing to itself."""
    finish = highs._Run.finish
    outcomes: list[Outcome] = []

    def left(run: Any, limits: Limits) -> bool:
        finish(run, limits)
        return False

    solved = highs.Highs.solve

    def remembered(*arguments: Any) -> Outcome:
        outcomes.append(solved(*arguments))
        return outcomes[-1]

    monkeypatch.setattr(highs._Run, "finish", left)
    monkeypatch.setattr(highs.Highs, "solve", remembered)
    result = solve(problem_of(9), "exact", time_limit=30, seed=1)
    assert outcomes[0].objective is not None
    assert result.plan is not None
    assert result.termination == "interrupted"
