"""Solve parts of a graph for bounds on their makespans, equal parts once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import blake2b
from time import monotonic
from typing import Any

import numpy as np

from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.request import Effort

LONGER = 1.5
"""How many times as long a part must be given to be asked about again."""
FIRST, LAST = 0.02, 0.004
"""By what share the first cutoff lies above what is known, and the least by which it is still worth while."""
TURN = 0.25
"""Of the time that is left, for one cutoff."""


@dataclass(frozen=True)
class _PartAnswer:
    """A bound on a part: no schedule of it is shorter; *settled* if it is the optimum, or no better one can be had."""

    units: int
    settled: bool


class PartSolver:
    """Asks CP-SAT how soon parts can end; close it at the end.

    It first asks whether a part can end by some time a little after the bound known, which CP-SAT refutes many times
    faster than it finds and proves an optimum, and then by later and later times. Once a time can be kept, the part is
    solved (Klein, Scholl 1999: destructive improvement).

    Args:
        pool: of processes.
        effort: of each part, but for its seconds.
        stopped: returns whether to stop.
    """

    def __init__(self, pool: ProcessPool, effort: Effort, stopped: Callable[[], bool]) -> None:
        self.pool, self._effort, self._stopped = pool, effort, stopped
        self._threads = ThreadPoolExecutor(pool.size)
        self._known: dict[bytes, tuple[Future[_PartAnswer], float]] = {}

    @property
    def asked(self) -> int:
        """How many different parts were asked about."""
        return len(self._known)

    @property
    def open(self) -> int:
        """Of how many of them only a bound is known."""
        return sum(not (future.done() and future.result().settled) for future, _ in self._known.values())

    def submit(self, request: Any, seconds: float) -> Callable[[], int]:
        """Return a future of a lower bound in units on the makespan of a part; its ``at_least`` is known."""
        key = _key(request)
        known = self._known.get(key)
        if known is None or (known[0].done() and not known[0].result().settled and seconds >= LONGER * known[1]):
            known = self._threads.submit(self._climb, request, seconds), seconds
            self._known[key] = known
        future = known[0]
        return lambda: future.result().units

    def _climb(self, request: Any, seconds: float) -> _PartAnswer:
        """Raise the cutoff until it can be kept."""
        until, low, high, step = monotonic() + seconds, int(request.at_least), int(request.cutoff), FIRST
        while not self._stopped() and (left := until - monotonic()) > 0:
            near = high - low <= LAST * low or low <= 0
            cutoff = high if near else min(high, low + max(1, int(low * step)))
            answer = self.pool.submit(
                replace(request, at_least=low, cutoff=cutoff),
                replace(self._effort, seconds=left if near else TURN * left, threads=1),
                stopped=self._stopped,
            ).result()
            low = max(low, answer.bound)
            if answer.status == "optimal" or low > request.cutoff:
                return _PartAnswer(low, settled=True)
            if answer.status == "infeasible":
                step *= 2
            elif near:
                break
            else:
                high = cutoff if answer.value is None else min(cutoff, answer.value)
                step = (high - low) / (2 * low) if low > 0 else FIRST
        return _PartAnswer(low, settled=False)

    def close(self) -> None:
        """Wait for running questions, and drop waiting ones."""
        self._threads.shutdown(cancel_futures=True)


def _key(value: Any) -> bytes:
    """Return a key that is equal for two requests only if they are equal."""
    digest = blake2b(digest_size=32)

    def take(part: Any) -> None:
        if isinstance(part, np.ndarray):
            digest.update(repr((part.shape, part.dtype.str)).encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        elif is_dataclass(part):
            for field in fields(part):
                take(getattr(part, field.name))
        else:
            digest.update(repr(part).encode())

    take(value)
    return digest.digest()
