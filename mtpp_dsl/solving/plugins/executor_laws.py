"""Laws that every executor keeps, tried out with a process that echoes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from mtpp_dsl.core.contracts.executors import Channel, Executor
from mtpp_dsl.core.errors import Ended

__all__ = ["broken_laws"]

ECHO = "mtpp_dsl.solving.plugins.echo"
LONG = 1 << 20
"""Bytes of a message that fits into no pipe."""
PATIENCE = 30.0
"""Seconds that an answer may take on a busy machine."""


def broken_laws(executor: Executor) -> Iterator[str]:
    """Yield what *executor* breaks of its contract."""
    if executor.slots < 1 or executor.room < 1:
        yield f"slots {executor.slots} and room {executor.room} must be 1 or more"
    with _started(executor) as channel:
        yield from _talking(channel)
        yield from _ending(channel)
    with _started(executor) as one, _started(executor) as other:
        one.tell(("echo", 1))
        one.end()
        other.tell(("echo", 2))
        if (said := other.hear(PATIENCE)) != 2:
            yield f"another process has ended, and {said!r} was heard where 2 was to be"
        if _why(lambda: one.hear(PATIENCE) and one.hear(PATIENCE)) is None:
            yield "a process that was ended must be told of by Ended"
    with _started(executor, "mtpp_dsl.no_such_module") as channel:
        if "no_such_module" not in (_why(lambda: channel.hear(PATIENCE)) or ""):
            yield "a module that cannot be imported must be told of by Ended, with the reason"


@contextmanager
def _started(executor: Executor, module: str = ECHO) -> Iterator[Channel]:
    channel = executor.start(module)
    try:
        yield channel
    finally:
        channel.end()
        channel.end()  # may be called again


def _talking(channel: Channel) -> Iterator[str]:
    """Yield what is broken while a process lives."""
    if not isinstance(channel, Channel):
        yield f"start returned a {type(channel).__name__}, which lacks a part of the contract Channel"
    values: list[object] = [0, "", None, {"a": [1.5]}, "x" * LONG, b"y" * LONG, 7]
    for value in values:
        channel.tell(("echo", (value,)))
    heard = [channel.hear(PATIENCE) for _ in values]
    if heard != [(value,) for value in values]:
        yield "messages must arrive whole and in order"
    channel.tell(("print", "no message"))
    if (said := channel.hear(PATIENCE)) != "":
        yield f"what a process prints is no message, and it has nothing to read but its wire: {str(said)[:80]!r}"
    began = monotonic()
    if channel.hear(0.05) is not None or monotonic() - began > PATIENCE / 2:
        yield "hear must return None soon after its time where nothing was sent"
    channel.tell(("age", None))
    if not 0.0 <= (age := channel.hear(PATIENCE)) <= PATIENCE:
        yield f"wire.born must be when the process was started, by its own clock: it is {age} s ago"
    if not channel.alive:
        yield "alive must be True while the process runs"
    try:
        channel.tell(("echo", lambda: None))
    except Exception as error:
        if isinstance(error, OSError):
            yield f"a message that cannot be pickled must be its error, not {error!r}"
    else:
        yield "a message that cannot be pickled must be an error at once"


def _ending(channel: Channel) -> Iterator[str]:
    """Yield what is broken when a process ends by itself."""
    channel.tell(("echo", "last"))
    channel.tell(("exit", "its last words"))
    if (said := channel.hear(PATIENCE)) != "last":
        yield f"what was sent before the end must be heard: {said!r}"
    for _ in range(2):
        if "its last words" not in (_why(lambda: channel.hear(PATIENCE)) or ""):
            yield "the end of a process must be Ended each time, with the last that it printed on standard error"
    if channel.alive:
        yield "alive must be False when the end was heard"
    channel.tell(("echo", 1))  # reaches nobody


def _why(action: Callable[[], Any]) -> str | None:
    """Return what ``Ended`` says; None where it is not raised."""
    try:
        action()
    except Ended as error:
        return str(error)
    return None
