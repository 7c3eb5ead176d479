"""Hold what bounds on partitions count: supernodes, the nets between them and the types of devices."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import ceil, floor, frexp, gcd, ldexp

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, Contiguous
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result, Termination
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.core.views.hypergraph import Supernodes, hypergraph

BITS = 24
"""A target is about this power of two of the units that loads are counted in."""
SOLVER_ROOM = 4e-6
"""Relative: sets that exceed the target by less are counted as below it, so that a solver's tolerance (1e-6) can
neither hide one nor find one that is not there."""


@dataclass(frozen=True, eq=False)
class BoundInstance(Supernodes):
    """Supernodes of colocated nodes, and what a device of each type pays for a set of them.

    Sums over nodes are exact (:func:`math.fsum`); a supernode may not be where its memory does not fit.

    Attributes:
        rank: [nodes] the place of every node in a topological order.
        types: of the devices; memory is what the independent check allows.
        parts: for each part of the graph, the arcs between its nodes.
        convex: [types, parts] whether what a device of a type holds must be convex in a part.
    """

    rank: Ints
    types: DeviceTypes
    parts: tuple[tuple[tuple[int, int], ...], ...]
    convex: Bools

    @property
    def counts(self) -> Ints:
        """[types] how many devices there are of each type."""
        return self.types.counts

    def memory_binds(self, kind: int) -> bool:
        """Return whether the memory of a device type can be exceeded at all."""
        return bool(self.memory.sum() > self.types.memory[kind])

    def overflows(self, kind: int) -> bool:
        """Return whether parameters can exceed what a device type keeps without streaming."""
        return bool(self.params.sum() > self.types.overflow[kind])

    def is_knapsack(self, kind: int) -> bool:
        """Return whether a device type's load is the sum of its supernodes' times, and nothing else limits it."""
        tied = self.memory_binds(kind) or self.overflows(kind) or self.convex[kind].any()
        return not (tied or (self.types.pays[kind] and self.nets))


@dataclass(frozen=True, eq=False)
class WholeLoads:
    """The loads of one device type in whole units, rounded down, for one target.

    A set of supernodes whose load is below the target weighs ``capacity`` or less.

    Attributes:
        scale: units per time: a power of two, divided by a common divisor of all weights.
        capacity: the largest weight below the target, with room for a solver's tolerance.
        target: the target.
        work: [supernodes]; more than the capacity where a supernode may not be.
        nets: [nets] 0 where the type does not pay; far more than the capacity where one alone reaches the target.
    """

    scale: float
    capacity: int
    target: float
    work: Ints
    nets: Ints

    @property
    def exact(self) -> bool:
        """Whether the units are so coarse that no room was left: a target that is the optimum may be proved."""
        return self.capacity < 0.25 / SOLVER_ROOM


def bound_instance(problem: Problem) -> BoundInstance:
    """Return the instance of a ``shared`` or ``host`` problem; each class of colocated nodes is a supernode."""
    types = device_types(_near(problem))
    whole = hypergraph(problem, colocated(problem)).on_types(types, exact=True)
    first = [members[0] for members in types.members]
    size = np.array([problem.devices[d].memory or 0.0 for d in first])
    limit = problem.memory_limit[first] + TOLERANCE * size
    parts, convex = _convexity(problem, types)
    kept = {field.name: getattr(whole, field.name) for field in fields(Supernodes)}
    return BoundInstance(
        **{**kept, "time": np.where(whole.memory[:, None] > limit, np.inf, whole.time)},
        rank=np.argsort(problem.graph.topological_order),
        types=replace(types, memory=limit),
        parts=parts,
        convex=convex,
    )


def whole_loads(
    instance: BoundInstance, target: float, *, bits: int = BITS, room: float = SOLVER_ROOM
) -> list[WholeLoads]:
    """Return the loads of every device type in whole units, for one target above zero.

    Args:
        instance: what is placed.
        target: what loads are to be below.
        bits: a target is about this power of two of the units.
        room: relative: what is let pass beyond the target.
    """
    scale = ldexp(1.0, min(bits - frexp(target)[1], 1000))
    below = ceil(target * scale) - 1
    pays = instance.types.pays
    nets = [_whole(cost, scale, below) for _, cost in instance.nets]
    loads = []
    for kind in range(len(pays)):
        work = [_whole(time, scale, below) for time in instance.time[:, kind].tolist()]
        cut = nets if pays[kind] else [0] * len(nets)
        whole = [w for w in (*work, *cut) if w <= below]
        divisor = 1 if instance.overflows(kind) else gcd(*whole) or 1
        most = below // divisor
        most += int(most * room)
        loads.append(
            WholeLoads(
                scale=scale / divisor,
                capacity=most,
                target=target,
                work=np.array([w // divisor if w <= below else most + 1 for w in work], np.int64),
                nets=np.array([c // divisor if c <= below else 2 * most + 2 for c in cut], np.int64),
            )
        )
    return loads


def typical_speeds(time: Floats) -> Floats:
    """Return [devices] how fast each is on what it can take, the fastest of all 1; *time* is [supernodes, devices]."""
    able = np.isfinite(time)
    fastest = np.where(able, time, np.inf).min(axis=1, initial=np.inf)
    own = np.where(able, time, 0.0).sum(axis=0)
    least = np.where(able, fastest[:, None], 0.0).sum(axis=0)
    speeds: Floats = np.where(own > 0, least / np.where(own > 0, own, 1.0), 0.0)
    return speeds


def always_streamed(instance: BoundInstance, rounding: float) -> float:
    """Return how long all devices together stream parameters for at least, less what *rounding* may change."""
    kept = float((instance.types.overflow * instance.counts).sum())
    if kept == np.inf:
        return 0.0
    excess = float(instance.params.sum()) * (1 - rounding) - kept - abs(kept) * rounding
    return max(excess, 0.0) / instance.types.bandwidth


def device_weights(problem: Problem, instance: BoundInstance, weights: Floats) -> dict[str, float]:
    """Return the weights of device types, as certificates give them: by device, without those of weight zero."""
    kinds = enumerate(instance.types.members)
    return {problem.devices[d].name: float(weights[k]) for k, members in kinds for d in members if weights[k] > 0}


def finished(name: str, limits: Limits, progress: Progress, bound: Bound | None, complete: bool) -> Result:
    """Return the result of bound *name*: complete, or stopped early with the best of what it has looked at."""
    stopped: Termination = "interrupted" if progress.stopped else "time_limit"
    return progress.result(name, limits, "complete" if complete else stopped, bound=bound)


def costliest_plan(instance: BoundInstance) -> float:
    """Return a cost that no plan is above."""
    work = np.where(np.isfinite(instance.time), instance.time, 0.0).sum(axis=0).max(initial=0.0)
    excess = np.maximum(instance.params.sum() - instance.types.overflow, 0.0).max(initial=0.0)
    return float(work + sum(cost for _, cost in instance.nets) + excess / instance.types.bandwidth) * (1 + 1e-9)


def _near(problem: Problem) -> Problem:
    """Return the problem with the bandwidth inside a group of devices everywhere: no load is larger."""
    if not problem.hierarchical:
        return problem
    devices = tuple(replace(device, group=None) for device in problem.devices)
    return replace(problem, devices=devices, interconnect=replace(problem.channel, between=None))


def _whole(value: float, scale: float, below: int) -> int:
    """Return a number in units, rounded down; anything above the target counts as just above it."""
    return below + 1 if value * scale > below + 1 else floor(value * scale)


def _convexity(problem: Problem, types: DeviceTypes) -> tuple[tuple[tuple[tuple[int, int], ...], ...], Bools]:
    """Return the arcs of each part, and [types, parts] whether every device of a type must be convex in it."""
    graph = problem.graph
    sides = (False, True) if graph.backward.any() else (False,)
    parts = []
    convex = np.zeros((len(types.members), len(sides)), np.bool_)
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
        convex[:, p] = [named.issuperset(members) for members in types.members]
    return tuple(parts), convex
