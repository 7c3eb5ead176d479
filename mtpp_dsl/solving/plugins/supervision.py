"""Run a method, and take what it has reported when its time is up, whatever it is doing.

A method looks at the clock between its steps. Some steps cannot be interrupted: the compilation of a kernel, the
building of a model, the presolve of a solver. So the method runs on a thread of its own, which is left behind when it
does not end in time. What it has reported until then is its answer; what it reports later is not heard.
"""

from __future__ import annotations

import contextvars
import sys
from math import inf
from threading import Event, Thread
from time import monotonic

from mtpp_dsl.core.base.interpreter import stop_at_exit
from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem

GRACE, FIRST_GRACE = 0.15, 1.0
"""Seconds beyond its time limit in which a method may still end by itself, and in which it may report a first plan."""
STOP_GRACE = 1.5
"""The same after a request to stop: solvers hand over the plan that they hold."""
INTERVAL = 1e-4
"""Seconds after which a method that was left behind gives way to other threads, as long as it is at work.

Whoever goes on waits for that at every file that it opens; at Python's own 5 ms, importing a module takes a second.
"""
LOOK = 0.05
"""Seconds between looks at the clock and at whether somebody asked to stop."""
LATE = "the method was still at work when its time was up: plan and bound are the best that it had reported"
STOPPED = "the method was still at work when it was left: plan and bound are the best that it had reported"


def run(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the result of ``method.solve``, or what it has reported when its time is up or somebody asks to stop.

    A method that has no time limit and is not asked to stop is waited for.

    Raises:
        Whatever the method raises.
    """
    call = _Call(method, problem, limits, progress)
    call.start()
    try:
        call.wait()
    except BaseException:  # a second Ctrl-C
        progress.stop()
        progress.close()
        raise
    return call.result()


class _Call:
    """One call of a method on a thread of its own."""

    def __init__(self, method: Method, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._method, self._problem, self._limits, self._progress = method, problem, limits, progress
        self._done = Event()
        self._interval: float | None = None
        self._result: Result | None = None
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = Thread(target=context.run, args=(self._solve,), name=f"method {method.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()
        stop_at_exit(self._thread, self._progress.stop)

    def _solve(self) -> None:
        PREPARING.until = self._limits.end
        try:
            self._result = self._method.solve(self._problem, self._limits, self._progress)
        except BaseException as error:  # raised again where the call is waited for
            self._error = error
        finally:
            PREPARING.until = inf
            self._done.set()
            self._restore()

    def _restore(self) -> None:
        if self._interval is not None:
            sys.setswitchinterval(self._interval)

    def wait(self) -> None:
        """Return when the method has ended, or has had its time."""
        until, asked = self._limits.end + GRACE, False
        first = self._limits.end + FIRST_GRACE if self._method.gives != "bound" else until
        while not self._done.wait(LOOK):
            if self._progress.stopped and not asked:
                until, asked = min(until, monotonic() + STOP_GRACE), True
            if monotonic() >= (until if asked or self._progress.plan is not None else first):
                return

    def result(self) -> Result:
        """Return the result, or what is known without it."""
        if self._error is not None:
            raise self._error
        if self._result is not None:
            return self._result
        progress = self._progress
        progress.close()
        before = sys.getswitchinterval()
        self._interval = before if before > INTERVAL else None  # another was left behind, and has seen to it
        sys.setswitchinterval(min(before, INTERVAL))
        if self._done.is_set():
            self._restore()
        proved = (
            progress.bound is not None
            and progress.incumbent is not None
            and not progress.bound.cost < progress.incumbent
        )
        note = STOPPED if progress.stopped else LATE
        return progress.result(
            self._method.name,
            self._limits,
            "interrupted" if progress.stopped else "time_limit",
            plan=progress.plan,
            bound=progress.bound,
            notes=() if proved else (note,),  # what has met its bound has lost nothing
        )
