"""Rows that keep the value of one objective while another one is optimised."""

from __future__ import annotations

from math import fsum

from mtpp_dsl.core.constraints import Linear, Penalties
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

ROUNDING = 1e-9
"""Relative: what a row leaves to the rounding of sums, so that it never excludes the plan whose cost it is made of."""


def keeping(problem: Problem, objective: Objective, cost: float) -> Linear:
    """Return the row ``cost of objective <= cost``, with room for the rounding of sums.

    What soft rows cost is in it where *problem* has any.

    Raises:
        UsageError: no row can speak of this objective.
    """
    terms, constant = objective.cost_terms
    if not problem.soft_rows:
        terms = tuple(term for term in terms if not isinstance(term[0], Penalties))
    room = ROUNDING * max(abs(cost), abs(constant), abs(cost - constant))
    return Linear(label=f"keep {objective.called}", terms=terms, sense="<=", rhs=fsum((cost, -constant, room)))


def worded(problem: Problem, objective: Objective, cost: float) -> str:
    """Return in words what :func:`keeping` asks, in the units of the objective.

    Of the first objective what soft rows cost is part of it.
    """
    sign = ">=" if objective.sense == "maximize" else "<="
    paid = " with penalties" if objective.penalised and problem.soft_rows else ""
    value = problem.valued(cost, objective)
    return f"{objective.shown}{paid} {sign} {value}"
