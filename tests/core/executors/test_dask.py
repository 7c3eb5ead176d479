"""Processes on a Dask cluster: one cluster of two workers for all tests."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from time import monotonic, sleep

import pytest

from mtpp_dsl import Progress, load, solve
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Ended, UsageError
from mtpp_dsl.core.executors import dask as dask_executor
from mtpp_dsl.core.executors.addresses import open_executor
from mtpp_dsl.core.executors.dask import Dask
from mtpp_dsl.core.executors.dask_bridge import versions
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.language.lowering.lower import read
from mtpp_dsl.solvers.methods.bounds import Simple
from mtpp_dsl.solvers.methods.partition import SliceGraph
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import cores, run_together
from mtpp_dsl.solving.testing import check_executor
from mtpp_dsl.sweeps.file.problem_files import fingerprint
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.run.loop import run_sweep
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.store import Store

pytestmark = [
    pytest.mark.needs("distributed"),
    pytest.mark.skipif(sys.platform == "win32", reason="sends signals"),
]

ECHO = "mtpp_dsl.solving.plugins.echo"
MODULES = """
mtpp 1
graph from generator rwnn (model = "er", p = 0.2, nodes = 3, modules = 2, channels = 2, dependence = "strong", seed = 7)
device cpu (speed = 0.141, memory = 256 GiB)
device gpu (speed = 1.0, memory = 40 GiB)
interconnect links
link cpu <-> gpu (bandwidth = 24 GiB/s, latency = 10 us)
minimize makespan
"""
STAGES = """
mtpp 1
graph from generator regal (nodes = 8, seed = 3)
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""

DIGEST = fingerprint(read(STAGES), {}).digest


@pytest.fixture(scope="module")
def cluster() -> Iterator[Dask]:
    """Start a cluster beside another one, which has the usual port."""
    with socket.socket() as usual:
        with suppress(OSError):  # where it is taken already
            usual.bind(("127.0.0.1", 8787))
            usual.listen()
        executor = open_executor("local-cluster:2")
    assert isinstance(executor, Dask)
    yield executor
    executor.close()
    executor.close()  # may be called again


def test_it_keeps_the_laws(cluster: Dask) -> None:
    """The same laws as on this machine hold over the network."""
    assert cluster.slots == 2
    check_executor(cluster)


def test_a_worker_that_dies_ends_its_processes(cluster: Dask) -> None:
    """Its channel says so, its process dies with it, the other goes on, and a new one starts."""
    one, other = cluster.start(ECHO), cluster.start(ECHO)
    assert one.where != other.where
    one.tell(("processes", None))
    pid, worker = one.hear(10)
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(Ended, match=r"worker (\d of the cluster )?was lost"):
        one.hear(30)
    until = monotonic() + 10
    while _runs(pid) and monotonic() < until:
        sleep(0.05)
    assert not _runs(pid)
    other.tell(("echo", 1))
    assert other.hear(10) == 1
    third = cluster.start(ECHO)
    third.tell(("echo", 2))
    assert third.hear(10) == 2
    one.end()
    other.end()
    third.end()


