"""Keep processes between two uses: starting one and importing its libraries takes longer than many an answer.

A process of this machine ends when it has not been used for a while, has answered many requests or has grown, and with
this process, however that ends. A process of a cluster holds a slot that others may need: who is done with an
executor ends its kept processes (:func:`end_kept`).
"""

from __future__ import annotations

import atexit
import os
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Timer
from typing import Any
from weakref import WeakKeyDictionary

from mtpp_dsl.core.contracts.executors import Channel, Executor
from mtpp_dsl.core.executors.local import LOCAL, PROCESS_MEMORY, LocalChannel
from mtpp_dsl.core.executors.processes import memory

IDLE_SECONDS = 60.0
"""Seconds after which an unused process of this machine is ended."""
MAX_USES = 500
"""Requests after which a process of this machine is ended: what its libraries leak stays bounded."""
MAX_IDLE = 8
"""Processes of this machine that are kept at once; no more than cores, or than an eighth of the memory has room for."""


@dataclass(eq=False)
class KeptProcess:
    """A process and what is known of it.

    Attributes:
        channel: the wire to it.
        module: what it runs.
        executor: what has started it.
        inherited: see :func:`_inherited`.
        uses: how many requests it has been given; whoever borrows it counts them.
        timer: ends it while it is idle; None while it is in use, and on a cluster.
    """

    channel: Channel
    module: str
    executor: Executor
    inherited: tuple[Any, ...]
    uses: int = 0
    timer: Timer | None = field(default=None, repr=False)


_idle: MutableMapping[Executor, list[KeptProcess]] = WeakKeyDictionary()
_lock = Lock()
_leaving = False


def borrow(module: str, executor: Executor | None = None) -> KeptProcess:
    """Return a process that runs *module* and has nothing to do, a new one if none is kept.

    Raises:
        OSError, SolverError: none can be started.
    """
    executor, inherited = executor or LOCAL, _inherited()
    while True:
        with _lock:
            idle = _idle.get(executor, [])
            process = next((one for one in idle if (one.module, one.inherited) == (module, inherited)), None)
            if process is not None:
                idle.remove(process)
        if process is None:
            return KeptProcess(executor.start(module), module, executor, inherited)
        if process.timer is not None:
            process.timer.cancel()
            process.timer = None
        if process.channel.alive:
            return process
        process.channel.end()


def give_back(process: KeptProcess) -> None:
    """Keep a process that has answered all that it was asked, or end it where it is not worth keeping."""
    if not _worth_keeping(process):
        process.channel.end()
        return
    if isinstance(process.channel, LocalChannel):
        process.timer = Timer(IDLE_SECONDS, _expire, [process])
        process.timer.daemon = True
        process.timer.start()
    with _lock:
        if not _leaving:
            _idle.setdefault(process.executor, []).append(process)
            return
    process.channel.end()


def _worth_keeping(process: KeptProcess) -> bool:
    if not process.channel.alive:
        return False
    if not isinstance(process.channel, LocalChannel):
        return True
    most = min(MAX_IDLE, LOCAL.slots, max(1, LOCAL.room // 8))
    return (
        process.uses < MAX_USES
        and len(_idle.get(process.executor, [])) < most
        and memory([process.channel.pid]) < PROCESS_MEMORY
    )


def _expire(process: KeptProcess) -> None:
    """End a process that has not been borrowed for a while."""
    with _lock:
        idle = _idle.get(process.executor, [])
        if process not in idle:
            return
        idle.remove(process)
    process.channel.end()


def end_kept(executor: Executor | None = None) -> None:
    """End the processes that are kept of an executor; None for those of this machine."""
    with _lock:
        processes = _idle.pop(executor or LOCAL, [])
    for process in processes:
        if process.timer is not None:
            process.timer.cancel()
        if isinstance(process.channel, LocalChannel):
            process.channel.kill()  # all at once: each takes the system a moment
    for process in processes:
        process.channel.end()


def _inherited() -> tuple[Any, ...]:
    """Return what a process inherits and its answers depend on: a change calls for a new process."""
    values: list[Any] = []
    with suppress(AttributeError):  # of systems that have it
        values.append(frozenset(os.sched_getaffinity(0)))
    with suppress(ImportError, OSError):
        import resource

        values.append(os.getpriority(os.PRIO_PROCESS, 0))
        values += [resource.getrlimit(limit) for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return tuple(values)


@atexit.register
def _leave() -> None:
    """End all that is kept, and keep nothing more."""
    global _leaving
    _leaving = True
    for executor in list(_idle):
        end_kept(executor)


def _forget() -> None:
    """Leave the processes that are kept to the process that this one was forked from."""
    global _idle, _lock
    _foreign.append(_idle)  # never freed: closing their pipes would wait for threads that are not here
    _idle, _lock = WeakKeyDictionary(), Lock()


_foreign: list[Any] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
