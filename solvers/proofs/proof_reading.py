"""A problem as the checkers of certificates read it: counted again, node by node, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import floor, frexp, fsum, inf, ldexp
from sys import float_info
from typing import Any

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Colocate,
    Contiguous,
    Forbid,
    InOrder,
    Memory,
    Pin,
    StageMemory,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.core.problem.problem import Problem

LARGEST_WEIGHT = 1e9
NEARLY = 1e-13
"""Relative: sums of sizes are taken to be so much less, where others may round them otherwise."""
BITS = 27
"""A target is about this power of two of the units that loads are counted in."""


@dataclass(frozen=True)
class DeviceKind:
    """Devices that nothing here tells apart.

    Attributes:
        devices: their names.
        time: of each group of nodes; ``inf`` where it may not be.
        pays: whether tensors that cross its border are part of its load.
        memory: what ``memory`` of its nodes may add up to; ``inf`` without a limit.
        free: parameters beyond this are streamed; ``inf`` where none are.
        convex: for the forward and the backward part, whether its nodes must be convex.
    """

    devices: tuple[str, ...]
    time: tuple[float, ...]
    pays: bool
    memory: float
    free: float
    convex: tuple[bool, bool]


class ProofReading:
    """The groups of colocated nodes, the tensors between them and the kinds of devices.

    Attributes:
        members: the nodes of each group; a node that is not colocated is one by itself.
        group: of every node.
        tensors: pins (groups) and cost: a device that pays and holds some of the pins and not all pays it.
        kinds: of devices.

    Args:
        problem: what is asked.
        work_alone: whether transfers may be left out, so that bottlenecks on networks are read, too; no device then
            pays for any.

    Raises:
        Refused: loads are not the sums that certificates speak of.
    """

    def __init__(self, problem: Problem, *, work_alone: bool = False) -> None:
        on_network = problem.networked and problem.objective.quantity == "bottleneck"
        if not problem.is_split and not (work_alone and on_network):
            raise Refused("certificates are about loads on shared and host interconnects")
        refuse_copies(problem)
        if problem.prefetches:
            raise Refused(
                "certificates are about work and streamed parameters that add up; here the longer of them counts"
            )
        self.problem = problem
        self.members = _colocated(problem)
        self.group = {v: g for g, nodes in enumerate(self.members) for v in nodes}
        self.bandwidth = problem.channel.bandwidth if problem.is_split else inf
        self.tensors = self._tensors(self.bandwidth)
        memory = [fsum(float(problem.graph.memory[v]) for v in nodes) for nodes in self.members]
        self.memory, self.params = memory, [fsum(float(problem.graph.params[v]) for v in ns) for ns in self.members]
        self.kinds = self._kinds()

    def _tensors(self, bandwidth: float) -> dict[frozenset[int], float]:
        graph = self.problem.graph
        readers: dict[int, set[int]] = defaultdict(set)
        for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
            readers[u].add(self.group[v])
        costs: dict[frozenset[int], list[float]] = defaultdict(list)
        for u, groups in readers.items():
            pins = frozenset(groups | {self.group[u]})
            if len(pins) > 1 and graph.output[u] > 0:
                costs[pins].append(float(graph.output[u]) / bandwidth)
        return {pins: fsum(parts) for pins, parts in costs.items()}

    def _kinds(self) -> list[DeviceKind]:
        problem = self.problem
        names_of: dict[DeviceKind, list[str]] = defaultdict(list)
        for d, device in enumerate(problem.devices):
            hard = any(c.devices is None or d in c.devices for c in problem.of(Memory))
            limit, room = inf, device.room
            if hard and device.memory is not None:
                left = max(0.0, room - least_workspace(problem, d))
                limit = left + TOLERANCE * device.memory  # as the check of plans allows
            pays = isinstance(problem.interconnect, Shared) or (problem.is_split and device.pays_io)
            overflow = pays and getattr(problem.interconnect, "overflow", False)
            kept = hard or any(c.devices is None or d in c.devices for c in problem.of(StageMemory))
            streams = overflow and device.memory is not None and not kept
            barred = barred_nodes(problem, d)
            groups = range(len(self.members))
            kind = DeviceKind(
                devices=(),
                time=tuple(self._time(g, d, barred) if self.memory[g] <= limit else inf for g in groups),
                pays=pays,
                memory=limit,
                free=room if streams else inf,
                convex=(self._convex(d, ("both", "forward")), self._convex(d, ("both",))),
            )
            names_of[kind].append(device.name)
        return [DeviceKind(tuple(names), k.time, k.pays, k.memory, k.free, k.convex) for k, names in names_of.items()]

    def _time(self, group: int, d: int, barred: set[int]) -> float:
        if any(v in barred for v in self.members[group]):
            return inf
        return fsum(float(self.problem.time[v, d]) for v in self.members[group])

    def _convex(self, d: int, parts: tuple[str, ...]) -> bool:
        if any(c.parts in parts for c in self.problem.of(Acyclic)) or self._in_order():
            return True
        return any(c.parts in parts and (c.devices is None or d in c.devices) for c in self.problem.of(Contiguous))

    def _in_order(self) -> bool:
        """Return whether a constraint gives all devices an order, so that each part has an acyclic quotient graph."""
        every = set(range(self.problem.k))
        return any(rule.devices is None or every <= set(rule.devices) for rule in self.problem.of(InOrder))

    def edges(self, *, backward: bool) -> Iterator[tuple[int, int]]:
        """Yield the edges within a part of the graph."""
        graph = self.problem.graph
        for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
            if bool(graph.backward[u]) == backward == bool(graph.backward[v]):
                yield u, v

    def streamed(self, kind: DeviceKind, groups: Iterable[int]) -> float:
        """Return the time that a device of a kind streams parameters for, if it has these groups and perhaps more."""
        excess = fsum(self.params[g] for g in groups) - kind.free
        return (
            max(excess - NEARLY * (abs(excess) + 2 * abs(kind.free)), 0.0) / self.bandwidth if kind.free < inf else 0.0
        )

    @property
    def always_streamed(self) -> float:
        """The time that all devices together stream parameters for at least, wherever these are."""
        kept = fsum(kind.free * len(kind.devices) for kind in self.kinds)
        if kept == inf:
            return 0.0
        return max(fsum(self.params) * (1 - NEARLY) - kept - NEARLY * abs(kept), 0.0) / self.bandwidth

    @property
    def pipeline(self) -> bool:
        """Whether all devices are equal, and their nodes in an order (of a graph without a backward part)."""
        return len(self.kinds) == 1 and self.problem.acyclic and not self.problem.graph.backward.any()

    def arcs(self, kind: DeviceKind) -> list[tuple[int, int]]:
        """Return arcs between groups: what a device of a kind holds is convex along their paths.

        Under ``acyclic``, of a graph without a backward part, that is so of whole groups. Where a group of several
        nodes has to be convex node by node, it is not: then there are none.
        """
        sides = [back for back in (False, True) if kind.convex[back]]
        quotient = self.problem.acyclic and not self.problem.graph.backward.any()
        if not quotient and len(self.members) < self.problem.graph.n:
            return []
        ends = {(self.group[u], self.group[v]) for back in sides for u, v in self.edges(backward=back)}
        return sorted((a, b) for a, b in ends if a != b)

    def net_of(self, name: object) -> frozenset[int]:
        """Return the pins of the tensor that a node makes, which a certificate names."""
        group = self.group_of(name)
        graph = self.problem.graph
        pins = frozenset({group, *(self.group[int(v)] for v in graph.successors(graph.index[str(name)]))})
        if pins not in self.tensors:
            raise Refused(f"the certificate names the tensor of {name!r}, which no other group of nodes reads")
        return pins

    def group_of(self, name: object) -> int:
        """Return the group of the node that a certificate names."""
        if not isinstance(name, str) or name not in self.problem.graph.index:
            raise Refused(f"the certificate names {name!r}, which is no node")
        return self.group[self.problem.graph.index[name]]

    def weights(self, data: Mapping[str, Any]) -> list[int]:
        """Return the weight of every group: the sum of those that a certificate gives to its nodes."""
        weights = [0] * len(self.members)
        for name, value in whole_numbers(data, "weights").items():
            weights[self.group_of(name)] += value
        return weights


def _colocated(problem: Problem) -> list[list[int]]:
    home = list(range(problem.graph.n))
    sets = {v: [v] for v in home}
    for constraint in problem.of(Colocate):
        for v in constraint.nodes:
            a, b = home[constraint.nodes[0]], home[v]
            if a != b:
                for w in sets[b]:
                    home[w] = a
                sets[a] += sets.pop(b)
    return [sorted(nodes) for nodes in sets.values()]


def refuse_copies(problem: Problem) -> None:
    """Refuse a problem in which a node may count more than once.

    Raises:
        Refused: a constraint lets nodes run several times.
    """
    other = next((c for c in problem.constraints if c.enlarges or isinstance(c, BatchSizes)), None)
    if other is not None:
        raise Refused(f"a node counts once, on one device; 'constraint {other.keyword}' changes that")


def barred_nodes(problem: Problem, d: int) -> set[int]:
    """Return the nodes that ``pin`` and ``forbid`` keep off a device, and those whose workspace does not fit."""
    barred: set[int] = set()
    if any(rule.devices is None or d in rule.devices for rule in problem.of(Memory)):
        barred.update(v for v, need in enumerate(problem.graph.workspace.tolist()) if need > problem.devices[d].room)
    for pin in problem.of(Pin):
        barred.update(pin.nodes if d not in pin.devices else ())
    for forbid in problem.of(Forbid):
        barred.update(forbid.nodes if d in forbid.devices else ())
    return barred


def least_workspace(problem: Problem, d: int) -> float:
    """Return what a device that has any node needs for a workspace at least, whichever node that is."""
    barred, need = barred_nodes(problem, d), problem.graph.workspace.tolist()
    return min((need[v] for v in range(problem.graph.n) if v not in barred and problem.time[v, d] < inf), default=0.0)


def colocation_class(problem: Problem) -> list[int]:
    """Return for every node the first of the nodes that are colocated with it."""
    first = list(range(problem.graph.n))
    for rule in problem.of(Colocate):
        joined = {first[v] for v in rule.nodes}
        first = [min(joined) if g in joined else g for g in first]
    return first


def units_for(target: float) -> float:
    """Return the power of two that loads are multiplied with before they are rounded down."""
    return ldexp(1.0, min(BITS - frexp(target)[1], 1000))


def number(data: Mapping[str, Any], key: str) -> float:
    """Return a number of a certificate that is zero or more."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= float_info.max:
        raise Refused(f"the certificate's {key!r} is {value!r:.40}, not a number of zero or more")
    return float(value)


