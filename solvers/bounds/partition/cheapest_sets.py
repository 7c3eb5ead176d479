"""The cheapest set of groups with a given one in it: a minimum cut, as loads are submodular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.base.lazy import csgraph, sparse
from mtpp_dsl.problem.graph import Bools, Ints
from mtpp_dsl.solvers.bounds.partition.groups import Groups, Sizes

__all__ = ["CutNetwork"]

ENDLESS = 2**29
"""Capacity of arcs that no minimum cut contains; twice that, and any flow, fits into 32 bits."""


@dataclass(frozen=True, eq=False)
class _Arcs:
    tails: list[int]
    heads: list[int]
    capacities: list[int]

    def add(self, tail: int, head: int, capacity: int) -> None:
        self.tails.append(tail)
        self.heads.append(head)
        self.capacities.append(capacity)


class CutNetwork:
    """The network whose cuts are the loads of sets of groups on one kind of device.

    The load of a set is its work and the tensors it cuts, a hypergraph cut. A set is the side of the source, which is
    the group that it must hold: an arc from each group to the sink carries its work; a tensor of two pins is an arc
    each way; one of more is an arc between two vertices of its own, that all pins reach and that reaches all pins.

    Args:
        groups: what a device may hold.
        sizes: the loads of the kind; capacities are these over ``2**shift``, rounded down.
    """

    def __init__(self, groups: Groups, sizes: Sizes) -> None:
        self._n = groups.n
        self._sink = groups.n
        excess = max(sizes.capacity.bit_length() - 24, 0)
        self._unit = float(1 << excess) / sizes.scale
        self._target = sizes.target
        self._limit = (2 * sizes.capacity + 2) >> excess
        work = np.minimum(sizes.work >> excess, self._limit)
        cost = np.minimum(sizes.tensors >> excess, self._limit)
        arcs = _Arcs([], [], [])
        for v in range(self._n):
            arcs.add(v, self._sink, int(work[v]))
        vertices = self._n + 1
        self._alone = work.copy()
        for (pins, _), c in zip(groups.tensors, cost.tolist(), strict=True):
            self._alone[list(pins)] += c
            if c == 0:
                continue
            if len(pins) == 2:
                arcs.add(*pins, c)
                arcs.add(pins[1], pins[0], c)
                continue
            into, out = vertices, vertices + 1
            vertices += 2
            arcs.add(into, out, c)
            for v in pins:
                arcs.add(v, into, ENDLESS)
                arcs.add(out, v, ENDLESS)
        shape = (vertices, vertices)
        self._capacity = sparse.csr_array((np.array(arcs.capacities, np.int32), (arcs.tails, arcs.heads)), shape=shape)
        self._capacity.eliminate_zeros()

    def alone(self, group: int) -> float:
        """Return what the group costs by itself, an upper bound of its cut."""
        return float(self._alone[group]) * self._unit

    def least(self, group: int) -> tuple[float, Bools]:
        """Return a load that no set with *group* is below, and the set of a minimum cut.

        Loads are counted in whole units, rounded down, up to the target: a return of the target means that no set is
        below it. The flow that proves the cut is checked here: by itself, without the
        algorithm that found it, it shows that no cut is smaller.
        """
        if self._alone[group] >= ENDLESS:  # might leave 32 bits
            value = int(self._capacity[group, self._sink])
            return min(value * self._unit, self._target), np.arange(self._n) == group
        found = csgraph.maximum_flow(self._capacity, group, self._sink)
        value = _checked(self._capacity, found.flow, group, self._sink)
        residual = sparse.csr_array(self._capacity - found.flow)
        residual.eliminate_zeros()
        side = np.zeros(residual.shape[0], np.bool_)
        side[csgraph.breadth_first_order(residual, group, return_predecessors=False)] = True
        return min(value * self._unit, self._target), side[: self._n]


def _checked(capacity: Any, flow: Any, source: int, sink: int) -> int:
    """Return the value of a flow that keeps to all capacities and is lost nowhere; 0 for one that does not."""
    balance: Ints = np.asarray(flow.sum(axis=1, dtype=np.int64)).ravel()
    inner = np.ones(len(balance), np.bool_)
    inner[[source, sink]] = False
    kept = (capacity - flow).min() >= 0 and not (flow + flow.T).count_nonzero() and not balance[inner].any()
    return int(balance[source]) if kept else 0
