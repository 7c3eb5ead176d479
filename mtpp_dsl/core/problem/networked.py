"""Check what has to hold of a tree of switches, and of splits on links and trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.constraints import Constraint, Decision, ExclusiveLinks, Latency, Linear, Replicate
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError
from mtpp_dsl.core.problem.graph import Graph, check_lines
from mtpp_dsl.core.problem.interconnects import Interconnect, Links, Tree
from mtpp_dsl.core.problem.soundness import LARGEST

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device
    from mtpp_dsl.core.problem.objective import Objective

__all__ = ["check_network", "check_tree"]


def check_tree(tree: Tree, graph: Graph, k: int) -> None:
    """Check a tree of switches against the number of devices.

    Raises:
        UsageError: two switches of one name, arrays of a wrong length, a switch under itself or under one that is not
            there, an uplink that is not positive, a negative latency, or times that add up to more than can be.
    """
    check_lines(tree.switches, "switch")
    if len(set(tree.switches)) < len(tree.switches):
        raise UsageError(f"two switches are called {max(tree.switches, key=tree.switches.count)!r}")
    ends = k + len(tree.switches)
    for what, column in (("parents", tree.parents), ("uplink", tree.uplink), ("latency", tree.latency)):
        if column.shape != (ends,):
            raise UsageError(f"{what} of a tree has the shape {column.shape}; ({ends},) is expected")
    if tree.half.shape != (ends,):
        raise UsageError(f"half of a tree has the shape {tree.half.shape}; ({ends},) is expected")
    if not ((tree.parents >= -1) & (tree.parents < len(tree.switches))).all():
        raise UsageError("the parents of a tree name a switch that is not there")
    for s, name in enumerate(tree.switches):
        seen, at = {s}, int(tree.parents[k + s])
        while at >= 0:
            if at == s:
                raise UsageError(f"switch {name!r} is under itself")
            if at in seen:
                break
            seen.add(at)
            at = int(tree.parents[k + at])
    if not (tree.uplink > 0).all():
        raise UsageError("the bandwidth of an uplink must be more than zero")
    if not ((tree.latency >= 0) & np.isfinite(tree.latency)).all():
        raise UsageError("the latency of an uplink is negative or no finite number")
    most = max(graph.output.max(initial=0.0), graph.sizes.max(initial=0.0)) * max(graph.m, 1) / tree.uplink.min()
    total = most + float(tree.latency.sum()) * max(graph.m, 1)
    if not total <= LARGEST:
        raise UsageError(f"the times of transfers add up to {total:g}; more than {LARGEST:g} is refused")


def check_network(
    objectives: Sequence[Objective],
    devices: Sequence[Device],
    interconnect: Interconnect,
    constraints: Sequence[Constraint],
) -> tuple[str, ...]:
    """Check what is asked of links or a tree, and return warnings.

    Raises:
        UsageError: times on a tree, options of splits for a schedule, two bottlenecks, or times of transfers in place
            of bandwidths.
        ConstraintError: a constraint that means nothing there.
        DeviceError: a device with ``io = free``.
    """
    if not isinstance(interconnect, (Links, Tree)):
        return ()
    objective = objectives[0]
    if objective.timed or objective.batch is not None:
        _check_schedule(objective, interconnect)
        return ()
    _check_split(objective, interconnect, constraints)
    free = next((device for device in devices if not device.pays_io), None)
    if free is not None:
        raise DeviceError(
            f"device {free.name!r} has io = free, which has a meaning only on interconnect host", free.name
        )
    return (*_apart(interconnect, devices), *_unread(objectives, interconnect, constraints))


def _check_schedule(objective: Objective, joined: Links | Tree) -> None:
    """Refuse what a schedule knows nothing of."""
    if isinstance(joined, Tree):
        raise UsageError(
            f"'{objective}' asks when nodes run, and transfers that share the uplinks of switches have no times here; "
            "minimize bottleneck, or give the devices links"
        )
    if joined.split_options:
        raise UsageError(
            f"{joined.split_options[0]} says what transfers take of a bottleneck; '{objective}' times every transfer "
            "by itself, beside the work: leave it out"
        )


def _check_split(objective: Objective, joined: Links | Tree, constraints: Sequence[Constraint]) -> None:
    """Refuse what has no meaning for a split on links or a tree."""
    if isinstance(joined, Links) and joined.transfers is not None:
        raise UsageError(
            f"'{objective}' on links needs bandwidths: times of single transfers do not say which channels they share"
        )
    if objective.parts == "separate":
        raise UsageError(f"parts = separate is not defined on {joined.keyword}: channels carry both parts at once")
    for constraint in constraints:
        if isinstance(constraint, Replicate):
            raise ConstraintError(
                f"replicas are defined on shared and host interconnects, not on {joined.keyword}", constraint.origin
            )
        if isinstance(constraint, ExclusiveLinks):
            raise ConstraintError(
                f"exclusive links say when tensors are sent; a plan for '{objective}' says nothing of it",
                constraint.origin,
            )


def _apart(joined: Links | Tree, devices: Sequence[Device]) -> Iterator[str]:
    """Yield that links leave some devices without any way to others; of trees the reader of the spec says so."""
    if isinstance(joined, Tree) or len(devices) < 2:
        return
    pairs = (joined.bandwidth > 0) | (joined.bandwidth > 0).T
    reached = np.zeros(len(devices), np.bool_)
    new = [0]
    while new:
        reached[new] = True
        new = np.flatnonzero(pairs[new].any(axis=0) & ~reached).tolist()
    if not reached.all():
        other = devices[int(np.flatnonzero(~reached)[0])].name
        yield f"no links join {devices[0].name} and {other}, so no tensor can go from one to the other: link them"


def _unread(objectives: Sequence[Objective], joined: Links | Tree, constraints: Sequence[Constraint]) -> Iterator[str]:
    """Yield that latencies are given and read by nothing."""
    decisions: list[Decision] = [decision for objective in objectives for decision, _ in objective.terms]
    decisions += [decision for row in constraints if isinstance(row, Linear) for decision, _ in row.terms]
    if any(isinstance(decision, Latency) for decision in decisions):
        return
    remedy = "leave it out, or ask for the latency of the plan, too"
    if joined.overlap == "full" and joined.latency.any():
        yield f"latency of {joined.keyword} has no effect on a bottleneck with overlap = full; {remedy}"
    elif isinstance(joined, Tree) and joined.latency[joined.k :].any():
        s = int(np.flatnonzero(joined.latency[joined.k :])[0])
        yield (
            f"latency of switch {joined.switches[s]} has no effect on a bottleneck, for which a device waits for its "
            f"own uplink alone; {remedy}"
        )
