"""All of an answer: plan, bound, and how they were found.

Status has two axes: :class:`Result` ``status`` says what we hold, ``termination`` why the
search stopped. Plan and bound are separate, and either may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.base.units import format_gap, format_quantity, format_value
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.largest import LargestValue
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.target_cost import TargetCost
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

Status: TypeAlias = Literal["optimal", "feasible", "bound", "infeasible", "unknown"]
Termination: TypeAlias = Literal[
    "gap", "complete", "time_limit", "interrupted", "infeasible", "limit", "error", "running"
]
Proof: TypeAlias = Literal["checked", "trusted"]
PictureKind: TypeAlias = Literal["loads", "gantt", "graph", "gap", "memory"]

OPTIMAL_GAP = 1e-6  # the solvers' own tolerances: below this, "optimal" is what they mean by it
ROUNDING = 1e-12
"""Relative: sums of the same times in another order differ by so much; a gap no wider is none."""
AS_HIGH = 1e-9
"""Relative: bounds that differ by less are as high as each other."""


@dataclass(frozen=True, repr=False)
class Certificate(Short, Picklable):
    """What a proof of a bound needs beside the problem, in the problem's own names.

    Attributes:
        kind: which proof it is: the name of a :class:`mtpp_dsl.core.contracts.protocols.Checker` of
            ``mtpp_dsl.proofs``.
        data: JSON values by name; "kind" is not one of the names.
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the ``bound.certificate`` of the JSON answer."""
        return {"kind": self.kind, **self.data}


@dataclass(frozen=True, repr=False)
class Bound(Short):
    """What no plan can beat.

    Attributes:
        cost: no plan's cost (bottleneck or makespan, in time; or linear) is below it.
        method: which method found it.
        proof: "checked" if our own code re-derived it, "trusted" if it rests on a solver's word.
        by: the solver and its version, or the algorithm.
        detail: the argument in words: tolerances, the source.
        certificate: what ``mtpp verify`` needs to derive the bound again, by other code; None where that
            would take the whole search.
    """

    cost: float
    method: str
    proof: Proof
    by: str
    detail: str = ""
    certificate: Certificate | None = None

    def better(self, known: Bound | None) -> bool:
        """Return whether to keep this bound in place of *known*: it is higher or, if both are as high, proved better.

        One with a certificate can be proved again by anybody; without, one of our own rests on no solver's word.

        >>> proved = Bound(2.0, "simple", "checked", "mtpp", certificate=Certificate("shares"))
        >>> claimed = Bound(2.0 + 1e-11, "exact", "trusted", "highs")
        >>> claimed.better(None), claimed.better(proved), proved.better(claimed)
        (True, False, True)
        """
        if known is None:
            return True
        if abs(self.cost - known.cost) > AS_HIGH * abs(known.cost):
            return self.cost > known.cost
        mine, other = ((b.certificate is not None, b.proof == "checked") for b in (self, known))
        return mine > other if mine != other else self.cost > known.cost


@dataclass(frozen=True)
class LogEntry:
    """The best cost and bound known *time* seconds after the start; None where there is none."""

    time: float
    incumbent: float | None
    bound: float | None


@dataclass(frozen=True)
class Turn:
    """A method that another one has run.

    Attributes:
        time: when it began, in seconds after the start.
        method: its name.
        seconds: it was given at most; None for no limit.
        why: it had its turn.
    """

    time: float
    method: str
    seconds: float | None
    why: str


@dataclass(frozen=True, repr=False)
class Infeasibility(Short):
    """Why no plan exists.

    Attributes:
        reason: one sentence.
        clash: the constraints that cannot hold together, as messages show them.
        minimal: True if, without any one of them, the others were shown to leave a plan. Constraints that are not
            among them may clash as well.
    """

    reason: str
    clash: tuple[str, ...] = ()
    minimal: bool = False


@dataclass(frozen=True)
class Reached(Picklable):
    """One of several objectives in an answer.

    Attributes:
        objective: which one.
        cost: of the plan of the answer; None without a plan.
        best: the least cost that was found when this objective itself was minimised: what later objectives may worsen
            by ``within``. None where it has had no turn.
        bound: no plan that keeps all constraints, and the rows in *under*, has a lower cost; None if none was proved.
        gap: how far the bound is below the best cost, as a share of it; None unless both are known.
        under: the rows under which it was minimised beside the constraints, in words; "" for the first objective.
    """

    objective: Objective
    cost: float | None = None
    best: float | None = None
    bound: Bound | None = None
    gap: float | None = None
    under: str = ""

    @property
    def proved(self) -> bool:
        """Whether its best cost is proved to be the least under the rows, to the solvers' tolerances."""
        return self.gap is not None and self.gap <= OPTIMAL_GAP


