"""Processes of this machine: what they have started, what memory they hold, and how to end them all.

On Linux all of this is read from ``/proc``; elsewhere it is asked of ``ps``, where there is one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from time import monotonic, sleep
from typing import Any

PROC = Path("/proc")
LINUX = sys.platform == "linux"
_PARENT_ENDS, _ADOPT = 1, 36
"""``PR_SET_PDEATHSIG`` and ``PR_SET_CHILD_SUBREAPER`` of Linux."""
HELD = ("RssAnon:", "RssShmem:", "VmSwap:")
"""What a process holds for itself; pages of files, such as libraries, are shared and can be given back."""
PATIENCE = 5.0
"""Seconds after which processes that a kill does not end, as in a broken file system, are left."""
LOOKS = 2
"""So often in a row nothing is found before all have ended: one may pass from parent to parent during a look."""
PAUSE = 0.002
"""Seconds between looks at whether all have ended."""


def measurable() -> bool:
    """Return whether the memory of other processes can be found out here."""
    return LINUX or which("ps") is not None


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends; on Linux only.

    Without this, what a process has started is lost sight of when it dies, and outlives it.
    """
    _control(_ADOPT, 1)


def die_with(parent: int) -> None:
    """Have this process killed when *parent* ends, whatever it is doing then; on Linux only.

    Elsewhere a thread looks for the parent: see :func:`mtpp_dsl.core.executors.spawn.main`.
    """
    _control(_PARENT_ENDS, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)


def prefer_to_end() -> None:
    """Have the system end this process before others when memory runs out."""
    with suppress(OSError):
        (PROC / "self" / "oom_score_adj").write_text("1000")


def _control(option: int, value: int) -> None:
    """Call ``prctl`` of Linux."""
    if LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Return the processes that *pid* has started, and those that these have started, as far as they still run."""
    table = _table()
    children: dict[int, list[int]] = {}
    for child, entry in table.items():
        children.setdefault(entry.parent, []).append(child)
    pids, next_ones = [], [pid]
    while next_ones:  # one that has ended may still stand for the parent of others: they are looked at one by one
        below = [child for parent in next_ones for child in children.get(parent, ())]
        pids += [child for child in below if not table[child].dead]
        next_ones = below
    return pids


@dataclass(frozen=True)
class _Entry:
    """A process: its parent, whether it has ended and only its entry is left, and its memory where ps tells it."""

    parent: int
    dead: bool
    resident: int = 0


def _table() -> Mapping[int, _Entry]:
    """Return all processes by their numbers."""
    return dict(_of_proc() if LINUX else _of_ps())


def _of_proc() -> Iterator[tuple[int, _Entry]]:
    for name in os.listdir(PROC):  # noqa: PTH208 (ten times as fast as Path.iterdir, and there are many)
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                line = (PROC / name / "stat").read_bytes()
                state, parent = line[line.rindex(b")") + 2 :].split(None, 2)[:2]  # the name before may hold anything
                yield int(name), _Entry(int(parent), state == b"Z")


def _of_ps() -> Iterator[tuple[int, _Entry]]:
    with suppress(OSError):
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat=,rss="], capture_output=True, check=False)
        for line in listed.stdout.splitlines():
            with suppress(ValueError):
                pid, parent, state, resident = line.split(None, 3)
                yield int(pid), _Entry(int(parent), state.startswith(b"Z"), int(resident) << 10)


def memory(pids: Collection[int]) -> int:
    """Return the bytes that processes hold for themselves; those that have ended hold none."""
    if LINUX:
        return sum(sum(_status(pid).get(name, 0) for name in HELD) for pid in pids)
    table = _table()
    return sum(table[pid].resident for pid in pids if pid in table)


def peak(pid: int) -> int:
    """Return the most bytes that a process has held for itself since :func:`reset_peak`; 0 where that is not known."""
    status = _status(pid) if LINUX else {}
    return max(status.get("VmHWM:", 0) - status.get("RssFile:", 0), 0)


def reset_peak(pid: int) -> None:
    """Count the peak of a process anew."""
    if LINUX:
        with suppress(OSError):
            (PROC / str(pid) / "clear_refs").write_text("5")


def _status(pid: int) -> dict[str, int]:
    """Return the amounts in ``/proc/PID/status``, in bytes; none where the process has ended."""
    try:
        lines = (PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    parts: list[Any] = [line.split() for line in lines if line.endswith(" kB")]
    return {name: int(amount) << 10 for name, amount, _ in parts}


def kills_for_memory() -> int:
    """Return how many processes the system has ended for memory since it began; 0 where it does not tell."""
    with suppress(OSError, ValueError):
        for line in (PROC / "vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def end_all(below: int) -> None:
    """Kill every process below the process *below*, and those that they start meanwhile, and wait for their end."""
    until, clear = monotonic() + PATIENCE, 0
    while clear < LOOKS and monotonic() < until:
        pids = descendants(below)
        clear = 0 if pids else clear + 1
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        sleep(PAUSE)


def bury(but: Collection[int] = ()) -> None:
    """Take note of the ends of processes that this one has adopted; those in *but* somebody else waits for."""
    for child, entry in _table().items():
        if entry.dead and entry.parent == os.getpid() and child not in but:
            with suppress(OSError):
                os.waitpid(child, os.WNOHANG)
