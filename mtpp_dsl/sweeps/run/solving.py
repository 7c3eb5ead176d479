"""The process that solves: it takes runs, one after another, and answers each with its outcome."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection
from time import monotonic
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.executors.kept import end_kept
from mtpp_dsl.core.executors.processes import die_with, prefer_to_end

if TYPE_CHECKING:
    from mtpp_dsl.core.executors.wire import Wire

SETTLING = 0.3
"""Seconds that threads of a run are given to end after it."""
LOOK = 0.02
"""Seconds between looks at them."""
COMPILING = 120.0
"""The same while one compiles: its code is then on disk, and no run has to wait for it again."""


def message(token: str, kind: str, body: str = "", **more: Any) -> bytes:
    """Return a message to the keeper: a line of JSON that says what it is, and its body."""
    return f"{json.dumps({'token': token, 'kind': kind, **more})}\n{body}".encode()


def parts(token: str, frame: bytes) -> tuple[dict[str, Any], str]:
    """Return what a message says that it is, and its body.

    Raises:
        ValueError: it is no message of the process that was given *token*.
    """
    head, newline, body = frame.partition(b"\n")
    head_fields = json.loads(head.decode())
    if not newline or not isinstance(head_fields, dict) or head_fields.get("token") != token:
        raise ValueError("not a message of ours")
    return head_fields, body.decode()


def main(wire: Wire) -> None:
    """Solve runs until whoever started this process closes the wire; the first message is the token of all answers."""
    die_with(os.getppid())
    prefer_to_end()
    from mtpp_dsl.solving.answers.json import versions
    from mtpp_dsl.sweeps.file.run import Run
    from mtpp_dsl.sweeps.run.one_run import attempt, machine_class

    try:
        token = wire.take().decode()
        wire.put(message(token, "ready", machine=machine_class(), versions=versions()))
        while True:
            run = Run.from_json(json.loads(wire.take()))
            before = threading.enumerate()
            outcome = attempt(run, solving=lambda: wire.put(message(token, "solving")))
            end_kept()  # the next run is to find what a first one finds
            wire.put(message(token, "outcome", json.dumps(outcome.to_json())))
            wire.put(message(token, "idle", clean=_clean(before, lambda: wire.put(message(token, "compiling")))))
    except (EOFError, OSError):  # the keeper has gone
        os._exit(0)


def _clean(before: Collection[threading.Thread], compiling: Callable[[], None]) -> bool:
    """Return whether a run has left nothing behind that would disturb the next: a thread at work, or a process.

    Args:
        before: the threads before the run.
        compiling: called if one of the threads that are left compiles, which takes longer.
    """
    until, reported = monotonic() + SETTLING, False
    while left := [thread for thread in threading.enumerate() if thread not in before]:
        if PREPARING.running and not reported:
            compiling()
            until, reported = monotonic() + COMPILING, True
        if monotonic() > until:
            return False
        left[0].join(LOOK)
    return not _has_children()


def _has_children() -> bool:
    if not hasattr(os, "waitid"):
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
