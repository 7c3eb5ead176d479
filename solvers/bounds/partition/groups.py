"""What a bound without an order counts: groups of colocated nodes, the tensors between them, and kinds of devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor, frexp, gcd, ldexp

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.constraints import Acyclic, Contiguous
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.problem.colocation import colocated
from mtpp_dsl.problem.graph import Bools, Floats, Ints
from mtpp_dsl.views.device_types import DeviceTypes, device_types
from mtpp_dsl.views.hypergraph import hypergraph

__all__ = ["Groups", "Sizes", "dearest_plan", "groups_of", "sizes_at"]

BITS = 24
"""A target is about this power of two of the units that loads are counted in."""
SOLVER_ROOM = 4e-6
"""Relative: sets that exceed the target by less are counted as below it, so that a solver's tolerance (1e-6) can
neither hide one nor find one that is not there."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of nodes that every plan keeps together, and what a device pays for a set of them.

    Attributes:
        of: [n] the group of every node.
        members: the nodes of every group.
        rank: [n] the place of every node in a topological order.
        time: [groups, kinds] running time; ``inf`` where a group may not be, or does not fit.
        memory, params: [groups].
        tensors: pins (sorted groups, two or more) and cost: a device that pays and holds some and not all pays it.
        devices: their kinds; memory is what the independent check allows.
        parts: the arcs between nodes in which a device's nodes must be convex, by part; see :meth:`convex`.
        convex: [kinds, parts] where they must.
    """

    of: Ints
    members: tuple[tuple[int, ...], ...]
    rank: Ints
    time: Floats
    memory: Floats
    params: Floats
    tensors: tuple[tuple[tuple[int, ...], float], ...]
    devices: DeviceTypes
    parts: tuple[tuple[tuple[int, int], ...], ...]
    convex: Bools

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.members)

    @property
    def counts(self) -> Ints:
        """[kinds] how many devices there are of each kind."""
        return np.array([len(group) for group in self.devices.members], np.int64)

    def memory_binds(self, kind: int) -> bool:
        """Whether a kind's memory can be exceeded at all."""
        return bool(self.memory.sum() > self.devices.memory[kind])

    def overflows(self, kind: int) -> bool:
        """Whether parameters can exceed what a kind keeps without streaming."""
        return bool(self.params.sum() > self.devices.overflow[kind])

    def is_knapsack(self, kind: int) -> bool:
        """Whether a kind's load is the sum of its groups' times, and nothing else limits it."""
        tied = self.memory_binds(kind) or self.overflows(kind) or self.convex[kind].any()
        return not (tied or (self.devices.pays[kind] and self.tensors))


@dataclass(frozen=True, eq=False)
class Sizes:
    """The loads of one kind of device in whole units, rounded down, for one target.

    A set of groups whose load is below the target weighs ``capacity`` or less.

    Attributes:
        scale: units per time: a power of two, over what divides every weight.
        capacity: the largest weight below the target, with room for a solver's tolerance.
        target: the target.
        work: [groups]; more than the capacity where a group may not be.
        tensors: [tensors] 0 where the kind does not pay; far more than the capacity where one alone reaches the target.
    """

    scale: float
    capacity: int
    target: float
    work: Ints
    tensors: Ints

    @property
    def exact(self) -> bool:
        """Whether the units are so coarse that no room was left: a target that is the optimum may be proved."""
        return self.capacity < 0.25 / SOLVER_ROOM


def groups_of(problem: Problem) -> Groups:
    """Return the groups of a ``shared`` or ``host`` problem: colocated nodes, and each other node by itself."""
    types = device_types(_near(problem))
    graph = hypergraph(problem, colocated(problem))
    whole = graph.on_types(types, exact=True)
    first = [members[0] for members in types.members]
    size = np.array([problem.devices[d].memory or 0.0 for d in first])
    limit = problem.memory_limit[first] + TOLERANCE * size
    parts, convex = _convexity(problem, types)
    return Groups(
        of=graph.of,
        members=whole.members,
        rank=np.argsort(problem.graph.topological_order),
        time=np.where(whole.memory[:, None] > limit, np.inf, whole.time),
        memory=whole.memory,
        params=whole.params,
        tensors=whole.nets,
        devices=replace(types, memory=limit),
        parts=parts,
        convex=convex,
    )


def sizes_at(groups: Groups, target: float, *, bits: int = BITS, room: float = SOLVER_ROOM) -> list[Sizes]:
    """Return the loads of every kind in whole units, for one target above zero.

    Args:
        groups: what is placed.
        target: what loads are to be below.
        bits: a target is about this power of two of the units.
        room: relative: what is let pass beyond the target.
    """
    scale = ldexp(1.0, min(bits - frexp(target)[1], 1000))
    below = ceil(target * scale) - 1
    pays = groups.devices.pays
    tensors = [_whole(cost, scale, below) for _, cost in groups.tensors]
    found = []
    for kind in range(len(pays)):
        work = [_whole(time, scale, below) for time in groups.time[:, kind].tolist()]
        cut = tensors if pays[kind] else [0] * len(tensors)
        whole = [w for w in (*work, *cut) if w <= below]
        divisor = 1 if groups.overflows(kind) else gcd(*whole) or 1
        most = below // divisor
        most += int(most * room)
        found.append(
            Sizes(
                scale=scale / divisor,
                capacity=most,
                target=target,
                work=np.array([w // divisor if w <= below else most + 1 for w in work], np.int64),
                tensors=np.array([c // divisor if c <= below else 2 * most + 2 for c in cut], np.int64),
            )
        )
    return found


def dearest_plan(groups: Groups) -> float:
    """Return a cost that no plan is above."""
    work = np.where(np.isfinite(groups.time), groups.time, 0.0).sum(axis=0).max(initial=0.0)
    excess = np.maximum(groups.params.sum() - groups.devices.overflow, 0.0).max(initial=0.0)
    return float(work + sum(cost for _, cost in groups.tensors) + excess / groups.devices.bandwidth) * (1 + 1e-9)


def _near(problem: Problem) -> Problem:
    """Return the problem as if no device were far from another: no load is larger."""
    if not problem.hierarchical or isinstance(problem.interconnect, Links):
        return problem
    devices = tuple(replace(device, group=None) for device in problem.devices)
    return replace(problem, devices=devices, interconnect=replace(problem.interconnect, between=None))


def _whole(value: float, scale: float, below: int) -> int:
    """Return a number in units, rounded down; anything above the target is just above it."""
    return below + 1 if value * scale > below + 1 else floor(value * scale)


def _convexity(problem: Problem, devices: DeviceTypes) -> tuple[tuple[tuple[tuple[int, int], ...], ...], Bools]:
    """Return the arcs of each part, and [kinds, parts] whether every device of a kind must be convex in it."""
    graph = problem.graph
    sides = (False, True) if graph.backward.any() else (False,)
    parts = []
    convex = np.zeros((len(devices.members), len(sides)), np.bool_)
    for p, side in enumerate(sides):
        inside = (graph.backward[graph.tails] == side) & (graph.backward[graph.heads] == side)
        parts.append(tuple(zip(graph.tails[inside].tolist(), graph.heads[inside].tolist(), strict=True)))
        asked = {"both"} if side else {"both", "forward"}
        named: set[int] = set()
        if any(constraint.parts in asked for constraint in problem.of(Acyclic)):
            named.update(range(problem.k))
        for constraint in problem.of(Contiguous):
            if constraint.parts in asked:
                named.update(range(problem.k) if constraint.devices is None else constraint.devices)
        convex[:, p] = [named.issuperset(group) for group in devices.members]
    return tuple(parts), convex
