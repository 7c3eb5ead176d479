"""Plans of several routes of a small problem, by trying everything that devices may hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from mtpp_dsl.checks.verification import loads, verify
from mtpp_dsl.core.constraints import Copies
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["route_plans"]

DIGITS = 10_000
"""Shares are rounded to fractions with no larger denominators."""


def route_plans(problem: Problem) -> Iterator[Plan]:
    """Yield every single route, and of everything that devices may hold the best shares of the routes inside."""
    single = problem.with_constraints([c for c in problem.constraints if not isinstance(c, Copies)])
    every = list(product(range(problem.k), repeat=problem.graph.n))
    routes = [one for one in every if not verify(single, Plan.create(single, one))]
    alone = (Plan.create(problem, route) for route in routes)
    yield from (plan for plan in alone if not verify(problem, plan))
    n = problem.graph.n
    sets = [frozenset(some) for size in range(n + 1) for some in combinations(range(n), size)]
    for held in product(sets, repeat=problem.k):
        inside = [route for route in routes if all(v in held[d] for v, d in enumerate(route))]
        if len(inside) > 1:
            plan = _mixed(problem, inside)
            if not verify(problem, plan):
                yield plan


def _mixed(problem: Problem, routes: Sequence[tuple[int, ...]]) -> Plan:
    """Return the best shares of these routes."""
    from scipy.optimize import linprog

    load = np.array([loads(problem, list(route)) for route in routes]).T
    k, count = load.shape
    found = linprog(
        [0.0] * count + [1.0],
        A_ub=np.hstack([load, -np.ones((k, 1))]),
        b_ub=np.zeros(k),
        A_eq=[[1.0] * count + [0.0]],
        b_eq=[1.0],
        method="highs",
    )
    shares = [Fraction(float(share)).limit_denominator(DIGITS) for share in found.x[:-1]]
    total = sum(shares)
    return Plan.of_routes(problem, [(share / total, route) for share, route in zip(shares, routes, strict=True)])
