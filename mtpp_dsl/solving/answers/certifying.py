"""Search a certificate for a bound that has none, after whatever has proved it, in little time."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Checker, Method
from mtpp_dsl.core.errors import Refused, SolverError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import OPTIMAL_GAP, Bound, Certificate, Result, relative_gap
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.plugins import supervision

__all__ = ["ROUNDING", "certified", "leaves_for", "weights_for"]

ROUNDING = 1e-9
"""Relative: values of objectives are written and read as decimals, some of them inverted."""
SHARE = 0.04
"""Of the time of an answer: so much later it may be, with a certificate."""
TRUSTED_SHARE, TRUSTED_SECONDS = 0.25, 1.0
"""The same of an optimum that rests on a solver's word alone, and the seconds that it may have at least, but no more
than it took: a certificate is worth them there."""
SHORTEST = 0.02
"""Seconds with less of which no certificate is searched."""
PREPARATION = 1e-4
"""Seconds to write down the rows, for each device times nodes and edges: twice what it takes on a quiet machine."""


def leaves_for(problem: Problem, cost: float, limits: Limits) -> Certificate | None:
    """Return a certificate that no plan costs less than *cost*, searched and then checked; None without one in time.

    It is a tree of boxes over all choices, of a small problem.
    """
    if not 0 < cost < inf or PREPARATION * problem.k * (problem.graph.n + problem.graph.m) > limits.remaining:
        return None
    find = registry.built_in("mtpp_dsl.solvers.proving.leaf_search:find_leaves")
    checker: Checker = registry.load(registry.PROOFS, "leaves")()
    asked = recognised(problem.in_one_phase or problem).problem
    try:
        certificate: Certificate | None = find(asked, cost * (1 - ROUNDING / 2), limits)
        if certificate is None or cost > checker.prove(asked, certificate.data, limits) * (1 + ROUNDING):
            return None
    except (Refused, UsageError):
        return None
    return certificate


class _Unheard(Progress):
    """Keeps what is reported to itself, and stops when the call that it is a part of does."""

    def __init__(self, outer: Progress) -> None:
        super().__init__()
        self._outer = outer

    @property
    def stopped(self) -> bool:
        return self._outer.stopped


def weights_for(
    problem: Problem, plan: Plan, cost: float, seconds: float, outer: Progress | None = None
) -> Bound | None:
    """Return a bound with a certificate that *plan*, which costs *cost*, is optimal up to rounding; None without one.

    It is that of ``configuration``, or one that this knows on its way, which go for the cost of a plan that they are
    given, and often have in a moment what others had to search for long. It stops when *outer* does.
    """
    method: Method = registry.load(registry.METHODS, "configuration")()
    if seconds < SHORTEST or method.accepts(problem) is not None:
        return None
    try:
        bound = supervision.run(method, problem, Limits(time=seconds, start=plan), _Unheard(outer or Progress())).bound
    except (Refused, SolverError):
        return None
    if bound is None or bound.certificate is None or relative_gap(cost, bound.cost) > OPTIMAL_GAP:
        return None
    return bound


def certified(
    problem: Problem, result: Result, seconds: float, limit: float | None = None, outer: Progress | None = None
) -> Result:
    """Return a result whose bound has a certificate, if one is found in a small share of the time.

    Args:
        problem: what is asked.
        result: of it, finished.
        seconds: that it took.
        limit: of these seconds; None for none.
        outer: of the call; a request to stop it ends the search, too.
    """
    bound, left = result.bound, inf if limit is None else limit - seconds
    if bound is None or bound.certificate is not None:
        return result
    if (most := min(SHARE * seconds, left)) >= SHORTEST:
        certificate = leaves_for(problem, bound.cost, Limits(time=most))
        if certificate is not None:
            return replace(result, bound=replace(bound, certificate=certificate))
    plan, cost = result.plan, result.cost
    if plan is None or cost is None or result.status != "optimal" or bound.proof == "checked" or problem.later:
        return result
    most = min(max(TRUSTED_SHARE * seconds, min(TRUSTED_SECONDS, seconds)), left)
    again = weights_for(problem, plan, cost, most, outer)
    return result if again is None else replace(result, bound=again)
