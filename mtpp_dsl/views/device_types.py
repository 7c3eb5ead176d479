"""Devices as the algorithms see them: classes of equal ones, and what a node costs on each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.problem import Problem, Shared
from mtpp_dsl.problem.graph import Bools, Floats, Ints, frozen
from mtpp_dsl.problem.replication import synchronises

__all__ = ["DeviceClasses", "classify", "fits"]


@dataclass(frozen=True, eq=False)
class DeviceClasses:
    """Classes of devices that are equal in all that enters a load or forbids a node.

    Attributes:
        members: device numbers by class, in declared order.
        kind: [k] class of every device.
        time: [n, classes] running time; ``inf`` where the node may not go.
        pays: [classes] whether tensors that cross its border are part of its load.
        memory: [classes] hard limit of the sum of ``graph.memory`` (with room for rounding); ``inf`` without one.
        overflow: [classes] parameters beyond this are streamed; ``inf`` where none are.
        copies: [classes] on how many devices at most a stage may run.
        syncs: [classes] whether these exchange their parameters.
        tensor: [n] what one crossing of the node's tensor costs.
        bandwidth: of the streamed parameters.
    """

    members: tuple[tuple[int, ...], ...]
    kind: Ints
    time: Floats
    pays: Bools
    memory: Floats
    overflow: Floats
    copies: Ints
    syncs: Bools
    tensor: Floats
    bandwidth: float


def classify(problem: Problem) -> DeviceClasses:
    """Group the devices of a ``shared`` or ``host`` problem."""
    time = np.where(problem.allowed, problem.time, np.inf)
    shared = isinstance(problem.interconnect, Shared)
    memory = problem.memory_room
    pays = np.array([shared or device.pays_io for device in problem.devices])
    groups: dict[tuple[bytes, float, float, bool, int], list[int]] = {}
    for d in range(problem.k):
        rule = problem.replicate[d]
        key = (time[:, d].tobytes(), float(memory[d]), float(problem.overflow_limit[d]), bool(pays[d]), id(rule))
        groups.setdefault(key, []).append(d)
    members = tuple(tuple(group) for group in groups.values())
    first = [group[0] for group in members]
    rules = [problem.replicate[d] for d in first]
    syncs = [rule is not None and synchronises(rule, problem.graph) for rule in rules]
    kind = np.empty(problem.k, np.int64)
    for c, group in enumerate(members):
        kind[list(group)] = c
    return DeviceClasses(
        members=members,
        kind=frozen(kind, np.int64),
        time=frozen(time[:, first], np.float64),
        pays=frozen(pays[first], np.bool_),
        memory=frozen(memory[first], np.float64),
        overflow=frozen(problem.overflow_limit[first], np.float64),
        copies=frozen([1 if rule is None else rule.most for rule in rules], np.int64),
        syncs=frozen(syncs & pays[first], np.bool_),
        tensor=problem.tensor_time,
        bandwidth=float(problem.interconnect.bandwidth),
    )


def fits(problem: Problem, assignment: Ints) -> bool:
    """Return whether every node may be where it is, and the hard memory limits hold."""
    devices = classify(problem)
    used = np.bincount(assignment, weights=problem.graph.memory, minlength=problem.k)
    allowed = problem.allowed[np.arange(problem.graph.n), assignment]
    return bool(allowed.all() and (used <= devices.memory[devices.kind]).all())
