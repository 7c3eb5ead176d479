"""The process that solves, as its keeper sees it: told of runs, heard, and ended."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from shutil import rmtree
from subprocess import TimeoutExpired
from tempfile import mkdtemp
from threading import Thread
from typing import Any

from mtpp_dsl.core.executors.early_ends import last_words
from mtpp_dsl.core.executors.processes import bury, end_all, memory
from mtpp_dsl.core.executors.spawn import module
from mtpp_dsl.core.executors.wire import read_frame, write_frame
from mtpp_dsl.sweeps.run.solving import parts

__all__ = ["Heard", "SolverProcess"]

MODULE = "mtpp_dsl.sweeps.run.solving"
LONGEST_ANSWER = 256 << 20
"""Bytes; a longer answer is none."""
LAST_WORDS = 16 << 10
"""Bytes of what the process has printed last that are kept: the rest goes nowhere, so that it fills no disk."""
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""What says where temporary files go."""
LEAVING = 10.0
"""Seconds that the system is given to end a process that was killed: it may have gigabytes to give back."""


@dataclass(frozen=True)
class Heard:
    """What was heard of the process.

    Attributes:
        kind: "ready", "solving", "outcome", and "idle" after it; "garbage" for what is no message of the process, and
            "ended" when it has ended.
        fields: what the message says beside.
        body: the outcome, as JSON.
    """

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    body: str = ""


class SolverProcess:
    """A process that solves runs, one after another, and all that it starts; its temporary files end with it.

    Only the main thread may start one: Linux ends it when the thread that started it ends.

    Attributes:
        pid: its number.
        runs: how many it has been given.
        first: bytes that it held when it had just started; None until :attr:`facts` is there.
        facts: its machine and versions; empty until it is ready.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self) -> None:
        read, write = os.pipe()
        self._folder = mkdtemp(prefix="mtpp-")
        self._token = secrets.token_hex(8)
        self._inbox: SimpleQueue[Heard] = SimpleQueue()
        self._words = b""
        with os.fdopen(write, "wb") as errors:
            try:
                with _files_in(self._folder):
                    self._process = module(MODULE, errors)
            except BaseException:
                os.close(read)
                rmtree(self._folder, ignore_errors=True)
                raise
        self.pid, self.runs = self._process.pid, 0
        self.first: int | None = None
        self.facts: dict[str, Any] = {}
        self._threads = [
            Thread(target=self._read, daemon=True),
            Thread(target=self._drain, args=(read,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._tell(self._token)

    @property
    def bytes_held(self) -> int:
        """Bytes that it holds now, what it has started left out."""
        return memory([self.pid])

    def give(self, run: str) -> None:
        """Give it a run, as JSON; nothing happens if it has ended, which :meth:`hear` then says."""
        self.runs += 1
        self._tell(run)

    def _tell(self, text: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            write_frame(self._process.stdin, text.encode())

    def hear(self, seconds: float) -> Heard | None:
        """Return the next message, or None if none comes within *seconds*."""
        try:
            heard = self._inbox.get(timeout=seconds)
        except Empty:
            return None
        if heard.kind == "ready":
            self.facts, self.first = heard.fields, memory([self.pid])
        elif heard.kind == "ended":
            self._inbox.put(heard)  # for whoever asks again
        return heard

    def _read(self) -> None:
        """Take messages apart, until one is none or there are no more."""
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, EOFError):
            while True:
                try:
                    head, body = parts(self._token, read_frame(self._process.stdout, LONGEST_ANSWER))
                except ValueError:
                    self._inbox.put(Heard("garbage"))
                    return
                self._inbox.put(Heard(str(head.get("kind")), head, body))
        self._inbox.put(Heard("ended"))

    def _drain(self, pipe: int) -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(pipe, 1 << 16):
                self._words = (self._words + chunk)[-LAST_WORDS:]
        os.close(pipe)

    def why(self) -> tuple[int | None, str]:
        """Return the exit code of a process that has closed its wire, None if it runs on, and why it has ended."""
        try:
            code = self._process.wait(1.0)
        except TimeoutExpired:
            return None, "it closed its wire, and ran on"
        self._threads[1].join(0.2)
        killed = code == -getattr(signal, "SIGKILL", 9)
        return code, "another process killed it" if killed else last_words(code, self.words)

    @property
    def words(self) -> str:
        """What it has printed last."""
        return self._words.decode(errors="replace")

    def end(self) -> None:
        """Kill the process, and all that it has started."""
        self._process.kill()
        end_all(os.getpid())
        with contextlib.suppress(TimeoutExpired):
            self._process.wait(LEAVING)
        bury()
        for thread in self._threads:
            thread.join(1.0)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def _files_in(folder: str) -> Iterator[None]:
    """Have processes that start in the block put their temporary files into a folder, which can then be removed."""
    before = {name: os.environ.get(name) for name in TEMPORARY}
    os.environ.update(dict.fromkeys(TEMPORARY, folder))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
