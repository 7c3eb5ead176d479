"""Run solvers that are programs: watch their output, and interrupt them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from subprocess import Popen
from threading import Thread
from time import monotonic

from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.executors.spawn import last_words, program

GRACE, STOP_GRACE = 0.1, 1.0
"""Seconds that a program may go on after its time, or after it was asked to stop."""


class Finished:
    """How a program ended: its output, its exit status, and whether it had to be killed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.returned: int | None = None
        self.killed = False

    def has(self, text: str) -> bool:
        """Return whether some line of the output contains *text*."""
        return any(text in line for line in self.lines)

    @property
    def last_words(self) -> str:
        """Return why it ended: the signal that killed it, else its last line."""
        return last_words(self.returned or 0, "\n".join(self.lines))


class LogWatch:
    """Keep the incumbent, the bound and the version that a program's log tells of.

    Args:
        by: name of the program, until the log says its version.
        on_bound: told of incumbent and bound.
    """

    def __init__(self, by: str, on_bound: Callable[[float | None, float | None], None]) -> None:
        self.by = by
        self.incumbent: float | None = None
        self.bound: float | None = None
        self._on_bound = on_bound

    def told(self, incumbent: float | None, bound: float | None) -> None:
        """Take the better of what is known and what a line says; None where it says nothing."""
        if incumbent is not None and (self.incumbent is None or incumbent < self.incumbent):
            self.incumbent = incumbent
        if bound is not None and (self.bound is None or bound > self.bound):
            self.bound = bound
        self._on_bound(self.incumbent, self.bound)


def as_arguments(options: Mapping[str, object], dash: str) -> list[str]:
    """Return solver options as arguments; one of no value is a switch.

    >>> as_arguments({"cuts": "off", "nointopt": None}, "--")
    ['--cuts', 'off', '--nointopt']
    """
    return [
        argument
        for name, value in options.items()
        for argument in (f"{dash}{name}", *([str(value)] if value not in (None, "") else []))
    ]


def run(
    command: Sequence[str],
    folder: Path,
    seconds: float,
    progress: Progress,
    on_line: Callable[[str], None],
    *,
    can_stop: bool,
) -> Finished:
    """Run *command* in *folder* until it ends, its time is up, or *progress* is stopped.

    Ctrl-C in the terminal reaches only this process, and the program ends when this process does: see
    :func:`.spawn.program`.

    Args:
        command: program and arguments.
        folder: its working directory.
        seconds: its time limit. A program that can stop is interrupted at the limit, and killed a little later.
        progress: asked whether to stop.
        on_line: called with every line of the output.
        can_stop: whether it reacts to an interrupt by writing its best solution.
    """
    finished = Finished()
    with program(command, folder) as process:
        lines = Queue[str | None]()
        reader = Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        try:
            _watch(process, lines, finished, seconds, progress, on_line, can_stop=can_stop)
            finished.returned = process.wait()
        finally:
            process.kill()
            reader.join()
            assert process.stdout is not None
            process.stdout.close()
    return finished


def _watch(
    process: Popen[str],
    lines: Queue[str | None],
    finished: Finished,
    seconds: float,
    progress: Progress,
    on_line: Callable[[str], None],
    *,
    can_stop: bool,
) -> None:
    """Pass on the output until the program ends; end it where it does not end by itself."""
    deadline, asked = monotonic() + seconds + GRACE, False
    while True:
        with suppress(Empty):
            line = lines.get(timeout=0.05)
            if line is None:
                return
            finished.lines.append(line)
            progress.solver_says(line)
            on_line(line)
        late = can_stop and monotonic() > deadline - GRACE
        if (progress.stopped or late) and not asked:
            asked = True
            deadline = min(deadline, monotonic() + (STOP_GRACE if can_stop else 0.0))
            process.send_signal(signal.SIGINT)
        if monotonic() > deadline and not finished.killed:
            finished.killed = True
            process.kill()


def _read(process: Popen[str], lines: Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(None)
