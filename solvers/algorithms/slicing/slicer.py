"""Slices orders, one after another, by whichever way suits the size of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.slicing.long_orders import Cover
from mtpp_dsl.solvers.algorithms.slicing.one_order import (
    SegmentCosts,
    Slicing,
    Stages,
    any_order,
    fixed_order,
    slice_order,
)

__all__ = ["DENSE", "Slicer"]

DENSE = 1500
"""Up to so many nodes all segment costs are held at once, if devices differ: all their orders can then be tried."""

DENSE_EQUAL = 400
"""The same, for equal devices: beyond, sweeps are faster."""

ANY_ORDER = 2e8
"""The dense programme tries every order of the device classes while it visits no more entries than this."""


class Slicer:
    """Slices topological orders of one graph on one set of devices.

    Args:
        graph: the graph.
        devices: its device classes.
        say: told when code has to be compiled.
        dense: up to so many nodes, use the programme on all segment costs; None: whatever suits the devices.

    Attributes:
        dense: whether it does.
    """

    def __init__(
        self, graph: Graph, devices: DeviceTypes, say: Callable[[str], None], *, dense: int | None = None
    ) -> None:
        self._graph, self._devices, self._say = graph, devices, say
        if dense is None:
            dense = DENSE_EQUAL if len(devices.members) == 1 else DENSE
        self.dense = graph.n <= dense
        self._any = _any_order(graph, devices) if self.dense else None

    def slice(self, order: Ints, below: float = np.inf, stopped: Callable[[], bool] = lambda: False) -> Slicing | None:
        """Return the best slicing of *order* found, or None if none of cost less than *below* was found.

        It is optimal for devices of one class, and for several where all their orders are
        tried; else for the best of a few orders of the devices.
        """
        best: Slicing | None = None
        for slicing in self._slicings(order, below, stopped):
            if slicing is not None and slicing.cost < below:
                best, below = slicing, slicing.cost
        return best

    def _slicings(self, order: Ints, below: float, stopped: Callable[[], bool]) -> Iterator[Slicing | None]:
        if self.dense:
            costs = SegmentCosts(self._graph, self._devices, order)
            if self._any is not None:
                yield slice_order(costs, self._any)
                return
        for kinds in device_sequences(self._devices, order):
            if stopped():
                return
            if self.dense:
                yield slice_order(costs, fixed_order(kinds))
            else:
                cover = Cover(self._graph, self._devices, order, kinds, self._say).slice(below, stopped)
                below = below if cover is None else cover.cost
                yield cover


def _any_order(graph: Graph, devices: DeviceTypes) -> Stages | None:
    members = [len(group) for group in devices.members]
    entries = np.prod([count + 1.0 for count in members]) * len(members) * (graph.n + 1.0) ** 2
    if len(members) == 1:
        return fixed_order([0] * members[0])
    return any_order(members) if entries <= ANY_ORDER else None


def device_sequences(devices: DeviceTypes, order: Ints) -> list[tuple[int, ...]]:
    """Return a few orders in which to lay devices of different classes along *order*, as classes.

    As declared, by speed, by memory, each both ways, and by where along the order the nodes are that a
    class may take and some other may not.
    """
    finite = np.isfinite(devices.time)
    speed = np.where(finite, devices.time, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    choosy = finite & ~finite.all(axis=1, keepdims=True)
    middle = np.where(choosy, place[:, None], 0.0).sum(axis=0) / np.maximum(choosy.sum(axis=0), 1)
    declared = devices.of.tolist()
    keys = (np.arange(len(devices.members)), middle, speed, devices.memory)
    sequences: dict[tuple[int, ...], None] = {tuple(declared): None, tuple(declared[::-1]): None}
    for key in keys:
        ascending = sorted(declared, key=lambda kind: (float(key[kind]), kind))
        sequences.setdefault(tuple(ascending))
        sequences.setdefault(tuple(ascending[::-1]))
    return list(sequences)
