"""The contracts of everything that can be plugged in. A built-in has no privilege.

Group names of the entry points are in :mod:`mtpp_dsl.registry`; the conformance suite is
:mod:`mtpp_dsl.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.counting import Recognised, recognised
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem

__all__ = [
    "GIVES",
    "Availability",
    "Backend",
    "Checker",
    "Engine",
    "Feature",
    "Format",
    "Formulation",
    "FormulationFamily",
    "Generator",
    "Gives",
    "Installed",
    "Method",
    "Outcome",
    "Reduction",
    "Role",
    "Strengthened",
    "refusal",
    "why_not",
]

Role = Literal["exact", "relaxation", "restriction"]
"""How the plans of a formulation relate to those of the problem: the same, more or cheaper ones, or fewer."""
Gives = Literal["plan", "bound", "plan and bound"]
"""What a method answers with."""
GIVES: dict[Role, Gives] = {"exact": "plan and bound", "relaxation": "bound", "restriction": "plan"}
"""What a formulation of each role gives."""

Feature = Literal["time_limit", "gap", "threads", "seed", "log", "warm_start", "bound_at_limit", "incumbents"]
"""What a solver can do beside solving a model to the end."""


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


def as_read_by(method: Method, problem: Problem) -> Recognised:
    """Return *problem* as *method* is to be given it: with rows that count as what they amount to, if it accepts that.

    Some methods accept labelled rows and not what they amount to, such as ``separate``: these are given the rows. Where
    all that is asked is asked of one of several phases, it is given that phase alone, as an ordinary problem.
    """
    for asked in (problem.in_one_phase, problem):
        if asked is None:
            continue
        read = recognised(asked)
        if _why_not(method, read.problem) is None:
            return read
        if asked is not problem and read.problem is not asked and _why_not(method, asked) is None:
            return Recognised(asked)
    return Recognised(problem)


def why_not(method: Method, problem: Problem) -> str | None:
    """Return why *method* cannot honour *problem*, or None; labelled rows may be read as what they amount to."""
    return _why_not(method, as_read_by(method, problem).problem)


def _why_not(method: Method, problem: Problem) -> str | None:
    """Return why *method* cannot honour *problem* as it stands, or None.

    A method that gives plans, and does not say that it keeps constraints of plug-ins, is not asked of a problem with
    such a constraint. One that gives bounds alone is: a constraint only takes plans away, so its bounds hold.
    """
    traits = method_traits(method)
    if not traits.custom_constraints and method.gives != "bound":
        for custom in problem.of(CustomConstraint):
            if not any(
                type(custom) in scope.constraints or isinstance(custom, scope.families) for scope in traits.scopes
            ):
                return f"{method.name} does not support constraint {custom}, which is a plug-in's"
    return method.accepts(problem)


def refusal(method: Method, problem: Problem) -> str | None:
    """Return why *method* cannot be used on *problem* here, or None: it cannot honour it, or is not installed."""
    reason = why_not(method, problem)
    if reason is not None or not isinstance(method, Installed):
        return reason
    availability = method.available()
    return None if availability.ok else f"what it needs is not installed; install it with: {availability.install}"


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

    It may have more: ``write(workload, path)`` if it goes both ways; ``claims(path)``, which says of a file whether it
    names this format, so that no other is tried. One that holds a model rather than a graph derives from
    :class:`mtpp_dsl.exchange.formats.models.ModelFormat`.

    Attributes:
        name: as in ``(format = msr)``.
        suffixes: of file names: which format is meant where none is named.
    """

    name: str
    suffixes: tuple[str, ...]

    def read(self, path: Path) -> Any:
        """Return a :class:`mtpp_dsl.formats.Workload`: the graph, and devices where the file has them."""
        ...