def _runs(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_other_versions_are_refused(cluster: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with other versions is told which; so is one that nobody answers."""
    there = cluster._client.scheduler.address
    other = {**versions(), "highspy": "1.0.0", "python": "3.99"}
    with monkeypatch.context() as patched:
        patched.setattr(dask_executor, "versions", lambda: other)
        with pytest.raises(
            UsageError, match=r"other versions .* python 3\.\d+ there, 3.99 here; highspy .* 1.0.0 here"
        ):
            open_executor(there)
    monkeypatch.setattr(dask_executor, "CONNECT", 0.5)
    with pytest.raises(UsageError, match=r"no scheduler of Dask can be used at tcp://127.0.0.1:9"):
        open_executor("tcp://127.0.0.1:9")


@pytest.mark.parametrize(("spec", "method"), [(MODULES, "milp-split"), (MODULES, "decomposition"), (STAGES, "guess")])
def test_one_solve_spreads_over_it(cluster: Dask, spec: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes run there, and value and bound are those of this machine, with the same seed."""
    problem, started = load(spec), []
    start = cluster.start
    monkeypatch.setattr(cluster, "start", lambda module: started.append(module) or start(module))
    here, there = solve(problem, method, seed=1, threads=2), solve(problem, method, seed=1, scheduler=cluster)
    assert there.status == here.status
    assert there.cost == here.cost
    assert here.bound is not None
    assert there.bound is not None
    assert there.bound.cost == pytest.approx(here.bound.cost, rel=1e-7)
    assert started
    assert not cluster._channels


def test_lanes_of_auto_run_on_it(cluster: Dask) -> None:
    """Lanes tell one another of plans and bounds across workers, within the time of the limits."""
    problem, progress = load(STAGES), Progress()
    lanes = [[LaneTask(SliceGraph())], [LaneTask(Simple())]]
    results, notes = run_together(problem, lanes, Limits(time=60, executor=cluster), progress, to_the_end=True)
    assert sorted(result.method for result in results) == ["simple", "slicegraph"]
    assert notes == ()
    assert progress.plan is not None
    assert progress.bound is not None
    assert cores(Limits(executor=cluster, threads=9)) == 2


@pytest.mark.long
def test_a_bound_survives_workers_that_die(cluster: Dask) -> None:
    """The guess whose worker is killed is solved again elsewhere, and the answer is the same."""
    problem, killed = load(STAGES), []

    def kill(progress: Progress, _: object) -> None:
        channel = next(iter(cluster._channels.values()), None)
        if not killed and channel is not None and channel.link is not None:
            killed.append(channel.link.worker)
            cluster._client.run(_die, workers=[channel.link.worker], wait=False)

    watcher = Progress(kill)
    there = solve(problem, "guess", scheduler=cluster, progress=watcher)
    here = solve(problem, "guess")
    assert here.bound is not None
    assert there.bound is not None
    assert there.bound.cost == pytest.approx(here.bound.cost, rel=1e-7)
    assert killed


async def _die() -> None:
    os._exit(1)


@pytest.mark.long
def test_a_sweep_gives_the_same_rows(cluster: Dask, tmp_path: Path) -> None:
    """Each run has the status, value and bound that it has on this machine, also where its worker dies on the way."""
    runs = [Run(f"{seed:064}", "s", "p", STAGES, DIGEST, "random", "random", seed=seed) for seed in range(2)]
    killed: list[int] = []

    class Kills:
        def began(self, run: Run) -> None:
            if not killed:
                link = next(channel.link for channel in cluster._channels.values() if channel.link is not None)
                killed.append(1)
                cluster._client.run(_die, workers=[link.worker], wait=False)

        def ended(self, run: Run, outcome: RunOutcome) -> None:
            pass

    rows = {}
    for executor in (cluster, LOCAL):
        with Store.open(tmp_path / f"{executor.name}.sqlite") as store:
            watcher = Kills() if executor is cluster else None
            run_sweep(runs, store, executor, 2, watcher=watcher)
            rows[executor.name] = {row.key: (row.status, row.value, row.bound) for row in store.rows()}
            places = {row.worker for row in store.rows()}
        assert all(place.startswith("worker") for place in places) == (executor is cluster)
    assert len(rows["dask"]) == len(runs)
    assert {status for status, _, _ in rows["dask"].values()} == {"feasible"}
    assert rows["dask"] == rows["local"]
    assert killed


class Own:
    """A scheduler and a worker in processes of their own, which may be killed and started again."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[Popen[bytes]] = []

    def start(self) -> None:
        self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port))
        self._start("worker", self.address, "--nthreads", "1", "--no-nanny")

    def _start(self, what: str, *options: str) -> None:
        command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{what}", *options, "--no-dashboard"]
        self.processes.append(Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL))

    def listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.1):
            return True
        return False

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.processes.clear()


@pytest.mark.long
def test_a_sweep_survives_a_scheduler_that_restarts(tmp_path: Path) -> None:
    """The run that was under way is begun again on the worker that comes with the new scheduler, and no row is lost."""
    runs = [Run(f"{seed:064}", "s", "p", STAGES, DIGEST, "random", "random", seed=seed) for seed in range(3)]
    own, begun = Own(), list[Run]()

    class Restarts:
        def began(self, run: Run) -> None:
            begun.append(run)
            if len(begun) == 2:
                own.kill()
                own.start()

        def ended(self, run: Run, outcome: RunOutcome) -> None:
            pass

    with ExitStack() as stack:
        stack.callback(own.kill)
        own.start()
        until = monotonic() + 60
        while not own.listens() and monotonic() < until:
            sleep(0.1)
        executor = open_executor(own.address)
        stack.callback(executor.close)
        store = stack.enter_context(Store.open(tmp_path / "s.sqlite"))
        summary = run_sweep(runs, store, executor, 1, watcher=Restarts())
        rows = [(row.status, row.worker) for row in store.rows()]
    assert summary.by_status == {"feasible": 3}
    assert len(begun) == 3
    assert {status for status, _ in rows} == {"feasible"}
    assert rows[0][1] == "worker 1"
    assert rows[-1][1] == "worker 2"
