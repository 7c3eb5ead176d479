"""Define how models measure linear costs and the violations of soft rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isnan, lcm

from mtpp_dsl.core.constraints import (
    Bottleneck,
    Decision,
    Finish,
    Largest,
    Latency,
    Linear,
    Load,
    Makespan,
    On,
    Penalties,
    Start,
    Used,
    decisions_in,
)
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.facts.scaling import FEASIBILITY, TARGET, Scale

BINARY = (On, Used)
"""Decisions that are 0 or 1; all others but penalties are times."""

TIMES = (Start, Finish, Makespan)
"""Decisions of plans with a schedule alone."""

LOADS = (Load, Bottleneck, Latency)
"""Decisions that are made of loads."""

MAX_DENOMINATOR = 10**6
"""Coefficients that are no fractions with smaller denominators have no step in common."""


def expanded(problem: Problem, terms: Iterable[tuple[Decision, float]]) -> dict[Decision, float]:
    """Return terms without those that cancel; of splits on one channel with every latency as the sum of loads."""
    total: dict[Decision, float] = {}
    for decision, a in terms:
        ones: list[Decision] = [decision]
        if isinstance(decision, Latency) and not problem.timed and not problem.networked:
            ones = [Load(d, decision.phase) for d in range(problem.k)]
        for one in ones:
            total[one] = total.get(one, 0.0) + a
    return {decision: a for decision, a in total.items() if a}


def named_decisions(problem: Problem) -> set[Decision]:
    """Return the decisions that the objective and labelled rows speak of, also within the largest of several sums."""
    objective = problem.objective.terms if problem.objective.is_linear else ()
    rows = (row.terms for row in problem.of(Linear))
    return {decision for terms in (objective, *rows) for decision in decisions_in(terms)}


def soft_size(problem: Problem, row: Linear, unit: float) -> float:
    """Return the largest coefficient of a soft row, times in the model's *unit*: what its violation is measured in."""
    return max((abs(a) * unit_of(x, unit) for x, a in expanded(problem, row.terms).items()), default=0.0) or 1.0


def unit_of(decision: Decision, unit: float) -> float:
    """Return what one of a decision is in a model whose unit of time is *unit*: that of a time, 1 of all others."""
    if isinstance(decision, Largest):  # of times, or of numbers
        return max(
            (unit_of(x, unit) for terms, _ in decision.sums for x, _ in terms), default=1.0, key=lambda u: u != 1.0
        )
    return 1.0 if isinstance(decision, (*BINARY, Penalties)) else unit


@dataclass(frozen=True)
class LinearMeasure:
    """How a model measures a linear cost.

    Attributes:
        scale: the model's objective times this is the problem's cost.
        margin: what to take off a solver's dual bound, in the model's unit: the largest move of the objective that a
            binary or a row makes that is off by a solver's tolerance.
        step: what all costs are multiples of, in the problem's unit; 0.0 where nothing is known.
        base: the constant of the objective, with the sign of the cost.
    """

    scale: float
    margin: float
    step: float
    base: float


def measure_of(problem: Problem, scale: Scale, margin: float) -> LinearMeasure:
    """Return how the linear cost of *problem* is measured: its largest term becomes :data:`TARGET`.

    Args:
        problem: with a linear objective.
        scale: of the times in the model.
        margin: what to take off a solver's bound on a time, in the model's unit.
    """
    unit, floor = scale.unit, scale.floor
    terms = expanded(problem, problem.objective.terms)
    steps = {x: abs(a) for x, a in terms.items() if isinstance(x, BINARY)}
    times = {x: abs(a) * (problem.k if isinstance(x, Latency) else 1) for x, a in terms.items() if x not in steps}
    largest = max([*steps.values(), *(a * (floor or unit * TARGET) for a in times.values())], default=0.0)
    soft = problem.soft_rows if problem.objective.penalised else ()
    paid = {row: (row.penalty or 0.0) * soft_size(problem, row, unit) for row in soft}
    measured = (largest or max(paid.values(), default=0.0)) / TARGET or 1.0
    loose = margin / FEASIBILITY  # of times, where there is less to measure by
    moves = [*steps.values(), loose * unit * sum(times.values())]
    moves += [cost if _counts(row) else loose * cost for row, cost in paid.items()]
    sign = -1.0 if problem.objective.maximized else 1.0
    return LinearMeasure(
        scale=measured,
        margin=FEASIBILITY * max([measured, *moves]) / measured,
        step=0.0 if times else _step([problem.objective.constant, *steps.values(), *_steps_of(soft)]),
        base=sign * problem.objective.constant,
    )


