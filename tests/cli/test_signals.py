"""Signals, closed streams and the deaths of processes: the answer is kept, nobody is left behind, no traceback."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.cli.screen import Lossy
from mtpp_dsl.cli.signals import HEARD, TWICE, Listener
from mtpp_dsl.solvers.methods.trivial import SingleDevice
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"
UNEQUAL = QUICK.with_name("unequal.mtpp")
HARD = """
graph from generator regal (nodes = 120, model = "er", seed = 1)
device d[8]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""
MTPP = [sys.executable, "-m", "mtpp_dsl"]


def start(*arguments: str, **settings: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MTPP, *arguments], stdout=settings.get("stdout", subprocess.PIPE), stderr=subprocess.PIPE, text=True
    )


def with_parents() -> dict[int, tuple[int, str]]:
    """Return the parent and the command line of every process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
            if state != "Z":
                found[int(folder.name)] = (
                    int(parent),
                    (folder / "cmdline").read_text(errors="replace").replace("\0", " "),
                )
        except OSError:
            continue
    return found


def below(pid: int) -> set[int]:
    """Return the processes that *pid* has started, and those that they have."""
    parents = with_parents()
    found, new = set[int](), {pid}
    while new:
        new = {child for child, (parent, _) in parents.items() if parent in new}
        found |= new
    return found


def started_by(child: subprocess.Popen[str], name: str) -> set[int]:
    """Wait until *child* has started a process called *name*, and return all that it has started."""
    until = time.monotonic() + 60
    while not any(name in with_parents().get(pid, (0, ""))[1] for pid in below(child.pid)):
        assert time.monotonic() < until
        assert child.poll() is None, child.communicate()
        time.sleep(0.05)
    time.sleep(0.3)
    return below(child.pid)


def left(pids: set[int], seconds: float) -> list[str]:
    """Return the command lines of those processes that are still there after *seconds*."""
    until = time.monotonic() + seconds
    while (alive := pids & with_parents().keys()) and time.monotonic() < until:
        time.sleep(0.05)
    return [with_parents()[pid][1] for pid in alive if pid in with_parents()]


class Left(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    """Return a listener that raises :class:`Left` with its exit code where it would end the process."""

    def leave(code: int) -> None:
        raise Left(code)

    monkeypatch.setattr("mtpp_dsl.cli.signals.os._exit", leave)
    return Listener()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_a_signal_does(
    listener: Listener, number: int, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before a search it ends the process; in it, it stops the search; after it, nothing; the second always ends."""
    now = 100.0
    monkeypatch.setattr("mtpp_dsl.cli.signals.monotonic", lambda: now)
    with pytest.raises(Left, match=str(code)):
        listener.hear(number)
    stops = []
    with listener.searching(lambda: stops.append(True)):
        now += 1
        listener.hear(number)
        assert stops == [True]
        assert listener.stopped_by == number
        assert listener.exit_code(number) == code
        now += TWICE / 2
        listener.hear(number)  # a wrapper's second copy of it
        listener.search_ended()
        now += TWICE
        with pytest.raises(Left, match=str(code)):
            listener.hear(number)
    with listener.searching(lambda: stops.append(True)):
        listener.search_ended()
        now += 1
        listener.hear(number)
        assert listener.stopped_by is None
        now += TWICE
        with pytest.raises(Left, match=str(code)):
            listener.hear(number)
    assert stops == [True]
    said = capfd.readouterr().err
    assert "stopping, with the best plan and bound so far" in said
    assert "is being written" in said


def test_the_signals_of_the_system_are_heard() -> None:
    """Those that a system does not have are left out, wherever it runs."""
    assert {signal.SIGINT, signal.SIGTERM} <= HEARD.keys()


MOMENTS = [0.15, 0.4, 0.8, 1.3]
"""A full sweep is ``python -m tests.tools.sweep_signals``."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_at_any_moment(name: str, tmp_path: Path) -> None:
    """No traceback, an exit code that says what happened, and an answer or a plain message."""
    from tests.tools.sweep_signals import complaint, interrupted

    for moment in MOMENTS:
        assert complaint(interrupted(QUICK, getattr(signal, name), moment)) is None, moment


def test_a_second_signal_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first signal of a search stops it, its copies count once, and a second one ends the process."""
    now, left, stopped = [10.0], [], []
    heard = Listener()
    monkeypatch.setattr("mtpp_dsl.cli.signals.monotonic", lambda: now[0])
    monkeypatch.setattr(heard, "_leave", lambda number, message: left.append((number, message)))
    with heard.searching(lambda: stopped.append(True)):
        heard.hear(signal.SIGTERM)
        now[0] += TWICE / 2
        heard.hear(signal.SIGTERM)
        assert (len(stopped), left) == (1, [])
        now[0] += 2 * TWICE
        heard.hear(signal.SIGTERM)
    assert (len(stopped), left) == (1, [(signal.SIGTERM, "terminated: quit at once")])


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_second_sigterm_ends_at_once(tmp_path: Path) -> None:
    """With nothing left behind; test_cli.py has what a first one does."""
    spec = tmp_path / "hard.mtpp"
    spec.write_text(HARD)
    child = start("solve", str(spec), "--time-limit", "60s", "--threads", "2")
    started = started_by(child, "portfolio.lane")
    child.send_signal(signal.SIGTERM)
    time.sleep(2 * TWICE)
    ended = child.poll() is not None
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=30)
    printed = "method" in out  # it was quicker than we are
    assert ended or printed or "quit at once" in err
    assert child.returncode == 143
    assert "Traceback" not in err
    assert left(started, 5.0) == []


