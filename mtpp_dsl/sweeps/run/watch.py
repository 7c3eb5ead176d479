"""Measure what a process and all that it has started hold of the memory; and the time of day."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from time import monotonic

from mtpp_dsl.core.executors.processes import descendants, memory, peak, reset_peak

LIST = 0.25
"""Seconds between looks at which processes there are."""


class MemoryWatch:
    """Watches the memory of a process during one run, and of all that descends from this one.

    Attributes:
        now_bytes: bytes when it last looked.
        most: the most bytes that were seen.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self._pids, self._listed = pid, [pid], monotonic()
        self.now_bytes = self.most = 0
        reset_peak(pid)

    def look(self) -> int:
        """Return the bytes that the processes hold now."""
        if monotonic() - self._listed >= LIST:
            self._pids, self._listed = descendants(os.getpid()), monotonic()
        self.now_bytes = memory(self._pids)
        self.most = max(self.most, self.now_bytes)
        return self.now_bytes

    def last(self) -> int:
        """Return the most bytes that were held, short peaks of the process itself with them."""
        self.most = max(self.most, peak(self._pid))
        return self.most


def amount(count: float) -> str:
    """Return an amount of memory as sweep files write it.

    >>> amount(314572800), amount(4e9)
    ('315 MB', '4 GB')
    """
    return f"{count / 1e9:.4g} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def now() -> str:
    """Return the time, UTC, as ISO 8601 writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
