"""Linear objectives, what soft rows cost, and which devices are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import Decision, Penalties, Used
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.linear_cost import (
    LinearMeasure,
    expanded,
    margin_of,
    measure_of,
    named_decisions,
    soft_size,
    unit_of,
)
from mtpp_dsl.models.facts.scaling import Scale

DROPPED = 1e-9
"""Shares of the largest coefficient of a row that solvers drop."""

Value = Callable[[Decision], Any]


def used_devices(
    model: Any, problem: Problem, on: assignment.On, caps: Mapping[int, Sequence[tuple[Any, float]]]
) -> None:
    """Add ``u[d]``, 1 where any node is on d, for the devices that somebody asks about.

    Formula: ``u[d] >= on(v,d)``; ``u[d] <= sum_v on(v,d)``; ``cap(d) <= most(d) u[d]`` for what a device without nodes
    has none of, and another one at most so much.
    Source -> target: ``used(d)`` -> a binary.
    Exact: a device without nodes has no load, and its memory is free.
    """
    asked = sorted({x.device for x in named_decisions(problem) if isinstance(x, Used)})
    if not asked:
        return
    part = model.used = pyo.Block(concrete=True)
    part.D = pyo.Set(initialize=asked)
    part.u = pyo.Var(part.D, domain=pyo.Binary)
    constrain(part, "any", model.V, part.D, rule=lambda b, v, d: b.u[d] >= on(v, d))
    constrain(part, "none", part.D, rule=lambda b, d: b.u[d] <= sum(on(v, d) for v in model.V))
    part.limited = pyo.ConstraintList()
    for d in asked:
        for cap, most in caps.get(d, ()):
            part.limited.add(cap <= most * part.u[d])


def penalties(model: Any, problem: Problem, value: Value, most: Value, unit: float) -> Any:
    """Add the violations of soft rows; return what they cost, an expression in the unit of the objective.

    Formula: ``s >= sum a x - rhs`` and, or, ``s >= rhs - sum a x``, ``s >= 0``; the cost is ``sum penalty s``.
    Source -> target: ``(penalty = ...)`` -> a continuous variable for each row, in units of its largest coefficient.
    Exact while nothing pushes s up.

    Args:
        model: to add to.
        problem: whose rows.
        value: of a decision in the model, times in the model's unit.
        most: an upper bound of the same.
        unit: the model's unit of time.
    """
    part = model.soft = pyo.Block(concrete=True)
    part.s = pyo.VarList(domain=pyo.NonNegativeReals)
    part.rows = pyo.ConstraintList()
    total: Any = 0.0
    for row in problem.soft_rows:
        if not row.penalty:
            continue
        terms = {x: a * unit_of(x, unit) for x, a in expanded(problem, row.terms).items()}
        size = soft_size(problem, row, unit)
        s = part.s.add()
        for sign, other in ((1.0, ">="), (-1.0, "<=")):
            if row.sense == other:
                continue
            left = {x: sign * a / size for x, a in terms.items()}
            small = [x for x, a in left.items() if abs(a) < DROPPED]  # they may only lower the violation
            lost = sum(min(left.pop(x), 0.0) * most(x) for x in small)
            part.rows.add(s >= sum(a * value(x) for x, a in left.items()) + lost - sign * row.rhs / size)
        total += row.penalty * size * s
    return total


def linear_objective(
    model: Any, problem: Problem, value: Value, measure: LinearMeasure, paid: Any, unit: float
) -> None:
    """Add a linear objective.

    Formula: minimise ``(constant + sum a x) / scale``, with the other sign where it is maximised, and what is *paid*.
    Source -> target: ``minimize EXPRESSION`` -> an expression.
    Exact where what the objective pushes up is exact in the model.
    """
    sign = -1.0 if problem.objective.maximized else 1.0
    terms = {x: sign * a * unit_of(x, unit) for x, a in expanded(problem, problem.objective.terms).items()}
    total = sum(a / measure.scale * value(x) for x, a in terms.items())
    model.objective = pyo.Objective(expr=total + (measure.base + paid) / measure.scale)


def add_costs(model: Any, problem: Problem, value: Value, limit: Callable[[Decision], float], scale: Scale) -> None:
    """Add a linear objective, and to any objective what soft rows cost; that is ``model.paid`` for rows on it.

    Args:
        model: to add to, with its ``cost_margin`` for a time, and with an objective where that is not linear.
        problem: what is asked.
        value: of a decision in the model, times in its unit.
        limit: an upper bound of the same.
        scale: of the times in the model.
    """
    objective = problem.objective
    if problem.soft_rows and (objective.penalised or Penalties() in named_decisions(problem)):
        model.paid = pyo.Expression(expr=penalties(model, problem, value, limit, scale.unit))
    paid = model.paid if problem.soft_rows and objective.penalised else 0.0
    if objective.is_linear:
        measure = measure_of(problem, scale, model.cost_margin)
        model.cost_scale, model.cost_margin = measure.scale, measure.margin
        model.cost_step = measure.step
        linear_objective(model, problem, value, measure, paid, scale.unit)
    elif problem.soft_rows and objective.penalised:
        model.cost_margin = max(model.cost_margin, margin_of(problem, scale, model.cost_margin))
        model.objective.expr += paid / scale.unit
