"""Estimate how long a sweep still takes, from what its runs have taken so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from mtpp_dsl.sweeps.file.run import Run

UNLIMITED = 600.0
"""What a run without a time limit is taken to last as long as none like it has ended."""


@dataclass
class _Kind:
    """Runs that are expected to take alike: those of a method in a group with the same limit."""

    ended: int = 0
    seconds: float = 0.0


class Forecast:
    """Counts what runs take, and says how long the rest takes.

    A run is expected to take what those of its method in its group have taken on average, else what those of its method
    have, else its time limit.

    Args:
        runs: that are to be done.
        jobs: how many are done at once.
    """

    def __init__(self, runs: Iterable[Run], jobs: int) -> None:
        self.jobs = max(1, jobs)
        self._left: dict[tuple[str, str, float | None], int] = defaultdict(int)
        self._near: dict[tuple[str, str], _Kind] = defaultdict(_Kind)
        self._far: dict[str, _Kind] = defaultdict(_Kind)
        for run in runs:
            self._left[run.label, run.group, run.time_limit] += 1

    def ended(self, run: Run, seconds: float) -> None:
        """Hear that a run has ended, and how long it took."""
        self._left[run.label, run.group, run.time_limit] -= 1
        for kind in (self._near[run.label, run.group], self._far[run.label]):
            kind.ended += 1
            kind.seconds += seconds

    def left(self) -> tuple[float, bool]:
        """Return how many seconds the rest takes, and whether that is a guess from runs: else it is the most."""
        total, known = 0.0, True
        for (label, group, limit), count in self._left.items():
            kind = self._near[label, group] if self._near[label, group].ended else self._far[label]
            if kind.ended:
                total += count * kind.seconds / kind.ended
            elif count > 0:
                known = False
                total += count * (UNLIMITED if limit is None else limit)
        return total / min(self.jobs, max(1, sum(self._left.values()))), known
