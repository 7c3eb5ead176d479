"""Ask CP-SAT, in processes that answer many requests: see :mod:`mtpp_dsl.core.executors.kept`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from math import inf
from time import monotonic
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import Ended, SolverError, UsageError, did_you_mean
from mtpp_dsl.core.executors.kept import KeptProcess, borrow, end_kept, give_back
from mtpp_dsl.solvers.backends.cpsat.effort import availability
from mtpp_dsl.solvers.backends.cpsat.request import CpSatRequest, Effort, Reply

__all__ = ["ProcessPool", "availability", "by", "solve_request", "start_ahead"]

MODULE = "mtpp_dsl.solvers.backends.cpsat.cpsat_worker"
LOOK = 0.05
"""Seconds between looks at the clock and at whether somebody asked to stop."""
AGAIN = 0.5
"""Seconds between words to CP-SAT that it should stop."""
TRIES = 3
"""How often a request is begun whose process on a cluster is lost."""
GRACE, STOP_GRACE = 5.0, 1.0
"""Seconds that CP-SAT may go on after its time, as its process takes some to start, or after it was asked to stop."""

S = TypeVar("S")
News: TypeAlias = Callable[[int | None, S | None, int | None], None]
"""Hears of a solution (its value and itself) or of a bound, as they are found."""


def by() -> str:
    """Return the name and version of the solver, for bounds."""
    return f"cp-sat {availability().version}".rstrip()


def solve_request(
    request: CpSatRequest[S],
    effort: Effort | None = None,
    executor: Executor | None = None,
    *,
    stopped: Callable[[], bool] = lambda: False,
    news: News[S] | None = None,
    log: Callable[[str], None] | None = None,
) -> Reply[S]:
    """Solve a request in a process of its own, which is kept for the next one.

    Args:
        request: what to solve.
        effort: limits; None for none, on one thread.
        executor: starts the process; None for this machine.
        stopped: called many times a second; True stops the search with what it has.
        news: called with solutions and bounds as they are found.
        log: called with the lines of CP-SAT's log.

    Raises:
        SolverError: ortools is not installed, or its process died.
        UsageError: an option of *effort* that CP-SAT does not have, or whose value it refuses.
    """
    effort = effort or Effort()
    until = monotonic() + effort.seconds
    for left in reversed(range(1 if executor is None else TRIES)):
        process = _process(executor)
        wait = _Wait(process, request, effort, stopped, news, log)
        try:
            return wait.answer()
        except Ended as error:  # on this machine it was short of memory, as a rule; a cluster has other workers
            if not left or stopped():
                raise Ended(f"the process of CP-SAT died: {error}") from error
            effort = replace(effort, seconds=max(0.0, until - monotonic()))
        finally:
            if wait.answered:
                give_back(process)
            else:  # it died, or still computes what is no longer waited for
                process.channel.end()
    raise AssertionError


def _process(executor: Executor | None) -> KeptProcess:
    """Return a process of CP-SAT.

    Raises:
        SolverError: ortools is not installed, or no process can be started.
    """
    if not availability().ok:
        raise SolverError(f"solver 'cp-sat' is not installed; install it with: {availability().install}")
    try:
        return borrow(MODULE, executor)
    except OSError as error:
        raise SolverError(f"no process could be started for CP-SAT: {error}") from error


def start_ahead() -> None:
    """Let a process of CP-SAT start on this machine while its first request is prepared, if none is kept."""
    with suppress(SolverError):  # the request will say so
        give_back(_process(None))


class _Wait(Generic[S]):
    """Waits for one reply.

    Attributes:
        answered: whether the process has said all that it has to say about the request.
    """

    def __init__(
        self,
        process: KeptProcess,
        request: CpSatRequest[S],
        effort: Effort,
        stopped: Callable[[], bool],
        news: News[S] | None,
        log: Callable[[str], None] | None,
    ) -> None:
        process.uses += 1
        self._channel, self._number = process.channel, process.uses
        self._stopped, self._news, self._log = stopped, news, log
        self._until = monotonic() + effort.seconds + GRACE
        self._best: tuple[int, S] | None = None
        self._bound = request.at_least
        self.answered = False
        self._channel.tell(("solve", self._number, request, effort, log is not None))

    def answer(self) -> Reply[S]:
        """Return the reply, or the best solution and bound so far if it does not come in time."""
        again = inf
        while True:
            message = self._channel.hear(LOOK)
            if message is not None and message[1] == self._number:
                reply = self._take(*message)
                if reply is not None:
                    return reply
            if again == inf and self._stopped():
                again, self._until = monotonic(), min(self._until, monotonic() + STOP_GRACE)
            if monotonic() >= again:  # more than once: one that comes while CP-SAT is about to begin is lost
                again = monotonic() + AGAIN
                self._channel.tell(("stop", self._number))
            if message is None and monotonic() > self._until:
                value, solution = self._best or (None, None)
                return Reply("unknown" if value is None else "feasible", value, self._bound, solution)

    def _take(self, kind: str, _: int, *values: Any) -> Reply[S] | None:
        """Handle a message; return the reply if it is one."""
        self.answered = kind in ("done", "wrong")
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
    """Answers requests from several threads, so many at once; use it as a context, or close it.

    Args:
        size: how many processes run at once.
        executor: starts them; None for this machine.
    """

    def __init__(self, size: int, executor: Executor | None = None) -> None:
        self.size = size
        self._executor = executor
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
        """Return a future of the reply; requests wait their turn. It raises what :func:`solve_request` raises."""
        return self._threads.submit(
            solve_request, request, effort, self._executor, stopped=lambda: self._closed or stopped(), news=news
        )

    def close(self) -> None:
        """Stop running requests, and drop waiting ones; the slots of a cluster are free again."""
        self._closed = True
        self._threads.shutdown(cancel_futures=True)
        if self._executor is not None:
            end_kept(self._executor)

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
