"""Send and receive messages between processes: pickled, each in a frame of bytes with its length before it."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
from abc import ABC, abstractmethod
from threading import Lock
from types import MappingProxyType
from typing import IO, Any

_LENGTH = struct.Struct("<Q")


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


def _is_plan(value: object) -> bool:
    """Return whether *value* is a plan; where plans, which need numpy, have not been imported, there is none."""
    plans = sys.modules.get("mtpp_dsl.core.plans.plan")
    return plans is not None and isinstance(value, plans.Plan)


class _Pickler(pickle.Pickler):
    """Pickles read-only mappings too, which problems and plans contain; plans go without their problem."""

    def reducer_override(self, value: Any) -> Any:
        if _is_plan(value) and value.problem is not None:
            return value.of(None).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        if isinstance(value, MappingProxyType):
            return _read_only, (dict(value),)
        return NotImplemented


def pack(message: object) -> bytes:
    """Return a message as bytes.

    Raises:
        pickle.PicklingError, TypeError, AttributeError: it cannot be pickled.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(message)
    return buffer.getvalue()


def unpack(frame: bytes) -> Any:
    """Return the message that :func:`pack` made bytes of; only from a process that we started, or that started us."""
    return pickle.loads(frame)


def write_frame(stream: IO[bytes], frame: bytes) -> None:
    """Write a frame.

    Raises:
        OSError: the other end is closed.
    """
    stream.write(_LENGTH.pack(len(frame)) + frame)
    stream.flush()


def read_frame(stream: IO[bytes], most: int | None = None) -> bytes:
    """Read the next frame.

    Raises:
        EOFError: there are no more.
        ValueError: it has more than *most* bytes, or what was read is no frame.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    size = _LENGTH.unpack(head)[0]
    if most is not None and size > most:
        raise ValueError(f"a frame of {size} bytes")
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return body


def send(stream: IO[bytes], message: object) -> None:
    """Write a message.

    Raises:
        OSError: the other end is closed.
        pickle.PicklingError, TypeError, AttributeError: it cannot be pickled.
    """
    write_frame(stream, pack(message))


def receive(stream: IO[bytes]) -> Any:
    """Read the next message; only from a process that was started by us, or that started us.

    Raises:
        EOFError: there are no more.
    """
    return unpack(read_frame(stream))


class Wire:
    """The messages between this process and whoever started it, in the process that was started.

    Several threads may send.

    Args:
        source, out: carry the messages.
        born: when this process was started, by ``time.monotonic()``. Clocks of two machines differ, so that messages
            speak of seconds, which are counted from here.
    """

    def __init__(self, source: IO[bytes], out: IO[bytes], born: float) -> None:
        self.born = born
        self._source, self._out, self._sending = source, out, Lock()

    @classmethod
    def of_this_process(cls, born: float) -> Wire:
        """Take standard input and output as the wire; what reads or prints from now on uses neither."""
        source, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        return cls(source, out, born)

    def receive(self) -> Any:
        """Wait for the next message, and return it.

        Raises:
            EOFError: whoever started us has gone.
        """
        return unpack(self.take())

    def take(self) -> bytes:
        """Wait for the next frame, and return it as it is.

        Raises:
            EOFError: whoever started us has gone.
        """
        return read_frame(self._source)

    def send(self, message: object) -> None:
        """Send a message.

        Raises:
            OSError: the other end is closed.
        """
        self.put(pack(message))

    def put(self, frame: bytes) -> None:
        """Send a frame as it is, to one that reads frames.

        Raises:
            OSError: the other end is closed.
        """
        with self._sending:
            write_frame(self._out, frame)


class Framed(ABC):
    """A channel whose messages travel as frames: it packs and unpacks them."""

    @abstractmethod
    def put(self, frame: bytes) -> None:
        """Send a frame, without waiting."""

    @abstractmethod
    def take(self, seconds: float | None = None) -> bytes | None:
        """Return the next frame, or None if none comes in time; raise ``Ended`` as :meth:`hear` does."""

    def tell(self, message: object) -> None:
        """Send a message: see :meth:`mtpp_dsl.core.contracts.executors.Channel.tell`."""
        self.put(pack(message))

    def hear(self, seconds: float | None = None) -> Any:
        """Return the next message: see :meth:`mtpp_dsl.core.contracts.executors.Channel.hear`."""
        frame = self.take(seconds)
        return None if frame is None else unpack(frame)
