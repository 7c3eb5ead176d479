"""A process of CP-SAT, on this machine or another."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import Ended, SolverError
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.solvers.backends.cpsat.installed import availability

__all__ = ["Process"]

MODULE = "mtpp_dsl.solvers.backends.cpsat.cpsat_worker"


class Process:
    """A process of CP-SAT.

    Args:
        executor: starts it.

    Raises:
        SolverError: ortools is not installed, or no process can be started.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        if not availability().ok:
            raise SolverError(f"solver 'cp-sat' is not installed; install it with: {availability().install}")
        try:
            self._channel = (executor or LOCAL).start(MODULE)
        except OSError as error:
            raise SolverError(f"no process could be started for CP-SAT: {error}") from error
        self._number = 0

    def numbered(self) -> int:
        """Return the number of the next request to this process."""
        self._number += 1
        return self._number

    @property
    def alive(self) -> bool:
        """Return whether the process is still running."""
        return self._channel.alive

    def tell(self, *message: Any) -> None:
        """Send a message, without waiting until it is read."""
        self._channel.tell(message)

    def hear(self, seconds: float) -> Any:
        """Return the next message, or None if none comes within *seconds*.

        Raises:
            Ended: the process has died.
        """
        try:
            return self._channel.hear(seconds)
        except Ended as error:
            raise Ended(f"the process of CP-SAT died: {error}") from error

    def end(self) -> None:
        """Kill the process."""
        self._channel.end()
