"""Which devices are too many, or too different, for the dynamic programme over ideals."""

from __future__ import annotations

from mtpp_dsl.constraints import Replicate
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.partition.ideals.levels import one_level, unlike
from mtpp_dsl.views.device_types import device_types, too_many_states

__all__ = ["unsupported"]


def unsupported(problem: Problem) -> str | None:
    """Return why there are too many device types, or other ones than replicas may have, or None."""
    flat = one_level(problem) if problem.hierarchical else problem
    apart = told_apart(flat) or (unlike(problem) if problem.hierarchical else None)
    return apart or too_many_states("ideals", flat)


def told_apart(problem: Problem) -> str | None:
    """Return which devices may be replicas of each other and are not equal under the other constraints, or None."""
    kind = device_types(problem).of
    for rule in problem.of(Replicate):
        members = range(problem.k) if rule.devices is None else rule.devices
        other = next((d for d in members if kind[d] != kind[members[0]]), None)
        if other is not None:
            one, two = problem.devices[members[0]].name, problem.devices[other].name
            return f"ideals replicates on equal devices; other constraints tell {one} and {two} of {rule} apart"
    return None
