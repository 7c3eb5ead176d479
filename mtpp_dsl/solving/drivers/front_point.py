"""A point of a front, made of the solves of its two objectives."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Reached, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.drivers.rows import worded

__all__ = ["point_of"]


def point_of(pair: Problem, which: int, limit: float | None, found: Result, last: Result) -> Result:
    """Return the point of a plan that was found by optimising one objective, and then the other one under it.

    Args:
        pair: has both objectives.
        which: 0 or 1: the objective that was optimised first.
        limit: on the other objective, under which it was; None for none.
        found: what that came to.
        last: what the second solve came to, with the plan of the point; it may have no bound.
    """
    assert last.plan is not None
    assert found.cost is not None
    other = 1 - which
    one, two = pair.objectives[which], pair.objectives[other]
    evaluation = evaluate(pair, last.plan)
    first = Reached(
        one,
        evaluation.costs[which],
        found.cost,
        found.bound,
        found.gap,
        "" if limit is None else worded(pair, two, limit),
    )
    second = Reached(two, evaluation.costs[other], last.cost, last.bound, last.gap, worded(pair, one, found.cost))
    ordered = (second, first) if which else (first, second)
    return replace(
        last,
        evaluation=evaluation,
        bound=ordered[0].bound,
        objectives=ordered,
        notes=tuple(dict.fromkeys((*found.notes, *last.notes))),
        log=last.log if which else found.log,
        time={"total": found.time.get("total", 0.0) + last.time.get("total", 0.0)},
        verified=True,
    )
