"""Processes on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from subprocess import TimeoutExpired
from threading import Lock, Thread
from typing import ClassVar

from mtpp_dsl.core.errors import Ended, UsageError
from mtpp_dsl.core.executors.spawn import last_words
from mtpp_dsl.core.executors.spawn import module as start_module
from mtpp_dsl.core.executors.wire import Framed, read_frame, write_frame

PROCESS_MEMORY = 400 << 20
"""Bytes that a process takes, about, with numpy, numba and a solver."""
LAST_WORDS = 16 << 10
"""Bytes of what a process has printed last that are kept: the rest goes nowhere, so that it fills no disk."""
CLOSED, WORDS = 1.0, 0.2
"""Seconds that a process may run on after its wire has ended, and that its last words are waited for."""
LEAVING, JOINING = 10.0, 1.0
"""Seconds that the system is given to end a process that was killed, which may have gigabytes to give back, and
threads to end after it."""


class Local:
    """Starts processes on this machine.

    Args:
        address: ``local``, or ``local:N`` for N processes at once.

    Raises:
        UsageError: another address.
    """

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "processes on this machine"
    schemes: ClassVar[tuple[str, ...]] = ("local",)

    def __init__(self, address: str = "local") -> None:
        _, colon, count = address.partition(":")
        if colon and not (count.isdecimal() and int(count) > 0):
            raise UsageError(f"{address!r}: after local: stands how many processes at once, such as local:4")
        self._slots = int(count) if colon else None

    @property
    def slots(self) -> int:
        """Return how many cores this process may use, or as many as the address says."""
        if self._slots is not None:
            return self._slots
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity is not None else os.cpu_count() or 1

    @property
    def room(self) -> int:
        """Return how many processes the memory of this machine is enough for."""
        try:
            return max(1, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // PROCESS_MEMORY)
        except (AttributeError, OSError, ValueError):
            return sys.maxsize

    def start(self, module: str) -> LocalChannel:
        """Start a process that calls ``main(wire)`` of *module*.

        Raises:
            OSError: it cannot be started.
        """
        return LocalChannel(module)

    def close(self) -> None:
        """Do nothing: whoever has started a process ends it, and all end with this one."""


class LocalChannel(Framed):
    """A process on this machine, and the threads that read from it and write to it.

    Args:
        module: whose ``main(wire)`` it calls.
        prefix: a command that becomes the one after it, such as ``("nice", "-n", "10")``.
        environment: variables that it gets beside those of this process.
        longest: bytes of the longest frame that is taken from it; one that sends more is killed.

    Attributes:
        where: "", for this machine.
        pid: number of the process.
        code: its exit code, once it has ended; None if it had closed its wire, ran on, and was killed.
        garbled: whether it was killed since it sent what is no frame.

    Raises:
        OSError: it cannot be started.
    """

    where = ""

    def __init__(
        self,
        module: str,
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        longest: int | None = None,
    ) -> None:
        self._inbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._longest = longest
        self._words = b""
        self._why: str | None = None
        self._lock, self._closed = Lock(), False
        self._process = start_module(module, prefix, environment)
        self.pid = self._process.pid
        self.code: int | None = None
        self.garbled = False
        self._threads = [Thread(target=work, daemon=True) for work in (self._read, self._write, self._drain)]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Return whether the process is still running."""
        return self._process.poll() is None

    @property
    def words(self) -> str:
        """Return what the process has printed last."""
        return self._words.decode(errors="replace")

    def put(self, frame: bytes) -> None:
        """Send a frame, without waiting until it is read."""
        self._outbox.put(frame)

    def take(self, seconds: float | None = None) -> bytes | None:
        """Return the next frame, or None if none comes within *seconds*.

        Raises:
            Ended: the process has ended; says why.
        """
        try:
            frame = self._inbox.get(timeout=seconds)
        except Empty:
            return None
        if frame is None:
            self._inbox.put(None)  # for whoever asks again
            raise Ended(self._why or "it was ended")
        return frame

    def _write(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (frame := self._outbox.get()) is not None:
                write_frame(self._process.stdin, frame)

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                self._inbox.put(read_frame(self._process.stdout, self._longest))
        except (EOFError, OSError):
            pass
        except ValueError:
            self.garbled = True
            self.kill()
        self._why = self._ended()
        self._inbox.put(None)

    def _ended(self) -> str:
        """Wait for the end of a process whose wire has ended, and return why it ended."""
        try:
            self.code = self._process.wait(CLOSED)
        except TimeoutExpired:
            self.kill()
            self._process.wait()
            return "it closed its wire, and ran on"
        self._threads[-1].join(WORDS)
        return last_words(self.code, self.words)

    def _drain(self) -> None:
        """Read what the process prints, so that it never waits; the last of it is kept."""
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while printed := os.read(self._process.stderr.fileno(), 1 << 16):
                self._words = (self._words + printed)[-LAST_WORDS:]

    def kill(self) -> None:
        """Kill the process, and what it has started in its group, without waiting for their end."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg") and self._process.returncode is None:  # else its number may be another's
                os.killpg(self.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def end(self) -> None:
        """Kill the process, and release what belongs to it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.kill()
        with contextlib.suppress(TimeoutExpired):
            self._process.wait(LEAVING)
        self._outbox.put(None)
        pipes = (self._process.stdout, self._process.stdin, self._process.stderr)
        for thread, pipe in zip(self._threads, pipes, strict=True):
            thread.join(JOINING)
            if pipe is not None and not thread.is_alive():  # a process that has left the group may hold the other end
                with contextlib.suppress(OSError):
                    pipe.close()


LOCAL = Local()
"""What starts processes by default."""
