"""How long this process has prepared compiled code, and whether there is time left to prepare more.

What it takes is charged to no method's share of a time limit, only to the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from math import inf
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Any

__all__ = ["PREPARING", "Preparing", "numba", "worth_compiling"]


class Preparing(AbstractContextManager["Preparing"]):
    """A stopwatch that runs while any thread is inside its ``with`` block; such blocks may be nested.

    Attributes:
        told: called with :attr:`seconds` whenever the stopwatch halts; None if nobody listens.
        until: when the time of the present call is over, by ``time.monotonic()``; ``inf`` without a limit.
    """

    def __init__(self) -> None:
        self.told: Callable[[float], None] | None = None
        self.until = inf
        self._lock = Lock()
        self._inside = 0
        self._began = 0.0
        self._spent = 0.0

    @property
    def seconds(self) -> float:
        """Seconds that the stopwatch has run, the present ones included."""
        with self._lock:
            return self._spent + (monotonic() - self._began if self._inside else 0.0)

    def add(self, seconds: float) -> None:
        """Add what another process has spent for this one."""
        with self._lock:
            self._spent += seconds

    def __enter__(self) -> Preparing:
        """Start the stopwatch, unless it runs."""
        with self._lock:
            if not self._inside:
                self._began = monotonic()
            self._inside += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Halt the stopwatch if this was the last block."""
        with self._lock:
            self._inside -= 1
            halted = not self._inside
            if halted:
                self._spent += monotonic() - self._began
        if halted and self.told is not None:
            self.told(self.seconds)


PREPARING = Preparing()
"""The stopwatch of this process."""


@cache
def numba() -> Any:
    """Import numba, and return it; from now on :data:`PREPARING` runs while numba compiles or loads machine code."""
    with PREPARING:
        import numba
        from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc, unused-ignore]
        """Starts and halts the stopwatch with numba's lock on its compiler, which also guards its cache on disk."""

        def on_start(self, _: object) -> None:
            PREPARING.__enter__()

        def on_end(self, _: object) -> None:
            PREPARING.__exit__(None, None, None)

    event.register("numba:compiler_lock", Listener())
    return numba


COMPILING, PER_BYTE = 0.3, 4e-4
"""Seconds that numba takes to compile a function, about: measured 0.2 s to 4.3 s for 600 to 8,600 bytes of bytecode."""
LOADING = 0.6
"""Seconds that importing numba and loading machine code from disk take, about."""
WORTH = 0.9
"""Of the time that is left, what compiling may take: code that is ready when the time is up is of no use."""


def worth_compiling(dispatcher: Callable[[], Any], bytecode: int) -> bool:
    """Return whether there is time to have a function compiled, and to use it.

    Args:
        dispatcher: returns numba's dispatcher of the function, for which numba is imported.
        bytecode: the size of the function, in bytes.
    """
    left = PREPARING.until - monotonic()
    if COMPILING + PER_BYTE * bytecode <= WORTH * left:
        return True
    return left > LOADING and _ready(dispatcher())


def _ready(dispatcher: Any) -> bool:
    """Return whether a function is compiled, here or on disk; False where numba does not tell."""
    if dispatcher.signatures:
        return True
    try:
        return bool(dispatcher._cache._cache_file._load_index())  # numba has no public name for it
    except (AttributeError, OSError):
        return False
