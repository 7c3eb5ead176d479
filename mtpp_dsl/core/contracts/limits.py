"""Limits of one run: how long and how hard to try, and with what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any

from mtpp_dsl.core.base.pickling import Picklable
from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.base.shown import Short
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.plans.plan import Plan

__all__ = ["Limits"]


@dataclass(frozen=True, repr=False)
class Limits(Short, Picklable):
    """How long and how hard to try, and with what.

    Limits made by :meth:`within` are a share of others. What this process takes to prepare compiled code is not charged
    to shares, so that an answer does not depend on whether the code was compiled before; the limits that the shares
    are of count every second.

    Attributes:
        time: seconds, None for no limit.
        gap: stop when ``(cost - bound) / cost`` is at most this.
        threads: of a solver, or processes of a portfolio; None leaves it to the solver, or the cores of the machine.
        seed: of everything random.
        solver: name of the MIP back end, for methods that use one.
        solver_options: passed through to it; an unknown one is an error.
        start: a plan to start from; whoever calls a method has verified it and reported it.
        write_model: where to write the MIP before solving it (.lp or .mps).
        executor: what starts processes; None for this machine. It does not travel: a process that is sent limits
            starts its own where it runs.
    """

    time: float | None = None
    gap: float = 1e-6
    threads: int | None = None
    seed: int = 0
    solver: str = "highs"
    solver_options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    start: Plan | None = None
    write_model: Path | None = None
    executor: Executor | None = field(default=None, compare=False)
    _born: float = field(default_factory=monotonic, repr=False)
    _prepared: float = field(default_factory=lambda: PREPARING.seconds, repr=False)
    _end: float | None = field(default=None, repr=False)  # of the limits that these are a share of

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "executor": None}

    @property
    def end(self) -> float:
        """When everything ends, by ``time.monotonic()``, whatever is prepared; ``inf`` without a limit."""
        if self._end is not None:
            return self._end
        return float("inf") if self.time is None else self._born + self.time

    @property
    def remaining(self) -> float:
        """Seconds left since these limits were made; ``inf`` without a limit, never negative."""
        if self.time is None:
            return float("inf")
        share = self._born + self.time + PREPARING.seconds - self._prepared
        return max(0.0, min(share, self.end) - monotonic())

    def within(self, seconds: float, **changes: Any) -> Limits:
        """Return limits that start now and end after *seconds* or with these, whichever is first.

        Seconds in which this process prepares compiled code are not counted, except towards the end of all.
        """
        seconds = min(seconds, self.remaining)
        limit = None if seconds == float("inf") else seconds
        now, prepared = monotonic(), PREPARING.seconds
        return replace(self, time=limit, _born=now, _prepared=prepared, _end=self.end, **changes)
