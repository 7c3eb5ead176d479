"""Processes that are kept between two uses: used again, bounded, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from mtpp_dsl.core.errors import Ended
from mtpp_dsl.core.executors import kept
from mtpp_dsl.core.executors.kept import KeptProcess, borrow, end_kept, give_back
from mtpp_dsl.core.executors.local import LocalChannel

ECHO = "mtpp_dsl.solving.plugins.echo"
HEAD = f"""
import os, signal, sys, time
from mtpp_dsl.core.executors.kept import borrow, give_back
process = borrow({ECHO!r})
print(process.channel.pid, flush=True)
give_back(process)
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    end_kept()
    yield
    end_kept()


def pid(process: KeptProcess) -> int:
    assert isinstance(process.channel, LocalChannel)
    return process.channel.pid


def used() -> int:
    """Borrow a process, give it back, and return its number."""
    process = borrow(ECHO)
    give_back(process)
    return pid(process)


def soon(condition: Callable[[], bool]) -> bool:
    """Return whether *condition* comes to hold."""
    until = time.monotonic() + 10
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def gone(number: int) -> bool:
    """Return whether a process has ended."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_is_used_again_until_it_ends() -> None:
    """Two at once are two processes; one that was given back comes again, and one that has died does not."""
    one, other = borrow(ECHO), borrow(ECHO)
    assert pid(one) != pid(other)
    give_back(one)
    assert borrow(ECHO) is one
    give_back(other)
    os.kill(pid(other), signal.SIGKILL)
    with pytest.raises(Ended):
        other.channel.hear(10.0)
    again = borrow(ECHO)
    assert pid(again) != pid(other)
    one.channel.end()
    again.channel.end()


def test_it_ends_when_it_was_idle_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever uses it again has all its time from then on."""
    monkeypatch.setattr(kept, "IDLE_SECONDS", 0.3)
    number = used()
    process = borrow(ECHO)
    time.sleep(0.5)
    assert pid(process) == number
    assert process.channel.alive
    give_back(process)
    assert soon(lambda: gone(number))


@pytest.mark.parametrize(("limit", "value"), [("MAX_USES", 0), ("MAX_IDLE", 0), ("PROCESS_MEMORY", 1)])
def test_what_is_kept_is_bounded(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In number, in uses, and in memory."""
    monkeypatch.setattr(kept, limit, value)
    assert gone(used())


def test_changed_limits_call_for_a_new_one() -> None:
    """A process has the limits and the cores of when it was started."""
    resource = pytest.importorskip("resource")
    number = used()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, hard))
    try:
        process = borrow(ECHO)
        assert pid(process) != number
        process.channel.end()
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    process = borrow(ECHO)
    assert pid(process) == number
    process.channel.end()


ENDS = {
    "at its end": "",
    "by an error": "raise ValueError",
    "at once": "os._exit(1)",
    "by a kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "by SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "by Ctrl-C": "os.kill(os.getpid(), signal.SIGINT)",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ENDS)
def test_it_ends_with_whoever_started_it(how: str) -> None:
    """However that ends; and the interpreter says nothing about it."""
    done = subprocess.run([sys.executable, "-c", HEAD + ENDS[how]], capture_output=True, text=True, check=False)
    assert soon(lambda: gone(int(done.stdout)))
    assert "Fatal" not in done.stderr
    assert "ResourceWarning" not in done.stderr


@needs_fork
def test_a_fork_has_none_and_ends_none() -> None:
    """The process that was forked starts its own; it can end, and live on, without a word to ours."""
    script = HEAD + (
        "child = os.fork()\n"
        f"again = borrow({ECHO!r})\n"
        "if child == 0:\n"
        "    again.channel.tell(('echo', 1))\n"
        "    assert again.channel.hear(20) is not None\n"
        "    print(again.channel.pid, flush=True)\n"
        "    give_back(again)\n"
        "    sys.exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "print(again.channel.pid == process.channel.pid and again.channel.alive)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    first, second, code, same = done.stdout.split()
    assert (code, same) == ("0", "True"), done.stderr
    assert first != second
    assert soon(lambda: gone(int(first)) and gone(int(second)))


@needs_fork
def test_a_fork_that_lives_on_keeps_none_alive() -> None:
    """It holds our end of the pipes, so that they do not end with us; the process looks for its parent, too."""
    script = HEAD + "if os.fork() == 0:\n    os.close(1)\n    time.sleep(20)\n    os._exit(0)\nos._exit(0)"
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=False)
    assert soon(lambda: gone(int(done.stdout)))
