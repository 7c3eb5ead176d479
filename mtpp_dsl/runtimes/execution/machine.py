"""State facts about the machine that measures, and what other programs do on it meanwhile."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any


def machine_facts(threads: int, clock: str, packages: tuple[str, ...], device: str = "cpu") -> dict[str, Any]:
    """Return what a profile says of its machine; *packages* are those whose versions matter."""
    facts: dict[str, Any] = {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": threads,
        "clock": clock,
        "system": platform.system(),
        "python": platform.python_version(),
    }
    if device != "cpu":
        facts["device"] = device
    for package in packages:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def processor_name() -> str:
    """Return the name of the processor, as the system gives it."""
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "Hardware"):
                return value.strip()
    return platform.processor() or platform.machine()


MAX_SLOWER = 1.1
"""Times on the clock that are so many times the time on the processor are warned of."""
STATISTICS = Path("/proc/stat")
IDLE = (3, 4)
"""Where the first line of the statistics has the ticks in which nothing ran."""
KINDS = 8
"""So many kinds of ticks are counted; those of guests come after them, and are counted with the others."""


class ForeignLoad:
    """Counts from now on the cores that other programs keep busy."""

    def __init__(self) -> None:
        self._began = _moment()

    def others(self) -> float | None:
        """Return how many cores other programs kept busy since the start; None where the system does not say."""
        now, busy = _moment()
        if busy is None or self._began[1] is None or now <= self._began[0]:
            return None
        return max(0.0, (busy - self._began[1]) / (now - self._began[0]))


def _moment() -> tuple[float, float | None]:
    """Return the time on the clock, and the seconds that all cores together were busy with other programs."""
    try:
        words = STATISTICS.read_text(encoding="ascii", errors="replace").split("\n", 1)[0].split()[1 : KINDS + 1]
        ticks = sum(int(word) for place, word in enumerate(words) if place not in IDLE)
        total: float | None = ticks / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])
    except (OSError, ValueError, AttributeError):
        total = None
    return perf_counter(), total


def busy(slower: float, others: float | None, threads: int, cores: int, instead: str) -> str | None:
    """Return what to tell the user of a machine that was busy while times were taken by the clock, or None.

    Args:
        slower: the time on the clock by the time on the processor, of what was measured.
        others: cores that other programs kept busy; None where it is unknown.
        threads: with how many threads it was measured.
        cores: how many the machine has.
        instead: what else to do than to measure again.

    >>> busy(1.0, 7.9, 1, 8, "--clock cpu")[:61]
    'the machine was busy: other programs kept 7.9 of 8 cores busy'
    """
    reasons = []
    if slower > MAX_SLOWER:
        reasons.append(
            "what was measured waited for the processor, and the times are "
            + (f"{slower:.1f} times those on the processor" if slower < 1_000 else "hardly spent on it")
        )
    if others is not None and others + threads > cores + 0.5:
        reasons.append(f"other programs kept {others:.1f} of {cores} cores busy")
    if not reasons:
        return None
    return f"the machine was busy: {'; '.join(reasons)}. Measure again when nothing else runs, or say {instead}"


@contextmanager
def processes_within() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Give a list to put processes into; when the block ends, however it ends, none of them is left."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
        for process in processes:
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
