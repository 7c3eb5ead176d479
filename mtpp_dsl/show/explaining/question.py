"""Hold what the parts of an explanation are asked: a problem, what was found, and how much time there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import format_gap, format_quantity
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result, relative_gap
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.syntax.places import Places
from mtpp_dsl.solving.answers.again import Answered, places_of
from mtpp_dsl.solving.answers.claims import cost_of_value
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.drivers.rows import keeping

SAME = 1e-9
"""Costs that differ by no more than this share are one."""
FRONT = "the front"
"""The origin of the row that a point of a front is the best under: no statement of the spec says it."""


@dataclass(frozen=True, repr=False)
class Question(Short):
    """What every part of an explanation is given.

    Attributes:
        problem: what was asked; of a point of a front with a row that keeps what it reached in the other objective.
        plan: that was found; None without one.
        evaluation: of the plan.
        answer: the JSON answer, with the bound, the status and why there is no plan.
        bound: no plan's cost is below it; None where none was proved.
        claimed: whether the bound is what a file says, which has not been proved again.
        node: the number of the node that is asked about; None for none.
        time: seconds that all parts together may take.
        method, solver, seed, threads: by which altered problems are solved.
        progress: by which everything is stopped; solves report to progresses of their own.
        search: folders where ``include`` looks, for reading the spec again.
    """

    problem: Problem
    plan: Plan | None
    evaluation: Evaluation | None
    answer: Mapping[str, Any]
    bound: float | None = None
    claimed: bool = field(default=False, kw_only=True)
    node: int | None = None
    time: float = 30.0
    method: str = "auto"
    solver: str = "highs"
    seed: int = 0
    threads: int | None = None
    progress: Progress = field(default_factory=Progress)
    search: tuple[Path, ...] = ()

    @cached_property
    def places(self) -> Places:
        """Which statements of the spec say what of the problem; the spec is read again."""
        return places_of(self.problem, self.search)

    @property
    def cost(self) -> float | None:
        """What the plan costs."""
        return None if self.evaluation is None else self.evaluation.cost

    @property
    def gap(self) -> float | None:
        """How far the bound is below the cost, as a share of it; None unless both are known."""
        if self.evaluation is None or self.bound is None:
            return None
        return relative_gap(self.evaluation.cost, self.bound, self.evaluation.size)

    def shown(self, cost: float) -> str:
        """Return the value of the objective, of a plan or a bound of this cost, for people."""
        return self.problem.valued(cost)

    def value(self, cost: float | None) -> float | None:
        """Return the value of the objective at a cost, for JSON; None without a cost, or of one that is not finite."""
        return None if cost is None else finite(self.problem.objective.value(cost))

    def compared(self, cost: float) -> str:
        """Return how the value of another plan is beside that of the plan, such as "5 % more"; "" if they are equal.

        The share is left out where the values are not positive and finite.
        """
        assert self.cost is not None
        if abs(cost - self.cost) <= SAME * abs(self.cost):
            return ""
        new, old = self.problem.objective.value(cost), self.problem.objective.value(self.cost)
        word = "more" if new > old else "less"
        if old <= 0 or new < 0 or not (isfinite(new) and isfinite(old)):
            return word
        return f"{format_gap(abs(new / old - 1))} {word}"

    def time_shown(self, seconds: float) -> str:
        """Return a time of the problem for people."""
        return format_quantity(seconds, self.problem.time_unit)


def finite(value: float) -> float | None:
    """Return a value for JSON; None where it is not finite."""
    return value if isfinite(value) else None


def question_of(problem: Problem, given: Result | Answered | Plan | Mapping[str, Any], **options: Any) -> Question:
    """Return the question about a result, an answer that was read again, its JSON, or a plan alone.

    Args:
        problem: what was asked.
        given: what was found.
        options: the attributes of :class:`Question` that are not found here.
    """
    bound: float | None = None
    answer: Mapping[str, Any]
    if isinstance(given, Result):
        problem = given.problem or problem  # which has the limits of a runtime that it is for
        plan, answer = given.plan, result_to_json(problem, given)
        bound = None if given.bound is None else given.bound.cost
    elif isinstance(given, Answered):
        plan, answer = given.plan, given.answer
        bound = given.bound
    else:
        plan = given if isinstance(given, Plan) else Plan.from_json(problem, given)
        alone = Result("complete", plan=plan, evaluation=evaluate(problem, plan), method="given")
        answer = result_to_json(problem, alone)
    evaluation = None if plan is None else evaluate(problem, plan)
    if plan is not None and evaluation is not None and _in_front(problem, answer):
        problem, bound = _within(problem, evaluation, answer)
        evaluation = evaluate(problem, plan)
    claimed = isinstance(given, Answered)
    return Question(problem, plan, evaluation, answer, bound, claimed=claimed, **options)


def _in_front(problem: Problem, answer: Mapping[str, Any]) -> bool:
    """Return whether an answer is a point of a front whose first objective was minimised under a limit on the other."""
    objectives = answer.get("objectives") or []
    return len(problem.objectives) == 2 and len(objectives) == 2 and bool(objectives[0]["under"])


def _within(problem: Problem, evaluation: Evaluation, answer: Mapping[str, Any]) -> tuple[Problem, float | None]:
    """Return what a point of a front is the best of, and the bound: plans that are as good in the other objective."""
    first, second = problem.objectives
    row = replace(keeping(problem, second, evaluation.costs[1]), origin=FRONT)
    asked = problem.with_constraints([*problem.constraints, row])
    bound = answer["objectives"][0]["bound"]
    return asked, None if bound is None else cost_of_value(first, bound["value"])
