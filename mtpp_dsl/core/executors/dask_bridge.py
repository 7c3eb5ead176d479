"""Run on a worker of Dask: a task holds one of its slots, a process of ours beside it, and the wire between them.

The client asks the worker for the frames of all its processes there, and sends frames to them; both go through the
scheduler, by what Dask encrypts where it is told to. A process whose client asks no more is ended.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from time import monotonic
from typing import Any

from mtpp_dsl.core.errors import Ended, SolverError
from mtpp_dsl.core.executors.local import LocalChannel

__all__ = ["LEASE", "News", "collect", "deliver", "differing", "hold", "versions"]

LEASE = 20.0
"""Seconds after which a process is ended whose client has not asked for what it says."""
LOOK = 0.5
"""Seconds between looks at whether the client still asks."""

News = tuple[str, bytes | None, str]
"""The number of a process; a frame, or None if it has ended, and then why."""

PACKAGES = ("mtpp-dsl", "numpy", "scipy", "numba", "networkx", "pyomo", "highspy", "ortools")
"""What answers depend on: with other versions, one seed may give another plan."""


class _Client:
    """What this worker holds for one client.

    Attributes:
        asked: when the client has last asked for news, by ``monotonic()``.
        channels: its processes by their numbers.
    """

    def __init__(self) -> None:
        self.asked = monotonic()
        self.channels: dict[str, LocalChannel] = {}
        self._news: list[News] = []
        self._lock = Lock()
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def add(self, number: str, frame: bytes | None, why: str = "") -> None:
        """Add news, from any thread, and wake whoever waits for them."""
        with self._lock:
            self._news.append((number, frame, why))
            waiting = self._waiting
        if waiting is not None:
            loop, event = waiting
            loop.call_soon_threadsafe(event.set)

    async def collect(self, seconds: float) -> list[News]:
        """Return the news, once there are some or *seconds* have passed."""
        self.asked = monotonic()
        event = asyncio.Event()
        with self._lock:
            if self._news:
                event.set()
            self._waiting = asyncio.get_running_loop(), event
        with suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)
        self.asked = monotonic()
        with self._lock:
            self._waiting = None
            news, self._news = self._news, []
        return news


_CLIENTS: dict[str, _Client] = {}
_LOCK = Lock()


def _client(name: str) -> _Client:
    with _LOCK:
        return _CLIENTS.setdefault(name, _Client())


def _forget(name: str) -> None:
    """Drop the news of a client that asks no more."""
    with _LOCK:
        _CLIENTS.pop(name, None)


def versions() -> dict[str, str]:
    """Return the versions of Python and of :data:`PACKAGES` in this process; "" for what is not installed."""
    return {"python": "{}.{}".format(*sys.version_info[:2]), **{name: _version(name) for name in PACKAGES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Return what differs, in words.

    >>> differences({"numpy": "2.3.1", "scipy": ""}, {"numpy": "2.4.6", "scipy": "1.17.1"})
    ['numpy 2.3.1 there, 2.4.6 here', 'scipy not there, 1.17.1 here']
    """
    return [
        f"{name} {there.get(name) or 'not'} there, {here[name] or 'none'} here"
        for name in here
        if there.get(name, "") != here[name]
    ]


def hold(client: str, number: str, module: str, wanted: Mapping[str, str], topic: str) -> None:
    """Start a process of *module* and hold a slot of this worker until the process has ended.

    Args:
        client: a name of the client; news of its processes are collected together.
        number: of the process.
        module: whose ``main(wire)`` it calls.
        wanted: the client's versions.
        topic: of the event by which the client is told where the process runs.

    Raises:
        SolverError: other versions are installed here.
        OSError: the process cannot be started.
    """
    from distributed import get_worker

    other = differences(versions(), wanted)
    if other:
        raise SolverError(_refusal(other))
    worker, mine = get_worker(), _client(client)
    channel = LocalChannel(module)
    mine.asked = monotonic()
    mine.channels[number] = channel
    try:
        worker.log_event(topic, {"number": number, "worker": worker.address})
        while True:
            frame = channel.take(LOOK)
            if frame is not None:
                mine.add(number, frame)
            if monotonic() - mine.asked > LEASE:
                _forget(client)
                break
    except Ended as error:
        mine.add(number, None, str(error))
    finally:
        channel.end()
        mine.channels.pop(number, None)


def _refusal(other: list[str]) -> str:
    return f"other versions are installed on a worker of the cluster: {'; '.join(other)}. Install the same on both"


def differing(wanted: Mapping[str, str]) -> str:
    """Return why this worker cannot be used; "" if it can."""
    other = differences(versions(), wanted)
    return _refusal(other) if other else ""


async def collect(client: str, seconds: float) -> list[News]:
    """Return the news of a client's processes on this worker, once there are some or *seconds* have passed."""
    return await _client(client).collect(seconds)


async def deliver(client: str, frames: list[tuple[str, bytes | None]]) -> None:
    """Send frames to processes by their numbers; None kills one."""
    channels: dict[str, Any] = _client(client).channels
    for number, frame in frames:
        channel = channels.get(number)
        if channel is None:
            continue
        if frame is None:
            channel.kill()
        else:
            channel.put(frame)
