"""A partitioning problem in whole numbers, as compiled annealing reads it: supernodes, nets and conflict sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, compressed, hypergraph, incidence
from mtpp_dsl.core.views.whole_numbers import floored

__all__ = ["BITS", "WholeInstance", "instance_of"]

BITS = 60
"""No load is more than two to this power."""
CLIP = 2.0
"""What takes longer than this many times the cost of a known plan counts as this much: no better plan contains it."""


class WholeInstance(NamedTuple):
    """Supernodes, nets and devices in whole numbers, rounded down, so that sums do not drift.

    A device that pays for tensors and holds some pins of a net, not all, pays the net's cost, whether it has the
    producer or a reader.

    Attributes:
        unit: of all times, in the time of the problem.
        time: [n, devices] running time of each supernode on each device.
        allowed: [n, devices] whether it may be there.
        nets_at: [n + 1] row pointers into ``net``.
        net: the nets at each supernode.
        pins_at: [nets + 1] row pointers into ``pin``.
        pin: the supernodes of each net.
        cost: [nets].
        pays: [devices] whether nets cut by the device are part of its load.
        size, room: [n] memory, and [devices] its hard limit, in whole numbers of a unit of their own.
        stream, kept: [n] time to stream the parameters, and [devices] the time that is not streamed.
        aparts_at: [n + 1] row pointers into ``apart``.
        apart: for each supernode the conflict sets that its nodes are in, once for each node.
        aparts: number of conflict sets.
    """

    unit: float
    time: Ints
    allowed: Bools
    nets_at: Ints
    net: Ints
    pins_at: Ints
    pin: Ints
    cost: Ints
    pays: Bools
    size: Ints
    room: Ints
    stream: Ints
    kept: Ints
    aparts_at: Ints
    apart: Ints
    aparts: int


def instance_of(problem: Problem, known: float = np.inf) -> WholeInstance:
    """Return the instance of a problem on ``shared`` or ``host``.

    Args:
        problem: the problem.
        known: the cost of a known plan, more than zero.
    """
    graph = hypergraph(problem)
    time = graph.total(np.where(problem.allowed, problem.time, 0.0))
    nets = graph.sorted_nets(problem.tensor_time)
    pins = [net.pins for net in nets]
    cost = np.array([net.cost for net in nets], np.float64)
    stream, kept = _streams(graph)
    most = CLIP * known
    time, cost = np.minimum(time, most), np.minimum(cost, most)
    unit = _unit(time.max(axis=1, initial=0.0).sum() + cost.sum() + np.append(stream, kept).sum())
    memory = graph.total(problem.graph.memory)
    memory_unit = _unit(memory.sum())
    nets_at, net = compressed(incidence(graph.n, pins))
    pins_at, pin = compressed(pins)
    aparts_at, apart = compressed(incidence(graph.n, graph.conflict_sets))
    shared = isinstance(problem.interconnect, Shared)
    return WholeInstance(
        unit=unit,
        time=floored(time, unit),
        allowed=graph.every(problem.allowed),
        nets_at=nets_at,
        net=net,
        pins_at=pins_at,
        pin=pin,
        cost=floored(cost, unit),
        pays=np.array([shared or device.pays_io for device in problem.devices]),
        size=floored(memory, memory_unit),
        room=floored(np.minimum(problem.memory_room, 2 * float(memory.sum())), memory_unit),
        stream=floored(stream, unit),
        kept=floored(kept, unit),
        aparts_at=aparts_at,
        apart=apart,
        aparts=len(graph.conflict_sets),
    )


def _streams(graph: Hypergraph) -> tuple[Floats, Floats]:
    """Return [n] the time to stream each supernode's parameters, and [devices] the time that is never streamed."""
    problem = graph.problem
    limit = problem.overflow_limit
    if not np.isfinite(limit).any():
        return np.zeros(graph.n), np.zeros(problem.k)
    link = problem.channel
    stream = graph.total(problem.graph.params / link.bandwidth)
    return stream, np.minimum(limit / link.bandwidth, 2 * stream.sum())


def _unit(total: float) -> float:
    """Return the unit in which *total* is two to the power of :data:`BITS`; 1 if it is 0."""
    return float(total) / 2.0**BITS or 1.0
