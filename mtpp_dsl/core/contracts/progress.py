"""The progress of one run: the best plan and the best bound so far, and whether to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Event, RLock
from time import monotonic
from typing import Any, Literal

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, LogEntry, Result, Termination
from mtpp_dsl.core.problem.objective import Objective

__all__ = ["Progress"]


class Progress:
    """What is known so far; methods report to it, the terminal and Ctrl-C listen and speak through it.

    A method must report every plan and bound as soon as it has it, and look at :attr:`stopped`
    often: an interrupt then loses nothing. Costs reported with a plan are trusted for display
    only; the caller re-evaluates the plan. Threads may report at the same time.

    Attributes:
        plan, cost: the best plan reported, and its cost.
        held: the least cost of a plan that a solver holds and hands over when it stops.
        bound: the best bound reported.
        log: the history.
        models: the files to which models were written.
        started: ``time.monotonic()`` at the start.
        objective: what the plans and bounds are of, where that is not the first objective of the problem.
        heading: what is shown before them.
    """

    objective: Objective | None = None
    heading: str = ""

    def __init__(
        self,
        listener: Callable[[Progress, str], None] | None = None,
        solver_log: Callable[[str], None] | None = None,
    ) -> None:
        self.plan: Plan | None = None
        self.cost: float | None = None
        self.held: float | None = None
        self.bound: Bound | None = None
        self.log: list[LogEntry] = []
        self.models: list[Path] = []
        self.started = monotonic()
        self._listener = listener
        self._solver_log = solver_log
        self._stop = Event()
        self._closed = False
        self._lock = RLock()

    @classmethod
    def of(cls, given: Progress | Callable[[Progress], object] | None) -> Progress:
        """Return what methods report to: itself, one that calls a function whenever there is news, or a new one.

        Raises:
            UsageError: it is neither.
        """
        if given is None or isinstance(given, Progress):
            return given or cls()
        if not callable(given):
            what = type(given).__name__
            raise UsageError(f"progress is a function that takes a Progress, or a Progress itself, not a {what}")
        listener = given

        def hear(progress: Progress, _: str) -> None:
            listener(progress)

        return cls(hear)

    def __repr__(self) -> str:
        bound = None if self.bound is None else self.bound.cost
        return f"Progress(incumbent={self.incumbent}, bound={bound}, elapsed={self.elapsed:.1f})"

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy knows: all that was reported. It has no listener, and is heard by nobody."""
        with self._lock:
            known = {name: value for name, value in vars(self).items() if not name.startswith("_")}
            return {**known, "log": [*self.log], "models": [*self.models], "stopped": self.stopped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        stopped = state.pop("stopped")
        self.__init__()  # type: ignore[misc]
        vars(self).update(state)
        if stopped:
            self.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.started

    @property
    def stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the method to return what it has."""
        self._stop.set()

    def close(self) -> None:
        """Take no more reports: whoever waited for the method has gone on with what was reported until now."""
        with self._lock:
            self._closed = True

    def report_plan(self, plan: Plan, cost: float) -> None:
        """Report a plan; kept if it is the best so far."""
        with self._lock:
            if not self._closed and (self.cost is None or cost < self.cost):
                self.plan, self.cost = plan, cost
                self._changed()

    def report_cost(self, cost: float) -> None:
        """Report the cost of a plan that a solver holds; :meth:`report_plan` follows when it stops."""
        with self._lock:
            if not self._closed and (self.held is None or cost < self.held):
                self.held = cost
                self._changed()

    def report_bound(self, bound: Bound) -> None:
        """Report a bound; kept if it is the best so far."""
        with self._lock:
            if not self._closed and (self.bound is None or bound.cost > self.bound.cost):
                self.bound = bound
                self._changed()

    def report_model(self, path: Path) -> None:
        """Report that a model was written."""
        with self._lock:
            self.models.append(path)

    def adopt(self, plan: Plan | None, cost: float | None, bound: Bound | None) -> None:
        """Take a plan and a bound in place of those known, silently: those of a run that has several solves."""
        with self._lock:
            if not self._closed:
                self.plan, self.cost, self.bound = plan, cost, bound

    def relay(self, inner: Progress, message: str) -> None:
        """Tell the user what is being done in a solve that is a part of this run, with plan and bound of that one."""
        if self._listener is not None and not self._closed:
            self._listener(inner, message)

    def say(self, message: str) -> None:
        """Tell the user what is being done."""
        if self._listener is not None and not self._closed:
            self._listener(self, message)

    @property
    def wants_solver_log(self) -> bool:
        """Whether anybody reads the log of a solver."""
        return self._solver_log is not None

    def solver_says(self, line: str) -> None:
        """Pass on a line of a solver's own log."""
        if self._solver_log is not None and not self._closed:
            self._solver_log(line)

    @property
    def incumbent(self) -> float | None:
        """The least cost known of any plan."""
        return min((cost for cost in (self.cost, self.held) if cost is not None), default=None)

    def ended(self, limits: Limits) -> Literal["interrupted", "time_limit"] | None:
        """Return why a method has to end now: somebody asked to stop, or its time is up. None while it may go on."""
        if self.stopped:
            return "interrupted"
        return "time_limit" if limits.remaining <= 0 else None

    def result(
        self,
        method: str,
        limits: Limits,
        termination: Termination,
        *,
        plan: Plan | None = None,
        bound: Bound | None = None,
        evaluation: Evaluation | None = None,
        solver: str | None = None,
        time: Mapping[str, float] | None = None,
        infeasibility: Infeasibility | None = None,
        notes: Iterable[str] = (),
    ) -> Result:
        """Return the result of method *method*: why it ended, and what it found by itself, with the time and the log.

        Plans and bounds that were reported need not be given again: whoever called the method takes the best of them.
        With an *infeasibility* the termination is "infeasible", and there is neither plan nor bound.

        Args:
            method: its name.
            limits: those that :meth:`Method.solve` was given.
            termination: why the method ended.
            plan: the best that the method itself has found.
            bound: the best that it has proved.
            evaluation: of the plan.
            solver: the back end that was used, if any.
            time: seconds by phase; the total is added.
            infeasibility: why there is no plan, where that is proven.
            notes: for the user.
        """
        given = infeasibility is None
        return Result(
            termination=termination if given else "infeasible",
            plan=plan if given else None,
            bound=bound if given else None,
            evaluation=evaluation if given else None,
            method=method,
            solver=solver,
            seed=limits.seed,
            time={**(time or {}), "total": self.elapsed},
            log=tuple(self.log),
            infeasibility=infeasibility,
            notes=tuple(dict.fromkeys(notes)),
        )

    def _changed(self) -> None:
        self.log.append(LogEntry(self.elapsed, self.incumbent, None if self.bound is None else self.bound.cost))
        self.say("")
