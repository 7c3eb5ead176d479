"""The best single move, again and again, until none makes the largest load less."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.core.views.hypergraph import compressed
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes

__all__ = ["DESCEND", "DescentState", "Fixed", "fixed_of", "in_sequence", "loads_of", "state_of"]

STEPS_WORTH_COMPILING = 3e4
GAIN = 1e-9
"""A move must make the largest load less by this share."""


class Fixed(NamedTuple):
    """What does not change: units, devices by place in the sequence of blocks, and rules.

    Attributes:
        time: [units, places]; ``inf`` where a unit may not be.
        start, tensor: the tensors at each unit, in compressed rows.
        cost, pins: of the tensors.
        size, params: [units].
        before_start, before, after_start, after: units that must not be in a later, or earlier, place, in rows.
        apart_start, apart: units that must not be in the same place, in rows.
        pays, room, kept: [places] whether cut tensors are paid for, the memory, the parameters that are not streamed.
        bandwidth: of what is streamed.
    """

    time: Floats
    start: Ints
    tensor: Ints
    cost: Floats
    pins: Ints
    size: Floats
    params: Floats
    before_start: Ints
    before: Ints
    after_start: Ints
    after: Ints
    apart_start: Ints
    apart: Ints
    pays: Bools
    room: Floats
    kept: Floats
    bandwidth: float


class DescentState(NamedTuple):
    """What a move changes.

    Attributes:
        place: [units] in the sequence of blocks.
        inside: [tensors, places] pins.
        base: [places] load without what is streamed.
        held, params: [places] memory and parameters.
    """

    place: Ints
    inside: Ints
    base: Floats
    held: Floats
    params: Floats


def fixed_of(units: OrderedSupernodes, devices: DeviceTypes, apart: Sequence[Iterable[int]]) -> Fixed:
    """Return the fixed part for places that are the devices as declared."""
    before: list[list[int]] = [[] for _ in range(units.n)]
    after: list[list[int]] = [[] for _ in range(units.n)]
    for a, b in units.before:
        after[a].append(b)
        before[b].append(a)
    types = devices.of
    return Fixed(
        np.ascontiguousarray(units.time[:, types]),
        *compressed(units.nets_at),
        np.array([cost for _, cost in units.nets], np.float64),
        np.array([len(pins) for pins, _ in units.nets], np.int64),
        units.memory,
        units.params,
        *compressed(before),
        *compressed(after),
        *compressed([sorted(others) for others in apart]),
        devices.pays[types],
        devices.memory[types],
        devices.overflow[types],
        devices.bandwidth,
    )


def in_sequence(fixed: Fixed, sequence: Ints) -> Fixed:
    """Return the fixed part for places that are the devices in another *sequence*."""
    return fixed._replace(
        time=np.ascontiguousarray(fixed.time[:, sequence]),
        pays=fixed.pays[sequence],
        room=fixed.room[sequence],
        kept=fixed.kept[sequence],
    )


def state_of(fixed: Fixed, place: Ints) -> DescentState:
    """Return the state in which each unit is in the given place."""
    k = fixed.time.shape[1]
    inside = np.zeros((len(fixed.pins), k), np.int64)
    np.add.at(inside, (fixed.tensor, np.repeat(place, np.diff(fixed.start))), 1)
    cut = (inside > 0) & (inside < fixed.pins[:, None])
    base = np.bincount(place, weights=fixed.time[np.arange(len(place)), place], minlength=k).astype(np.float64)
    return DescentState(
        place.copy(),
        inside,
        base + np.where(fixed.pays, fixed.cost @ cut, 0.0),
        np.bincount(place, weights=fixed.size, minlength=k).astype(np.float64),
        np.bincount(place, weights=fixed.params, minlength=k).astype(np.float64),
    )


def loads_of(fixed: Fixed, state: DescentState) -> Floats:
    """Return [places] loads."""
    streamed = np.maximum(state.params - fixed.kept, 0.0) / fixed.bandwidth
    return np.asarray(state.base + streamed, np.float64)


def _descend(most: int, gain: float, fixed: Fixed, state: DescentState) -> int:
    """Make at most *most* moves, and return how many; fewer mean a local optimum.

    A move changes the loads of two places alone: where the unit was, and where it goes. Only those that change every
    largest load are looked at; the loads of the two are added up anew after a move, so that no rounding builds up.
    """
    n, k = fixed.time.shape
    load = np.zeros(k)
    for moves in range(most):
        for d in range(k):
            load[d] = state.base[d] + max(state.params[d] - fixed.kept[d], 0.0) / fixed.bandwidth
        top = 0
        for d in range(1, k):
            if load[d] > load[top]:
                top = d
        best = load[top] * (1.0 - gain)
        unit, goal = -1, -1
        for v in range(n):
            a = state.place[v]
            low, high = 0, k - 1
            for e in range(fixed.before_start[v], fixed.before_start[v + 1]):
                low = max(low, state.place[fixed.before[e]])
            for e in range(fixed.after_start[v], fixed.after_start[v + 1]):
                high = min(high, state.place[fixed.after[e]])
            if a != top:
                if top < low or top > high:
                    continue
                low, high = top, top
            left = state.base[a] - fixed.time[v, a]
            if fixed.pays[a]:
                for e in range(fixed.start[v], fixed.start[v + 1]):
                    t = fixed.tensor[e]
                    if state.inside[t, a] == 1:
                        left -= fixed.cost[t]
                    elif state.inside[t, a] == fixed.pins[t]:
                        left += fixed.cost[t]
            left += max(state.params[a] - fixed.params[v] - fixed.kept[a], 0.0) / fixed.bandwidth
            if left >= best:
                continue
            for b in range(low, high + 1):
                if b == a or state.held[b] + fixed.size[v] > fixed.room[b]:
                    continue
                joined = state.base[b] + fixed.time[v, b]
                if fixed.pays[b]:
                    for e in range(fixed.start[v], fixed.start[v + 1]):
                        t = fixed.tensor[e]
                        if state.inside[t, b] == 0:
                            joined += fixed.cost[t]
                        elif state.inside[t, b] + 1 == fixed.pins[t]:
                            joined -= fixed.cost[t]
                joined += max(state.params[b] + fixed.params[v] - fixed.kept[b], 0.0) / fixed.bandwidth
                value = max(left, joined)
                if value >= best:
                    continue
                for d in range(k):
                    if d != a and d != b and load[d] > value:
                        value = load[d]
                if value >= best:
                    continue
                clash = False
                for e in range(fixed.apart_start[v], fixed.apart_start[v + 1]):
                    if state.place[fixed.apart[e]] == b:
                        clash = True
                        break
                if not clash:
                    best, unit, goal = value, v, b
        if unit < 0:
            return moves
        old = state.place[unit]
        state.place[unit] = goal
        for e in range(fixed.start[unit], fixed.start[unit + 1]):
            state.inside[fixed.tensor[e], old] -= 1
            state.inside[fixed.tensor[e], goal] += 1
        for d in (old, goal):
            state.base[d] = 0.0
            state.held[d] = 0.0
            state.params[d] = 0.0
        for v in range(n):
            d = state.place[v]
            if d in (old, goal):
                state.base[d] += fixed.time[v, d]
                state.held[d] += fixed.size[v]
                state.params[d] += fixed.params[v]
        for d in (old, goal):
            if fixed.pays[d]:
                for t in range(len(fixed.pins)):
                    if 0 < state.inside[t, d] < fixed.pins[t]:
                        state.base[d] += fixed.cost[t]
    return most


DESCEND = Kernel(_descend, STEPS_WORTH_COMPILING)
