"""Units that move as one: groups of colocated nodes."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.constraints import Separate
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.colocation import colocated
from mtpp_dsl.problem.graph import Floats
from mtpp_dsl.solvers.algorithms.ideals.classes import Classes, classes_of
from mtpp_dsl.solvers.algorithms.ideals.nets import Nets
from mtpp_dsl.solvers.partition.classical.linear import readings
from mtpp_dsl.views.device_types import DeviceTypes

__all__ = ["apart", "is_ordered", "units_of"]


def is_ordered(problem: Problem) -> bool:
    """Return whether some constraint asks for blocks that can be put into a sequence."""
    return problem.acyclic or problem.contiguous


def units_of(problem: Problem, devices: DeviceTypes) -> Classes:
    """Return the units of a problem.

    Where blocks must come in a sequence, units are the classes of the ideals, with the order that binds all parts
    that the problem asks to and leaves most units; else they are the groups of colocated nodes, without an order.
    """
    if not is_ordered(problem):
        return _groups(problem, devices)
    choices = readings(problem)
    binding = choices[1:] or choices
    return max((classes_of(problem, devices, reading) for reading in binding), key=lambda classes: classes.n)


def _groups(problem: Problem, devices: DeviceTypes) -> Classes:
    graph, group = problem.graph, colocated(problem)
    count = int(group.max(initial=-1)) + 1
    members: list[list[int]] = [[] for _ in range(count)]
    for v, g in enumerate(group.tolist()):
        members[g].append(v)
    cost = problem.tensor_time
    read = np.flatnonzero(cost > 0).tolist()
    nets = Nets(({int(group[u]), *group[graph.successors(u)].tolist()}, float(cost[u])) for u in read)
    time = np.zeros((count, len(devices.members)))
    np.add.at(time, group, devices.time)

    def total(weights: Floats) -> Floats:
        return np.bincount(group, weights=weights, minlength=count).astype(np.float64)

    return Classes(
        members=tuple(map(tuple, members)),
        before=(),
        tensors=tuple(nets.items()),
        time=time,
        size=total(graph.memory),
        params=total(graph.params),
    )


def apart(problem: Problem, units: Classes) -> list[set[int]]:
    """Return [units] the units that must not be where each is."""
    home = {v: c for c, nodes in enumerate(units.members) for v in nodes}
    found: list[set[int]] = [set() for _ in units.members]
    for rule in problem.of(Separate):
        places = {home[v] for v in rule.nodes}
        for c in places:
            found[c] |= places - {c}
    return found
