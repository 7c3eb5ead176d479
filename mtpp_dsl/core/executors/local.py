"""Processes on this machine."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Lock, Thread
from typing import IO, ClassVar

from mtpp_dsl.core.errors import Ended, UsageError
from mtpp_dsl.core.executors.early_ends import last_words
from mtpp_dsl.core.executors.spawn import module as start_module
from mtpp_dsl.core.executors.wire import Framed, read_frame, write_frame

__all__ = ["LOCAL", "PROCESS_MEMORY", "Local", "LocalChannel"]

PROCESS_MEMORY = 400 << 20
"""Bytes that a process takes, about, with numpy, numba and a solver."""
LAST_WORDS = 64 << 10
"""Bytes of what a process has printed that are looked at when it has died."""


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

    Attributes:
        where: "", for this machine.
        pid: number of the process.

    Raises:
        OSError: it cannot be started.
    """

    where = ""

    def __init__(self, module: str, prefix: Sequence[str] = ()) -> None:
        self._inbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._why: str | None = None
        self._lock, self._closed = Lock(), False
        try:
            self._process = start_module(module, self._errors, prefix)
        except BaseException:
            self._errors.close()
            raise
        self.pid = self._process.pid
        self._threads = [Thread(target=self._read, daemon=True), Thread(target=self._write, daemon=True)]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Return whether the process is still running."""
        return self._process.poll() is None

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
        with contextlib.suppress(EOFError, OSError, ValueError):
            while True:
                self._inbox.put(read_frame(self._process.stdout))
        code = self._process.wait()
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - LAST_WORDS))
        self._why = last_words(code, self._errors.read().decode(errors="replace"))
        self._inbox.put(None)

    def kill(self) -> None:
        """Kill the process, without waiting for its end."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process, and release what belongs to it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._process.kill()
        self._process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._errors.close()


LOCAL = Local()
"""What starts processes where nobody names another."""
