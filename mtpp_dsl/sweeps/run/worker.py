"""Run as the small process that an executor starts for a sweep, which keeps one that solves.

It does nothing but wait and watch, and imports no numpy. The process that solves (:mod:`mtpp_dsl.sweeps.run.solving`)
may crash, hang, print or grow as it likes: it is then ended, with all that it has started, and a new one takes its
place. As the keeper runs on the same machine, limits hold wherever the executor has put it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.executors.processes import adopt_orphans, end_all, kills_for_memory, measurable
from mtpp_dsl.sweeps.run.solver_process import Heard, SolverProcess
from mtpp_dsl.sweeps.run.solving import COMPILING
from mtpp_dsl.sweeps.run.watch import MemoryWatch, amount, now
from mtpp_dsl.sweeps.store.outcome import RunOutcome

if TYPE_CHECKING:
    from mtpp_dsl.core.executors.wire import Wire

__all__ = ["GRACE", "main"]

GRACE, GRACE_SHARE = 10.0, 0.1
"""Seconds, and share of the limit, that a run is given beyond its time limit before it is killed."""
READING = 60.0
"""Seconds beside its time limit in which a process has to be ready, and a run to have read its spec."""
TICK, SLOW_TICK = 0.025, 0.25
"""Seconds between looks at a run with a limit of memory, and at one without."""
SETTLED = 5.0
"""Seconds after its answer in which a process has to say whether a run has left anything behind."""
GROWTH = 300 << 20
"""Bytes by which a process may have grown between runs; it is then replaced by a new one."""
SHARE = 0.25
"""Of its limit of memory, what a run may find taken by those before it; else it gets a new process."""
FOR_MEMORY = ("bad_alloc", "MemoryError", "ut of memory", "annot allocate memory")
"""What libraries print before they end a process for want of memory."""


def main(wire: Wire) -> None:
    """Solve the runs that come over the wire, and send back their outcomes, until it ends.

    It takes ``("run", number, run as JSON, seconds of grace or None)``, and answers
    ``("outcome", number, Outcome)``; or ``("failed", why)`` where it can start no process. None ends it at once.
    """
    adopt_orphans()
    inbox: SimpleQueue[Any] = SimpleQueue()
    gone = Event()
    Thread(target=_follow, args=(wire, inbox, gone), daemon=True).start()
    keeper = Keeper(gone.is_set)
    try:
        keeper.start()
        while (message := inbox.get()) is not None:
            _, number, run, grace = message
            wire.send(("outcome", number, keeper.run(run, grace)))
            keeper.settle()
    except Leaving:
        pass
    except OSError as error:
        if not gone.is_set():
            wire.send(("failed", f"no process could be started: {error}"))
    finally:
        keeper.end()
        end_all(os.getpid())
        os._exit(0)


def _follow(wire: Wire, inbox: SimpleQueue[Any], gone: Event) -> None:
    """Take messages from the wire, until it ends."""
    try:
        while (message := wire.receive()) is not None:
            inbox.put(message)
    except (EOFError, OSError):
        pass
    gone.set()
    inbox.put(None)


class Leaving(Exception):
    """Whoever started the keeper has gone, or wants no more."""


@dataclass
class _Attempt:
    """A run as it was given, and how far it has come.

    Attributes:
        text: the run, as JSON.
        time, memory: its limits.
        grace: seconds beyond the time limit after which it is killed.
        solving: when its spec was read.
        until: when it is killed.
    """

    text: str
    time: float | None
    memory: int | None
    grace: float
    began: float = field(default_factory=monotonic)
    started: str = field(default_factory=now)
    kills: int = field(default_factory=kills_for_memory)
    solving: float | None = None
    until: float = float("inf")

    def __post_init__(self) -> None:
        if self.time is not None:
            self.until = self.began + READING + self.time + self.grace

    def begin(self) -> None:
        """Count the time limit from now, unless it is counted already."""
        if self.solving is None:
            self.solving = monotonic()
            if self.time is not None:
                self.until = self.solving + self.time + self.grace

    def failed(self, status: str, error: str, memory: int) -> RunOutcome:
        """Return the outcome of a run whose process did not answer."""
        ended = monotonic()
        return RunOutcome(
            status,
            error=error,
            started=self.started,
            ended=now(),
            seconds=None if self.solving is None else ended - self.solving,
            total=ended - self.began,
            memory=memory,
        )


class Keeper:
    """Keeps one process that solves, and replaces it when it has ended or should.

    Args:
        leaving: returns whether the process that started the keeper has ended.
    """

    def __init__(self, leaving: Callable[[], bool] = lambda: False) -> None:
        self._leaving = leaving
        self._process: SolverProcess | None = None
        self._unsettled = False

    def start(self) -> SolverProcess:
        """Return the process, and start one where there is none; it prepares itself while this one goes on."""
        if self._process is None:
            self._process = SolverProcess()
        return self._process

    def end(self) -> None:
        """End the process and all that it has started."""
        if self._process is not None:
            self._process.end()
            self._process = None
            self._unsettled = False

    def run(self, run: dict[str, Any], grace: float | None = None) -> RunOutcome:
        """Have a run solved, and return its outcome.

        A run that ends a process which has solved others before is begun once more, in a new one: what came before
        may have had a part in it.

        Args:
            run: as JSON.
            grace: seconds beyond its time limit after which it is killed; None for the usual.

        Raises:
            Leaving: the outcome is no longer waited for.
            OSError: no process can be started.
        """
        time, most = run["time_limit"], run["memory_limit"]
        if most is not None and not measurable():
            return RunOutcome(
                "error", error="this system does not tell how much memory a process holds: leave the limit out"
            )
        if grace is None:
            grace = GRACE + GRACE_SHARE * (time or 0.0)
        self.settle()
        used = self.start().runs > 0
        if used and most is not None and self.start().bytes_held > SHARE * most:
            self.end()
            used = False
        outcome = self._attempt(_Attempt(json.dumps(run), time, most, grace))
        if used and outcome.status in ("crashed", "memory"):
            if self.start().runs:
                self.end()
            outcome = self._attempt(_Attempt(json.dumps(run), time, most, grace))
        return outcome

    def _attempt(self, attempt: _Attempt) -> RunOutcome:
        """Give a run to the process, and wait until it has answered, or has to be ended."""
        process = self.start()
        watch = MemoryWatch(process.pid)
        process.give(attempt.text)
        tick = SLOW_TICK if attempt.memory is None else TICK
        looked = monotonic()
        while True:
            if self._leaving():
                raise Leaving
            heard = process.hear(tick)
            if heard is not None and heard.kind == "solving":
                attempt.begin()
            elif heard is not None and heard.kind not in ("ready", "idle"):
                return self._heard(heard, process, attempt, watch)
            if monotonic() - looked >= tick:
                why = _beyond(attempt, watch)
                looked = monotonic()
                if why is not None:
                    return self._over(attempt, watch, *why)

    def _heard(self, heard: Heard, process: SolverProcess, attempt: _Attempt, watch: MemoryWatch) -> RunOutcome:
        """Return the outcome that a process has answered with, or that its end is."""
        if heard.kind == "outcome":
            try:
                outcome = replace(RunOutcome.from_json(json.loads(heard.body)), memory=watch.last())
            except (UsageError, TypeError, ValueError):
                heard = Heard("garbage")
            else:
                self._unsettled = True
                return outcome
        if heard.kind != "ended":
            return self._over(attempt, watch, "crashed", "the process wrote what is no answer, and was ended")
        code, why = process.why()
        status = "crashed"
        if kills_for_memory() > attempt.kills and code is not None and code < 0:
            status, why = "memory", "the system ended the process, as memory ran out"
        elif any(words in process.words for words in FOR_MEMORY):
            status = "memory"
        return self._over(attempt, watch, status, f"the process that solved ended: {why}")

    def settle(self) -> None:
        """Wait until a run that was answered has left nothing behind; replace the process if it has, or has grown.

        Raises:
            Leaving: there is no further run.
        """
        if not self._unsettled:
            return
        process, until, heard = self.start(), monotonic() + SETTLED, None
        while monotonic() < until and (heard is None or heard.kind not in ("idle", "ended", "garbage")):
            if self._leaving():
                raise Leaving
            heard = process.hear(SLOW_TICK)
            if heard is not None and heard.kind == "compiling":
                until = monotonic() + 2 * COMPILING
        self._unsettled = False
        clean = heard is not None and heard.kind == "idle" and heard.fields.get("clean") is True
        if not clean or process.bytes_held > (process.first or 0) + GROWTH:
            self.end()
            self.start()

    def _over(self, attempt: _Attempt, watch: MemoryWatch, status: str, error: str) -> RunOutcome:
        """End the process with all that it has started, and return what is to be recorded."""
        outcome = attempt.failed(status, error, watch.last())
        process = self.start()
        self.end()
        self.start()
        return replace(outcome, machine=process.facts.get("machine", ""), versions=process.facts.get("versions", {}))


def _beyond(attempt: _Attempt, watch: MemoryWatch) -> tuple[str, str] | None:
    """Return status and reason of a run that is beyond a limit, None while it is within."""
    used = watch.look()
    if attempt.memory is not None and used > attempt.memory:
        return "memory", f"it held {amount(used)}, and its limit is {amount(attempt.memory)}"
    if monotonic() > attempt.until:
        if attempt.solving is None:
            return "killed", f"its spec was not read within {READING + (attempt.time or 0) + attempt.grace:.0f} s"
        late = f"{attempt.grace:.3g} s beyond its time limit of {attempt.time:.6g} s"
        return "killed", f"it had not ended {late}"
    return None
