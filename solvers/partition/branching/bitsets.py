"""A problem in whole numbers as branch and bound reads it: sets of nodes as bits of one number."""

from __future__ import annotations

from math import ceil, floor, fsum
from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.core.views.hypergraph import compressed, hypergraph
from mtpp_dsl.core.views.whole_numbers import binary_unit, floored

MAX_NODES = 62
"""Sets of nodes are bits of one whole number."""
BITS = 40
"""All work, tensors and parameters sum to about this power of two of the units that loads are counted in."""
NO_LIMIT = 1 << 60


class BitsetInstance(NamedTuple):
    """A graph to be split over equal devices; every node is a supernode.

    Times are in whole units, rounded down, so no block's load is overstated; memory is rounded down, and its limit up.

    Attributes:
        work, memory, params: [n]; parameters in the time that it takes to stream them.
        before, after: [n] the ancestors and the descendants of every node, as bits.
        spare: [n] 1 where no later block misses the node: its tensor costs no more than its work.
        cost, pins: [nets] what a block pays that holds some of the pins and not all, and the pins, as bits.
        start, member: row pointers and members of the pins.
        room, kept: memory of a device, and parameters that need no streaming.
    """

    work: Ints
    memory: Ints
    params: Ints
    before: Ints
    after: Ints
    spare: Ints
    cost: Ints
    pins: Ints
    start: Ints
    member: Ints
    room: int
    kept: int


def unit_of(problem: Problem, bits: int = BITS) -> float:
    """Return the time of one unit: a power of two, of which all loads sum to about ``2 ** bits``."""
    types = device_types(problem)
    total = fsum(types.time[:, 0]) + fsum(types.tensor) + fsum(problem.graph.params) / types.bandwidth
    return binary_unit(total, bits) if total > 0 else 1.0


def instance_of(problem: Problem, unit: float) -> BitsetInstance:
    """Return a problem of at most :data:`MAX_NODES` nodes on equal devices, in units of time."""
    graph, types = problem.graph, device_types(problem)
    n = graph.n
    tensor = types.tensor if types.pays[0] else np.zeros(n)
    nets = _nets(problem, tensor, unit)
    members = [[v for v in range(n) if pins >> v & 1] for pins in nets]
    start, member = compressed(members)
    after = [0] * n
    for u in graph.topological_order[::-1].tolist():
        for v in graph.successors(u).tolist():
            after[u] |= after[v] | 1 << v
    before = [sum(1 << u for u in range(n) if after[u] >> v & 1) for v in range(n)]
    memory, room = _memory(problem, float(types.memory[0]))
    limit = float(types.overflow[0])
    return BitsetInstance(
        work=floored(types.time[:, 0], unit),
        memory=memory,
        params=floored(graph.params / types.bandwidth, unit),
        before=np.array(before, np.int64),
        after=np.array(after, np.int64),
        spare=(tensor <= types.time[:, 0]).astype(np.int64),
        cost=np.array(list(nets.values()), np.int64),
        pins=np.array(list(nets), np.int64),
        start=start,
        member=member,
        room=room,
        kept=NO_LIMIT if limit >= fsum(graph.params) else ceil(limit / types.bandwidth / unit * (1 + 1e-12)),
    )


def _nets(problem: Problem, tensor: Floats, unit: float) -> dict[int, int]:
    """Return the cost of each net by its pins, as bits, in ascending order; every tensor is rounded down by itself."""
    nets = hypergraph(problem, np.arange(problem.graph.n)).sorted_nets(tensor)
    whole = {sum(1 << v for v in net.pins): sum(floor(float(tensor[u]) / unit) for u in net.tensors) for net in nets}
    return {pins: cost for pins, cost in sorted(whole.items()) if cost > 0}


def _memory(problem: Problem, limit: float) -> tuple[Ints, int]:
    """Return memory in whole units, rounded down, and the limit that the independent check allows, rounded up."""
    graph = problem.graph
    total = fsum(graph.memory)
    if np.isinf(limit) or total <= limit:
        return np.zeros(graph.n, np.int64), NO_LIMIT
    unit = binary_unit(total, BITS)
    size = problem.devices[0].memory or 0.0
    return floored(graph.memory, unit), ceil(min((limit + 2 * TOLERANCE * size) / unit, NO_LIMIT))
