"""Measure how much of what constraints allow a plan leaves: memory on devices, and the two sides of labelled rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import format_quantity, format_value
from mtpp_dsl.core.constraints import (
    Bottleneck,
    Constraint,
    Finish,
    Latency,
    Linear,
    Load,
    Makespan,
    Memory,
    StageMemory,
    Start,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.holders import values_in

BINDING = 1e-6
"""Of a limit: with less left than this share of it, it is binding."""
TIMES = (Bottleneck, Finish, Latency, Load, Makespan, Start)


@dataclass(frozen=True, repr=False)
class Slack(Short):
    """What a plan takes of a limit, and what is left.

    Attributes:
        kind: memory of a device, in the unit of sizes; or a row, in its own unit.
        name: of the device, or of the row.
        used: the memory that is taken, or the left side of the row.
        limit: what the device has, or the right side of the row.
        left: what may be added before the limit is reached; below zero where a soft row is broken, 0 of an equation.
        sense: of the row; "<=" of a memory.
        said: the amounts for people.
    """

    kind: Literal["memory", "row"]
    name: str
    used: float
    limit: float
    left: float
    sense: Literal["<=", "==", ">="]
    said: str

    @property
    def binding(self) -> bool:
        """Whether nothing is left, but for rounding."""
        return self.left <= BINDING * max(abs(self.limit), abs(self.used))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        names = ("kind", "name", "used", "limit", "left", "sense")
        return {**{name: getattr(self, name) for name in names}, "binding": self.binding}


def slack_of(problem: Problem, plan: Plan, evaluation: Evaluation, constraints: Sequence[Constraint]) -> list[Slack]:
    """Return what a plan leaves of some constraints, that of which the least share is left first.

    Args:
        problem: with the constraints.
        plan: a plan of it.
        evaluation: the evaluation of the plan.
        constraints: of which those without amounts have no slack.
    """
    slacks = [slack for c in constraints for slack in _of(problem, plan, evaluation, c)]
    return sorted(slacks, key=lambda slack: slack.left / (max(abs(slack.limit), abs(slack.used)) or 1.0))


def _of(problem: Problem, plan: Plan, evaluation: Evaluation, constraint: Constraint) -> Iterator[Slack]:
    if isinstance(constraint, (Memory, StageMemory)):
        limit = problem.room_limit if isinstance(constraint, Memory) else problem.stage_limit
        for d in range(problem.k) if constraint.devices is None else constraint.devices:
            used, room = float(evaluation.memory[d]), float(limit[d])
            if room < float("inf") and used > 0:
                sizes = f"{problem.size(used)} of {problem.size(room)}"
                yield Slack("memory", problem.devices[d].name, used, room, room - used, "<=", sizes)
    elif isinstance(constraint, Linear) and problem.objective.batch is None and not plan.routes:
        try:
            left = values_in(plan, evaluation).sum(constraint.terms) + 0.0  # no -0
        except (Refused, KeyError):
            return
        rest = {"<=": constraint.rhs - left, ">=": left - constraint.rhs, "==": -abs(left - constraint.rhs)}
        yield Slack(
            "row", constraint.label, left, constraint.rhs, rest[constraint.sense], constraint.sense,
            _row_words(problem, constraint, left),
        )  # fmt: skip


def _row_words(problem: Problem, row: Linear, left: float) -> str:
    """Return both sides of a row for people, in its unit; as times where it has none and speaks of times alone."""
    times = all(isinstance(decision, TIMES) and a == 1 for decision, a in row.terms)
    unit = row.unit or (problem.time_unit if times else "")
    one, two = (format_quantity(x, unit) if unit else format_value(x) for x in (left, row.rhs + 0.0))
    limit = {"<=": "at most", ">=": "at least", "==": "exactly"}[row.sense]
    return f"{one}, {limit} {two}"
