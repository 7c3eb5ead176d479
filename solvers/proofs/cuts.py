"""Certificates ``cuts``: nodes that some devices cannot have below the target, and shares of the others."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from typing import Any

import networkx as nx
import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH, Sets
from mtpp_dsl.solvers.proofs.proof_reading import DeviceKind, ProofReading, named_numbers, number, units_for
from mtpp_dsl.solvers.proofs.shares import share_of

MAX_GROUPS = 1_500


class Cuts:
    """``{"target": T, "nodes": [...], "shares": {device: p}}``.

    A device whose every set with one of the nodes has a load of T or more, by a minimum cut, is closed to the node
    below T. Sets that do not fit into its memory, or are not convex where they must be, do not count. If no device is
    open to some node, or the shares of what is open add up to T, no plan is below T.
    """

    name = "cuts"
    summary = "nodes that no device can take below the target, by minimum cuts, or only with too much load"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        reading = ProofReading(problem)
        target, nodes = number(data, "target"), data.get("nodes")
        shares = named_numbers(data, "shares")
        if target <= 0:
            return 0.0
        if not isinstance(nodes, list):
            raise Refused("the certificate's 'nodes' are no list")
        opened = [[time < target for time in kind.time] for kind in reading.kinds]
        named = sorted({reading.group_of(name) for name in nodes})
        for kind, is_open in zip(reading.kinds, opened, strict=True):
            asked = [group for group in named if is_open[group]]
            if asked:
                closed = self._closed(reading, kind, target, asked, limits)
                for group in closed:
                    is_open[group] = False
        if any(not any(is_open[g] for is_open in opened) for g in range(len(reading.members))):
            return target
        share = share_of(reading, shares, opened)
        if share < target * (1 - 1e-12):
            raise Refused(f"the shares of the certificate prove {share!r}, not {target!r}")
        return min(target, share)

    @staticmethod
    def _closed(reading: ProofReading, kind: DeviceKind, target: float, asked: list[int], limits: Limits) -> list[int]:
        """Return the groups of which no device of a kind can hold one at a load below the target.

        First by the cuts of all sets with the group; then, for those left, of the sets that are convex and fit.
        """
        closed: list[int] = []
        left: list[int] = []
        network = _network(reading, kind, target) if kind.pays else None
        for group in asked:
            if limits.remaining <= 0:
                raise UsageError(NOT_ENOUGH)
            value = 0 if network is None else nx.maximum_flow_value(network, group, "sink")
            (closed if value >= ceil(target * units_for(target)) else left).append(group)
        if left and len(reading.members) <= MAX_GROUPS:
            sets = Sets(reading, kind, target, reading.arcs(kind))
            for group in left:
                if limits.remaining <= 0:
                    raise UsageError(NOT_ENOUGH)
                if sets.least_with(np.array([group], np.int64)) > sets.below:
                    closed.append(group)
        return closed


def _network(reading: ProofReading, kind: DeviceKind, target: float) -> Any:
    """Return the network whose cuts around a group are the loads of the sets it is in, in units, rounded down."""
    units, network = units_for(target), nx.DiGraph()
    enough = ceil(target * units)
    for group, time in enumerate(kind.time):
        network.add_edge(group, "sink", capacity=enough if time >= target else floor(time * units))
    for pins, cost in reading.tensors.items():
        into, out = ("into", pins), ("out", pins)
        network.add_edge(into, out, capacity=enough if cost >= target else floor(cost * units))
        for pin in pins:
            network.add_edge(pin, into)  # no capacity: without end
            network.add_edge(out, pin)
    return network
