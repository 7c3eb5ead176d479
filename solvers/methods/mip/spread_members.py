"""Solve the members of a family side by side, in processes of an executor: both ends of the wire."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil, inf
from pickle import PicklingError
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from traceback import format_exc
from typing import Any

from mtpp_dsl.core.contracts.executors import Channel, Executor
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation
from mtpp_dsl.core.errors import Ended, SolverError
from mtpp_dsl.core.executors.wire import Wire
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, load
from mtpp_dsl.solvers.methods.mip.one_model import Proven, SolvedModel, solve_one


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


MODULE = "mtpp_dsl.solvers.methods.mip.spread_members"
LOOK = 0.05
"""Seconds between looks at the clock and at whether somebody asked to stop."""
MARGIN, MARGIN_SHARE = 0.2, 0.05
"""By how much, and by which share of its time, a member ends before its limit: its result has to arrive in it."""
GRACE = 1.0
"""Seconds beyond the end of all that a result may take to arrive."""
TRIES = 3
"""How often a member is begun whose process dies."""


def spread(
    members: Sequence[Formulation],
    solver: str,
    problem: Problem,
    limits: Limits,
    progress: Progress,
    enough: float,
    processes: int,
) -> list[tuple[SolvedModel, bool] | None]:
    """Return, for each member, what became of it and whether it was left since its bound cannot be the least.

    None stands for one that no process has solved: the time was up, somebody asked to stop, or there is no process.

    Args:
        members: each a relaxation.
        solver: name of the MIP back end.
        problem: what is asked.
        limits: of all; the members that are still to be solved share what is left of it.
        progress: to watch, and to stop.
        enough: members are left whose bound reaches it.
        processes: how many at once.

    Raises:
        SolverError: a solver failed.
    """
    assert limits.executor is not None
    team = _Team(members, solver, problem, limits, progress, enough, processes)
    with ThreadPoolExecutor(processes) as threads:
        for future in [threads.submit(team.work, limits.executor) for _ in range(processes)]:
            future.result()
    return team.found


class _Team:
    """The members that are left, and what is found."""

    def __init__(
        self,
        members: Sequence[Formulation],
        solver: str,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        enough: float,
        processes: int,
    ) -> None:
        self._members, self._problem, self._limits, self._progress = members, problem, limits, progress
        self._least, self._processes = enough, processes
        self._given = {
            "gap": limits.gap,
            "threads": limits.threads or 1,
            "seed": limits.seed,
            "solver": solver,
            "solver_options": dict(limits.solver_options),
        }
        self._left = [(number, 1) for number in reversed(range(len(members)))]
        self._lock, self._failed = Lock(), False
        self._channels: list[Channel] = []
        self.found: list[tuple[SolvedModel, bool] | None] = [None] * len(members)

    def work(self, executor: Executor) -> None:
        """Solve members by a process until none is left; by another one where it dies."""
        while self._left and not self._over:
            try:
                channel = executor.start(MODULE)
            except OSError as error:
                self._progress.say(f"no process could be started: {error}")
                return
            with self._lock:
                self._channels.append(channel)
            try:
                channel.tell(self._problem)
                self._serve(channel)
            except SolverError:
                self._failed = True
                raise
            except (PicklingError, TypeError, AttributeError) as error:
                self._progress.say(f"a process cannot be given its job: {error}")
                return
            finally:
                with self._lock:
                    self._channels.remove(channel)
                channel.end()

    @property
    def _over(self) -> bool:
        return self._failed or self._progress.stopped or self._limits.remaining <= 0

    def _serve(self, channel: Channel) -> None:
        """Give members to a process, one after another, until none is left or it dies."""
        while not self._over:
            with self._lock:
                if not self._left:
                    return
                left = len(self._left)
                number, tries = self._left.pop()
            rounds = ceil(left / self._processes)
            seconds = self._limits.remaining / rounds
            seconds -= min(MARGIN, MARGIN_SHARE * seconds) if seconds < inf else 0.0
            ask = MemberQuestion(number, self._members[number], seconds, self._given, self._limits.start, self._least)
            channel.tell(ask)
            try:
                self._wait(channel)
            except Ended as error:
                name = self._members[number].name
                if tries == TRIES:
                    raise SolverError(f"{name}: its process died {TRIES} times: {error}") from error
                self._progress.say(f"{name}: its process is started again: {error}")
                with self._lock:
                    self._left.append((number, tries + 1))
                return

    def _wait(self, channel: Channel) -> None:
        """Wait for the result of a member, until the time is up."""
        late, announced = 0.0, False
        while not self._failed and late < GRACE:
            if self._progress.stopped and not announced:
                channel.tell(-inf)  # any bound is enough now
                announced = True
            if announced or self._limits.remaining <= 0:
                late += LOOK
            message = channel.hear(LOOK)
            if message is None:
                continue
            kind, number, *values = message
            if kind == "failed":
                raise SolverError(f"{self._members[number].name}: {values[0].strip().splitlines()[-1]}")
            self._take(number, *values)
            return

    def _take(self, number: int, solved: SolvedModel, passed: bool) -> None:
        """Keep a result, and tell the others if it is the least bound so far."""
        self.found[number] = solved, passed and not self._progress.stopped
        cost = -inf if solved.proven is None else solved.proven.cost
        bound = "no bound" if solved.proven is None else f"bound {cost:.6g}"
        self._progress.say(f"{self._members[number].name}: {bound}")
        with self._lock:
            if cost >= self._least:
                return
            self._least = cost
            for channel in self._channels:
                channel.tell(cost)
