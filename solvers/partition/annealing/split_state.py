"""Hold a partitioning problem in whole numbers, and a split of it with the sums that moves keep up to date."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, compressed, hypergraph, incidence
from mtpp_dsl.core.views.whole_numbers import floored

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


class SplitState(NamedTuple):
    """A split, valid or not, and its sums.

    Attributes:
        device: [n] of every supernode.
        inside: [nets, k] pins of each net on each device.
        load: [k] time and cut nets, without overflow.
        streamed: [k] time to stream the parameters, if all were.
        used: [k] memory.
        crowd: [sets held apart, k] how many of each set are on each device.
        clash: [k] how many of these are too many.
        members: [k, n] the supernodes on each device, in any order, in the first ``sizes`` columns.
        sizes: [k] how many.
        place: [n] the column of each supernode.
    """

    device: Ints
    inside: Ints
    load: Ints
    streamed: Ints
    used: Ints
    crowd: Ints
    clash: Ints
    members: Ints
    sizes: Ints
    place: Ints


def state_of(instance: WholeInstance, device: Ints) -> SplitState:
    """Return the state in which every supernode is on its *device*, [n], one that it may be on."""
    n, k = instance.time.shape
    pins = np.diff(instance.pins_at)
    inside = counts_by_device(np.repeat(np.arange(len(pins)), pins), device[instance.pin], len(pins), k)
    load = _sums(device, instance.time[np.arange(n), device], k)
    cut = (inside > 0) & (inside < pins[:, None])
    load += np.where(instance.pays, (cut * instance.cost[:, None]).sum(axis=0), 0)
    crowd = counts_by_device(instance.apart, np.repeat(device, np.diff(instance.aparts_at)), instance.aparts, k)
    sizes, members, place = members_of(device, k)
    return SplitState(
        device=device.copy(),
        inside=inside,
        load=load,
        streamed=_sums(device, instance.stream, k),
        used=_sums(device, instance.size, k),
        crowd=crowd,
        clash=np.maximum(crowd - 1, 0).sum(axis=0).astype(np.int64),
        members=members,
        sizes=sizes,
        place=place,
    )


def counts_by_device(thing: Ints, device: Ints, things: int, k: int) -> Ints:
    """Return [things, k] how often each thing is on each device, given both for every time that it is on one."""
    counts = np.zeros((things, k), np.int64)
    np.add.at(counts, (thing, device), 1)
    return counts


def members_of(device: Ints, k: int) -> tuple[Ints, Ints, Ints]:
    """Return [k] how many supernodes are on each device, [k, n] which, and [n] the column of each among them."""
    n = len(device)
    sizes = np.bincount(device, minlength=k).astype(np.int64)
    members, place = np.zeros((k, n), np.int64), np.zeros(n, np.int64)
    for d in range(k):
        here = np.flatnonzero(device == d)
        members[d, : len(here)] = here
        place[here] = np.arange(len(here))
    return sizes, members, place


def loads_of(instance: WholeInstance, state: SplitState) -> Ints:
    """Return [k] the loads, with overflow."""
    loads: Ints = state.load + np.maximum(state.streamed - instance.kept, 0)
    return loads


def broken(instance: WholeInstance, state: SplitState) -> bool:
    """Return whether a limit of memory is exceeded, or a set to be held apart is not."""
    return bool((state.used > instance.room).any() or (state.clash > 0).any())


def _sums(device: Ints, weights: Ints, k: int) -> Ints:
    total = np.zeros(k, np.int64)
    np.add.at(total, device, weights)
    return total
