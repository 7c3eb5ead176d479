"""Find the executor that an address is of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import UsageError, nearest


def open_executor(address: str) -> Executor:
    """Return what starts processes at *address*, such as ``tcp://scheduler:8786``, ``local-cluster:2`` or ``local``.

    What stands before the first colon says which executor it is: its name, or one of the schemes that it claims.

    Raises:
        UsageError: no executor claims it; the address is wrong, or there is no answer from it.
        PluginError: it cannot be imported.
    """
    scheme = address.partition(":")[0]
    known: dict[str, str] = {}
    for name in registry.available(registry.EXECUTORS):
        kind = registry.load(registry.EXECUTORS, name)
        known.update(dict.fromkeys((name, *kind.schemes), name))
        if scheme in (name, *kind.schemes):
            executor: Executor = kind(address)
            return executor
    raise UsageError(
        f"no scheduler has an address that begins with {scheme!r}, as {address!r} does{nearest(scheme, known)} "
        f"(there are: {', '.join(known)})"
    )


@contextmanager
def opened(scheduler: str | Executor | None) -> Iterator[Executor | None]:
    """Give what starts processes for the block: one at an address is opened and closed, another is given as it is.

    Raises:
        UsageError, PluginError: as of :func:`open_executor`.
    """
    if not isinstance(scheduler, str):
        yield scheduler
        return
    executor = open_executor(scheduler)
    try:
        yield executor
    finally:
        executor.close()
