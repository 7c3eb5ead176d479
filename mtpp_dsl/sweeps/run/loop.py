"""The loop of a sweep: it keeps workers busy, and records the result of each run as soon as it is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event
from time import monotonic
from typing import Protocol

from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.run.slots import Began, Done, Failed, News, Slot
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.store import Store

LOOK = 0.1
"""Seconds between looks at whether somebody asked to stop."""
RENEWAL = 30.0
"""Seconds between renewals of leases."""
LEAVING = 10.0
"""Seconds in which workers may end."""
WINDOW = 64
"""So many runs are asked for at a time, where others may have taken some."""


class RunWatcher(Protocol):
    """Is told of each run, in the thread that called :func:`run_sweep`."""

    def began(self, run: Run) -> None:
        """Hear that a worker has taken a run."""

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        """Hear the result of a run, which is recorded."""


class _Silent:
    """Hears, and says nothing."""

    def began(self, run: Run) -> None:
        """Do nothing."""

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        """Do nothing."""


@dataclass
class Summary:
    """What came of a sweep.

    Attributes:
        recorded: how many runs have been recorded.
        by_status: of these, how many have each status.
        skipped: how many had a result before it began, and are not done again.
        interrupted: whether somebody asked to stop before all were done.
        left: how many are still to be done at the end.
        elsewhere: how many of these other processes are at.
        seconds: that it took.
    """

    recorded: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    skipped: int = 0
    interrupted: bool = False
    left: int = 0
    elsewhere: int = 0
    seconds: float = 0.0

    def add(self, outcome: RunOutcome) -> None:
        """Count an outcome."""
        self.recorded += 1
        self.by_status[outcome.status] = self.by_status.get(outcome.status, 0) + 1


def default_jobs(executor: Executor, runs: Sequence[Run]) -> int:
    """Return how many runs at once are worth while: as many as have a core a thread, and room in the memory."""
    threads = max((run.threads for run in runs), default=1)
    return max(1, min(executor.slots // max(threads, 1), executor.room))


def run_sweep(
    runs: Sequence[Run],
    store: Store,
    executor: Executor,
    jobs: int | None = None,
    *,
    retry: Collection[str] = (),
    watcher: RunWatcher | None = None,
    stop: Event | None = None,
    grace: float | None = None,
) -> Summary:
    """Do the runs that have no result yet, each in a worker process, and record each result at once.

    Whatever a run does to its process is recorded as its outcome. A worker that is lost, such as with its machine, is
    replaced, and its run is begun again, three times at most. Runs that were under way when somebody asked to stop are
    ended and not recorded: they are done when the sweep is run again.

    Args:
        runs: of the sweep, done or not.
        store: where results are kept.
        executor: what starts the workers.
        jobs: how many runs at once; None for :func:`default_jobs`.
        retry: statuses whose runs are done again.
        watcher: is called with each run.
        stop: set by whoever wants the sweep to end.
        grace: seconds beyond its time limit after which a run is killed; None for the usual.

    Raises:
        UsageError: the results cannot be written.
        SolverError: no worker can be started.
    """
    todo = store.pending(runs, retry)
    count = default_jobs(executor, todo) if jobs is None else jobs
    loop = _Loop(todo, store, watcher or _Silent(), stop or Event())
    loop.summary.skipped = len({run.key for run in runs}) - len(todo)
    began = monotonic()
    try:
        loop.work([Slot(executor, loop.waiting, loop.news, grace) for _ in range(min(count, len(todo)))])
    finally:
        loop.summary.seconds = monotonic() - began
    return loop.summary


class _Loop:
    """One call of :func:`run_sweep`.

    Attributes:
        waiting: runs that were claimed, for the next worker that is free.
        news: of the workers.
        summary: of what has come so far.
    """

    def __init__(self, todo: Sequence[Run], store: Store, watcher: RunWatcher, stop: Event) -> None:
        self._todo = deque(todo)
        self._done = store.done()
        self._store, self._watcher, self._stop = store, watcher, stop
        self._claimed: dict[str, Run] = {}
        self._renewed = monotonic()
        self.waiting: SimpleQueue[Run] = SimpleQueue()
        self.news: SimpleQueue[News] = SimpleQueue()
        self.summary = Summary()

    def work(self, slots: Sequence[Slot]) -> None:
        """Keep the workers busy until all runs are done, or somebody asks to stop."""
        try:
            for slot in slots:
                slot.start()
            self._serve([*slots])
        except UsageError:  # the results cannot be written
            self._leave(slots)
            raise
        except BaseException:
            self._leave(slots)
            self._finish()
            raise
        self._leave(slots)
        self._finish()

    def _leave(self, slots: Sequence[Slot]) -> None:
        """End the workers, whatever is under way."""
        for slot in slots:
            slot.leave()
        for slot in slots:
            if slot.ident is not None:
                slot.join(LEAVING)  # one that waits for a cluster is left: it ends what it may get

    def _finish(self) -> None:
        """Record what has come while the workers ended, give back the rest, and count it."""
        while not self.news.empty():
            self._hear(self.news.get())
        self._store.release([*self._claimed])
        rest = {*self._claimed, *(run.key for run in self._todo)}
        self.summary.left = len(rest - (self._store.done() - self._done))
        self.summary.elsewhere = len(rest & self._store.elsewhere())

    def _serve(self, slots: list[Slot]) -> None:
        while not self._stop.is_set():
            self._claim(2 * len(slots) - len(self._claimed))
            if not self._claimed:
                return
            try:
                news = self.news.get(timeout=LOOK)
            except Empty:
                self._renew()
                continue
            if isinstance(news, Failed):
                slots.remove(news.slot)
                if news.run is not None:
                    self.waiting.put(news.run)
                if not slots:
                    raise SolverError(f"no worker could be started: {news.why}")
            self._hear(news)
        self.summary.interrupted = True

    def _claim(self, most: int) -> None:
        """Take runs for the workers, as many as they are at and as many again, so that none waits for the next."""
        for _ in range(len(self._todo) // WINDOW + 1):
            if most <= 0 or not self._todo:
                return
            some = [self._todo.popleft() for _ in range(min(WINDOW, len(self._todo)))]
            taken = {*self._store.claim([run.key for run in some], most)}
            most -= len(taken)
            for run in some:
                if run.key in taken:
                    self._claimed[run.key] = run
                    self.waiting.put(run)
            rest = [run for run in some if run.key not in taken]
            if taken and most <= 0:
                self._todo.extendleft(reversed(rest))
            else:  # others have taken them
                self._todo.extend(rest)

    def _renew(self) -> None:
        if monotonic() - self._renewed >= RENEWAL:
            self._renewed = monotonic()
            self._store.renew()

    def _hear(self, news: News) -> None:
        """Record an outcome, and tell whoever watches."""
        if isinstance(news, Began):
            self._watcher.began(news.run)
        elif isinstance(news, Done):
            run = self._claimed.pop(news.run.key)
            if self._store.put(run, news.outcome):
                self.summary.add(news.outcome)
                self._watcher.ended(run, news.outcome)
        self._renew()
