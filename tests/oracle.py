"""Optima by trying everything, from the definitions alone."""

from __future__ import annotations

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["optimum", "plans"]


def optimum(problem: Problem) -> float | None:
    """Return the least cost of any plan, or None if there is no plan."""
    costs = (cost_of(problem, plan) for plan in plans(problem))
    return min(costs, default=None)