@dataclass(frozen=True, eq=False, repr=False)
class Result(Picklable):
    """What a method found.

    Attributes:
        termination: why the method stopped.
        plan: the best plan found, or None.
        bound: the best bound proved, or None.
        evaluation: of the plan, by :func:`mtpp_dsl.core.plans.evaluation.evaluate`; None without a plan.
        method, solver, seed: how it was found; ``solver`` is None where no solver was used.
        time: seconds by phase; "total", and where known "start", "read", "build", "solve".
        log: incumbent and bound over time.
        turns: the methods that this one has run, in the order in which they began: those of ``auto``.
        infeasibility: why there is no plan, when that is proven.
        objectives: what is reached of each of several objectives, in their order; () where there is one. The bound of
            the result is that of the first, and its plan is optimal if all of them are proved.
        verified: True once the independent check has passed.
        notes: what the user should be told about this run.
        target: what the limits of the runtime cost that the problem is for; None where it is for none.
        largest: what is known of the largest value of a param that has a plan; None where it was not requested.
        problem: what was asked; None in what a method returns by itself, and the methods of this class that need it
            then refuse.
    """

    termination: Termination
    plan: Plan | None = None
    bound: Bound | None = None
    evaluation: Evaluation | None = None
    method: str = ""
    solver: str | None = None
    seed: int = 0
    time: Mapping[str, float] = field(default_factory=dict)
    log: tuple[LogEntry, ...] = ()
    turns: tuple[Turn, ...] = ()
    infeasibility: Infeasibility | None = None
    objectives: tuple[Reached, ...] = ()
    verified: bool = False
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
    target: TargetCost | None = None
    largest: LargestValue | None = None

    def __bool__(self) -> bool:
        """Whether there is a plan."""
        return self.plan is not None

    @property
    def cost(self) -> float | None:
        """The plan's cost: its bottleneck, its makespan, or a weighted sum; with what soft rows cost."""
        return None if self.evaluation is None else self.evaluation.cost

    @property
    def gap(self) -> float | None:
        """``(cost - bound) / cost``; None unless both are known."""
        if self.cost is None or self.bound is None:
            return None
        assert self.evaluation is not None
        return relative_gap(self.cost, self.bound.cost, self.evaluation.size)

    @property
    def settled(self) -> bool:
        """Whether the method went to its end, and plan and bound are as close as the solvers' tolerances.

        Then no other method is to be tried: what is left open is the rounding of this one's proof.
        """
        return self.termination in ("gap", "complete") and self.gap is not None and self.gap <= OPTIMAL_GAP

    @property
    def finished(self) -> bool:
        """Whether the method ended by itself, not by the clock or on request: the same call would find no more."""
        return self.termination not in ("time_limit", "interrupted")

    @property
    def status(self) -> Status:
        """Whether there is a proof that no plan exists, an optimal plan, a plan, a bound alone, or nothing."""
        if self.infeasibility is not None:
            return "infeasible"
        if self.plan is not None:
            first = self.gap is not None and self.gap <= OPTIMAL_GAP
            proved = all(one.proved for one in self.objectives) if self.objectives else first
            return "optimal" if proved else "feasible"
        return "bound" if self.bound is not None else "unknown"

    @property
    def value(self) -> float | None:
        """The plan's value of the objective, such as a throughput; its cost where the problem is not known."""
        return None if self.cost is None else self._valued(self.cost)

    @property
    def bound_value(self) -> float | None:
        """The value of the objective that no plan can beat; the bound's cost where the problem is not known."""
        return None if self.bound is None else self._valued(self.bound.cost)

    def _valued(self, cost: float) -> float:
        return cost if self.problem is None else self.problem.objective.value(cost)

    def of(self, problem: Problem) -> Result:
        """Return this result as one that knows its problem, as its plan then does."""
        return replace(self, problem=problem, plan=None if self.plan is None else self.plan.of(problem))

    def _asked(self) -> Problem:
        if self.problem is None:
            raise UsageError("this result does not know its problem: write result.of(problem)")
        return self.problem

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON answer as a dictionary: what ``mtpp solve --json`` writes."""
        data: dict[str, Any] = late("mtpp_dsl.solving.answers.json:result_to_json")(self._asked(), self)
        return data

    def to_json(self) -> str:
        """Return the JSON answer as text: what ``mtpp solve --json`` writes."""
        text: str = late("mtpp_dsl.solving.answers.json:dumps")(self.to_dict())
        return text

    def to_dataframe(self, rows: Literal["nodes", "devices", "log"] = "nodes") -> Any:
        """Return a table for pandas: a row for each node, for each device, or for each entry of the log.

        Raises:
            UsageError: pandas is not installed, or there is no plan to make rows of.
        """
        return late("mtpp_dsl.show.report.frames:frame")(self._asked(), self, rows)

    def to_html(self, what_if: str | float | None = None) -> str:
        """Return the report of ``mtpp solve --html``: one page that needs nothing else.

        Args:
            what_if: for how long changed problems may be solved, as seconds or a text such as "30s": one more device of
                each type, twice the bandwidth, more memory, and each constraint left out. None leaves them out.
        """
        page: str = late("mtpp_dsl.show.reporting:to_html")(self._asked(), self, what_if)
        return page

    def show(self, width: int | None = None, file: IO[str] | None = None) -> None:
        """Print what ``mtpp solve`` prints.

        Args:
            width: of the lines; None for that of the terminal, or 100 where there is none.
            file: where to; None for standard output.
        """
        late("mtpp_dsl.show.report.terminal:show")(self._asked(), self, width, file)

    def plot(
        self,
        path: Path | str | None = None,
        kind: PictureKind | None = None,
        *,
        width: float | None = None,
        microbatches: int | None = None,
    ) -> Any:
        """Draw the answer for a paper, and return matplotlib's figure.

        Args:
            path: where to write it: a .svg, .png or .pdf; None writes nothing.
            kind: "loads", "gantt", "graph", "gap" or "memory"; None for the one that fits the objective.
            width: in inches; None for that of a column, or of a page where the picture needs one.
            microbatches: of a pipeline that is drawn over several, by "gantt"; None for as many as fill it and some.

        Raises:
            UsageError: the answer has no such picture, and why; or matplotlib is not installed.
        """
        draw = late("mtpp_dsl.show.pictures.plotting:plot")
        return draw(self._asked(), self, path, kind, width=width, microbatches=microbatches)

    def _repr_html_(self) -> str | None:
        """Return what notebooks show: the verdict, a picture of the loads or the schedule, and what runs where."""
        if self.problem is None:
            return None
        page: str = late("mtpp_dsl.show.notebook.answer:html")(self.problem, self)
        return page

    def __repr__(self) -> str:
        parts = [] if self.infeasibility is None else [f"infeasible: {self.infeasibility.reason:.200}"]
        if self.cost is not None:
            name = "cost" if self.problem is None else self.problem.objective.shown
            later = "".join(f", {self._reached(one)}" for one in self.objectives[1:] if one.cost is not None)
            parts.append(f"{self.status}: {name} {self._shown(self.value)}{later}")
        if self.bound is not None:
            parts.append(f"bound {self._shown(self.bound_value)}")
        if self.gap is not None:
            parts.append(f"gap {format_gap(self.gap)}")
        if self.termination not in ("gap", "complete", "infeasible"):
            parts.append(self.termination.replace("_", " "))
        took = f" in {self.time['total']:.1f} s" if "total" in self.time else ""
        parts.append(f"by {self.method or 'no method'}{took}")
        return f"Result({', '.join(parts)})"

    def _reached(self, one: Reached) -> str:
        assert one.cost is not None
        if self.problem is None:
            return f"{one.objective.shown} {format_quantity(one.objective.value(one.cost), one.objective.unit(''))}"
        return f"{one.objective.shown} {self.problem.valued(one.cost, one.objective)}"

    def _shown(self, value: float | None) -> str:
        assert value is not None
        if self.problem is None:
            return format_value(value)
        unit = self.problem.objective.unit(self.problem.time_unit)
        return format_quantity(value, unit, decimal=self.problem.origin.decimal)


def searched_for(time: Mapping[str, float]) -> float:
    """Return the seconds of a search, of the times by phase of a result: entries of its log count from its begin.

    >>> searched_for({"start": 0.5, "read": 0.25, "total": 3.0}), searched_for({"total": 2.0}), searched_for({})
    (2.25, 2.0, 0.0)
    """
    return max(0.0, time.get("total", 0.0) - time.get("start", 0.0) - time.get("read", 0.0))


def relative_gap(cost: float, bound: float, size: float = 0.0) -> float:
    """Return how far below *cost* the *bound* lies, as a share of *cost*; 0.0 where that is the rounding of sums.

    Costs of linear objectives may be negative, or 0, of which nothing is a share: the share is then of the larger of
    the two. A difference of two millionths of *size*, the largest term of the cost, is what solvers call none.

    >>> relative_gap(10.0, 9.5)
    0.05
    >>> relative_gap(0.3, 0.1 + 0.1 + 0.1 - 1e-16)
    0.0
    >>> relative_gap(-10.0, -12.5), relative_gap(0.0, -1.0), relative_gap(0.0, -1e-9, size=2.0)
    (0.25, 1.0, 0.0)
    """
    if bound >= cost - max(ROUNDING * abs(cost), 2 * OPTIMAL_GAP * size):
        return 0.0
    return (cost - bound) / (abs(cost) or abs(bound))