@pytest.mark.sampled(3)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    ("spec", "arguments", "process"),
    [
        (HARD, ["--threads", "2"], "portfolio.lane"),
        (HARD, ["--method", "exact", "--solver", "cbc"], "cbc"),
        (UNEQUAL.read_text(), ["-D", "width=9", "--method", "moirai", "--solver", "cp-sat"], "cpsat.cpsat_worker"),
    ],
)
def test_nobody_survives_us(spec: str, arguments: list[str], process: str, tmp_path: Path) -> None:
    """Killed, which nobody can act upon, a run leaves its best answer and no process behind."""
    path = tmp_path / "hard.mtpp"
    path.write_text(spec)
    kept = tmp_path / "kept.json"
    child = start("solve", str(path), "--time-limit", "60s", "--checkpoint", str(kept), *arguments)
    started = started_by(child, process)
    until = time.monotonic() + 10
    while not (kept.exists() and json.loads(kept.read_text())["plan"]) and time.monotonic() < until:
        time.sleep(0.05)
    child.kill()
    child.communicate()
    assert left(started, 5.0) == []
    assert run(["verify", str(path), str(kept), *[word for word in arguments if word in ("-D", "width=9")]]) == 0


@pytest.mark.parametrize("command", [["solve", str(QUICK)], ["solvers"], ["--help"]])
def test_a_pipe_that_ends(command: list[str]) -> None:
    """Output that nobody reads costs neither the exit code nor a traceback, not even when the interpreter ends."""
    read, write = os.pipe()
    os.close(read)
    child = start(*command, stdout=write)
    os.close(write)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0
    assert "Broken" not in err
    assert "Traceback" not in err


@pytest.mark.sampled(2)
@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    """With closed streams the answer is written all the same, and nothing else gets into it."""
    answer = tmp_path / "a.json"
    line = f'exec "$@" {closed}'
    command = ["sh", "-c", line, "sh", *MTPP, "solve", str(QUICK), "--json", str(answer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert answer.read_text().startswith("{")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full")
def test_a_full_disk_under_stdout() -> None:
    """What could not be written is said, and the exit code says so too."""
    with Path("/dev/full").open("w") as full:
        child = start("--help", stdout=full.fileno())
        _, err = child.communicate(timeout=60)
    assert child.returncode == 2
    assert err == "error: not all of the output could be written to stdout: No space left on device\n"


def test_stdout_has_only_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a method prints, in Python or in machine code that writes when it likes, is no part of the answer."""
    solve = SingleDevice.solve

    def noisy(*arguments: Any) -> Any:
        print("by Python")
        os.write(1, b"by descriptor\n")
        CDLL(None).printf(b"by the library of C\n")
        return solve(*arguments)

    monkeypatch.setattr(SingleDevice, "solve", noisy)
    spec = tmp_path / "hard.mtpp"
    spec.write_text(HARD)
    assert run(["solve", str(spec), "--method", "single-device", "--json", "-"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["method"] == "single-device"
    assert {"by Python", "by descriptor", "by the library of C"} <= set(err.splitlines())


def test_a_lossy_file_takes_all() -> None:
    """It writes what it can, waits for a reader that is late, and takes what it can no longer write."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    with Lossy(write, "w") as file:
        reader = Thread(target=os.read, args=(read, 1 << 20))
        reader.start()
        assert file.write(b"y") == 1
        reader.join()
        os.close(read)
        assert file.write(b"z" * 9) == 9
        assert isinstance(file.lost, BrokenPipeError)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_too_little_memory_is_said() -> None:
    """The libraries would end in words of their own, or in a traceback."""
    limited = f"ulimit -v 200000; exec {shlex.quote(sys.executable)} -m mtpp_dsl solvers"
    done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "error: mtpp needs 384 MiB of memory to begin with, and may have 195 (ulimit -v)\n",
    )
