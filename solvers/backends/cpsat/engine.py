"""Processes of CP-SAT: each is started once and answers many requests."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from math import inf
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import Ended, SolverError, UsageError, did_you_mean
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.solvers.backends.cpsat.installed import availability
from mtpp_dsl.solvers.backends.cpsat.request import CpSatRequest, Effort, Reply

__all__ = ["CpSatProcess", "ProcessPool", "availability", "by"]

LOOK = 0.05
"""Seconds between looks at the clock and at whether somebody asked to stop."""
AGAIN = 0.5
"""Seconds between words to CP-SAT that it should stop."""
TRIES = 3
"""How often a request is begun whose process on a cluster is lost."""
GRACE, STOP_GRACE = 5.0, 1.0
"""Seconds that CP-SAT may go on after its time, as its process takes some to start, or after it was asked to stop."""

UNUSED: MutableMapping[Executor, list[Process]] = WeakKeyDictionary()
"""Processes on clusters between two requests: each holds a slot, so that all pools on a cluster share them."""

S = TypeVar("S")
News: TypeAlias = Callable[[int | None, S | None, int | None], None]
"""Hears of a solution (its value and itself) or of a bound, as they are found."""


def by() -> str:
    """Return the name and version of the solver, for bounds."""
    return f"cp-sat {availability().version}".rstrip()


class CpSatProcess:
    """One process of CP-SAT, started with its first request; use it as a context, or close it.

    It serves one thread at a time; see :class:`ProcessPool` for several.

    Args:
        executor: starts the process; None for this machine.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._process: Process | None = None

    def solve(
        self,
        request: CpSatRequest[S],
        effort: Effort | None = None,
        *,
        stopped: Callable[[], bool] = lambda: False,
        news: News[S] | None = None,
        log: Callable[[str], None] | None = None,
    ) -> Reply[S]:
        """Solve a request.

        Args:
            request: what to solve.
            effort: limits; None for none, on one thread.
            stopped: called many times a second; True stops the search with what it has.
            news: called with solutions and bounds as they are found.
            log: called with the lines of CP-SAT's log.

        Raises:
            SolverError: ortools is not installed, or its process died.
            UsageError: an option of *effort* that CP-SAT does not have, or whose value it refuses.
        """
        effort = effort or Effort()
        until = monotonic() + effort.seconds
        for left in reversed(range(1 if self._executor is None else TRIES)):
            try:
                return self._ask(request, effort, stopped, news, log)
            except Ended:  # on this machine it was short of memory, as a rule; a cluster has other workers
                if not left or stopped():
                    raise
                effort = replace(effort, seconds=max(0.0, until - monotonic()))
        raise AssertionError

    def _ask(
        self,
        request: CpSatRequest[S],
        effort: Effort,
        stopped: Callable[[], bool],
        news: News[S] | None,
        log: Callable[[str], None] | None,
    ) -> Reply[S]:
        """Ask the process, which is started if there is none; it raises what :meth:`solve` raises."""
        if self._process is None or not self._process.alive:
            self._end()
            self._process = _unused(self._executor) or Process(self._executor)
        wait = _Wait(self._process, self._process.numbered(), request, effort, stopped, news, log)
        try:
            answer = wait.answer()
        except Ended:
            self._end()
            raise
        if wait.killed:
            self._end()
        elif self._executor is not None:  # others may need the slot that it holds
            UNUSED.setdefault(self._executor, []).append(self._process)
            self._process = None
        return answer

    def close(self) -> None:
        """End the process, and of a cluster all that nobody uses; the next request starts another."""
        self._end()
        while (process := _unused(self._executor)) is not None:
            process.end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def __enter__(self) -> CpSatProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _unused(executor: Executor | None) -> Process | None:
    """Return a process on a cluster that runs and has nothing to do, if there is one."""
    unused = [] if executor is None else UNUSED.get(executor, [])
    while True:
        try:
            process = unused.pop()
        except IndexError:
            return None
        if process.alive:
            return process
        process.end()


