"""Write what the limits of a runtime cost, for people."""

from __future__ import annotations

from rich.text import Text

from mtpp_dsl.core.base.units import format_gap
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.target_cost import TargetCost
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["limits_cost"]


def limits_cost(problem: Problem, target: TargetCost, result: Result) -> Text:
    """Return in a sentence what the limits of the target cost against the optimum without them, or what is known."""
    word = "below" if problem.objective.sense == "minimize" else "above"
    value, bound = (None if cost is None else problem.valued(cost) for cost in (target.cost, target.bound))
    if target.share is not None:
        what = f"cost {format_gap(target.share)}" if target.share else "cost nothing"
        return Text(f"the limits of {target.name} {what} against the free optimum ({value})")
    if value is None and bound is None:
        return Text(f"{target.name}; what its limits cost is not known")
    least = format_gap(target.least) if target.least else ""
    most = "" if target.most is None else format_gap(target.most)
    known = [f"at least {least}"] if least else []
    known += [f"at most {most}"] if most else []
    if least and least == most:
        known = [most]
    found = f"the best plan found without them has {value}" if value is not None else "no plan was found without them"
    proved = f", and none is {word} {bound}" if bound is not None else ""
    if result.infeasibility is not None:
        return Text(f"{target.name} can run no plan; {found}{proved}")
    cost = f"cost {' and '.join(known)}" if known else "cost an unknown share"
    return Text(f"the limits of {target.name} {cost}: {found}{proved}")
