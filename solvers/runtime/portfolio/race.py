"""Run lanes of methods in processes of their own, which tell one another of plans and bounds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from pickle import PicklingError
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, TypeAlias

from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.contracts.executors import Channel
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Ended, SolverError
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, closed, run_lane

LOOK = 0.05
"""Seconds between looks at the clock and at whether somebody asked to stop."""
GRACE = 0.1
"""Seconds beyond the time limit, or after the end of the others, that a process is given to stop by itself."""
STOP_GRACE = 1.0
"""The same after a request to stop, so that solvers hand over the plan that they hold."""
MARGIN, MARGIN_SHARE = 0.2, 0.05
"""By how much, and by which share of the time, processes end before the limit: what they hold has to arrive in it."""
Began: TypeAlias = Callable[[LaneTask, float], None]
MODULE = "mtpp_dsl.solvers.runtime.portfolio.lane"


def cores(limits: Limits) -> int:
    """Return how many processes may run at once.

    That is the number of threads asked for, or of cores this process may use, and no more than the memory is enough
    for; of a cluster no more than it has slots.
    """
    if limits.executor is not None:
        return max(1, min(limits.threads or sys.maxsize, limits.executor.slots, limits.executor.room))
    return max(1, min(LOCAL.slots if limits.threads is None else limits.threads, LOCAL.room))


def run_together(
    problem: Problem,
    lanes: Sequence[Sequence[LaneTask]],
    limits: Limits,
    progress: Progress,
    *,
    threads: int | None = 1,
    to_the_end: bool = False,
    write_model: Path | None = None,
    began: Began | None = None,
) -> tuple[list[Result], tuple[str, ...]]:
    """Run every lane in a process of its own until plan and bound meet, all have ended, or the limits end it.

    If a process cannot be started, its lane runs here, after the others. A process that dies or is killed is started
    once more, with the task that it was running; if that dies too, or raises, the lane goes on with its next task.

    Args:
        problem: must be picklable.
        lanes: of tasks, each lane in order.
        limits: of all.
        progress: receives all plans and bounds, from several threads; what it has already is sent to the lanes.
        threads: of the MIP solver of each lane; None leaves it to the solver.
        to_the_end: wait for the lanes even after plan and bound have met, for their results.
        write_model: where the methods write their MIP; None to write none.
        began: called with every task that begins, and the seconds that it may take; None to tell the user.

    Returns:
        The results of the tasks, with termination "error" for those that failed; notes on processes that were started
        again.
    """
    begin = began or (lambda task, _: progress.say(f"running {task.method.name}"))
    team = _Team(problem, limits, progress, threads, to_the_end=to_the_end, write_model=write_model, began=begin)
    try:
        here = [lane for lane in lanes if lane and not team.start(lane)]
        for lane in here:
            team.add(run_lane(problem, lane, limits, progress, _numbered(begin, lane)))
        team.wait()
    finally:
        team.end()
    return team.results, tuple(team.notes)


def _numbered(began: Began, lane: Sequence[LaneTask]) -> Callable[[int, float], None]:
    """Return *began* for the numbers of the tasks of a lane."""
    return lambda number, seconds: began(lane[number], seconds)


class _Team:
    """The processes of one run."""

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        threads: int | None,
        *,
        to_the_end: bool,
        write_model: Path | None,
        began: Began,
    ) -> None:
        self._problem, self._limits, self._progress, self._began = problem, limits, progress, began
        self._threads, self._to_the_end, self._write_model = threads, to_the_end, write_model
        self._workers: list[_Worker] = []
        self._lock, self._starting = Lock(), Lock()
        self._ending = False
        self.news = Event()
        self.results: list[Result] = []
        self.notes: list[str] = []

    def add(self, results: Sequence[Result]) -> None:
        """Keep the results of tasks."""
        with self._lock:
            self.results += results

    def start(self, tasks: Sequence[LaneTask], *, again: bool = False) -> bool:
        """Start a process for a lane; return False if that is not possible.

        With *again*, a process has died in the lane's first task before.
        """
        limits, progress = self._limits, self._progress
        given = {
            "gap": limits.gap,
            "threads": self._threads,
            "seed": limits.seed,
            "solver": limits.solver,
            "solver_options": dict(limits.solver_options),
            "start": limits.start,
            "write_model": self._write_model,
        }
        try:
            channel = (limits.executor or LOCAL).start(MODULE)
        except (OSError, SolverError) as error:
            return self._not_started(error)
        remaining = limits.remaining
        margin = min(MARGIN, MARGIN_SHARE * remaining)
        seconds, share = limits.end - monotonic() - margin, remaining - margin  # clocks differ between machines
        try:
            channel.tell(
                (self._problem, list(tasks), seconds, share, given, progress.plan, progress.cost, progress.bound)
            )
        except (ValueError, PicklingError, TypeError, AttributeError) as error:
            channel.end()
            return self._not_started(error)
        worker = _Worker(self, channel, tasks, again=again)
        self._workers.append(worker)
        return True

    def _not_started(self, error: Exception) -> bool:
        """Say why a process could not be started or given its job, and return False."""
        self._progress.say(f"no process could be started ({error}): the methods run one after another")
        return False

    def hear(self, source: _Worker, kind: str, *values: Any) -> None:
        """Handle a message of a process, and tell the others."""
        progress = self._progress
        if kind == "plan":
            progress.report_plan(*values)
        elif kind == "cost":
            progress.report_cost(*values)
        elif kind == "bound":
            progress.report_bound(*values)
        elif kind == "say":
            progress.say(*values)
        elif kind == "model":
            progress.report_model(*values)
        elif kind == "prepared":
            self._extend(source, *values)
        elif kind == "task":
            source.at, left = values
            self._began(source.tasks[source.at], left)
        elif kind == "done":
            self.add(values[0])
        elif kind == "failed":
            self._lost(source, values[0].strip().splitlines()[-1], died=False)
        elif kind == "died":
            self._lost(source, values[0], died=True)
        if kind in ("plan", "cost", "bound"):
            for other in list(self._workers):
                if other is not source:
                    other.tell(kind, *values)
        if kind in ("done", "failed", "died"):
            source.settled = True
        if kind not in ("say", "model", "prepared", "task"):
            self.news.set()

    def _lost(self, source: _Worker, why: str, *, died: bool) -> None:
        """Go on with the lane of a process that ended too early, and keep a note of it."""
        once_more = died and not (source.again and source.at == 0)
        rest = source.tasks[source.at + (0 if once_more else 1) :]
        with self._starting:
            if self._ending:
                return
            started = bool(rest) and self.start(rest, again=once_more)
        name = source.tasks[source.at].method.name
        if started and once_more:
            with self._lock:
                self.notes.append(f"the process of {name!r} was started again: {why}")
        else:
            self.add([Result("error", method=name, seed=self._limits.seed, notes=(f"{name!r} failed: {why}",))])

    def _extend(self, source: _Worker, seconds: float) -> None:
        """Extend the time of all by what *source* spent on preparing code, unless another spent as much meanwhile."""
        with self._lock:
            most = max((worker.prepared for worker in self._workers), default=0.0)
            source.prepared = seconds
            PREPARING.add(max(0.0, seconds - most))

    def wait(self) -> None:
        """Wait until every process has said all that it has to say."""
        while any(worker.alive for worker in self._workers) and not self._over:
            self.news.wait(LOOK)
            self.news.clear()

    @property
    def _over(self) -> bool:
        if self._to_the_end:
            return self._progress.stopped or self._limits.remaining <= 0
        if closed(self._progress, self._limits):
            return True
        with self._lock:
            return any(result.infeasibility is not None or result.settled for result in self.results)

    def end(self) -> None:
        """Stop all processes; kill those that do not react."""
        with self._starting:
            self._ending = True
        for worker in self._workers:
            worker.tell("stop")
        until = monotonic() + (STOP_GRACE if self._progress.stopped else GRACE)
        for worker in self._workers:
            worker.end(max(until - monotonic(), 0.0))


class _Worker:
    """One process, and the thread that hears it.

    Attributes:
        tasks: of its lane.
        at: the number of the task that it is running.
        again: whether a process has died in its first task before.
        settled: whether no more messages are to be expected.
        prepared: seconds that it has spent on preparing compiled code.
    """

    def __init__(self, team: _Team, channel: Channel, tasks: Sequence[LaneTask], *, again: bool) -> None:
        self._team, self._channel = team, channel
        self.tasks, self.at, self.again = tasks, 0, again
        self.settled = False
        self.prepared = 0.0
        self._reader = Thread(target=self._listen, daemon=True)
        self._reader.start()

    @property
    def alive(self) -> bool:
        """Return whether more messages are to be expected."""
        return self._reader.is_alive()

    def tell(self, kind: str, *values: Any) -> None:
        """Send a message, without waiting until it is read; a process that has ended gets none."""
        self._channel.tell((kind, *values))

    def _listen(self) -> None:
        try:
            while not self.settled:
                kind, *values = self._channel.hear()
                self._team.hear(self, kind, *values)
        except Ended as error:
            if not self.settled:
                self._team.hear(self, "died", str(error))

    def end(self, seconds: float) -> None:
        """Wait for the end, and kill the process after *seconds*."""
        self.settled = self.settled or not self.alive
        self._reader.join(seconds)
        self.settled = True
        self._channel.end()
        self._reader.join()
