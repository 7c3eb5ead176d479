"""Count the seconds that preparing compiled code takes: they are charged to no share of a time limit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from threading import Lock
from time import monotonic
from types import TracebackType


class Preparing(AbstractContextManager["Preparing"]):
    """A stopwatch that runs while any thread is inside its ``with`` block; such blocks may be nested.

    Attributes:
        told: called with :attr:`seconds` whenever the stopwatch halts; None for no call.
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

    @property
    def running(self) -> bool:
        """Whether code is being prepared now."""
        with self._lock:
            return self._inside > 0

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
