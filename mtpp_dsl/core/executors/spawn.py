"""Start processes that get signals from this process alone, and end when it does, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import IO

from mtpp_dsl.core.executors.wire import Wire

__all__ = ["main", "module", "program", "shielded"]

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


def module(name: str, errors: IO[bytes], prefix: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start a process with pipes for its input and output, which calls ``main(wire)`` of the module *name*.

    The process ignores the signals of :data:`SENT_TO_ALL`, and ends when this one
    does.

    Args:
        name: of a module; nothing in the working directory can take its place.
        errors: where its standard error goes.
        prefix: a command of this machine that becomes the one after it, such as ``("nice", "-n", "10")``.

    Raises:
        OSError: it cannot be started.
    """
    with shielded():
        return subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", HERE, name, repr(monotonic()), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
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
