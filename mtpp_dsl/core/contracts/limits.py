"""State the limits of a method, and take from it what it has found and proved so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, RLock
from time import monotonic
from types import MappingProxyType
from typing import Any, Literal

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, LogEntry, Result, Termination, Turn
from mtpp_dsl.core.problem.objective import Objective


@dataclass(frozen=True, repr=False)
class Limits(Short, Picklable):
    """How long and how hard to try, and with what.

    Limits made by :meth:`within` are a share of others. What this process takes to prepare compiled code is not charged
    to shares, so that an answer does not depend on whether the code was compiled before; the limits that the shares
    are of count every second.

    Attributes:
        time: seconds, None for no limit.
        gap: stop when ``(cost - bound) / cost`` is at most this.
        threads: of a solver, or processes of a portfolio; None leaves it to the solver, or the cores of the machine.
        seed: of everything random.
        solver: name of the MIP back end, for methods that use one.
        solver_options: passed through to it; an unknown one is an error.
        start: a plan to start from; whoever calls a method has verified it and reported it.
        write_model: where to write the MIP before solving it (.lp or .mps).
        executor: what starts processes; None for this machine. It does not travel: a process that is sent limits
            starts its own where it runs.
    """

    time: float | None = None
    gap: float = 1e-6
    threads: int | None = None
    seed: int = 0
    solver: str = "highs"
    solver_options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    start: Plan | None = None
    write_model: Path | None = None
    executor: Executor | None = field(default=None, compare=False)
    _born: float = field(default_factory=monotonic, repr=False)
    _prepared: float = field(default_factory=lambda: PREPARING.seconds, repr=False)
    _end: float | None = field(default=None, repr=False)  # of the limits that these are a share of

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "executor": None}

    @property
    def end(self) -> float:
        """When everything ends, by ``time.monotonic()``, whatever is prepared; ``inf`` without a limit."""
        if self._end is not None:
            return self._end
        return float("inf") if self.time is None else self._born + self.time

    @property
    def remaining(self) -> float:
        """Seconds left since these limits were made; ``inf`` without a limit, never negative."""
        if self.time is None:
            return float("inf")
        share = self._born + self.time + PREPARING.seconds - self._prepared
        return max(0.0, min(share, self.end) - monotonic())

    def within(self, seconds: float, **changes: Any) -> Limits:
        """Return limits that start now and end after *seconds* or with these, whichever is first.

        Seconds in which this process prepares compiled code are not counted, except towards the end of all.
        """
        seconds = min(seconds, self.remaining)
        limit = None if seconds == float("inf") else seconds
        now, prepared = monotonic(), PREPARING.seconds
        return replace(self, time=limit, _born=now, _prepared=prepared, _end=self.end, **changes)


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
        turns: the methods that the one that reports here has run.
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
        self.turns: list[Turn] = []
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
        """Return what a copy knows: all that was reported. It has no listeners."""
        with self._lock:
            known = {name: value for name, value in vars(self).items() if not name.startswith("_")}
            return {
                **known,
                "log": [*self.log],
                "turns": [*self.turns],
                "models": [*self.models],
                "stopped": self.stopped,
            }

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
        """Report a bound; kept if it is the best so far, or as high as the best and proved better."""
        with self._lock:
            if not self._closed and bound.better(self.bound):
                higher = self.bound is None or bound.cost > self.bound.cost
                self.bound = bound
                if higher:
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

    def begin(self, method: str, seconds: float, why: str) -> None:
        """Note that the method that reports here runs another one, for at most *seconds*, and tell the user."""
        limited = seconds < float("inf")
        with self._lock:
            if self._closed:
                return
            self.turns.append(Turn(self.elapsed, method, seconds if limited else None, why))
        time = f" for at most {seconds:.1f} s" if limited else ""
        self.say(f"running {method}{time}{f': {why}' if why else ''}")

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
            turns=tuple(self.turns),
            infeasibility=infeasibility,
            notes=tuple(dict.fromkeys(notes)),
        )

    def _changed(self) -> None:
        self.log.append(LogEntry(self.elapsed, self.incumbent, None if self.bound is None else self.bound.cost))
        self.say("")
