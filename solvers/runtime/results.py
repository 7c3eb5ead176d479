"""Why the baselines refuse a problem."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.constraints import Constraint
from mtpp_dsl.problem import Links, Problem

__all__ = ["why_not"]


def why_not(problem: Problem, name: str, honours: Sequence[type[Constraint]]) -> str | None:
    """Return why method *name*, which honours these constraints, cannot honour *problem*, or None."""
    if problem.objective.quantity != "bottleneck":
        return f"{name} minimises a bottleneck, not a {problem.objective.quantity}"
    if isinstance(problem.interconnect, Links):
        return f"{name} knows the shared and host interconnects, not links"
    if problem.hierarchical:
        return f"{name} has one bandwidth, not another between groups of devices"
    other = next((c for c in problem.constraints if not isinstance(c, tuple(honours))), None)
    return None if other is None else f"{name} cannot honour constraint {other}"
