"""Times of repeated runs: by the clock on the wall, or by what the processor spent on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, thread_time
from typing import Literal

Clock = Literal["wall", "cpu"]
CLOCKS: dict[Clock, Callable[[], float]] = {"wall": perf_counter, "cpu": thread_time}
"""``cpu`` counts what the calling thread spent: other programs do not matter, and neither do further threads."""


@dataclass(frozen=True)
class TimeSpread:
    """The median of some times in s, and the times that a quarter of them are below and above.

    *processor* is the median of what the calling thread spent on the processor meanwhile: less, where it waited for
    other programs. None where it waits for another device, and where that was not measured.
    """

    median: float
    low: float
    high: float
    runs: int
    processor: float | None = None


def spread(times: Sequence[float], processor: Sequence[float] = ()) -> TimeSpread:
    """Return median and quartiles of one time or more, and the median of the times on the processor.

    >>> spread([3.0, 1.0, 2.0, 10.0, 4.0])
    TimeSpread(median=3.0, low=2.0, high=4.0, runs=5, processor=None)
    """
    ordered = sorted(times)
    quarter = (len(ordered) - 1) // 4
    spent = median(processor) if processor else None
    return TimeSpread(median(ordered), ordered[quarter], ordered[len(ordered) - 1 - quarter], len(ordered), spent)
