"""A problem as a hypergraph: supernodes in place of nodes, and nets in place of tensors.

A supernode is a set of nodes that every plan keeps on one device; a net is the set of supernodes (pins) that produce
or read the same tensors. A device that holds some pins of a net and not all of them pays the net's cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.constraints import Separate
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes

WeightedPins = tuple[tuple[int, ...], float]
"""The pins of a net, in ascending order, and its cost."""


class Net(NamedTuple):
    """All tensors of the same pins.

    Attributes:
        pins: the supernodes of their producers and readers, two or more; that of the first producer comes first, the
            others are in ascending order.
        cost: of one transfer of all of them (time).
        backward: whether the producers are backward nodes, if the objective counts the parts separately; else False.
        tensors: the nodes that produce them, in ascending order.
    """

    pins: tuple[int, ...]
    cost: float
    backward: bool = False
    tensors: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Supernodes:
    """Supernodes with their costs on each type of device, and the nets between them.

    Attributes:
        members: the nodes of each supernode.
        time: [n, device types] running time; ``inf`` where a supernode may not be.
        memory, params: [n] sums over the nodes.
        nets: pins and cost of each net, sorted by pins.
    """

    members: tuple[tuple[int, ...], ...]
    time: Floats
    memory: Floats
    params: Floats
    nets: tuple[WeightedPins, ...]

    @property
    def n(self) -> int:
        """Number of supernodes."""
        return len(self.members)

    @cached_property
    def of(self) -> Ints:
        """[nodes] the supernode of each node; every node is in one."""
        of = np.empty(sum(map(len, self.members)), np.int64)
        for supernode, nodes in enumerate(self.members):
            of[list(nodes)] = supernode
        return frozen(of, np.int64)

    @property
    def nets_at(self) -> list[list[int]]:
        """For each supernode, the nets that it is a pin of, in ascending order."""
        return incidence(self.n, (pins for pins, _ in self.nets))


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """Supernodes of a problem: what they cost, where they may be, and the nets between them.

    Sums over the nodes of a supernode are taken in the order of the nodes, unless said otherwise.

    Attributes:
        problem: the problem.
        of: [nodes] the supernode of each node, numbered from 0.
    """

    problem: Problem
    of: Ints

    @cached_property
    def n(self) -> int:
        """Number of supernodes."""
        return int(self.of.max(initial=-1)) + 1

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each supernode, in ascending order."""
        members: list[list[int]] = [[] for _ in range(self.n)]
        for v, supernode in enumerate(self.of.tolist()):
            members[supernode].append(v)
        return tuple(map(tuple, members))

    @cached_property
    def first(self) -> Ints:
        """[n] the first node of each supernode."""
        first = np.full(self.n, len(self.of), np.int64)
        np.minimum.at(first, self.of, np.arange(len(self.of)))
        return frozen(first, np.int64)

    @cached_property
    def allowed(self) -> Bools:
        """[n, devices] where all nodes of a supernode may be, by support, ``pin`` and ``forbid``."""
        return frozen(self.every(self.problem.allowed), np.bool_)

    @cached_property
    def time(self) -> Floats:
        """[n, devices] running time; 0 where a supernode may not be."""
        return frozen(np.where(self.allowed, self.total(self._node_time), 0.0), np.float64)

    @cached_property
    def backward_time(self) -> Floats:
        """[n, devices] running time of the backward nodes; 0 where a supernode may not be."""
        backward = np.where(self.problem.graph.backward[:, None], self._node_time, 0.0)
        return frozen(np.where(self.allowed, self.total(backward), 0.0), np.float64)

    @cached_property
    def memory(self) -> Floats:
        """[n] memory."""
        return frozen(self.total(self.problem.graph.memory), np.float64)

    @cached_property
    def workspace(self) -> Floats:
        """[n] the largest workspace of a node."""
        largest = np.zeros(self.n)
        np.maximum.at(largest, self.of, self.problem.graph.workspace)
        return frozen(largest, np.float64)

    @cached_property
    def params(self) -> Floats:
        """[n] size of the parameters."""
        return frozen(self.total(self.problem.graph.params), np.float64)

    @property
    def least_work(self) -> Floats:
        """[n] running time on the fastest device; 0 for a supernode that may be on none."""
        return _least(self.time, self.allowed)

    @property
    def least_work_of_parts(self) -> tuple[Floats, Floats]:
        """[n] the same of the forward nodes alone, and of the backward nodes alone."""
        return _least(self.time - self.backward_time, self.allowed), _least(self.backward_time, self.allowed)

    @cached_property
    def conflict_sets(self) -> tuple[tuple[int, ...], ...]:
        """For each ``constraint separate``, the supernode of each of its nodes, in the order of the nodes.

        A supernode that is there twice has two nodes that must not share a device, so it may be on none.
        """
        return tuple(tuple(self.of[np.unique(rule.nodes)].tolist()) for rule in self.problem.of(Separate))

    @property
    def conflicts(self) -> list[set[int]]:
        """For each supernode, the others that must not be on its device."""
        conflicts: list[set[int]] = [set() for _ in range(self.n)]
        for members in self.conflict_sets:
            for supernode in members:
                conflicts[supernode].update(members)
        for supernode, others in enumerate(conflicts):
            others.discard(supernode)
        return conflicts

    def total(self, values: Floats, *, exact: bool = False) -> Floats:
        """Return [n, ...] the sums of *values* over the nodes of each supernode.

        Args:
            values: [nodes, ...] of each node.
            exact: whether each sum is the float nearest to the true sum (:func:`math.fsum`).
        """
        if exact:
            columns = values.reshape(len(self.of), -1).T
            sums = np.array([[fsum(column[list(nodes)]) for nodes in self.members] for column in columns], np.float64)
            return np.ascontiguousarray(sums.T).reshape(self.n, *values.shape[1:])
        sums = np.zeros((self.n, *values.shape[1:]))
        np.add.at(sums, self.of, values)
        return sums

    def every(self, values: Bools) -> Bools:
        """Return [n, ...] whether *values*, [nodes, ...], hold for all nodes of each supernode."""
        hold = np.ones((self.n, *values.shape[1:]), np.bool_)
        np.logical_and.at(hold, self.of, values)
        return hold

    def edges(self, tails: Ints, heads: Ints) -> list[tuple[int, int]]:
        """Return the pairs of different supernodes that edges between these nodes join, each once, sorted."""
        ends = np.unique(np.stack([self.of[tails], self.of[heads]], axis=1), axis=0)
        return [(a, b) for a, b in ends.tolist() if a != b]

    def nets(self, costs: Floats, most: float = np.inf) -> list[Net]:
        """Return the nets of the tensors that cost something, in the order of their first tensors.

        If the objective counts the forward and backward parts separately, so do nets.

        Args:
            costs: [nodes] of one transfer of each node's tensor.
            most: a net that costs more counts as this much.
        """
        separate = self.problem.objective.parts == "separate"
        pins, cost, tensors = self._nets(costs, parts=separate)
        backward = self.problem.graph.backward if separate else np.zeros(len(self.of), np.bool_)
        nets = []
        for its, paid, made in zip(pins, cost, tensors, strict=True):
            first = int(self.of[made[0]])
            ordered = its if its[0] == first else (first, *(pin for pin in its if pin != first))
            nets.append(Net(ordered, min(paid, most), bool(backward[made[0]]), tuple(made)))
        return nets

    def sorted_nets(self, costs: Floats) -> list[Net]:
        """Return the nets of both parts together, pins in ascending order, sorted by pins."""
        rows = sorted(zip(*self._nets(costs, parts=False), strict=True))
        return [Net(pins, cost, False, tuple(tensors)) for pins, cost, tensors in rows]

    def on_types(self, types: DeviceTypes, *, exact: bool = False, nets: bool = True) -> Supernodes:
        """Return the supernodes with their costs on each type of device.

        Args:
            types: of the devices of the problem.
            exact: whether each sum is the float nearest to the true sum.
            nets: whether to derive the nets; without, there are none.
        """
        graph = self.problem.graph
        return Supernodes(
            members=self.members,
            time=self.total(types.time, exact=exact),
            memory=self.total(graph.memory, exact=exact),
            params=self.total(graph.params, exact=exact),
            nets=tuple(
                (net.pins, fsum(types.tensor[list(net.tensors)]) if exact else net.cost)
                for net in (self.sorted_nets(types.tensor) if nets else ())
            ),
        )

    def _nets(self, costs: Floats, *, parts: bool) -> tuple[list[tuple[int, ...]], list[float], list[list[int]]]:
        """Return the pins, in ascending order, cost and tensors of each net, in the order of their first tensors.

        Args:
            costs: [nodes] of one transfer of each node's tensor.
            parts: whether tensors of the forward and the backward part are never of one net.
        """
        producers = np.flatnonzero(costs > 0)
        sides = (self.problem.graph.backward[producers] & parts).tolist()
        number: dict[tuple[tuple[int, ...], bool], int] = {}
        tensors: list[list[int]] = []
        of = np.full(len(producers), -1, np.int64)
        for i, (u, pins, side) in enumerate(zip(producers.tolist(), self._pins(producers), sides, strict=True)):
            if len(pins) > 1:
                of[i] = net = number.setdefault((pins, side), len(tensors))
                if net == len(tensors):
                    tensors.append([u])
                else:
                    tensors[net].append(u)
        cost = np.bincount(of[of >= 0], weights=costs[producers[of >= 0]], minlength=len(tensors))
        return [pins for pins, _ in number], cost.astype(np.float64).tolist(), tensors

    @property
    def _node_time(self) -> Floats:
        """[nodes, devices] running time; 0 where a node may not be."""
        return np.where(self.problem.allowed, self.problem.time, 0.0)

    def _pins(self, producers: Ints) -> list[tuple[int, ...]]:
        """Return the supernodes of each producer and its readers, in ascending order."""
        graph, n = self.problem.graph, self.n
        number = np.full(graph.n, -1, np.int64)
        number[producers] = np.arange(len(producers))
        read = number[graph.tails] >= 0
        tensor = np.concatenate([np.arange(len(producers)), number[graph.tails[read]]])
        pin = self.of[np.concatenate([producers, graph.heads[read]])]
        pairs = np.sort(tensor * n + pin)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        ends = np.concatenate(([0], np.cumsum(np.bincount(pairs // max(n, 1), minlength=len(producers))))).tolist()
        pins = (pairs % max(n, 1)).tolist()
        return [tuple(pins[ends[i] : ends[i + 1]]) for i in range(len(producers))]


def hypergraph(problem: Problem, of: Ints | None = None) -> Hypergraph:
    """Return the hypergraph of a problem.

    Args:
        problem: the problem.
        of: [nodes] the supernode of each node; those of :func:`mtpp_dsl.core.problem.colocation.together` unless given.
    """
    return Hypergraph(problem, frozen(together(problem) if of is None else of, np.int64))


def incidence(n: int, sets: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return, for each of 0..n-1, the numbers of the sets that contain it, in ascending order."""
    at: list[list[int]] = [[] for _ in range(n)]
    for number, members in enumerate(sets):
        for v in members:
            at[v].append(number)
    return at


def compressed(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return lists as compressed sparse rows: row i is ``entries[start[i]:start[i + 1]]``.

    Returns:
        start: [rows + 1] pointers into the entries.
        entries: of all rows, one after the other.
    """
    start = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    return start, np.array([entry for row in rows for entry in row], np.int64)


def _least(time: Floats, allowed: Bools) -> Floats:
    least = np.where(allowed, time, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least), least, 0.0)
