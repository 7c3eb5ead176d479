"""The process that solves members of a family of relaxations, one after another, as its wire says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import inf
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from traceback import format_exc
from typing import Any

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation
from mtpp_dsl.core.executors.wire import Wire
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, load
from mtpp_dsl.solvers.methods.mip.one_model import Proven, solve_one

__all__ = ["MemberQuestion", "main"]


@dataclass(frozen=True)
class MemberQuestion:
    """One member to solve.

    Attributes:
        number: of the member.
        member: what to solve.
        seconds: for it, from the start of the process if it is its first.
        given: gap, threads, seed, solver and its options, as of :class:`mtpp_dsl.core.contracts.limits.Limits`.
        start: a plan to start from.
        least: a bound that is enough.
    """

    number: int
    member: Formulation
    seconds: float
    given: dict[str, Any]
    start: Plan | None
    least: float


class _Watch(Progress):
    """Stops a member when its bound can no longer be the least, or when told to."""

    def __init__(self, least: float) -> None:
        super().__init__()
        self.least, self.passed = least, False

    def tell(self, _: float | None, proven: Proven | None) -> None:
        """Hear of a bound of the member."""
        self.passed |= proven is not None and proven.cost >= self.least

    @property
    def stopped(self) -> bool:
        return self.passed or super().stopped


class _Worker:
    """Answers a wire."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._jobs: SimpleQueue[MemberQuestion] = SimpleQueue()
        self._least, self._watch = inf, _Watch(inf)
        self._began: float | None = wire.born

    def run(self) -> None:
        """Answer until the wire ends."""
        problem: Problem = self._wire.receive()
        Thread(target=self._listen, daemon=True).start()
        while True:
            job = self._jobs.get()
            try:
                self._send("solved", job.number, *self._solve(problem, job))
            except Exception:
                self._send("failed", job.number, format_exc())

    def _solve(self, problem: Problem, job: MemberQuestion) -> tuple[Any, bool]:
        began, self._began = self._began, None
        spent = 0.0 if began is None else monotonic() - began
        limits = Limits(None if job.seconds == inf else max(0.0, job.seconds - spent), start=job.start, **job.given)
        self._watch = watch = _Watch(min(self._least, job.least))
        solved = solve_one(job.member, load(BACKENDS, limits.solver)(), problem, limits, watch, watch.tell)
        return solved, watch.passed

    def _listen(self) -> None:
        try:
            while True:
                message = self._wire.receive()
                if isinstance(message, MemberQuestion):
                    self._jobs.put(message)
                else:
                    self._least = self._watch.least = min(self._least, message)
        except EOFError:
            os._exit(0)  # whoever started us has gone

    def _send(self, *message: object) -> None:
        try:
            self._wire.send(message)
        except OSError:
            os._exit(0)


def main(wire: Wire) -> None:
    """Take a problem, then members to solve (:class:`MemberQuestion`) and bounds that suffice, until the wire ends."""
    _Worker(wire).run()
