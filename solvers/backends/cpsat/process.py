"""A process of CP-SAT, and the threads that read from it and write to it."""

from __future__ import annotations

import contextlib
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, Any

from mtpp_dsl.errors import SolverError
from mtpp_dsl.solvers.backends.cpsat.installed import availability
from mtpp_dsl.solvers.runtime.portfolio.early_ends import last_words
from mtpp_dsl.solvers.runtime.portfolio.spawn import module
from mtpp_dsl.solvers.runtime.portfolio.wire import receive, send

__all__ = ["Process"]

MODULE = "mtpp_dsl.solvers.backends.cpsat.cpsat_worker"


class Process:
    """A process and the threads that read from it and write to it.

    Raises:
        SolverError: ortools is not installed, or no process can be started.
    """

    def __init__(self) -> None:
        if not availability().ok:
            raise SolverError(f"solver 'cp-sat' is not installed; install it with: {availability().install}")
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115 (closed with the process)
        try:
            self._process = module(MODULE, self._errors)
        except OSError as error:
            self._errors.close()
            raise SolverError(f"no process could be started for CP-SAT: {error}") from error
        self._threads = [Thread(target=self._read, daemon=True), Thread(target=self._write, daemon=True)]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Return whether the process is still running."""
        return self._process.poll() is None

    def tell(self, *message: Any) -> None:
        """Send a message, without waiting until it is read."""
        self._outbox.put(message)

    def hear(self, seconds: float) -> Any:
        """Return the next message, or None if none comes within *seconds*.

        Raises:
            SolverError: the process has died.
        """
        with contextlib.suppress(Empty):
            message = self._inbox.get(timeout=seconds)
            if message is not None:
                return message
            raise SolverError(f"the process of CP-SAT died: {self._last_words()}")
        return None

    def _write(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := self._outbox.get()) is not None:
                send(self._process.stdin, message)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(EOFError, OSError, ValueError):
            while True:
                self._inbox.put(receive(self._process.stdout))
        self._inbox.put(None)

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        return last_words(code, self._errors.read().decode(errors="replace"))

    def end(self) -> None:
        """Kill the process."""
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
