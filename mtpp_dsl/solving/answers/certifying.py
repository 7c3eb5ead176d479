"""Search a certificate for a bound that has none, after whatever has proved it, in little time."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.protocols import Checker
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.result import Certificate, Result
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["ROUNDING", "certified", "leaves_for"]

ROUNDING = 1e-9
"""Relative: values of objectives are written and read as decimals, some of them inverted."""
SHARE = 0.04
"""Of the time of an answer: so much later it may be, with a certificate."""
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


def certified(problem: Problem, result: Result, seconds: float, limit: float | None = None) -> Result:
    """Return a result whose bound has a certificate, if one is found in a small share of the time.

    Args:
        problem: what is asked.
        result: of it, finished.
        seconds: that it took.
        limit: of these seconds; None for none.
    """
    bound = result.bound
    most = min(SHARE * seconds, inf if limit is None else limit - seconds)
    if bound is None or bound.certificate is not None or most < SHORTEST:
        return result
    certificate = leaves_for(problem, bound.cost, Limits(time=most))
    return result if certificate is None else replace(result, bound=replace(bound, certificate=certificate))
