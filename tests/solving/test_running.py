"""Searches in the background end when they are told to, leave no process behind, and keep what they have found."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest

import mtpp_dsl
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import Refused, SolverError, UsageError
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"
HARD = """
graph from generator regal (nodes = 120, seed = 1)
device d[8]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="there is no /proc to look into")


class Slow(MethodBase):
    """Reports a plan, waits until it is stopped, and says so."""

    name = "slow"
    gives = "plan"

    def __init__(self) -> None:
        self.reported, self.stopped = Event(), Event()

    def accepts(self, problem: mtpp_dsl.Problem) -> str | None:
        return None if problem.k > 1 else "there is one device only"

    def solve(self, problem: mtpp_dsl.Problem, limits: Limits, progress: mtpp_dsl.Progress) -> mtpp_dsl.Result:
        plan = mtpp_dsl.Plan.create(problem, [0] * problem.graph.n)
        progress.report_plan(plan, mtpp_dsl.evaluate(problem, plan).cost)
        self.reported.set()
        while not progress.stopped and limits.remaining > 0:
            sleep(0.01)
        self.stopped.set()
        return progress.result(self.name, limits, progress.ended(limits) or "complete")


@pytest.fixture
def problem() -> mtpp_dsl.Problem:
    return mtpp_dsl.load(QUICK.read_text().replace("constraint memory\n", ""))


def children() -> set[int]:
    """Return the numbers of the processes that this one has started, and that have not ended."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(number) for number in read(task / "children").split()}
    return {
        number for number in found if "Z" not in (read(Path(f"/proc/{number}/stat")) or ") Z").rpartition(")")[2][:3]
    }


def read(path: Path) -> str:
    """Read a file of a thread or process; nothing if it has ended meanwhile."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_started(problem: mtpp_dsl.Problem) -> None:
    """A search goes on in the background: what it knows can be asked for, and it ends when it is told to."""
    method = Slow()
    running = mtpp_dsl.start(problem, method, time_limit=None)
    assert method.reported.wait(10)
    assert not running.done
    with pytest.raises(TimeoutError, match=r"has not ended yet: Running\("):
        running.result(timeout="50ms")
    known = running.best()
    assert (known.termination, known.verified, known.value) == ("running", True, running.incumbent)
    assert running.plan is not None
    assert running.plan["embed"] == "stage[0]"
    assert running.bound is None
    assert running.gap is None
    assert "incumbent 38 ms" in repr(running)
    running.stop()
    running.stop()
    result = running.result(timeout=10)
    assert (result.termination, result.cost) == ("interrupted", known.cost)
    assert method.stopped.is_set()
    assert running.best() is result
    assert repr(running).startswith("Running(ended: Result(feasible: bottleneck 38 ms")


def test_several_objectives() -> None:
    """Until the end, nothing is proved of the later ones of several objectives; then all of them are shown."""
    text = QUICK.read_text().replace(
        "minimize bottleneck", "minimize cost: sum(used(d) for d in devices)\nminimize latency"
    )
    problem = mtpp_dsl.load(text.replace("256 MiB", "1 GiB"))
    known: list[mtpp_dsl.Result] = []

    def listen(*_: object) -> None:
        if asked and asked[0].plan is not None:
            known.append(asked[0].best())

    asked: list[mtpp_dsl.Running] = []
    asked.append(mtpp_dsl.start(problem, "exact", time_limit="60s", progress=mtpp_dsl.Progress(listen)))
    result = asked[0].result()
    assert result.status == "optimal"
    assert repr(result).startswith("Result(optimal: cost 1, latency 38 ms, bound 1, gap 0 %, by exact in ")
    assert known
    assert {each.status for each in known} <= {"feasible", "optimal"}
    assert known[0].status == "feasible"
    assert known[0].verified


def test_block_ends_the_search(problem: mtpp_dsl.Problem) -> None:
    """At the end of a with block the search has ended, whatever happened in the block."""
    method = Slow()
    with suppress(ZeroDivisionError), mtpp_dsl.start(problem, method, time_limit=None) as running:
        assert method.reported.wait(10)
        _ = 1 / 0
    assert running.done
    assert running.result().plan is not None


def test_progress_may_be_a_function(problem: mtpp_dsl.Problem) -> None:
    """It is called with what is known whenever that is better; a result, which is true with a plan, is a plan, too."""
    heard: list[float | None] = []
    result = mtpp_dsl.solve(problem, time_limit=5, progress=lambda progress: heard.append(progress.incumbent))
    assert result.cost in heard
    assert result
    assert mtpp_dsl.verify(problem, result) == []
    nothing = mtpp_dsl.Result("time_limit")
    assert not nothing
    with pytest.raises(UsageError, match="this Result has no plan"):
        mtpp_dsl.evaluate(problem, nothing)
    with pytest.raises(UsageError, match="a plan is no path: read the answer first"):
        mtpp_dsl.verify(problem, "answer.json")  # type: ignore[arg-type]


