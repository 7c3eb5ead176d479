"""Say what a constraint costs or gains, in a sentence: no more is claimed than plans and bounds show."""

from __future__ import annotations

from mtpp_dsl.core.base.units import format_gap
from mtpp_dsl.core.plans.result import OPTIMAL_GAP
from mtpp_dsl.show.explaining.price import Price
from mtpp_dsl.show.explaining.question import Question

__all__ = ["changes", "costs", "gains", "none", "size_of"]


def size_of(question: Question) -> float:
    """Return the size of the largest term of the cost of the plan; 0.0 where terms do not cancel."""
    return 0.0 if question.evaluation is None else question.evaluation.size


def none(question: Question, difference: float) -> bool:
    """Return whether a difference of costs is none, to the solvers' tolerances."""
    assert question.cost is not None
    return difference <= max(OPTIMAL_GAP * abs(question.cost), 2 * OPTIMAL_GAP * size_of(question))


def _share(question: Question, cost: float) -> str:
    """Return by what share of its value a plan of this cost differs from the plan that was found."""
    assert question.cost is not None
    objective = question.problem.objective
    mine, other = objective.value(question.cost), objective.value(cost)
    return format_gap(abs(other - mine) / abs(mine)) if mine else question.shown(abs(other - mine))


def costs(question: Question, price: Price) -> str:
    """Return what constraints that take plans away cost."""
    cost, bound, shown = question.cost, price.bound, question.shown
    assert cost is not None
    if price.free:
        return "costs nothing: without it no plan is better, which is proved"
    if price.cost is None or none(question, cost - price.cost):
        if bound is None or price.most is None:
            return "without it no better plan was found; how much better one could be is not known"
        most = _share(question, bound)
        return f"without it no better plan was found, and none is better than {shown(bound)} ({most} better)"
    better = _share(question, price.cost)
    if price.least and price.most is not None and none(question, price.most - price.least):
        return f"without it the best plan is at {shown(price.cost)}, {better} better, which is proved"
    found = f"without it there is a plan at {shown(price.cost)}"
    most = "how much better the best is, is not known" if bound is None else f"at most {_share(question, bound)} better"
    if price.least and not none(question, price.least):
        return f"{found}; the best is at least {_share(question, cost - price.least)} better, {most}"
    return f"{found}, {better} better ({most}); but the plan with it may not be the best"


def gains(question: Question, price: Price) -> str:
    """Return what constraints that allow plans gain."""
    cost, bound, shown = question.cost, price.bound, question.shown
    assert cost is not None
    if price.free:
        return "gains nothing: without it there is a plan as good as the best with it, which is proved"
    if price.cost is None:
        said = "it allows plans, and without it none was found in the time"
        return said if bound is None or bound <= cost else f"{said}; none is better than {shown(bound)}"
    if price.cost <= cost or none(question, price.cost - cost):
        return f"gains nothing that was found: without it there is a plan at {shown(price.cost)}, too"
    found, worse = f"without it the best plan that was found is at {shown(price.cost)}", _share(question, price.cost)
    if bound is not None and bound > cost and not none(question, bound - cost):
        if none(question, price.cost - bound) and question.bound is not None and none(question, cost - question.bound):
            return f"without it the best plan is at {shown(price.cost)}, {worse} worse, which is proved"
        return f"{found}, {worse} worse; every one is at least {_share(question, bound)} worse"
    return f"{found}, {worse} worse; whether there is a better one is not known"


def changes(question: Question, price: Price) -> str:
    """Return what is known of constraints without which plans cost something else."""
    if price.cost is None:
        return "without it plans cost something else, and none was found in the time"
    bound = "" if price.bound is None else f", and none is better than {question.shown(price.bound)}"
    return f"without it plans cost something else: there is one at {question.shown(price.cost)}{bound}"
