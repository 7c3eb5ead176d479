"""A module for :func:`mtpp_dsl.testing.check_executor` to start: it says back what it is told, or ends as told."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import Any, Protocol


class _Wire(Protocol):
    born: float

    def receive(self) -> Any: ...
    def send(self, message: object) -> None: ...


def main(wire: _Wire) -> None:
    """Answer messages until the wire ends: ``(what, value)``."""
    while True:
        try:
            what, value = wire.receive()
        except EOFError:
            return
        if what == "echo":
            wire.send(value)
        elif what == "print":
            print(value)  # noqa: T201 (it must not be shown)
            os.write(1, str(value).encode())
            wire.send(sys.stdin.read())
        elif what == "age":
            wire.send(monotonic() - wire.born)
        elif what == "processes":
            wire.send((os.getpid(), os.getppid()))
        elif what == "exit":
            sys.exit(value)
