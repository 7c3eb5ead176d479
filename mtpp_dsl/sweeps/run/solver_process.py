"""The process that solves, as its keeper sees it: told of runs, heard, and ended."""

from __future__ import annotations

import os
import secrets
import signal
from dataclasses import dataclass, field
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from mtpp_dsl.core.errors import Ended
from mtpp_dsl.core.executors.local import LocalChannel
from mtpp_dsl.core.executors.processes import bury, end_all, memory
from mtpp_dsl.sweeps.run.solving import parts

MODULE = "mtpp_dsl.sweeps.run.solving"
LONGEST_ANSWER = 256 << 20
"""Bytes; a longer answer is none."""
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""What says where temporary files go."""


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
        self._folder = mkdtemp(prefix="mtpp-")
        self._token = secrets.token_hex(8)
        try:
            self._channel = LocalChannel(
                MODULE, environment=dict.fromkeys(TEMPORARY, self._folder), longest=LONGEST_ANSWER
            )
        except BaseException:
            rmtree(self._folder, ignore_errors=True)
            raise
        self.pid, self.runs = self._channel.pid, 0
        self.first: int | None = None
        self.facts: dict[str, Any] = {}
        self._channel.put(self._token.encode())

    @property
    def bytes_held(self) -> int:
        """Bytes that it holds now, what it has started left out."""
        return memory([self.pid])

    def give(self, run: str) -> None:
        """Give it a run, as JSON; nothing happens if it has ended, which :meth:`hear` then says."""
        self.runs += 1
        self._channel.put(run.encode())

    def hear(self, seconds: float) -> Heard | None:
        """Return the next message, or None if none comes within *seconds*."""
        try:
            frame = self._channel.take(seconds)
        except Ended:
            return Heard("garbage" if self._channel.garbled else "ended")
        if frame is None:
            return None
        try:
            head, body = parts(self._token, frame)
        except ValueError:
            return Heard("garbage")
        if head.get("kind") == "ready":
            self.facts, self.first = head, memory([self.pid])
        return Heard(str(head.get("kind")), head, body)

    def why(self) -> tuple[int | None, str]:
        """Return the exit code of a process that has ended, None if it had to be killed, and why it has ended."""
        try:
            self._channel.take(0.0)
        except Ended as error:
            killed = self._channel.code == -getattr(signal, "SIGKILL", 9)
            return self._channel.code, "another process killed it" if killed else str(error)
        raise AssertionError

    @property
    def words(self) -> str:
        """What it has printed last."""
        return self._channel.words

    def end(self) -> None:
        """Kill the process, and all that it has started."""
        self._channel.kill()
        end_all(os.getpid())
        self._channel.end()
        bury()
        rmtree(self._folder, ignore_errors=True)