def test_errors(problem: mtpp_dsl.Problem) -> None:
    """A call that is wrong is an error at once, or where the result is asked for."""
    with pytest.raises(UsageError, match=r"solve has no argument 'time_limt'; did you mean 'time_limit'"):
        mtpp_dsl.start(problem, time_limt=3)
    for function in (mtpp_dsl.start, mtpp_dsl.solve):
        with pytest.raises(UsageError, match=r"takes a problem, such as mtpp_dsl.load\('x.mtpp'\) gives, not a str"):
            function("x.mtpp")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"solve takes a problem, such as its method build\(\) gives, not a Builder"):
        mtpp_dsl.solve(mtpp_dsl.Builder())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="progress is a function that takes a Progress"):
        mtpp_dsl.start(problem, progress=3)  # type: ignore[arg-type]
    one = mtpp_dsl.load(QUICK, k=1)
    running = mtpp_dsl.start(one, Slow())
    with pytest.raises(Refused, match="there is one device only"):
        running.result(timeout=20)
    assert "Running(ended: Refused: " in repr(running)
    with pytest.raises(Refused, match="there is one device only"):
        asyncio.run(mtpp_dsl.solve_async(one, Slow()))
    failed = mtpp_dsl.start(problem, Failing())
    with pytest.raises(SolverError, match="no licence"):
        failed.result(timeout=20)


class Failing(Slow):
    """Fails before it has found anything."""

    def solve(self, problem: mtpp_dsl.Problem, limits: Limits, progress: mtpp_dsl.Progress) -> mtpp_dsl.Result:
        raise SolverError("no licence")


def test_event_loop_goes_on(problem: mtpp_dsl.Problem) -> None:
    """While a search is awaited, other coroutines run; several searches are awaited at once."""

    async def ticking() -> int:
        search = asyncio.gather(*(mtpp_dsl.solve_async(problem, "ideals", time_limit="20s") for _ in range(3)))
        ticks = 0
        while not search.done():
            ticks += 1
            await asyncio.sleep(0.001)
        assert {result.status for result in search.result()} == {"optimal"}
        return ticks

    assert asyncio.run(ticking()) > 1


def test_cancelled(problem: mtpp_dsl.Problem) -> None:
    """Cancelling the task stops the search before the cancellation is passed on; its best plan is still there."""

    async def cancelled() -> mtpp_dsl.Running:
        method = Slow()
        running = mtpp_dsl.start(problem, method, time_limit=None)

        async def wait() -> mtpp_dsl.Result:
            return await running

        task = asyncio.create_task(wait())
        await asyncio.to_thread(method.reported.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert method.stopped.is_set()
        return running

    running = asyncio.run(cancelled())
    assert running.done
    result = running.result()
    assert (result.termination, result.verified) == ("interrupted", True)


def test_timeout(problem: mtpp_dsl.Problem) -> None:
    """asyncio.timeout stops a search as a cancellation does."""
    method = Slow()

    async def timed() -> None:
        async with asyncio.timeout(0.2):
            await mtpp_dsl.solve_async(problem, method, time_limit=None)

    with pytest.raises(TimeoutError):
        asyncio.run(timed())
    assert method.stopped.is_set()


@LINUX
def test_no_process_is_left() -> None:
    """A search in several processes that is cancelled leaves none of them behind."""
    before = children()

    async def cancelled() -> mtpp_dsl.Progress:
        progress = mtpp_dsl.Progress()
        task = asyncio.create_task(
            mtpp_dsl.solve_async(mtpp_dsl.load(HARD), time_limit=None, threads=2, progress=progress)
        )
        until = monotonic() + 30
        while monotonic() < until and (progress.plan is None or not children() - before):
            await asyncio.sleep(0.05)
        assert children() - before
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return progress

    progress = asyncio.run(cancelled())
    assert progress.plan is not None
    until = monotonic() + 10
    while children() - before and monotonic() < until:
        sleep(0.05)
    assert not children() - before


@pytest.mark.long
@LINUX
def test_program_that_ends_leaves_no_process() -> None:
    """A program that ends without waiting for a search ends, and so do the processes of the search."""
    code = (
        "import mtpp_dsl, time, pathlib\n"
        f"running = mtpp_dsl.start(mtpp_dsl.load({HARD!r}), time_limit=None, threads=2)\n"
        "def known():\n"
        "    return [int(p) for t in pathlib.Path('/proc/self/task').iterdir()\n"
        "            for p in (t / 'children').read_text().split()]\n"
        "until = time.monotonic() + 30\n"
        "while not (running.plan and known()) and time.monotonic() < until: time.sleep(0.05)\n"
        "print(*known())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    numbers = done.stdout.split()
    assert numbers
    assert done.stderr == ""
    until = monotonic() + 10
    while any(Path(f"/proc/{number}").exists() for number in numbers) and monotonic() < until:
        sleep(0.05)
    assert not [number for number in numbers if Path(f"/proc/{number}").exists()]


@pytest.mark.long
def test_within_a_running_loop_beside_ortools() -> None:
    """In a notebook an event loop runs already, and ortools may have been imported first: both calls work."""
    code = (
        "import asyncio, ortools.sat.python.cp_model, mtpp_dsl\n"
        f"problem = mtpp_dsl.load({str(QUICK)!r})\n"
        "async def cell():\n"
        "    print(mtpp_dsl.solve(problem, 'exact', time_limit='30s').status)\n"
        "    print((await mtpp_dsl.solve_async(problem, 'exact', time_limit='30s')).status)\n"
        "    print((await mtpp_dsl.start(problem, time_limit='30s')).status)\n"
        "asyncio.run(cell())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.split() == ["optimal"] * 3
    assert done.stderr == ""