def margin_of(problem: Problem, scale: Scale, margin: float) -> float:
    """Return what to take off a solver's bound for soft rows, beside an objective that is a time, in its unit.

    *margin* is that of a time. Rows that count binaries are off by a solver's tolerance alone, however far apart times
    lie.
    """
    moves = (
        (FEASIBILITY if _counts(row) else margin) * (row.penalty or 0.0) * soft_size(problem, row, scale.unit)
        for row in problem.soft_rows
    )
    return max(moves, default=0.0) / scale.unit


def _counts(row: Linear) -> bool:
    """Return whether a row speaks of binaries alone, and of no time."""
    return all(isinstance(x, BINARY) for x, _ in row.terms)


def unmeasured(name: str, problem: Problem) -> str | None:
    """Return why formulation *name* cannot tell a solver what the objective and soft rows cost, or None."""
    for row in problem.hard_rows:
        wrong = "<=" if any(isinstance(x, Penalties) and a < 0 for x, a in row.terms) else ">="
        if any(isinstance(x, Penalties) for x, _ in row.terms) and row.sense in (wrong, "=="):
            return f"{name} does not support constraint {row}, which asks for penalties that are large"
    return None


def gains_from_delay(problem: Problem) -> str | None:
    """Return why a schedule in which everything is as early as it can be may not be the best one, or None.

    It is where the cost grows with every time, and what soft rows cost does so as well.
    """
    objective = problem.objective
    for decision, a in objective.terms if objective.is_linear else ():
        if isinstance(decision, TIMES) and (a > 0) == objective.maximized:
            return f"the objective gains from a late {_named(problem, decision)}, and schedules are as early as can be"
    for row in problem.soft_rows:
        for decision, a in row.terms:
            if isinstance(decision, TIMES) and (row.sense == "==" or (a > 0) == (row.sense == ">=")):
                late = _named(problem, decision)
                return (
                    f"constraint {row} has a penalty and may gain from a late {late}; schedules are as early as can be"
                )
    return None


def _named(problem: Problem, decision: Decision) -> str:
    node = getattr(decision, "node", None)
    word = type(decision).__name__.lower()
    return word if node is None else f"{word}({problem.graph.names[node]})"


def _steps_of(rows: Iterable[Linear]) -> Iterable[float]:
    """Yield what the costs of soft rows are sums of multiples of; an odd number of its own where nothing is known."""
    for row in rows:
        assert row.penalty is not None
        if not _counts(row):
            yield float("nan")
        yield from (row.penalty * abs(a) for a in (*(a for _, a in row.terms), row.rhs))


def _step(sizes: Iterable[float]) -> float:
    """Return the largest number that all *sizes* are multiples of; 0.0 where there is none, or none worth using.

    >>> _step([2.5, 3.5]), _step([0.1, 0.3]), _step([1.0, 3.141592653589793])
    (0.5, 0.1, 0.0)
    """
    known = [abs(size) for size in sizes if size]
    if not known or any(isnan(size) for size in known) or max(known) > 1e9 * min(known):
        return 0.0
    exact = [Fraction(size).limit_denominator(MAX_DENOMINATOR) for size in known]
    if any(float(fraction) != size for fraction, size in zip(exact, known, strict=True)):
        return 0.0
    under = lcm(*(fraction.denominator for fraction in exact))
    step = gcd(*(int(fraction * under) for fraction in exact)) / under
    return step if step > 1e-4 * max(known) else 0.0
