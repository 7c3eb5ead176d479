"""Ask the interpreter to wait for threads at its end, or to collect no cycles meanwhile.

Python ends a thread where it next asks for the interpreter. Where that is in what a solver of C++ calls back, the whole
process is aborted, though a script has long printed its last line.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from time import monotonic
from weakref import WeakKeyDictionary

PATIENCE = 5.0
"""Seconds that the interpreter waits. A solver that is in presolve for longer asks for nothing in the meantime."""

_at_work: WeakKeyDictionary[Thread, Callable[[], object]] = WeakKeyDictionary()


def stop_at_exit(thread: Thread, stop: Callable[[], object]) -> None:
    """Have the interpreter call *stop* when it ends, and then wait a little for *thread*."""
    _at_work[thread] = stop


def leave_at_once() -> None:
    """Wait for no thread: the process will end without taking the interpreter apart."""
    _at_work.clear()


@atexit.register
def _stop_all() -> None:
    for stop in list(_at_work.values()):
        stop()
    until = monotonic() + PATIENCE
    for thread in list(_at_work):
        thread.join(max(0.0, until - monotonic()))


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no cycles within this block: going through all objects again and again takes as long as making them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
