"""Runs in worker processes: whatever a run does to its process is its result, and the others go on."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.core.executors.local import LOCAL, LocalChannel
from mtpp_dsl.core.executors.processes import descendants
from mtpp_dsl.language.lowering.lower import read
from mtpp_dsl.sweeps.file.problem_files import fingerprint
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.run.loop import Summary, run_sweep
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.hostile import install

TEXT = """mtpp 1
graph from generator chain (nodes = 8)
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
"""


def a_run(method: str = "single-device", **others: Any) -> Run:
    given = {"method": method, "label": method, "time_limit": 60.0, **others}
    key = hashlib.sha256(repr(sorted(given.items())).encode()).hexdigest()
    first = {"sweep": "s", "problem": "p", "spec": TEXT, "spec_sha256": fingerprint(read(TEXT), {}).digest}
    return Run(key=key, **{**first, **given})


def hostile(way: str, **others: Any) -> Run:
    return a_run("hostile", **{"label": way or "nothing", "options": {"way": way}, **others})


def swept(path: Path, runs: list[Run], **others: Any) -> tuple[Summary, dict[str, RunRow]]:
    """Return what a sweep says of itself, and its rows by label."""
    with Store.open(path) as store:
        summary = run_sweep(runs, store, LOCAL, **{"jobs": 2, "grace": 0.5, **others})
        return summary, {row.label: row for row in store.rows()}


def gone(pid: int) -> bool:
    """Return whether a process has ended, or ends within a second."""
    until = time.monotonic() + 1
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.01)
    return not Path(f"/proc/{pid}").exists()


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(install(tmp_path)))
    return tmp_path


def test_whatever_a_run_does_is_its_result(plugin: Path) -> None:
    """Crashes, exits, garbage, hanging and growing are recorded one by one, and a run after each is as ever."""
    notes = {way: str(plugin / way) for way in ("child_grows", "leaves_a_child")}
    quick, small = {"time_limit": 0.3}, {"memory_limit": 300_000_000}
    runs = [
        hostile(""),
        *(hostile(way) for way in ("raises", "leaves", "talks", "goes_elsewhere", "leaves_a_thread")),
        *(hostile(way) for way in ("exhausts", "segfaults", "is_killed", "forges")),
        hostile("holds_the_lock", **quick),
        hostile("grows", **small),
        hostile("child_grows", **small, options={"way": "child_grows", "note": notes["child_grows"]}),
        hostile("leaves_a_child", options={"way": "leaves_a_child", "note": notes["leaves_a_child"]}),
        a_run("heft"),
        a_run(label="other spec", spec_sha256="0" * 64),
        a_run(),
    ]
    summary, rows = swept(plugin / "db.sqlite", runs)
    assert (summary.recorded, summary.left, len(rows)) == (len(runs), 0, len(runs))
    statuses = {label: row.status for label, row in rows.items()}
    assert statuses == {
        **dict.fromkeys(("nothing", "talks", "goes_elsewhere", "leaves_a_thread", "single-device"), "feasible"),
        **dict.fromkeys(("raises", "leaves"), "error"),
        **dict.fromkeys(("segfaults", "is_killed", "forges", "leaves_a_child"), "crashed"),
        **dict.fromkeys(("exhausts", "grows", "child_grows"), "memory"),
        "holds_the_lock": "killed",
        "heft": "refused",
        "other spec": "changed",
    }
    assert summary.by_status == {status: list(statuses.values()).count(status) for status in statuses.values()}
    said = {
        "raises": "ValueError: a value that nobody expected",
        "leaves": "sys.exit(3)",
        "leaves_a_child": "ended with code 1",
        "segfaults": "SIGSEGV",
        "is_killed": "another process killed it",
        "holds_the_lock": "0.5 s beyond its time limit of 0.3 s",
        "grows": "its limit is 300 MB",
    }
    assert {label: words for label, words in said.items() if words not in rows[label].error} == {}
    for name in notes.values():
        assert gone(int(Path(name).read_text(encoding="ascii")))
    grown = rows["grows"].memory
    assert grown is not None
    assert 300_000_000 < grown < 4 << 30
    assert all(row.machine and row.versions["python"] and row.started < row.ended for row in rows.values())


class _Losing:
    """Starts workers on this machine, and kills the first ones as soon as they are told of a run."""

    name = summary = "losing"
    schemes = ()
    slots = room = 2

    def __init__(self, losses: int) -> None:
        self.losses, self.started = losses, 0

    def start(self, module: str) -> LocalChannel:
        self.started += 1
        channel = LOCAL.start(module)
        if self.started <= self.losses:
            tell = channel.tell

            def and_die(message: object) -> None:
                tell(message)
                os.kill(channel.pid, 9)

            channel.tell = and_die  # type: ignore[method-assign]
        return channel

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("losses", "status", "attempts"), [(2, "feasible", 3), (3, "lost", 3)])
def test_runs_of_lost_workers_are_begun_again(tmp_path: Path, losses: int, status: str, attempts: int) -> None:
    with Store.open(tmp_path / "db.sqlite") as store:
        run_sweep([a_run()], store, _Losing(losses), jobs=1)  # type: ignore[arg-type]
        (row,) = store.rows()
    assert (row.status, row.attempts) == (status, attempts)


class _Stopping:
    """Asks to stop when the first run has ended and another is under way."""

    def __init__(self, stop: Event) -> None:
        self.stop, self.began_at, self.names = stop, 0.0, [""]

    def began(self, run: Run) -> None:
        self.names.append(run.label)

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        Thread(target=self._stop_soon, daemon=True).start()

    def _stop_soon(self) -> None:
        time.sleep(0.3)
        self.began_at = time.monotonic()
        self.stop.set()


def test_a_stop_ends_what_is_under_way_and_keeps_what_is_done(plugin: Path) -> None:
    """Runs under way are not recorded, no process is left, and the same call goes on where it stopped."""
    stop = Event()
    watcher = _Stopping(stop)
    runs = [hostile(""), hostile("waits", time_limit=600.0), *(hostile("", seed=seed) for seed in (1, 2))]
    runs.insert(1, hostile("waits", time_limit=500.0))
    summary, rows = swept(plugin / "db.sqlite", runs, jobs=1, watcher=watcher, stop=stop)
    assert time.monotonic() - watcher.began_at < 5
    assert summary.interrupted
    assert (summary.recorded, summary.left, [*rows]) == (1, 4, ["nothing"])
    assert not [pid for pid in descendants(os.getpid()) if b"sweeps" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    again, rows = swept(plugin / "db.sqlite", [run for run in runs if run.label == "nothing"], jobs=1)
    assert (again.skipped, again.recorded, again.left, again.interrupted) == (1, 2, 0, False)


def test_results_that_cannot_be_written_end_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path / "db.sqlite") as store:

        def full(*_: object) -> bool:
            raise UsageError("the disk is full")

        monkeypatch.setattr(store, "put", full)
        with pytest.raises(UsageError, match="the disk is full"):
            run_sweep([a_run()], store, LOCAL, jobs=1)
    assert not [pid for pid in descendants(os.getpid()) if b"sweeps" in Path(f"/proc/{pid}/cmdline").read_bytes()]


class _None(_Losing):
    def start(self, module: str) -> LocalChannel:
        raise SolverError("there is no such cluster")


def test_no_worker_is_an_error(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db.sqlite") as store, pytest.raises(SolverError, match="no such cluster"):
        run_sweep([a_run()], store, _None(0), jobs=2)  # type: ignore[arg-type]
