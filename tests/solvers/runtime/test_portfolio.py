"""Methods in processes of their own that tell one another what they find."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.methods.bounds import Simple
from mtpp_dsl.solvers.methods.partition import SliceGraph
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, run_lane
from mtpp_dsl.solvers.runtime.portfolio.race import cores, run_together
from mtpp_dsl.solving.api import solve
from tests.tree import ROOT


def problem_of(nodes: int = 12, k: int = 3) -> Problem:
    graph = regal(nodes, "ba", "own-memory", 1)
    return Problem.create(graph, [Device(f"d[{i}]") for i in range(k)], Shared(1.0), constraints=[Acyclic()])


@dataclass(frozen=True)
class Waits:
    """Waits until it has heard of a plan and of a bound, and says so by a bound of its own: half of the plan's cost."""

    name: str = "waits"
    summary: str = ""
    gives: Any = "bound"

    def accepts(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        while not progress.stopped and limits.remaining > 0:
            if progress.cost is not None and progress.bound is not None:
                bound = Bound(0.99 * progress.cost, "waits", "trusted", "test")
                progress.report_bound(bound)
                return Result("complete", bound=bound, method=self.name)
            sleep(0.01)
        return Result("time_limit", method=self.name)


@dataclass(frozen=True)
class Sleeps:
    """Listens to nobody."""

    name: str = "sleeps"
    summary: str = ""
    gives: Any = "plan"

    def accepts(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        progress.report_plan(Plan.create(problem, [0] * problem.graph.n), evaluate_all_on_one(problem))
        sleep(600)
        raise AssertionError


def evaluate_all_on_one(problem: Problem) -> float:
    return evaluate(problem, Plan.create(problem, [0] * problem.graph.n)).cost


@dataclass(frozen=True)
class Deaf(Sleeps):
    """Lets no other thread of its process run, so that nothing sent to it is read."""

    name: str = "deaf"

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        ctypes.PyDLL(None).sleep(120)
        return Result("complete", method=self.name)


@dataclass(frozen=True)
class Talks(Sleeps):
    """Reports more plans than a pipe holds."""

    name: str = "talks"

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        for number in range(2000):
            progress.report_plan(Plan.create(problem, [0] * problem.graph.n), 1e9 - number)
        return Result("complete", method=self.name)


@dataclass(frozen=True)
class Breaks:
    """Fails in one of several ways."""

    how: str
    name: str = "breaks"
    summary: str = ""
    gives: Any = "plan"

    def accepts(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        if self.how == "raises":
            raise ValueError("no good")
        if self.how == "dies":
            os._exit(3)
        if self.how == "prints":
            print("not a message")
            os.write(1, b"nor is this\n")
            return Result("complete", method=self.name)
        return Result("infeasible", method=self.name, infeasibility=Infeasibility("there is no room"))


@dataclass(frozen=True)
class Fails(Sleeps):
    """Reports a plan, or nothing, and its solver fails."""

    finds: bool = True
    name: str = "fails"

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        if self.finds:
            progress.report_plan(Plan.create(problem, [0] * problem.graph.n), evaluate_all_on_one(problem))
        raise SolverError("the process of CP-SAT died: it was killed")


@dataclass(frozen=True)
class Unpicklable(Waits):
    """Cannot be sent."""

    name: str = "unpicklable"

    def __reduce__(self) -> Any:
        raise TypeError("stays here")


class Choosy(Waits):
    """Accepts nothing."""

    def accepts(self, problem: Problem) -> str | None:
        return "no"


def test_lanes_hear_of_one_another() -> None:
    """A plan found in one process and a bound known before are told to another, and its bound comes back."""
    problem, progress = problem_of(), Progress()
    Simple().solve(problem, Limits(), progress)
    results, notes = run_together(
        problem, [[LaneTask(SliceGraph())], [LaneTask(Waits())]], Limits(time=60, gap=0.2), progress
    )
    assert notes == ()
    assert progress.plan is not None
    assert not verify(problem, progress.plan)
    assert progress.bound is not None
    assert progress.bound.method == "waits"
    assert {result.method for result in results} <= {"slicegraph", "waits"}


def test_a_closed_gap_ends_all() -> None:
    """When plan and bound meet, a process that does not listen is stopped too."""
    problem, progress = problem_of(k=1), Progress()
    began = monotonic()
    run_together(problem, [[LaneTask(Sleeps())], [LaneTask(Simple())]], Limits(time=300), progress)
    assert monotonic() - began < 30
    assert progress.bound is not None
    assert progress.cost == pytest.approx(progress.bound.cost)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="sleeps by the C library")
def test_one_that_does_not_read_holds_up_nobody() -> None:
    """A process that reads none of what it is told, however much that is, is stopped with the others."""
    progress, began = Progress(), monotonic()
    results, _ = run_together(problem_of(), [[LaneTask(Deaf())], [LaneTask(Talks())]], Limits(time=6.0), progress)
    assert monotonic() - began < 25
    assert [result.method for result in results] == ["talks"]
    assert progress.cost == 1e9 - 1999


def test_files_of_the_working_folder_are_no_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is called like a module of the standard library does not stop the processes."""
    (tmp_path / "random.py").write_text("raise SystemExit('not this one')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    progress = Progress()
    _, notes = run_together(
        problem_of(), [[LaneTask(SliceGraph(orders=1))], [LaneTask(Simple())]], Limits(time=60), progress
    )
    assert notes == ()
    assert progress.plan is not None


def test_time_and_interrupts_end_it() -> None:
    """The time limit and a request to stop are obeyed, and what was found is kept."""
    asked = Progress(lambda progress, _: progress.stop() if progress.plan is not None else None)
    for progress, limits in ((asked, Limits()), (Progress(), Limits(time=4.0))):
        began = monotonic()
        run_together(problem_of(), [[LaneTask(Sleeps())]], limits, progress)
        assert monotonic() - began < 30
        assert progress.plan is not None


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("how", "said"), [("raises", "ValueError: no good"), ("dies", "ended with code 3")])
def test_a_task_that_fails_is_told_of(how: str, said: str) -> None:
    """The others go on, so does the lane, and the results say what failed; a process that dies is started once more."""
    problem, progress = problem_of(), Progress()
    lanes = [[LaneTask(Breaks(how)), LaneTask(Simple())], [LaneTask(SliceGraph())]]
    results, notes = run_together(problem, lanes, Limits(time=60), progress)
    assert progress.plan is not None
    assert progress.bound is not None
    failed = [result for result in results if result.termination == "error"]
    assert [(result.method, said in result.notes[0]) for result in failed] == [("breaks", True)]
    assert [said in note for note in notes] == [True] * (how == "dies")


@dataclass(frozen=True)
class Killed(Sleeps):
    """Finds a plan, and is then killed from outside: as often as there are names of files in *folder* to be made."""

    folder: Path = Path()
    times: int = 1
    name: str = "killed"

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        plan = Plan.create(problem, [0] * problem.graph.n)
        progress.report_plan(plan, evaluate(problem, plan).cost)
        for number in range(self.times):
            marker = self.folder / str(number)
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return Result("complete", method=self.name)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_one_killed_once_ends_its_work(tmp_path: Path) -> None:
    """The method that a killed process was at is run again; nothing is missing, and a note tells of it."""
    results, notes = run_together(problem_of(), [[LaneTask(Killed(folder=tmp_path))]], Limits(time=60), Progress())
    assert [result.termination for result in results] == ["complete"]
    assert len(notes) == 1
    assert "it was killed" in notes[0]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_all_killed_is_not_complete(tmp_path: Path) -> None:
    """Where every process is killed, again and again, the answer is the best until then, and ended by a failure."""
    lanes = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        lanes.append([LaneTask(Killed(folder=folder, times=9, name=name))])

    class Run(AutoSteps):
        def result(self) -> Result:
            self.at_once(lanes)
            return self.answer()

    result = Run(problem_of(), Limits(time=60), Progress()).result()
    assert result.termination == "error"
    assert result.plan is not None
    assert sum("failed: it was killed" in note for note in result.notes) == 2


def test_a_solver_that_fails_ends_its_own_work_alone() -> None:
    """In a lane the next method has its turn; alone, what the method has reported is kept, and nothing hides that."""
    problem = problem_of()
    progress = Progress()
    results = run_lane(problem, [LaneTask(Fails()), LaneTask(Simple())], Limits(time=60), progress)
    assert [result.termination for result in results] == ["error", "complete"]
    alone = solve(problem, Fails())
    assert alone.termination == "error"
    assert alone.plan is not None
    assert "it was killed" in alone.notes[0]
    with pytest.raises(SolverError):
        solve(problem, Fails(finds=False))


def test_what_a_method_prints_is_no_message() -> None:
    """Standard output of a lane does not disturb what it tells."""
    results, notes = run_together(problem_of(), [[LaneTask(Breaks("prints"))]], Limits(time=60), Progress())
    assert [result.termination for result in results] == ["complete"]
    assert notes == ()


def test_infeasible_ends_all() -> None:
    """A proof that there is no plan is handed over, and nobody goes on."""
    began = monotonic()
    results, _ = run_together(
        problem_of(), [[LaneTask(Breaks("infeasible"))], [LaneTask(Sleeps())]], Limits(time=300), Progress()
    )
    assert monotonic() - began < 30
    assert [result.infeasibility.reason for result in results if result.infeasibility] == ["there is no room"]


def test_without_processes_lanes_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be sent to a process, or where none can be started, the methods run one after another."""
    problem = problem_of()
    for broken in (False, True):
        if broken:
            monkeypatch.setattr(sys, "executable", "/nowhere/python")
        progress = Progress()
        Simple().solve(problem, Limits(), progress)
        lanes = [[LaneTask(SliceGraph())], [LaneTask(Unpicklable())]]
        results, notes = run_together(problem, lanes, Limits(time=60), progress)
        assert notes == ()
        assert "unpicklable" in {result.method for result in results}


def test_tasks_follow_one_another() -> None:
    """A lane runs its tasks in order; one that does not accept the problem is left out."""
    progress = Progress()
    tasks = [LaneTask(Choosy()), LaneTask(SliceGraph(), seconds=5.0), LaneTask(Simple())]
    results, _ = run_together(problem_of(), [tasks], Limits(time=60), progress)
    assert [result.method for result in results] == ["slicegraph", "simple"]


def test_threads_are_the_number_of_processes() -> None:
    """``--threads`` says how many; without, the cores of the machine."""
    assert cores(Limits(threads=3)) == 3
    assert cores(Limits()) >= 1


@pytest.mark.long
def test_many_reports_at_once_are_kept_in_order() -> None:
    """Costs only fall and bounds only rise in the log, however the lanes' messages interleave."""
    problem, progress = problem_of(40, 6), Progress()
    lanes = [[LaneTask(SliceGraph(), seed=seed)] for seed in range(2)] + [[LaneTask(Simple())]]
    run_together(problem, lanes, Limits(time=60), progress)
    costs = [entry.incumbent for entry in progress.log if entry.incumbent is not None]
    assert costs == sorted(costs, reverse=True)
    assert costs


HIDDEN = """
from pathlib import Path
from ortools.sat.python import cp_model
import mtpp_dsl
from mtpp_dsl.errors import UsageError

if __name__ == "__main__":
    problem = mtpp_dsl.load("examples/quickstart.mtpp")
    exact = mtpp_dsl.solve(problem, "exact", time_limit=30, write_model=Path("FOLDER") / "m.lp", threads=2)
    assert exact.status == "optimal" and exact.solver == "highs" and exact.verified, exact
    assert (Path("FOLDER") / "m.lp").exists()
    assert mtpp_dsl.solve(problem, time_limit=30).status == "optimal"
    try:
        mtpp_dsl.solve(problem, "exact", solver_options={"nonsense": 1})
    except UsageError as error:
        assert str(error).startswith("HiGHS has no option"), error
    else:
        raise AssertionError("a wrong option was taken")
"""


@pytest.mark.long
def test_ortools_imported_first(tmp_path: Path) -> None:
    """Where OR-tools has loaded its own HiGHS, ours solves in a process of its own, as it would here."""
    pytest.importorskip("ortools")
    code = HIDDEN.replace("FOLDER", str(tmp_path))
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
