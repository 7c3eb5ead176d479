"""Optimal slicing of one topological order (archer2024, Algorithm 1), for devices that may differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.slicing.segments import SegmentCosts

__all__ = ["OrderBlock", "Slicing", "Stages", "any_order", "assignment_of", "fixed_order", "slice_order"]


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