def named_numbers(data: Mapping[str, Any], key: str) -> dict[str, float]:
    """Return the numbers by name of a certificate, all zero or more."""
    values = data.get(key)
    if not isinstance(values, Mapping):
        raise Refused(f"the certificate's {key!r} gives no numbers by name")
    return {name: number(values, name) for name in values}


def numbers_by_device(problem: Problem, data: Mapping[str, Any], key: str) -> Floats:
    """Return [k] the numbers by device of a certificate, all zero or more; 0 for devices without one."""
    values = np.zeros(problem.k)
    for name, value in named_numbers(data, key).items():
        if name not in problem.device_index:
            raise Refused(f"the certificate names {name!r:.40}, which is no device")
        values[problem.device_index[name]] = value
    return values


def whole_numbers(data: Mapping[str, Any], key: str) -> dict[str, int]:
    """Return the whole numbers by name of a certificate, all from zero to 1e9."""
    whole = {}
    for name, value in named_numbers(data, key).items():
        if value != floor(value) or value > LARGEST_WEIGHT:
            raise Refused(f"the certificate's {key!r} of {name!r} is {value!r}, not a whole number up to 1e9")
        whole[name] = int(value)
    return whole


def reach_of(graph: Graph) -> Bools:
    """Return [n, n] whether a path leads from one node to another."""
    reach: Bools = np.zeros((graph.n, graph.n), np.bool_)
    for u in graph.topological_order[::-1].tolist():
        for v in graph.successors(u).tolist():
            reach[u] |= reach[v]
            reach[u, v] = True
    return reach
