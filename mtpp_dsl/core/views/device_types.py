"""The types of devices in a problem: sets of devices that no load and no constraint on nodes distinguishes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.constraints import Replicate, Shard
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints, frozen
from mtpp_dsl.core.problem.plan_rules import synchronises
from mtpp_dsl.core.problem.problem import Problem

MAX_STATES = 2_000
"""How many ways to have used some devices of each kind a dynamic programme goes through."""


@dataclass(frozen=True, eq=False)
class DeviceTypes:
    """Types of devices. Devices of one type are equal in all that enters a load or keeps a node away.

    Attributes:
        members: the devices of each type, in declared order.
        of: [devices] the type of each device.
        time: [nodes, types] running time; ``inf`` where the node may not be.
        pays: [types] whether a device pays for tensors that it sends or receives.
        memory: [types] hard limit of the sum of ``graph.memory``, with room for rounding; ``inf`` without a limit.
        overflow: [types] parameters beyond this size are streamed; ``inf`` where none are.
        replicas: [types] on how many devices a stage may run at most.
        syncs: [types] whether the replicas of a stage exchange their parameters.
        tensor: [nodes] what one transfer of the node's tensor costs (time).
        bandwidth: at which parameters are streamed and exchanged.
    """

    members: tuple[tuple[int, ...], ...]
    of: Ints
    time: Floats
    pays: Bools
    memory: Floats
    overflow: Floats
    replicas: Ints
    syncs: Bools
    tensor: Floats
    bandwidth: float

    @property
    def counts(self) -> Ints:
        """[types] how many devices there are of each type."""
        return np.array([len(members) for members in self.members], np.int64)


def device_types(problem: Problem) -> DeviceTypes:
    """Return the types of the devices of a problem on ``shared`` or ``host``, numbered by their first devices."""
    time = np.where(problem.allowed, problem.time, np.inf)
    shared = isinstance(problem.interconnect, Shared)
    memory = problem.memory_room
    pays = np.array([shared or device.pays_io for device in problem.devices])
    alike: dict[tuple[bytes | float, ...], list[int]] = {}
    for d in range(problem.k):
        grouped = (id(problem.replicate[d]), id(problem.shard[d]), id(problem.stage_memory[d]))
        sizes = (float(memory[d]), float(problem.overflow_limit[d]), float(problem.stage_limit[d]))
        phases = b"".join(phase.time[:, d].tobytes() for phase in problem.each_phase.values())
        alike.setdefault((time[:, d].tobytes(), phases, *sizes, bool(pays[d]), *grouped), []).append(d)
    members = tuple(map(tuple, alike.values()))
    first = [devices[0] for devices in members]
    rules = [problem.replicate[d] for d in first]
    syncs = [rule is not None and synchronises(rule, problem.graph) for rule in rules]
    of = np.empty(problem.k, np.int64)
    for number, devices in enumerate(members):
        of[list(devices)] = number
    return DeviceTypes(
        members=members,
        of=frozen(of, np.int64),
        time=frozen(time[:, first], np.float64),
        pays=frozen(pays[first], np.bool_),
        memory=frozen(memory[first], np.float64),
        overflow=frozen(problem.overflow_limit[first], np.float64),
        replicas=frozen([1 if rule is None else rule.most for rule in rules], np.int64),
        syncs=frozen(syncs & pays[first], np.bool_),
        tensor=problem.tensor_time,
        bandwidth=float(problem.channel.bandwidth),
    )


def groups_told_apart(problem: Problem, name: str) -> str | None:
    """Return which devices may be in one group and are not equal under the other constraints, or None."""
    kind = device_types(problem).of
    for rule in problem.of(Replicate):
        members = range(problem.k) if rule.devices is None else rule.devices
        other = next((d for d in members if kind[d] != kind[members[0]]), None)
        if other is not None:
            one, two = problem.devices[members[0]].name, problem.devices[other].name
            return f"{name} replicates on equal devices; other constraints tell {one} and {two} of {rule} apart"
    for shard in problem.of(Shard):
        first: dict[tuple[object, ...], int] = {}
        for d in range(problem.k) if shard.devices is None else shard.devices:
            spec = problem.devices[d]
            same = first.setdefault((problem.time[:, d].tobytes(), spec.memory, spec.reserve, spec.pays_io), d)
            if kind[same] != kind[d]:
                one, two = problem.devices[same].name, spec.name
                return (
                    f"{name} splits nodes over equal devices; other constraints tell {one} and {two} of {shard} apart"
                )
    return None


def fits(problem: Problem, assignment: Ints) -> bool:
    """Return whether every node may be where *assignment* has it, and no device's memory is exceeded."""
    types = device_types(problem)
    used = np.bincount(assignment, weights=problem.graph.memory, minlength=problem.k)
    allowed = problem.allowed[np.arange(problem.graph.n), assignment]
    return bool(allowed.all() and (used <= types.memory[types.of]).all())


def too_many_states(name: str, problem: Problem) -> str | None:
    """Return why method *name*, which goes through the numbers of used devices of each kind, refuses, or None."""
    kinds = device_types(problem).members
    states = np.prod([len(members) + 1.0 for members in kinds])
    if states <= MAX_STATES:
        return None
    return (
        f"there are {len(kinds)} device types, and {states:,.0f} ways to have used some of each; "
        f"{name} goes through at most {MAX_STATES:,}"
    )
