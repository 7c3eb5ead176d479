"""The client's end of the wires to processes on a Dask worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from mtpp_dsl.core.errors import Ended
from mtpp_dsl.core.executors.dask_bridge import collect, deliver
from mtpp_dsl.core.executors.wire import Framed

ASK = 5.0
"""Seconds that a worker waits for news before it answers that there are none: less than its lease."""


class RemoteChannel(Framed):
    """A process on a worker of the cluster.

    Attributes:
        number: of the process.
        link: to its worker; None until it has started.
        future: of the task that holds the worker's slot.

    Args:
        number: of the process.
        bound: called when :attr:`link` is known.
        dropped: called when the channel is ended.
    """

    def __init__(self, number: str, bound: Callable[[], None], dropped: Callable[[RemoteChannel], None]) -> None:
        self.number = number
        self.link: Link | None = None
        self.future: Any = None
        self._bound, self._dropped = bound, dropped
        self._inbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._why = ""
        self._ended = False

    @property
    def where(self) -> str:
        """Return which worker of the cluster it is, by its number."""
        return "" if self.link is None else self.link.where

    @property
    def alive(self) -> bool:
        """Return whether nothing is known of the end of the process."""
        return not self._why

    def bind(self, link: Link) -> None:
        """Take the link to the worker on which the process has started."""
        self.link = link
        link.follow()
        self._bound()

    def arrived(self, frame: bytes | None, why: str) -> None:
        """Take a frame, or None where the process has ended, and why."""
        if frame is None:
            self.lose(why)
        else:
            self._inbox.put(frame)

    def lose(self, why: str) -> None:
        """Note that the process has ended, and why."""
        self._why = self._why or why
        self._inbox.put(None)

    def put(self, frame: bytes) -> None:
        """Send a frame, without waiting until it is read."""
        if self.link is not None and not self._why:
            self.link.put(self.number, frame)

    def take(self, seconds: float | None = None) -> bytes | None:
        """Return the next frame, or None if none comes within *seconds*.

        Raises:
            Ended: the process has ended, or its worker is lost; says why.
        """
        try:
            frame = self._inbox.get(timeout=seconds)
        except Empty:
            return None
        if frame is None:
            self._inbox.put(None)
            raise Ended(self._why)
        return frame

    def end(self) -> None:
        """Kill the process, without waiting for it."""
        if self._ended:
            return
        self._ended = True
        if self.link is not None and not self._why:
            self.link.put(self.number, None)
        self.lose("it was ended")
        self._dropped(self)


class Link:
    """The processes of one worker: asks for their news while there are any, and sends them frames.

    Args:
        client: of Dask.
        session: by what the worker knows us.
        worker: its address.
        where: its number, in words.
        channels: all channels by their numbers, those of other workers too.
        lost: called with this, and with a reason where there is one, when the worker does not answer.

    Attributes:
        worker, where: as given.
    """

    def __init__(
        self,
        client: Any,
        session: str,
        worker: str,
        where: str,
        channels: Mapping[str, RemoteChannel],
        lost: Callable[[Link, str], None],
    ) -> None:
        self.worker, self.where = worker, where
        self._client, self._session, self._channels, self._report_lost = client, session, channels, lost
        self._outbox: SimpleQueue[tuple[str, bytes | None] | None] = SimpleQueue()
        self._lock = Lock()
        self._asking = self._is_lost = False
        self._writer = Thread(target=self._write, daemon=True)
        self._writer.start()

    def follow(self) -> None:
        """Ask for news from now on, until none of the worker's processes is left."""
        with self._lock:
            if not self._asking and not self._is_lost:
                self._asking = True
                Thread(target=self._ask, daemon=True).start()

    def put(self, number: str, frame: bytes | None) -> None:
        """Send a frame to a process; None kills it."""
        self._outbox.put((number, frame))

    def close(self, seconds: float) -> None:
        """Send what is left, for at most *seconds*."""
        self._outbox.put(None)
        self._writer.join(seconds)

    def _mine(self) -> list[RemoteChannel]:
        return [channel for channel in list(self._channels.values()) if channel.link is self and channel.alive]

    def _ask(self) -> None:
        while not self._is_lost:
            with self._lock:
                if not self._mine():
                    self._asking = False
                    return
            try:
                news = self._client.run(collect, self._session, ASK, workers=[self.worker])[self.worker]
            except Exception as error:  # whatever it is: nothing more can be known of the worker
                self._lose(error)
                return
            for number, frame, why in news:
                channel = self._channels.get(number)
                if channel is not None:
                    channel.arrived(frame, why)

    def _write(self) -> None:
        while (first := self._outbox.get()) is not None:
            frames, more = [first], True
            while more and not self._outbox.empty():
                following = self._outbox.get()
                more = following is not None
                if following is None:
                    self._outbox.put(None)
                else:
                    frames.append(following)
            try:
                self._client.run(deliver, self._session, frames, workers=[self.worker])
            except Exception as error:
                self._lose(error)
                return

    def _lose(self, error: Exception) -> None:
        with self._lock:
            if self._is_lost:
                return
            self._is_lost = True
        reason = str(error).strip() or type(error).__name__
        self._report_lost(self, "" if isinstance(error, OSError) else reason.splitlines()[0])
