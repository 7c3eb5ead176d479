"""The best plans beside the one that was found: its neighbours, each evaluated and checked as every plan is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.show.explaining.moves import canonical
from mtpp_dsl.show.explaining.neighbours import PlanChange, applied, changes, replanned
from mtpp_dsl.show.explaining.question import SAME, Question, finite
from mtpp_dsl.show.report.names import short_name

__all__ = ["Neighbour", "NextBest", "next_best"]

MOST = 5
"""Neighbours that are told."""
AT_LEAST = 0.2
"""Seconds that are taken even where less was given."""
CHECKED = 50
"""So many neighbours, the cheapest first, are checked against the constraints however long it takes."""
CHECKING = 0.3
"""Of the time, what checking takes."""
MOST_EXCHANGES = 1
"""Of the neighbours that are told, those in which two devices exchange all that they run."""
RANKS = {"shift": 1, "move": 0, "swap": 2, "exchange": 3}
"""Of neighbours of one cost, which comes first."""

Maker: TypeAlias = Callable[[Ints], tuple[Plan, Evaluation]]


class RankedNeighbour(NamedTuple):
    """A neighbour that was evaluated, and not checked yet: ordered by its costs, then by its kind and number."""

    costs: tuple[float, ...]
    rank: int
    number: int
    change: PlanChange


@dataclass(frozen=True, repr=False)
class Neighbour(Short):
    """A plan beside the one that was found.

    Attributes:
        change: what differs, in the names of the plan that was found.
        costs: of all objectives.
        plan: itself.
        busiest: the device or channel with the largest load, and that load; None of a schedule.
    """

    change: PlanChange
    costs: tuple[float, ...]
    plan: Plan
    busiest: tuple[str, float] | None = None


@dataclass(frozen=True, repr=False)
class NextBest(Short):
    """The best neighbours of a plan. They are the best that were found, and not the second-best plans there are.

    Attributes:
        question: what was asked.
        neighbours: the best of them, the best first; none breaks a constraint.
        tried: how many were evaluated.
        checked: how many of them, the cheapest, were held against the constraints.
        complete: whether all single moves, shifts, exchanges and swaps with the busiest devices were.
        ties: how many of those that were checked cost the same as the plan.
        forbidden: of the neighbours that would cost less, how many each constraint forbids.
        broken: the same of all that were checked.
        rescheduled: whether their times are those of a list scheduler, so that they may have better ones.
    """

    question: Question
    neighbours: tuple[Neighbour, ...]
    tried: int
    checked: int
    complete: bool
    ties: int = 0
    forbidden: dict[str, int] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    rescheduled: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        problem = self.question.problem
        return {
            "plans": [
                {
                    "change": one.change.to_json(problem),
                    "words": one.change.words(problem),
                    "values": [
                        finite(objective.value(cost))
                        for objective, cost in zip(problem.objectives, one.costs, strict=True)
                    ],
                    "ratio": _ratio(one.costs[0], self.question.cost),
                    "busiest": None if one.busiest is None else {"name": one.busiest[0], "load": one.busiest[1]},
                    "assignment": dict(one.plan.of(problem)),
                }
                for one in self.neighbours
            ],
            "tried": self.tried,
            "checked": self.checked,
            "complete": self.complete,
            "ties": self.ties,
            "forbidden": dict(self.forbidden),
            "broken": dict(self.broken),
            "rescheduled": self.rescheduled,
        }

    def words(self) -> list[str]:
        """Return it in words."""
        problem, shown = self.question.problem, self.question.shown
        how = f"all {self.tried:,}" if self.complete else f"the first {self.tried:,}"
        lines = [f"the best plans a step away, of {how} moves, shifts and swaps that were tried (not of all plans):"]
        if not self.neighbours:
            lines = [self._refused()]
            if not self.checked:
                lines = ["there is no other plan a step away that could be tried"]
        for one in self.neighbours:
            compared = self.question.compared(one.costs[0]) or "the same"
            lines.append(f"  {shown(one.costs[0])} ({compared}): {one.change.words(problem)}")
            later = [
                f"{objective.shown} {problem.valued(cost, objective)}"
                for objective, cost in zip(problem.later, one.costs[1:], strict=True)
            ]
            if later:
                lines.append(f"    {', '.join(later)}")
            if one.busiest is not None and not problem.objective.is_linear:
                name, load = one.busiest
                lines.append(f"    then {short_name(name)} is the busiest, with {self.question.time_shown(load)}")
        if self.ties > sum(one.costs[0] == self.question.cost for one in self.neighbours):
            lines.append(f"  {counted(self.ties, 'neighbour')} of those that were checked cost the same")
        if self.forbidden:
            by = ", ".join(f"{what} {many}" for what, many in self.forbidden.items())
            lines.append(f"  steps that would cost less, but break a constraint: {by}")
        elif self.checked and self.complete and self.question.cost is not None and self._none_better():
            lines.append("  none of these steps is better, not even one that breaks a constraint")
        if self.rescheduled:
            lines.append("  their times are by a list scheduler: better schedules of the same split may exist")
        return lines

    def _refused(self) -> str:
        """Return that no neighbour is allowed, and how many break what."""
        if self.tried == 1:
            return f"the only neighbouring plan is not allowed: it breaks {' and '.join(self.broken)}"
        near = counted(self.tried, "neighbouring plan")
        which = near if self.checked == self.tried else f"{self.checked:,} cheapest of {near}"
        by = ", ".join(f"{many:,} {'breaks' if many == 1 else 'break'} {what}" for what, many in self.broken.items())
        return f"none of the {which} is allowed: {by}"

    def _none_better(self) -> bool:
        """Return whether no neighbour costs less: the allowed ones are in order, and of others none was counted."""
        first = self.neighbours[0].costs[0] if self.neighbours else np.inf
        assert self.question.cost is not None
        return first >= self.question.cost - SAME * abs(self.question.cost)


def _ratio(cost: float, before: float | None) -> float | None:
    """Return the cost of a neighbour as a multiple of that of the plan; None where that says nothing."""
    return None if before is None or before <= 0 or not np.isfinite(cost) else cost / before


def next_best(question: Question, seconds: float) -> NextBest | None:
    """Return the best neighbours of the plan of an answer, of those that can be evaluated in so many *seconds*.

    Raises:
        Refused: what single changes cost cannot be said of such plans.
    """
    problem, plan, evaluation = question.problem, question.plan, question.evaluation
    if plan is None or evaluation is None:
        return None
    end = monotonic() + (1 - CHECKING) * max(seconds, AT_LEAST)
    make = replanned(problem, plan)
    alike = interchangeable(problem)
    classes = [(d,) for d in range(problem.k)] if plan.replicas or plan.shards else alike
    seen = {canonical(plan.assignment, classes, problem.k).tobytes()}
    heap: list[RankedNeighbour] = []
    tried, complete = 0, True
    for change in changes(problem, plan, _busiest_devices(evaluation), alike):
        if monotonic() > end or question.progress.stopped:
            complete = False
            break
        device = applied(plan, change)
        key = canonical(device, classes, problem.k).tobytes()
        if key in seen:
            continue
        seen.add(key)
        try:
            made = make(device)[1]
        except MtppError:  # no link, no schedule: there is no such plan
            continue
        tried += 1
        if np.isfinite(made.costs).all():
            heappush(heap, RankedNeighbour(made.costs, RANKS[change.kind], tried, change))
    return _checked(question, plan, evaluation, heap, make, tried, complete, end + CHECKING * max(seconds, AT_LEAST))


def _checked(
    question: Question,
    plan: Plan,
    evaluation: Evaluation,
    heap: list[RankedNeighbour],
    make: Maker,
    tried: int,
    complete: bool,
    end: float,
) -> NextBest:
    """Return the best of the neighbours that break nothing."""
    problem = question.problem
    kept: list[Neighbour] = []
    forbidden: Counter[str] = Counter()
    all_broken: Counter[str] = Counter()
    ties = checked = 0
    while heap and (len(kept) < MOST or heap[0].costs[0] <= evaluation.cost * (1 + SAME)):
        if checked >= CHECKED and monotonic() > end:
            break
        costs, change = heap[0].costs, heappop(heap).change
        made, evaluated = make(applied(plan, change))
        broken = verify(problem, made)
        checked += 1
        if broken:
            names = {statement_named(violation.constraint) for violation in broken}
            all_broken.update(names)
            if costs[0] < evaluation.cost - SAME * abs(evaluation.cost):
                forbidden.update(names)
            continue
        ties += abs(costs[0] - evaluation.cost) <= SAME * abs(evaluation.cost)
        of_kind = sum(one.change.kind == change.kind for one in kept)
        if len(kept) < MOST and not (change.kind == "exchange" and of_kind >= MOST_EXCHANGES):
            whole = made if problem.timed or any(problem.stage_memory) else replace(made, order=None)
            kept.append(Neighbour(change, costs, whole, _busiest(problem, evaluated)))
    return NextBest(
        question,
        tuple(kept),
        tried,
        checked,
        complete,
        ties,
        dict(forbidden.most_common()),
        dict(all_broken.most_common()),
        problem.timed,
    )


def statement_named(constraint: str) -> str:
    """Return what a constraint is called with the other rows of its statement.

    >>> statement_named("first[3] (a.mtpp:9)"), statement_named("memory (a.mtpp:7)"), statement_named("few")
    ('first (a.mtpp:9)', 'memory (a.mtpp:7)', 'few')
    """
    name, opening, place = constraint.rpartition(" (")
    label = (name if opening else place).partition("[")[0]
    return f"{label}{opening}{place}" if opening else label


def _busiest_devices(evaluation: Evaluation) -> frozenset[int]:
    """Return the devices with the largest load."""
    top = float(evaluation.load.max())
    return frozenset(np.flatnonzero(evaluation.load >= top * (1 - SAME)).tolist())


def _busiest(problem: Problem, evaluation: Evaluation) -> tuple[str, float] | None:
    """Return the device or the channel with the largest load in a split, and that load."""
    if problem.timed:
        return None
    if evaluation.channels.size and evaluation.channels.max() > evaluation.load.max():
        return problem.network.channels[int(evaluation.channels.argmax())], float(evaluation.channels.max())
    return problem.devices[int(evaluation.load.argmax())].name, float(evaluation.load.max())
