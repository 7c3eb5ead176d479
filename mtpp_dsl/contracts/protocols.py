"""The contracts of everything that can be plugged in. A built-in has no privilege.

Group names of the entry points are in :mod:`mtpp_dsl.registry`; the conformance suite is
:mod:`mtpp_dsl.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, RLock
from time import monotonic
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from mtpp_dsl.base.preparation import PREPARING
from mtpp_dsl.contracts.scopes import EVERY, Scope, Scoped
from mtpp_dsl.contracts.traits import (
    BackendBase,
    FormulationBase,
    MethodBase,
    ModelTraits,
    backend_traits,
    formulation_traits,
    method_traits,
    model_traits,
)
from mtpp_dsl.plans.evaluation import Evaluation
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Bound, Infeasibility, LogEntry, Result, Termination
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.custom import CustomConstraint
from mtpp_dsl.problem.graph import Graph

__all__ = [
    "EVERY",
    "GIVES",
    "Availability",
    "Backend",
    "BackendBase",
    "Checker",
    "Engine",
    "Feature",
    "Format",
    "Formulation",
    "FormulationBase",
    "FormulationFamily",
    "Generator",
    "Gives",
    "Installed",
    "Limits",
    "Method",
    "MethodBase",
    "ModelTraits",
    "Outcome",
    "Progress",
    "Reduction",
    "Role",
    "Scope",
    "Scoped",
    "Strengthened",
    "backend_traits",
    "formulation_traits",
    "method_traits",
    "model_traits",
    "refusal",
    "why_not",
]

Role = Literal["exact", "relaxation", "restriction"]
Gives = Literal["plan", "bound", "plan and bound"]
GIVES: dict[Role, Gives] = {"exact": "plan and bound", "relaxation": "bound", "restriction": "plan"}
"""What a formulation of each role gives."""

Feature = Literal["time_limit", "gap", "threads", "seed", "log", "warm_start", "bound_at_limit", "incumbents"]


@dataclass(frozen=True)
class Limits:
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
    """

    time: float | None = None
    gap: float = 1e-6
    threads: int | None = None
    seed: int = 0
    solver: str = "highs"
    solver_options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    start: Plan | None = None
    write_model: Path | None = None
    _born: float = field(default_factory=monotonic, repr=False)
    _prepared: float = field(default_factory=lambda: PREPARING.seconds, repr=False)
    _end: float | None = field(default=None, repr=False)  # of the limits that these are a share of

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
        models: the files to which models were written.
        started: ``time.monotonic()`` at the start.
    """

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


@runtime_checkable
class Formulation(Protocol):
    """A mathematical programme for a problem, as a Pyomo model.

    What it may say beside, and what holds where it does not, is in :class:`FormulationBase`, to inherit or to imitate;
    one that is stronger where a plan is known is :class:`Strengthened` too.

    Attributes:
        name: how ``--method`` calls it.
        exact: False for a relaxation or a restriction; ``role`` says which.
        role: "exact" (its optimum is the problem's), "relaxation" (a bound only) or
            "restriction" (a plan only).
        summary: one line for ``mtpp methods``.
    """

    name: str
    exact: bool
    role: Role
    summary: str

    def accepts(self, problem: Problem) -> str | None:
        """Return why this problem cannot be formulated, or None."""
        ...

    def build(self, problem: Problem) -> Any:
        """Return a ``pyomo.environ.ConcreteModel`` with one active objective to minimise.

        Its attributes say in which unit: see :class:`ModelTraits`.
        """
        ...

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the values of (some of) the model's integer variables from a plan; may do nothing."""
        ...

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return the plan that the values of the model's variables mean."""
        ...


@runtime_checkable
class FormulationFamily(Protocol):
    """Several relaxations of which the least bound counts (archer2024, 3.3)."""

    name: str
    exact: bool
    role: Role
    summary: str

    def accepts(self, problem: Problem) -> str | None:
        """Return why this problem cannot be formulated, or None."""
        ...

    def members(self, problem: Problem) -> Sequence[Formulation]:
        """Return the formulations; the bound is the least of theirs."""
        ...


@runtime_checkable
class Strengthened(Protocol):
    """A formulation, or a family, that is stronger where a plan is known."""

    def below(self, cost: float) -> Self:
        """Return the formulation of the plans that cost at most *cost*, in the problem's unit; some plan does.

        It is of the same class, with the same name and role, and keeps all that a derived class has added: a copy of
        this one that remembers the cost, or this one.
        """
        ...


@runtime_checkable
class Method(Protocol):
    """Anything that turns a problem into a result.

    Attributes:
        name: how ``--method`` calls it.
        summary: one line for ``mtpp methods``.
        gives: what a successful run returns.

    What it may say beside, and what holds where it does not, is in :class:`MethodBase`, to inherit or to imitate; one
    that is a program of its own is :class:`Installed` too.
    """

    name: str
    summary: str
    gives: Gives

    def accepts(self, problem: Problem) -> str | None:
        """Return why this method cannot honour the problem, or None."""
        ...

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return a plan, a bound or both; never raises for a limit or an interrupt."""
        ...


@dataclass(frozen=True)
class Availability:
    """Whether a solver can be used here: found without solving, importing or taking a licence.

    Attributes:
        ok: usable as far as can be told.
        version: of the solver, "" if unknown.
        install: the command that installs it.
        note: a size limit, a licence, a trap.
    """

    ok: bool
    version: str = ""
    install: str = ""
    note: str = ""


@runtime_checkable
class Installed(Protocol):
    """A method that is a program of its own, which may not be there."""

    def available(self) -> Availability:
        """Return whether it is installed. Never raises."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What a MIP solver says of one model, in the model's own scale.

    Attributes:
        termination: why it stopped.
        objective: of the incumbent whose values are now in the model's variables; None without one.
        bound: the dual bound; None where the solver gives none. Never an incumbent.
        nodes: of the search tree, None if unknown.
        by: the solver and its version.
    """

    termination: Termination
    objective: float | None
    bound: float | None
    nodes: int | None = None
    by: str = ""


@runtime_checkable
class Backend(Protocol):
    """A MIP solver.

    Attributes:
        name: how ``--solver`` calls it.
        features: what it honours; asking for another is refused, not ignored.

    What it may say beside is in :class:`BackendBase`.
    """

    name: str
    features: ClassVar[frozenset[Feature]]

    def available(self) -> Availability:
        """Return whether it is installed. Never raises, never imports the solver."""
        ...

    def solve(
        self, model: Any, limits: Limits, progress: Progress, on_bound: Callable[[float | None, float | None], None]
    ) -> Outcome:
        """Solve a Pyomo model in place.

        Values already in the integer variables are the warm start, if any has one. *on_bound* is
        called with (incumbent objective, dual bound), either None, as they improve.
        """
        ...


@runtime_checkable
class Engine(Protocol):
    """A solver that has models of its own for some formulations, and takes none of Pyomo.

    Attributes:
        name: how ``--solver`` calls it.
        features: what it honours.
        formulations: the names of those it has models for.
    """

    name: str
    features: ClassVar[frozenset[Feature]]
    formulations: ClassVar[tuple[str, ...]]

    def available(self) -> Availability:
        """Return whether it is installed. Never raises, never imports the solver."""
        ...

    def method(self, formulation: str) -> Method:
        """Return what solves the problems of one of its formulations.

        Raises:
            Refused: it has no model for it; says for which it has.
        """
        ...


def why_not(method: Method, problem: Problem) -> str | None:
    """Return why *method* cannot honour *problem*, or None.

    A method that gives plans, and does not say that it keeps constraints of plug-ins, is not asked of a problem with
    such a constraint. One that gives bounds alone is: a constraint only takes plans away, so its bounds hold.
    """
    traits = method_traits(method)
    keeps = traits.custom_constraints or any(CustomConstraint in scope.families for scope in traits.scopes)
    custom = None if keeps or method.gives == "bound" else next(problem.of(CustomConstraint), None)
    if custom is not None:
        return f"{method.name} does not support constraint {custom}, which is a plug-in's"
    return method.accepts(problem)


def refusal(method: Method, problem: Problem) -> str | None:
    """Return why *method* cannot be used on *problem* here, or None: it cannot honour it, or is not installed."""
    reason = why_not(method, problem)
    if reason is not None or not isinstance(method, Installed):
        return reason
    found = method.available()
    return None if found.ok else f"what it needs is not installed; install it with: {found.install}"


@runtime_checkable
class Checker(Protocol):
    """What derives a bound again from its certificate, without the code that found it.

    Attributes:
        name: the ``kind`` of the certificates it reads.
        summary: one line: what such a certificate proves.
    """

    name: str
    summary: str

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return a cost that no plan of *problem* is below, derived from the problem and a certificate's data.

        Nothing in *data* is believed: it comes from a file.

        Raises:
            Refused: the data prove nothing, and why.
            UsageError: the time of *limits* was not enough to tell.
        """
        ...


class Reduction(Protocol):
    """A step that makes a problem smaller and can map a plan back."""

    name: str

    def accepts(self, problem: Problem) -> str | None:
        """Return why it would not keep an optimum here, or None."""
        ...

    def apply(self, problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
        """Return the smaller problem, and what turns its plans into plans of *problem* of no larger cost."""
        ...


class Generator(Protocol):
    """A graph generator, behind ``graph from generator``: keyword parameters with defaults and annotations."""

    def __call__(self, **parameters: Any) -> Graph:
        """Return a graph; equal parameters give equal graphs."""
        ...


class Format(Protocol):
    """A file format of graphs.

    Attributes:
        name: as in ``(format = msr)``.
        suffixes: of file names, for ``mtpp convert``.
    """

    name: str
    suffixes: tuple[str, ...]

    def read(self, path: Path) -> Any:
        """Return a :class:`mtpp_dsl.formats.Workload`: the graph, and devices where the file has them."""
        ...
