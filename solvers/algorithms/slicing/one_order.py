"""Slice one order of the nodes as well as can be, by the cost of every segment of it (archer2024, Lemma 4.1).

A tensor with pins (its producer and consumers) at positions ``p_0 < p_1 < ... < p_d`` of the order is paid by the
segment ``[l, r)`` if some pin lies in it and some does not. Count it once for each pin that can be the first one
inside, ``p_{i-1} < l <= p_i < r``, and take it off where all are inside, ``l <= p_0`` and ``p_d < r``. Those are d + 2
rectangles of the (l, r) plane that reach to the last r, so two corners each in a difference array and two cumulative
sums give all costs in O(n² + m), without the paper's Fenwick tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes

__all__ = [
    "OrderBlock",
    "SegmentCosts",
    "Slicing",
    "Stages",
    "any_order",
    "assignment_of",
    "fixed_order",
    "slice_order",
]


def io_costs(graph: Graph, tensor: Floats, order: Ints) -> Floats:
    """Return [n+1, n+1] what the segment ``order[l:r]`` pays for tensors that cross its border.

    Args:
        graph: the graph.
        tensor: [n] what one crossing of a node's tensor costs.
        order: [n] a topological order.

    Entries with ``l > r`` mean nothing.
    """
    n = graph.n
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    producers = np.flatnonzero((np.diff(graph.offsets) > 0) & (tensor > 0))
    edges = tensor[graph.tails] > 0
    nets = np.concatenate((producers, graph.tails[edges]))
    pins = np.concatenate((position[producers], position[graph.heads[edges]]))
    by_net = np.lexsort((pins, nets))
    nets, pins = nets[by_net], pins[by_net]
    first = np.diff(nets, prepend=-1) != 0
    last = np.roll(first, -1)
    after = np.where(first, -1, np.roll(pins, 1)) + 1
    cost = tensor[nets]
    width = n + 1
    corners = np.concatenate((after * width + pins + 1, (pins + 1) * width + pins + 1))
    outer = pins[last] + 1
    corners = np.concatenate((corners, outer, (pins[first] + 1) * width + outer))
    weights = np.concatenate((cost, -cost, -cost[first], cost[first]))
    plane = np.bincount(corners, weights=weights, minlength=width * width).astype(np.float64).reshape(width, width)
    np.cumsum(plane, axis=0, out=plane)
    np.cumsum(plane, axis=1, out=plane)
    return np.maximum(plane, 0.0, out=plane)  # rounding may leave a zero just below zero


class SegmentCosts:
    """Loads of the segments of one order on every class of devices, in O(n²) numbers.

    Args:
        graph: the graph.
        devices: its device classes.
        order: [n] a topological order.
    """

    def __init__(self, graph: Graph, devices: DeviceTypes, order: Ints) -> None:
        self._devices = devices
        self._io = io_costs(graph, devices.tensor, order)
        self._io[np.tri(graph.n + 1, k=-1, dtype=bool)] = np.inf
        self._banned = _sums(np.isinf(devices.time[order]).astype(np.float64))
        self._work = _sums(np.where(np.isfinite(devices.time[order]), devices.time[order], 0.0))
        self._params = _sums(graph.params[order])
        self._memory = _sums(graph.memory[order])
        self._of_class: dict[int, Floats] = {}

    def on(self, kind: int) -> Floats:
        """Return [n+1, n+1] the load of ``order[l:r]`` on class *kind*; ``inf`` where it may not be or ``l > r``."""
        if kind not in self._of_class:
            self._of_class[kind] = self._build(kind)
        return self._of_class[kind]

    def _build(self, kind: int) -> Floats:
        devices = self._devices
        if devices.pays[kind]:
            load = self._io if len(devices.members) == 1 else self._io.copy()
        else:
            load = np.where(np.isinf(self._io), np.inf, 0.0)
        load += _spans(self._work[:, kind])
        if np.isfinite(devices.overflow[kind]):
            load += np.maximum(_spans(self._params) - devices.overflow[kind], 0.0) / devices.bandwidth
        if np.isfinite(devices.memory[kind]):
            load[_spans(self._memory) > devices.memory[kind]] = np.inf
        if self._banned[-1, kind]:
            load[_spans(self._banned[:, kind]) > 0] = np.inf
        np.fill_diagonal(load, 0.0)
        return load


def _sums(values: Floats) -> Floats:
    """Return sums of the first 0, 1, ..., n rows."""
    return np.concatenate((np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)))


def _spans(sums: Floats) -> Floats:
    spans: Floats = sums[None, :] - sums[:, None]
    return spans


@dataclass(frozen=True)
class OrderBlock:
    """The nodes ``order[start:end]`` on a device of class ``kind``; never empty."""

    start: int
    end: int
    kind: int


@dataclass(frozen=True)
class Slicing:
    """The blocks of an optimal slicing, from first to last, and the largest load."""

    blocks: tuple[OrderBlock, ...]
    cost: float


Stages = Sequence[Sequence[tuple[int, int]]]
"""Which devices can have been used: for each state but the first, the (earlier state, class added to it).

