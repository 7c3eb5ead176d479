"""What the search branches on: nodes and tensors as sets of bits, weights as whole numbers."""

from __future__ import annotations

from math import ceil, floor, frexp, fsum, ldexp
from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Floats, Ints
from mtpp_dsl.views.device_types import device_types

__all__ = ["MOST_NODES", "Instance", "instance_of", "unit_of"]

MOST_NODES = 62
"""Sets of nodes are bits of one whole number."""
BITS = 40
"""All work, tensors and parameters sum to about this power of two of the units that loads are counted in."""
NO_LIMIT = 1 << 60


class Instance(NamedTuple):
    """A graph to be split over equal devices.

    Loads are in whole units, rounded down, so no block is below its load; memory is rounded down, and its limit up.

    Attributes:
        work, memory, params: [n]; parameters in the time that it takes to stream them.
        before, after: [n] all ancestors and all descendants of every node.
        spare: [n] 1 where no later block misses the node: its tensor costs no more than its work.
        cost, pins: [tensors] what a block pays that holds some of the pins and not all.
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
    devices = device_types(problem)
    total = fsum(devices.time[:, 0]) + fsum(devices.tensor) + fsum(problem.graph.params) / devices.bandwidth
    return ldexp(1.0, frexp(total)[1] - bits) if total > 0 else 1.0


def instance_of(problem: Problem, unit: float) -> Instance:
    """Return a problem of at most :data:`MOST_NODES` nodes on equal devices, in units of time."""
    graph, devices = problem.graph, device_types(problem)
    n, pays = graph.n, bool(devices.pays[0])
    nets: dict[int, int] = {}
    for u in np.flatnonzero(devices.tensor > 0).tolist() if pays else ():
        pins = sum(1 << int(v) for v in {u, *graph.successors(u).tolist()})
        nets[pins] = nets.get(pins, 0) + floor(float(devices.tensor[u]) / unit)
    nets = {pins: cost for pins, cost in sorted(nets.items()) if cost > 0}
    members = [[v for v in range(n) if pins >> v & 1] for pins in nets]
    after = [0] * n
    for u in graph.topological_order[::-1].tolist():
        for v in graph.successors(u).tolist():
            after[u] |= after[v] | 1 << v
    before = [sum(1 << u for u in range(n) if after[u] >> v & 1) for v in range(n)]
    memory, room = _memory(problem, float(devices.memory[0]))
    limit = float(devices.overflow[0])
    tensor = devices.tensor if pays else np.zeros(n)
    return Instance(
        work=_whole(devices.time[:, 0] / unit),
        memory=memory,
        params=_whole(graph.params / devices.bandwidth / unit),
        before=np.array(before, np.int64),
        after=np.array(after, np.int64),
        spare=(tensor <= devices.time[:, 0]).astype(np.int64),
        cost=np.array(list(nets.values()), np.int64),
        pins=np.array(list(nets), np.int64),
        start=np.concatenate(([0], np.cumsum([len(row) for row in members]))).astype(np.int64),
        member=np.array([v for row in members for v in row], np.int64),
        room=room,
        kept=NO_LIMIT if limit >= fsum(graph.params) else ceil(limit / devices.bandwidth / unit * (1 + 1e-12)),
    )


def _whole(values: Floats) -> Ints:
    return np.asarray(np.floor(values), np.int64)


def _memory(problem: Problem, limit: float) -> tuple[Ints, int]:
    """Return memory in whole units, rounded down, and the limit that the independent check allows, rounded up."""
    graph = problem.graph
    total = fsum(graph.memory)
    if np.isinf(limit) or total <= limit:
        return np.zeros(graph.n, np.int64), NO_LIMIT
    unit = ldexp(1.0, frexp(total)[1] - BITS)
    size = problem.devices[0].memory or 0.0
    return _whole(graph.memory / unit), ceil(min((limit + 2 * TOLERANCE * size) / unit, NO_LIMIT))
