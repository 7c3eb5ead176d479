"""Run as the small process that an executor starts for a sweep, which keeps one that solves.

It does nothing but wait and watch, and imports no numpy. The process that solves (:mod:`mtpp_dsl.sweeps.run.solving`)
may crash, hang, print or grow as it likes: it is then ended, with all that it has started, and a new one takes its
place. As the keeper runs on the same machine, limits hold wherever the executor has put it.
"""

from __future__ import annotations

import os
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.executors.processes import adopt_orphans, end_all
from mtpp_dsl.sweeps.run.keeper import Keeper, Leaving

if TYPE_CHECKING:
    from mtpp_dsl.core.executors.wire import Wire

__all__ = ["main"]


def main(wire: Wire) -> None:
    """Solve the runs that come over the wire, and send back their outcomes, until it ends.

    It takes ``("run", number, run as JSON, seconds of grace or None)``, and answers
    ``("outcome", number, Outcome)``; or ``("failed", why)`` where it can start no process. None ends it at once.
    """
    adopt_orphans()
    inbox: SimpleQueue[Any] = SimpleQueue()
    gone = Event()
    Thread(target=_follow, args=(wire, inbox, gone), daemon=True).start()
    keeper = Keeper(gone.is_set)
    try:
        keeper.start()
        while (message := inbox.get()) is not None:
            _, number, run, grace = message
            wire.send(("outcome", number, keeper.run(run, grace)))
            keeper.settle()
    except Leaving:
        pass
    except OSError as error:
        if not gone.is_set():
            wire.send(("failed", f"no process could be started: {error}"))
    finally:
        keeper.end()
        end_all(os.getpid())
        os._exit(0)


def _follow(wire: Wire, inbox: SimpleQueue[Any], gone: Event) -> None:
    """Take messages from the wire, until it ends."""
    try:
        while (message := wire.receive()) is not None:
            inbox.put(message)
    except (EOFError, OSError):
        pass
    gone.set()
    inbox.put(None)
