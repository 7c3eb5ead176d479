"""Problems under the limits of a runtime: its constraints beside those that were stated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.core.problem.problem import Problem, Targeted

__all__ = ["free_of", "targeted"]

UNUSED_MEMORY = "[MTPP-W401]"
"""The code of the warning that no constraint uses a memory."""
ADDED = ("constraints", "warnings")
"""What targets may add to."""


def targeted(problem: Problem, name: str, restrict: Callable[[Problem], Problem]) -> Problem:
    """Return *problem* under the limits of the target *name*, which is to add constraints and change nothing else.

    A problem that is for another runtime is for this one instead.

    Raises:
        UsageError: *restrict* says what the runtime cannot do.
        PluginError: *restrict* took a constraint away, or changed something else.
    """
    problem = free_of(problem)
    found = restrict(problem)
    same = all(
        getattr(found, one.name) is getattr(problem, one.name) for one in fields(problem) if one.name not in ADDED
    )
    if not same or found.constraints[: len(problem.constraints)] != problem.constraints:
        raise PluginError(f"target {name!r} changes more of a problem than that it adds constraints")
    warnings = found.warnings
    if any(isinstance(rule, Memory) for rule in found.constraints[len(problem.constraints) :]):
        warnings = tuple(each for each in warnings if UNUSED_MEMORY not in each)  # it is used now
    return replace(found, warnings=warnings, target=Targeted(name, problem.constraints))


def free_of(problem: Problem) -> Problem:
    """Return *problem* without the constraints of its target."""
    if problem.target is None:
        return problem
    return replace(problem, constraints=problem.target.stated, target=None)
