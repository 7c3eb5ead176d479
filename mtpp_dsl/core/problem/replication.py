"""Check what has to hold before stages may be replicated, and devices grouped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.constraints import Constraint, Linear, Replicate
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError
from mtpp_dsl.core.problem.graph import Floats, Graph

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device
    from mtpp_dsl.core.problem.interconnects import Interconnect

__all__ = ["check_groups", "check_replicas", "synchronises"]


def check_groups(devices: Sequence[Device], interconnect: Interconnect) -> None:
    """Check the groups of devices against the network between them; on ``links`` they say what is alike, no more.

    Raises:
        UsageError: a group without ``between``, ``between`` and a device without a group, or a network between
            groups that is faster than the one inside.
    """
    if interconnect.keyword == "links":
        return
    between = getattr(interconnect, "between", None)
    if between is None:
        grouped = next((device for device in devices if device.group is not None), None)
        if grouped is not None:
            if interconnect.keyword == "tree":
                message = f"device {grouped.name!r} is in a group, which has no effect on a tree: say its switch"
                raise DeviceError(message, grouped.name)
            raise DeviceError(
                f"device {grouped.name!r} is in a group, which has no effect here: give interconnect shared or host "
                "the bandwidth between groups, (between = …)",
                grouped.name,
            )
        return
    without = next((device for device in devices if device.group is None), None)
    if without is not None:
        raise DeviceError(
            f"there is a bandwidth between groups, and device {without.name!r} is in none: (group = …)", without.name
        )
    bandwidth = getattr(interconnect, "bandwidth", between)
    if not 0 < between <= bandwidth:
        raise UsageError(
            f"the bandwidth between groups is {between:g}; it must be more than zero, and at most {bandwidth:g}, the "
            "bandwidth inside"
        )


def check_replicas(
    constraints: Sequence[Constraint],
    graph: Graph,
    devices: Sequence[Device],
    interconnect: Interconnect,
    time: Floats,
) -> None:
    """Check every ``replicate``: its devices are two or more and equal, and its weights have a size.

    Raises:
        ConstraintError: otherwise; or a device stands in two of them, or there is a labelled constraint as well.
    """
    rules = [constraint for constraint in constraints if isinstance(constraint, Replicate)]
    seen: dict[int, Replicate] = {}
    for rule in rules:
        members = range(len(devices)) if rule.devices is None else rule.devices
        if len(members) < 2:
            raise ConstraintError("replicas are taken from two devices or more; there is one", rule.origin)
        for d in members:
            if d in seen:
                raise ConstraintError(f"{devices[d].name} is in constraint {seen[d]} already", rule.origin)
            seen[d] = rule
        other = next(_differences(graph, devices, time, members), None)
        if other is not None:
            raise ConstraintError(
                f"replicas run on equal devices, and {other}; for unequal shares of the inputs say 'constraint copies "
                f"up to {rule.most} (share = stages)'",
                rule.origin,
            )
        if getattr(interconnect, "bandwidth", None) is not None and synchronises(rule, graph):
            _check_weights(rule, graph)
    labelled = next((constraint for constraint in constraints if isinstance(constraint, Linear)), None)
    if rules and labelled is not None:
        raise ConstraintError(
            f"constraint {labelled} counts nodes and loads on single devices, and constraint {rules[0]} lets several "
            "share them: the two do not go together",
            labelled.origin,
        )


def synchronises(rule: Replicate, graph: Graph) -> bool:
    """Return whether the replicas under *rule* exchange weights."""
    return bool(graph.backward.any()) if rule.sync is None else rule.sync == "weights"


def _differences(graph: Graph, devices: Sequence[Device], time: Floats, members: Sequence[int]) -> Iterator[str]:
    first, *rest = members
    one = devices[first]
    for d in rest:
        other = devices[d]
        where = f"{one.name} and {other.name} differ in"
        if one.pays_io != other.pays_io:
            yield f"{where} io"
        if (one.memory, one.reserve) != (other.memory, other.reserve):
            yield f"{where} memory"
        for v in np.flatnonzero(time[:, first] != time[:, d])[:1].tolist():
            yield f"{where} the time of node {graph.names[v]!r}"


def _check_weights(rule: Replicate, graph: Graph) -> None:
    remedy = "say how large they are, or (sync = none)"
    if not graph.params.any() and (graph.memory != graph.output).any():
        raise ConstraintError(f"replicas exchange weights, and no node has params; {remedy}", rule.origin)
    if graph.memory_unit != graph.size_unit:
        raise ConstraintError(
            f"replicas exchange weights, and here memory and tensors have different units; {remedy}", rule.origin
        )
