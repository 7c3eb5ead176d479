"""An answer: which node on which device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.errors import UsageError, did_you_mean
from mtpp_dsl.graph import Ints, frozen
from mtpp_dsl.problem import Problem

__all__ = ["Plan", "device_order", "quotient_order"]


@dataclass(frozen=True, eq=False)
class Plan:
    """Which device every node is on.

    Attributes:
        assignment: [n] device number of every node.
        order: device numbers such that every edge goes from an earlier or the same device to a
            later one; None when there is no such order or nobody asked.
    """

    assignment: Ints
    order: tuple[int, ...] | None = None

    @classmethod
    def create(cls, problem: Problem, assignment: Sequence[int] | Ints, order: Sequence[int] | None = None) -> Plan:
        """Check the shape and ranges of a plan; where *order* is not given, find one if there is one.

        Raises:
            UsageError: wrong length, or a device that does not exist.
        """
        array = frozen(assignment, np.int64)
        if array.shape != (problem.graph.n,):
            raise UsageError(f"the plan places {array.size} nodes; the graph has {problem.graph.n}")
        if array.size and not (array.min() >= 0 and array.max() < problem.k):
            raise UsageError(f"the plan names a device outside 0..{problem.k - 1}")
        return cls(array, tuple(order) if order is not None else device_order(problem, array))

    def to_json(self, problem: Problem) -> dict[str, Any]:
        """Return the ``plan`` of the JSON answer: names in place of numbers."""
        names = [device.name for device in problem.devices]
        return {
            "assignment": {name: names[d] for name, d in zip(problem.graph.names, self.assignment, strict=True)},
            "order": None if self.order is None else [names[d] for d in self.order],
            "schedule": None,
            "transfers": None,
        }

    @classmethod
    def from_json(cls, problem: Problem, data: object) -> Plan:
        """Read a plan from a JSON answer, from its ``plan``, or from a bare ``{node: device}``.

        Raises:
            UsageError: not such a mapping; a node missing, unknown, or on an unknown device.
        """
        assignment = _assignment_of(data)
        graph = problem.graph
        missing = [name for name in graph.names if name not in assignment]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UsageError(f"the plan does not place node {missing[0]!r}{more}")
        devices = np.empty(graph.n, dtype=np.int64)
        for node, device in assignment.items():
            if node not in graph.index:
                raise UsageError(f"the plan places {node!r}, which is no node{did_you_mean(node, graph.names)}")
            if not isinstance(device, str) or device not in problem.device_index:
                hint = did_you_mean(str(device), problem.device_index)
                raise UsageError(f"the plan puts {node!r} on {device!r}, which is no device{hint}")
            devices[graph.index[node]] = problem.device_index[device]
        return cls.create(problem, devices)


def _assignment_of(data: object) -> Mapping[str, object]:
    for key in ("plan", "assignment"):
        if isinstance(data, Mapping) and key in data:
            data = data[key]
    if not isinstance(data, Mapping):
        raise UsageError("a plan is a JSON answer of mtpp, or an object that gives each node its device")
    return data


def device_order(problem: Problem, assignment: Ints) -> tuple[int, ...] | None:
    """Return a topological order of the quotient graph over all devices, or None if it has a cycle."""
    return quotient_order(assignment, problem.graph.tails, problem.graph.heads, problem.k)


def quotient_order(assignment: Ints, tails: Ints, heads: Ints, k: int) -> tuple[int, ...] | None:
    """Return all *k* devices in an order that the edges respect, or None if their quotient has a cycle.

    Among devices that are free to come next, the one declared first comes first.
    """
    after = np.zeros((k, k), dtype=bool)
    after[assignment[tails], assignment[heads]] = True
    np.fill_diagonal(after, False)
    waiting = after.sum(axis=0)
    left = list(range(k))
    order: list[int] = []
    while left:
        free = next((d for d in left if waiting[d] == 0), None)
        if free is None:
            return None
        left.remove(free)
        order.append(free)
        waiting = waiting - after[free]
    return tuple(order)
