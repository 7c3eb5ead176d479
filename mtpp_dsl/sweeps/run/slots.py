"""A place where one run at a time is solved: a worker that is started, told of runs, heard, and replaced when lost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import TypeAlias

from mtpp_dsl.core.contracts.executors import Channel, Executor
from mtpp_dsl.core.errors import Ended, MtppError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import RunOutcome

MODULE = "mtpp_dsl.sweeps.run.worker"
LOOK = 0.1
"""Seconds between looks at whether the place is to be left."""
TRIES = 3
"""So often a run is begun whose worker is lost."""
SILENCE = 300.0
"""Seconds, and twice the time limit of a run: a worker that then has not answered is lost."""
LEAVING = 3.0
"""Seconds in which a worker may end its run, and what that has started, before it is killed itself."""
PAUSES = (0.1, 1.0, 5.0)
"""Seconds before it is tried again to start a worker."""


@dataclass(frozen=True)
class Began:
    """A worker has taken a run."""

    run: Run


@dataclass(frozen=True)
class Done:
    """A run has ended."""

    run: Run
    outcome: RunOutcome


@dataclass(frozen=True)
class Failed:
    """No worker can be started, so that the place is left; *run* was waiting for one."""

    slot: Slot
    why: str
    run: Run | None


News: TypeAlias = Began | Done | Failed


class Slot(Thread):
    """A place where one run at a time is solved.

    Args:
        executor: what starts the workers.
        waiting: runs, taken as they come.
        news: where it tells of them.
        grace: seconds beyond its time limit after which a run is killed; None for the usual.
    """

    def __init__(
        self, executor: Executor, waiting: SimpleQueue[Run], news: SimpleQueue[News], grace: float | None
    ) -> None:
        super().__init__(name="sweep", daemon=True)
        self._executor, self._waiting, self._news, self._grace = executor, waiting, news, grace
        self._channel: Channel | None = None
        self._leaving = Event()
        self._number = 0

    def leave(self) -> None:
        """Have the place left at once, whatever is under way."""
        self._leaving.set()

    def run(self) -> None:
        """Solve runs, one after another, until the place is left."""
        run: Run | None = None
        try:
            self._start()
            while not self._leaving.is_set():
                try:
                    run = self._waiting.get(timeout=LOOK)
                except Empty:
                    continue
                self._news.put(Began(run))
                outcome = self._solve(run)
                if outcome is not None:
                    self._news.put(Done(run, outcome))
                run = None
        except Exception as error:
            known = isinstance(error, (OSError, MtppError))
            self._news.put(Failed(self, str(error) if known else repr(error), run))
        finally:
            self._end()

    def _start(self) -> Channel:
        """Return the worker; start one where there is none.

        Raises:
            OSError: that is not possible now, and was not for a while.
            SolverError: it never will be.
        """
        for pause in (*PAUSES, None):
            if self._channel is not None:
                break
            try:
                self._channel = self._executor.start(MODULE)
            except OSError:
                if pause is None or self._leaving.wait(pause):
                    raise
        assert self._channel is not None
        return self._channel

    def _end(self) -> None:
        """End the worker, which is given a moment to clear up."""
        channel, self._channel = self._channel, None
        if channel is None:
            return
        with suppress(Ended, OSError):
            channel.tell(None)
            until = monotonic() + LEAVING
            while monotonic() < until:
                channel.hear(LOOK)
        channel.end()

    def _solve(self, run: Run) -> RunOutcome | None:
        """Return the outcome of a run; None if the place is left before there is one."""
        why = ""
        for attempts in range(1, TRIES + 1):
            channel = self._start()
            try:
                outcome = self._heard(channel, run)
            except Ended as error:
                why = str(error)
                self._end()
                continue
            return None if outcome is None else replace(outcome, attempts=attempts, worker=channel.where)
        return RunOutcome("lost", error=f"its worker was lost {TRIES} times, last: {why}", attempts=TRIES)

    def _heard(self, channel: Channel, run: Run) -> RunOutcome | None:
        """Have a worker solve a run, and return its outcome; None if the place is left.

        Raises:
            Ended: the worker is lost.
        """
        self._number += 1
        channel.tell(("run", self._number, run.to_json(), self._grace))
        limit = float("inf") if run.time_limit is None else SILENCE + 2 * (run.time_limit + (self._grace or 0.0))
        until = monotonic() + limit
        while not self._leaving.is_set():
            message = channel.hear(LOOK)
            if message is None:
                if monotonic() > until:
                    raise Ended("it was silent for too long")
                continue
            kind, *values = message
            if kind == "failed":
                raise Ended(values[0])
            number, outcome = values
            if number == self._number and isinstance(outcome, RunOutcome):
                return outcome
        return None
