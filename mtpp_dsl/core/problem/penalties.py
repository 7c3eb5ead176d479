"""Leave the rows with a penalty out of a problem."""

from __future__ import annotations

from mtpp_dsl.core.constraints import Linear, Penalties, decisions_in
from mtpp_dsl.core.problem.problem import Problem


def without_penalties(problem: Problem) -> Problem | None:
    """Return *problem* without its soft rows and its later objectives, or None where it has no soft rows that cost.

    It has the same plans. What soft rows cost is a sum of penalties, none of which is negative
    (:func:`mtpp_dsl.core.problem.objective_rules.settled_objectives` refuses others), times violations, which are not
    negative either (:meth:`mtpp_dsl.core.constraints.Linear.violation`). So each plan costs no more in it, its bounds
    are bounds of *problem*, and where it has no plan, *problem* has none.

    None, too, where a row that must hold speaks of what soft rows cost: it would mean something else.
    """
    if not problem.soft_rows or not problem.objective.penalised:
        return None
    speaks = (one for row in problem.hard_rows for one in decisions_in(row.terms))
    if any(isinstance(one, Penalties) for one in speaks):
        return None
    return problem.asking(problem.objective, [c for c in problem.constraints if not (isinstance(c, Linear) and c.soft)])
