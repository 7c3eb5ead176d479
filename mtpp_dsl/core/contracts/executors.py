"""The contract of what starts processes of ours: on this machine, or on another."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable


@runtime_checkable
class Channel(Protocol):
    """A process that runs one of our modules, and a wire to it and back.

    Messages are objects that can be pickled. They arrive whole and in order; what the process prints is none.
    """

    @property
    def where(self) -> str:
        """Return which machine the process runs on, in words that name no host; "" for this one."""
        ...

    @property
    def alive(self) -> bool:
        """Return whether the process runs, as far as is known."""
        ...

    def tell(self, message: object) -> None:
        """Send a message, without waiting until it is read; a process that has ended gets none.

        Raises:
            pickle.PicklingError, TypeError, AttributeError: it cannot be pickled.
        """
        ...

    def hear(self, seconds: float | None = None) -> Any:
        """Return the next message, or None if none comes within *seconds*; None for no limit.

        Raises:
            mtpp_dsl.errors.Ended: the process has ended, and all that it had sent has been heard.
        """
        ...

    def end(self) -> None:
        """Kill the process, and release what belongs to it; may be called again."""
        ...


@runtime_checkable
class Executor(Protocol):
    """What starts processes of ours, on this machine or on another.

    Attributes:
        name: as in the registry.
        summary: one line.
        schemes: what its addresses begin with, up to a colon, as in ``--scheduler tcp://host:8786``.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]]

    @property
    def slots(self) -> int:
        """Return how many processes at once are worth while by default: one a core."""
        ...

    @property
    def room(self) -> int:
        """Return how many processes at once the memory is enough for."""
        ...

    def start(self, module: str) -> Channel:
        """Start a process that calls ``main(wire)`` of *module*; see :class:`mtpp_dsl.core.executors.wire.Wire`.

        It returns when the process runs, and may wait some seconds for that.

        Raises:
            OSError: no process can be started now.
            SolverError: none can ever be, such as where other versions are installed.
        """
        ...

    def close(self) -> None:
        """End all processes that are left, and leave the cluster; may be called again."""
        ...
