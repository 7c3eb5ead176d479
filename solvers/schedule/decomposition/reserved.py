"""Reserved intervals of one device, or of one end of its links, and the gaps between them."""

from __future__ import annotations

from bisect import bisect_right, insort

__all__ = ["ReservedTimes", "common_gap"]


class ReservedTimes:
    """Intervals that do not overlap; those of no length leave no trace."""

    __slots__ = ("_busy",)

    def __init__(self) -> None:
        self._busy: list[tuple[float, float]] = []

    def gap(self, ready: float, takes: float) -> float:
        """Return the first time from *ready* on at which an interval of length *takes* is free."""
        busy = self._busy
        if takes <= 0 or not busy:
            return ready
        i = bisect_right(busy, (ready, float("inf")))
        if i and busy[i - 1][1] > ready:
            ready = busy[i - 1][1]
        while i < len(busy) and busy[i][0] < ready + takes:
            ready = busy[i][1]
            i += 1
        return ready

    def add(self, start: float, takes: float) -> None:
        """Reserve the interval from *start*, which must be free."""
        if takes > 0:
            insort(self._busy, (start, start + takes))

    def drop(self, start: float, takes: float) -> None:
        """Release an interval."""
        if takes > 0:
            self._busy.remove((start, start + takes))


def common_gap(one: ReservedTimes, other: ReservedTimes, ready: float, takes: float) -> float:
    """Return the first time from *ready* on at which an interval of length *takes* is free in both."""
    while True:
        first = one.gap(ready, takes)
        ready = other.gap(first, takes)
        if ready == first:
            return ready
