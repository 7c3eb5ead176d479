"""Which devices are too many, or too different, for the dynamic programme over ideals."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.constraints import InOrder
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types, groups_told_apart, too_many_states
from mtpp_dsl.solvers.algorithms.ideals.supernodes import ordered_supernodes
from mtpp_dsl.solvers.algorithms.stages.build import of_stages, shapes_of, workspaces
from mtpp_dsl.solvers.partition.ideals.nest import one_level, unlike

__all__ = ["too_large", "unfit_for_line", "unsupported"]

MAX_STAGE_STATES = 20_000
"""How many ways to have used devices, in how many stages, are gone through."""
MAX_WORKSPACES = 256
"""With each that may be the largest on a device of a type, a stage is tried."""
MAX_DEVICES = 16
"""Which devices are used is a number of so many bits."""
MAX_BITS = 60
"""Where devices are in an order, there are as many such numbers as devices."""


def too_large(problem: Problem) -> str | None:
    """Return why there are too many devices on a network, or None."""
    if problem.k <= MAX_DEVICES or (problem.line is not None and problem.k <= MAX_BITS):
        return None
    return f"there are {problem.k} devices; on links and trees, ideals goes through the sets of at most {MAX_DEVICES}"


def unfit_for_line(problem: Problem) -> str | None:
    """Return why stages in the order of devices are none of all devices, or not of one row of them, or None."""
    if problem.line is None:
        orders = list(problem.of(InOrder))
        one = "one order" if len(orders) > 1 else "an order"
        return f"ideals takes {one} of all devices, and constraint {orders[0]} leaves some out, or there are several"
    return None


def unsupported(problem: Problem, name: str = "ideals") -> str | None:
    """Return why there are too many device types, or other ones than replicas may have, or None."""
    if problem.uneven_workspace:
        levels = sum(len(workspaces(problem, members[0])) for members in device_types(problem).members)
        if levels > MAX_WORKSPACES:
            return (
                f"{name} tells apart {MAX_WORKSPACES:,} workspaces of nodes on devices of a type; here are {levels:,}: "
                "round them up"
            )
    if problem.line is not None:
        return None
    if of_stages(problem) or problem.uneven_workspace:
        return groups_told_apart(problem, name) or _unfit_for_stages(problem, name)
    flat = one_level(problem) if problem.hierarchical else problem
    apart = groups_told_apart(flat, "ideals") or (unlike(problem) if problem.hierarchical else None)
    return apart or too_many_states("ideals", flat)


def _unfit_for_stages(problem: Problem, name: str) -> str | None:
    """Return why stages cannot be searched: groups, a backward part apart, or too many ways to have used devices."""
    types = device_types(problem)
    if problem.graph.backward.any() and ordered_supernodes(problem, types, "relaxed").eliminated:
        return (
            f"{name} shares nodes among devices where every backward node is colocated with a forward node; here some "
            "are not"
        )
    shapes = shapes_of(problem, types)
    groups = any(shape.devices > 1 for shape in shapes) and any(problem.stage_memory)
    states = np.prod([len(members) + 1.0 for members in types.members]) * (problem.k + 1 if groups else 1)
    if states <= MAX_STAGE_STATES:
        return None
    return (
        f"there are {states:,.0f} ways to have used some devices of each type in some number of stages; "
        f"{name} goes through at most {MAX_STAGE_STATES:,}"
    )
