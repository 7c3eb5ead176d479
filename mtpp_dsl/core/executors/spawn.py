"""Start processes that get signals from this process alone, end when it does, and say how they ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

from mtpp_dsl.core.executors.wire import Wire

SENT_TO_ALL = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
"""What terminals and batch systems send to all processes of a job. Ours are told by us when to stop."""
HERE = "mtpp_dsl.core.executors.spawn"
LOOK = 0.1
"""Seconds between looks at whether whoever started us is still there."""
LIFELINE = """
import os, signal, sys
line, pid = int(sys.argv[1]), os.getpid()
if os.fork() == 0:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in 0, 1, 2:
        os.dup2(null, number)
    os.read(line, 1)
    if os.getppid() == pid:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)
os.close(line)
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]}: {error.strerror}")
"""
"""Turns into a program, after it has left a process behind that kills it when the pipe from us ends."""


def module(
    name: str, prefix: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process with pipes for its input, output and errors, which calls ``main(wire)`` of the module *name*.

    The process ignores the signals of :data:`SENT_TO_ALL`, and ends when this one does. It leads a group of processes,
    which has all that it starts, unless that leaves the group.

    Args:
        name: of a module; nothing in the working directory can take its place.
        prefix: a command of this machine that becomes the one after it, such as ``("nice", "-n", "10")``.
        environment: variables that it gets beside those of this process.

    Raises:
        OSError: it cannot be started.
    """
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    with shielded():
        return subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", HERE, name, repr(monotonic()), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {}), "PYTHONPATH": path},
            start_new_session=True,
        )


def main() -> None:
    """Call ``main(wire)`` of the module that the command line names, in a process that :func:`module` has started.

    The command line also says when the process was started, and by which process: that one may have ended already.
    """
    parent = int(sys.argv[3]) if len(sys.argv) > 3 else os.getppid()
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    for number in SENT_TO_ALL:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SENT_TO_ALL)
    wire = Wire.of_this_process(float(sys.argv[2]))
    import_module(sys.argv[1]).main(wire)


def _end_with(parent: int) -> None:
    """End this process when *parent* has ended; on Windows, where that is not known, when its input ends."""
    while os.getppid() == parent:  # the wire does not end with the parent where that has forked: others then hold it
        sleep(LOOK)
    os._exit(0)


def last_words(code: int, printed: str) -> str:
    """Return why a process ended: the signal that killed it, else the last line it *printed*, else its exit *code*."""
    if code == -getattr(signal, "SIGKILL", 9):
        return "it was killed, as the system does where memory runs out; try fewer --threads or a smaller problem"
    if code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"it was ended by {names.get(-code, f'signal {-code}')}"
    lines = printed.strip().splitlines()
    return lines[-1].strip() if lines else f"it ended with code {code}"


@contextmanager
def program(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start an external program in *folder*; it is killed at the end of the block, and when this process ends.

    Its ``stdout`` carries all that it writes. It receives SIGINT, by which it is asked to stop, and no other signal of
    :data:`SENT_TO_ALL`. (On Windows it may outlive a process that is killed, until its own time limit.)

    Raises:
        OSError: it cannot be started.
    """
    line, ours = os.pipe()
    watched = [sys.executable, "-I", "-S", "-c", LIFELINE, str(line)] if hasattr(os, "fork") else []
    try:
        with shielded():
            process = subprocess.Popen(
                [*watched, *command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                pass_fds=[line] if watched else [],
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(line)
        os.close(ours)


@contextmanager
def shielded() -> Iterator[None]:
    """Let processes that start in the block ignore the signals of :data:`SENT_TO_ALL` until they handle them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SENT_TO_ALL)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


if __name__ == "__main__":
    main()
