"""Count costs in whole numbers, and the ways to have used some devices of each type."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import inputs
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.core.views.hypergraph import compressed
from mtpp_dsl.core.views.whole_numbers import floored
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, ancestors

BITS = 61


class WholeCosts(NamedTuple):
    """Times in whole numbers of a unit, rounded down, so that sums are exact and no load is overstated.

    A time above that of a known plan, times the most replicas of a stage, counts as that much: no better plan pays it.

    Attributes:
        time: [types, n].
        start: [n + 1] row pointers into ``tensor``.
        tensor: the nets at each supernode.
        cost, pins: [nets] cost, and number of pins.
        memory: [n], and [types] ``room``, its limit; not rounded.
        stream: [n] time to stream the parameters, and [types] ``kept``, the time that is not streamed, rounded up.
        pays: [types] whether cut nets are part of the load.
        copies: [types] on how many devices at most a block may run.
        sync: [types, n] twice the time to send the parameters once, where replicas exchange them.
        free: [n] whether no block gets costlier by giving the supernode to an earlier one that may take it.
    """

    time: Ints
    start: Ints
    tensor: Ints
    cost: Ints
    pins: Ints
    memory: Floats
    room: Floats
    stream: Ints
    kept: Ints
    pays: Bools
    copies: Ints
    sync: Ints
    free: Bools


def ceiling(supernodes: OrderedSupernodes, types: DeviceTypes) -> float:
    """Return a cost above that of every split."""
    time = np.where(np.isfinite(supernodes.time), supernodes.time, 0.0).sum()
    streamed = supernodes.params.sum() / types.bandwidth if np.isfinite(types.overflow).any() else 0.0
    return float(time + sum(cost for _, cost in supernodes.nets) + streamed) * (1 + 1e-6) or 1.0


def whole_costs(supernodes: OrderedSupernodes, types: DeviceTypes, top: float) -> tuple[WholeCosts, float, int]:
    """Return the costs in whole numbers.

    Args:
        supernodes: what is placed.
        types: of the devices.
        top: the cost of a known plan, more than zero.

    Returns:
        The costs; their unit; *top* in that unit, rounded down.
    """
    streams = np.isfinite(types.overflow).any()
    stream = supernodes.params / types.bandwidth if streams else np.zeros(supernodes.n)
    kept = np.where(np.isfinite(types.overflow), types.overflow / types.bandwidth, stream.sum() + top)
    copies = np.minimum(types.replicas, types.counts)
    most_copies = int(copies.max(initial=1))
    terms = (supernodes.n + len(supernodes.nets) + 2) * (1 if most_copies == 1 else 2 * most_copies)
    unit = max(top * terms, float(stream.sum() + kept.max())) / 2.0**BITS
    most = int(top / unit)
    cap = most * most_copies
    cost = floored(np.array([cost for _, cost in supernodes.nets], np.float64), unit, cap)
    time = floored(supernodes.time.T, unit, cap)
    exchange = np.outer(types.syncs, 2 * supernodes.params / types.bandwidth)
    start, tensor = compressed(supernodes.nets_at)
    costs = inputs(
        WholeCosts(
            time=np.ascontiguousarray(time),
            start=start,
            tensor=tensor,
            cost=cost,
            pins=np.array([len(pins) for pins, _ in supernodes.nets], dtype=np.int64),
            memory=supernodes.memory,
            room=types.memory,
            stream=floored(stream, unit),
            kept=np.ceil(kept / unit).astype(np.int64),
            pays=types.pays,
            copies=copies.astype(np.int64),
            sync=floored(exchange, unit, 2 * most),
            free=_free(supernodes, time, cost, types.pays, cap),
        )
    )
    return costs, unit, most


def _free(supernodes: OrderedSupernodes, time: Ints, cost: Ints, pays: Bools, most: int) -> Bools:
    """Return [n] whether a block that gives the supernode to an earlier block never gets costlier.

    It saves the supernode's time; it may begin to cut the nets at the supernode, but those with a pin that comes
    before it, in the earlier block or before that, it cut already.
    """
    above = ancestors(supernodes.n, supernodes.before)
    fresh = np.zeros(supernodes.n, np.int64)
    for (pins, _), c in zip(supernodes.nets, cost.tolist(), strict=True):
        inside = sum(1 << v for v in pins)
        for v in pins:
            if not inside & above[v]:
                fresh[v] += c
    paying = time[pays]
    return np.asarray(((paying >= fresh) | (paying >= most)).all(axis=0), np.bool_)


# Number how many devices of each type have been used, as states of a dynamic programme.


class DeviceStates(NamedTuple):
    """All counts of used devices, numbered in mixed radix; componentwise smaller ones come first.

    Attributes:
        used: [states, types].
        stride: [types] what using one more device adds to the number of the state.
        left: [states, types] how many devices are left.
    """

    used: Ints
    stride: Ints
    left: Ints


def states_of(types: DeviceTypes) -> DeviceStates:
    """Return all states."""
    used, stride = mixed_radix(types.counts)
    return DeviceStates(used, stride, types.counts - used)


def mixed_radix(count: Ints) -> tuple[Ints, Ints]:
    """Return [states, types] all vectors from 0 to *count*, and [types] how much one more adds to the number."""
    stride = np.cumprod([1, *(count[:-1] + 1).tolist()]).astype(np.int64)
    number = np.arange(int(np.prod(count + 1)))
    return (number[:, None] // stride % (count + 1)).astype(np.int64), stride
