"""Send and receive messages between processes: pickled, through pipes."""

from __future__ import annotations

import io
import pickle
import struct
from types import MappingProxyType
from typing import IO, Any

from mtpp_dsl.plans.plan import Plan

__all__ = ["receive", "send"]

_LENGTH = struct.Struct("<Q")


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


class _Pickler(pickle.Pickler):
    """Pickles read-only mappings too, which problems and plans contain; plans go without their problem."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Plan) and value.problem is not None:
            return value.of(None).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        if isinstance(value, MappingProxyType):
            return _read_only, (dict(value),)
        return NotImplemented


def send(stream: IO[bytes], message: object) -> None:
    """Write a message.

    Raises:
        OSError: nobody reads any more.
        pickle.PicklingError, TypeError, AttributeError: it cannot be pickled.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(message)
    stream.write(_LENGTH.pack(buffer.tell()) + buffer.getvalue())
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read the next message; only from a process that was started by us, or that started us.

    Raises:
        EOFError: there are no more.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    size = _LENGTH.unpack(head)[0]
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return pickle.loads(body)