class _Wait(Generic[S]):
    """Waits for one reply."""

    def __init__(
        self,
        process: Process,
        number: int,
        request: CpSatRequest[S],
        effort: Effort,
        stopped: Callable[[], bool],
        news: News[S] | None,
        log: Callable[[str], None] | None,
    ) -> None:
        self._process, self._number, self._request = process, number, request
        self._stopped, self._news, self._log = stopped, news, log
        self._until = monotonic() + effort.seconds + GRACE
        self._best: tuple[int, S] | None = None
        self._bound = request.at_least
        self.killed = False
        process.tell("solve", number, request, effort, log is not None)

    def answer(self) -> Reply[S]:
        """Return the reply, or the best solution and bound so far if it does not come in time."""
        again = inf
        while True:
            message = self._process.hear(LOOK)
            if message is not None and message[1] == self._number:
                found = self._take(*message)
                if found is not None:
                    return found
            if again == inf and self._stopped():
                again, self._until = monotonic(), min(self._until, monotonic() + STOP_GRACE)
            if monotonic() >= again:  # more than once: one that comes while CP-SAT is about to begin is lost
                again = monotonic() + AGAIN
                self._process.tell("stop", self._number)
            if message is None and monotonic() > self._until:
                self.killed = True
                value, solution = self._best or (None, None)
                return Reply("unknown" if value is None else "feasible", value, self._bound, solution)

    def _take(self, kind: str, _: int, *values: Any) -> Reply[S] | None:
        """Handle a message; return the reply if it is one."""
        match kind:
            case "done":
                answer: Reply[S] = values[0]
                return answer
            case "plan":
                value, solution = values
                self._best = value, solution
                if self._news is not None:
                    self._news(value, solution, None)
            case "bound":
                self._bound = max(self._bound, values[0])
                if self._news is not None:
                    self._news(None, None, values[0])
            case "log" if self._log is not None:
                self._log(values[0])
            case "wrong":
                text, _, known = values[0].partition("|")
                word = text.split("'")[1]
                raise UsageError(f"{text}{did_you_mean(word, known.split())}")
            case "failed":
                raise SolverError(f"CP-SAT failed: {values[0].strip().splitlines()[-1]}")
        return None


class ProcessPool:
    """Several processes of CP-SAT, for requests from several threads; use it as a context, or close it.

    Args:
        size: how many run at once; each is started when it is first needed.
        executor: starts them; None for this machine.
    """

    def __init__(self, size: int, executor: Executor | None = None) -> None:
        self.size = size
        self._engines = [CpSatProcess(executor) for _ in range(size)]
        self._idle = list(self._engines)
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(size)
        self._closed = False

    def submit(
        self,
        request: CpSatRequest[S],
        effort: Effort | None = None,
        *,
        stopped: Callable[[], bool] = lambda: False,
        news: News[S] | None = None,
    ) -> Future[Reply[S]]:
        """Return a future of the reply; requests wait their turn. It raises what :meth:`CpSatProcess.solve` raises."""
        return self._threads.submit(self._solve, request, effort, stopped, news)

    def _solve(
        self, request: CpSatRequest[S], effort: Effort | None, stopped: Callable[[], bool], news: News[S] | None
    ) -> Reply[S]:
        with self._lock:
            engine = self._idle.pop()
        try:
            return engine.solve(request, effort, stopped=lambda: self._closed or stopped(), news=news)
        finally:
            with self._lock:
                self._idle.append(engine)

    def close(self) -> None:
        """Stop running requests, drop waiting ones, and end the processes."""
        self._closed = True
        self._threads.shutdown(cancel_futures=True)
        for engine in self._engines:
            engine.close()

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


# A process of CP-SAT, on this machine or another.

MODULE = "mtpp_dsl.solvers.backends.cpsat.cpsat_worker"


class Process:
    """A process of CP-SAT.

    Args:
        executor: starts it.

    Raises:
        SolverError: ortools is not installed, or no process can be started.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        if not availability().ok:
            raise SolverError(f"solver 'cp-sat' is not installed; install it with: {availability().install}")
        try:
            self._channel = (executor or LOCAL).start(MODULE)
        except OSError as error:
            raise SolverError(f"no process could be started for CP-SAT: {error}") from error
        self._number = 0

    def numbered(self) -> int:
        """Return the number of the next request to this process."""
        self._number += 1
        return self._number

    @property
    def alive(self) -> bool:
        """Return whether the process is still running."""
        return self._channel.alive

    def tell(self, *message: Any) -> None:
        """Send a message, without waiting until it is read."""
        self._channel.tell(message)

    def hear(self, seconds: float) -> Any:
        """Return the next message, or None if none comes within *seconds*.

        Raises:
            Ended: the process has died.
        """
        try:
            return self._channel.hear(seconds)
        except Ended as error:
            raise Ended(f"the process of CP-SAT died: {error}") from error

    def end(self) -> None:
        """Kill the process."""
        self._channel.end()
