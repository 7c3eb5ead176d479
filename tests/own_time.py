"""The processor time of what is tested, without that of what other tests have left in the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

__all__ = ["within"]


@contextmanager
def within(seconds: float, what: object) -> Iterator[None]:
    """Hold that the body needs less time of the processor, in this thread; the collector of garbage waits meanwhile.

    A process of many tests holds gigabytes, through which the collector takes seconds, whoever happens to call it.
    """
    gc.disable()
    began = thread_time()
    try:
        yield
        took = thread_time() - began
    finally:
        gc.enable()
    assert took < seconds, (what, took)