State 0 is "none". The last state is "all".
"""


def fixed_order(kinds: Sequence[int]) -> Stages:
    """Return the stages of devices that come in a given order of classes; any may stay empty."""
    return [[(i, kind)] for i, kind in enumerate(kinds)]


def any_order(members: Sequence[int]) -> Stages:
    """Return the stages of devices in any order, given how many there are of each class.

    The states are the numbers used of each class, in mixed radix: there are prod(members + 1) of them.
    """
    shape = [count + 1 for count in members]
    strides = np.cumprod([1, *shape[:-1]]).tolist()
    stages: list[list[tuple[int, int]]] = []
    for state in range(1, int(np.prod(shape))):
        used = [state // stride % size for stride, size in zip(strides, shape, strict=True)]
        stages.append([(state - strides[kind], kind) for kind, count in enumerate(used) if count])
    return stages


def slice_order(costs: SegmentCosts, stages: Stages) -> Slicing | None:
    """Return a slicing with the least largest load, or None if there is none.

    ``best[s][r]`` is the least largest load with which the first r nodes fit on the devices of
    state s: the minimum over ``l <= r`` of ``max(best[earlier][l], load of [l, r))``, where ``l = r`` leaves the
    device empty. O(n²) per entry of *stages*, in numpy.
    """
    width = len(costs.on(stages[0][0][1]))
    start = np.full(width, np.inf)
    start[0] = 0.0
    best = [start]
    scratch = np.empty((width, width))
    for choices in stages:
        level = np.full(width, np.inf)
        for earlier, kind in choices:
            np.maximum(costs.on(kind), best[earlier][:, None], out=scratch)
            np.minimum(level, scratch.min(axis=0), out=level)
        best.append(level)
    if not np.isfinite(best[-1][-1]):
        return None
    return Slicing(tuple(_trace(costs, stages, best)), float(best[-1][-1]))


def _trace(costs: SegmentCosts, stages: Stages, best: list[Floats]) -> list[OrderBlock]:
    """Walk back from the last state over the choices that gave each minimum."""
    blocks: list[OrderBlock] = []
    state, end = len(stages), len(best[0]) - 1
    while end > 0:
        reached = [
            (np.maximum(best[earlier], costs.on(kind)[:, end]), earlier, kind) for earlier, kind in stages[state - 1]
        ]
        values, earlier, kind = min(reached, key=lambda choice: float(choice[0].min()))
        start = int(values.argmin())
        if start < end:
            blocks.append(OrderBlock(start, end, kind))
        state, end = earlier, start
    return blocks[::-1]


def assignment_of(blocks: Sequence[OrderBlock], order: Ints, devices: DeviceTypes) -> tuple[Ints, tuple[int, ...]]:
    """Return [n] the device of every node, and the devices in the order of their blocks, unused ones last."""
    free = [list(members) for members in devices.members]
    assignment = np.empty(len(order), np.int64)
    used: list[int] = []
    for block in blocks:
        device = free[block.kind].pop(0)
        assignment[order[block.start : block.end]] = device
        used.append(device)
    return assignment, (*used, *(device for rest in free for device in rest))
