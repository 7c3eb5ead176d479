"""Optima by trying everything, from the definitions alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.verification import cost_of, verify


def plans(problem: Problem) -> Iterator[Plan]:
    """Yield every plan that satisfies every constraint."""
    for assignment in product(range(problem.k), repeat=problem.graph.n):
        plan = Plan.create(problem, assignment)
        if not verify(problem, plan):
            yield plan


def optimum(problem: Problem) -> float | None:
    """Return the least cost of any plan, or None if there is no plan."""
    costs = (cost_of(problem, plan) for plan in plans(problem))
    return min(costs, default=None)
