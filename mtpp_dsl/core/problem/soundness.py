"""Check what has to hold of the parts of a problem, each by itself and against the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import Bottleneck, Constraint, Linear, Replicate
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError
from mtpp_dsl.core.problem.graph import Floats, Graph, check_lines

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device
    from mtpp_dsl.core.problem.interconnects import Host, Links, Shared
    from mtpp_dsl.core.problem.objective import Objective

__all__ = ["LARGEST", "check_devices", "check_links", "check_magnitudes", "check_members", "settled_parts"]

LARGEST = 1e100
"""Larger times, sizes and their sums are refused: no solver computes with them."""


def check_devices(devices: Sequence[Device], channel: Shared | Host | None, graph: Graph) -> None:
    """Check the devices and the channel that joins them; None for links.

    Raises:
        UsageError: no device, two of one name, a bandwidth that is not positive, overflow in units that do not meet.
        DeviceError: a speed, memory or reserve that cannot be.
    """
    if not devices:
        raise UsageError("a problem needs at least one device")
    names = [device.name for device in devices]
    check_lines(names, "device")
    if len(set(names)) < len(names):
        raise UsageError(f"two devices are called {max(names, key=names.count)!r}")
    if channel is not None and not channel.bandwidth > 0:
        raise UsageError(f"the bandwidth is {channel.bandwidth:g}; it must be more than zero")
    if channel is not None and channel.overflow and graph.memory_unit != graph.size_unit:
        raise UsageError("overflow streams parameters, and in this graph memory and tensors have different units")
    for device in devices:
        if not (device.speed > 0 and device.reserve >= 0 and (device.memory is None or device.memory >= 0)):
            raise DeviceError(
                f"device {device.name!r}: speed must be positive, memory and reserve not negative", device.name
            )
        if device.memory is not None and device.reserve > device.memory * (1 + 1e-9):  # sums of decimals are rounded
            reserve, memory = (format_quantity(x, graph.memory_unit) for x in (device.reserve, device.memory))
            raise DeviceError(f"device {device.name!r} reserves {reserve} of a memory of {memory}", device.name)
        figures = [*device.peak.values(), *(() if device.bandwidth is None else (device.bandwidth,))]
        if not all(0 < figure < np.inf for figure in figures):
            raise DeviceError(f"device {device.name!r}: peak and bandwidth must be more than zero", device.name)
        if not all(0 < share <= 1 for share in device.efficiency.values()):
            raise DeviceError(f"device {device.name!r}: efficiency is more than 0 %, at most 100 %", device.name)


def check_links(links: Links, graph: Graph, k: int) -> None:
    """Check the tables of links against the graph and the number of devices.

    Raises:
        UsageError: a wrong shape, a negative time, no number, or times that add up to more than :data:`LARGEST`.
    """
    tables: list[tuple[str, Floats, tuple[int, ...]]] = [
        ("bandwidth", links.bandwidth, (k, k)),
        ("latency", links.latency, (k, k)),
    ]
    if links.transfers is not None:
        tables.append(("transfers", links.transfers, (graph.m, k, k)))
    for what, table, shape in tables:
        if table.shape != shape:
            raise UsageError(f"the {what} of links has the shape {table.shape}; {shape} is expected")
        if not (table >= 0).all():
            raise UsageError(f"the {what} of links has an entry that is negative or no number")
    one = next(iter(np.argwhere(links.bandwidth != links.bandwidth.T).tolist()), None)
    if links.duplex == "half" and one is not None:
        raise UsageError(
            f"with duplex = half both directions of a link share one channel, and those between devices {one[0]} and "
            f"{one[1]} have different bandwidths"
        )
    finite = links.latency[np.isfinite(links.latency)].sum() * max(graph.m, 1)
    if links.transfers is not None:
        finite += links.transfers[np.isfinite(links.transfers)].sum()
    elif (links.bandwidth > 0).any():
        finite += graph.sizes.sum() / links.bandwidth[links.bandwidth > 0].min()
    if not finite <= LARGEST:
        raise UsageError(f"the times of transfers add up to {finite:g}; more than {LARGEST:g} is refused")


def settled_parts(
    objective: Objective, graph: Graph, constraints: Sequence[Constraint]
) -> tuple[Objective, tuple[str, ...]]:
    """Return the objective and warnings; with separate parts, of a graph without a backward part, the usual one.

    Raises:
        UsageError: separate parts of a makespan, or beside a constraint that means nothing with them; what is about
            batches where there is none.
    """
    if objective.batch is None and (objective.chunk is not None or objective.transfer != "per_batch"):
        raise UsageError("chunk and transfer need a batch: give its size, too")
    if objective.parts == "together" or objective.is_iteration:
        return objective, ()
    if objective.quantity == "makespan":
        raise UsageError("separate parts have a bottleneck each; a makespan, or the throughput of a batch, has none")
    for constraint in constraints:
        if isinstance(constraint, Replicate):
            raise ConstraintError(
                "loads of replicas are defined for both parts together, not for separate ones", constraint.origin
            )
        if isinstance(constraint, Linear) and any(isinstance(x, Bottleneck) for x, _ in constraint.terms):
            raise ConstraintError(
                f"constraint {constraint} speaks of the bottleneck, and separate parts have one each; write load(d)",
                constraint.origin,
            )
    if graph.backward.any():
        if not np.isin(graph.forward_share, (0.0, 1.0)).all():
            raise UsageError("with parts = separate every node is in one part; leave out which share of it is forward")
        return objective, ()
    note = "no node belongs to a backward part, so parts = separate changes nothing"
    return replace(objective, parts="together"), (note,)


def check_magnitudes(graph: Graph, devices: Sequence[Device], channel: Shared | Host | None) -> None:
    """Check that sums of times and sizes stay numbers that can be computed with.

    Raises:
        UsageError: one is above :data:`LARGEST`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        slowest = min(device.speed for device in devices)
        sums = {"the running times": graph.work.sum() / slowest, "the sizes": (graph.params + graph.output).sum()}
        for kind, times in graph.times.items():
            sums[f"the times on {kind}"] = times[np.isfinite(times)].sum() / slowest
        for name, times in graph.device_times.items():
            sums[f"the times on {name}"] = times[np.isfinite(times)].sum()
        for kind, tables in graph.batch_times.items():
            sums[f"the times of batches on {kind}"] = sum(row[np.isfinite(row)].sum() for row in tables.values())
        sums["the overheads"] = graph.n * sum(device.overhead for device in devices)
        if channel is not None:
            bandwidth = channel.between or channel.bandwidth
            sums["the times of transfers"] = (graph.output.sum() + graph.params.sum()) / bandwidth
    for what, total in sums.items():
        if not total <= LARGEST:
            raise UsageError(f"{what} add up to {total:g}; more than {LARGEST:g} is refused")


def check_members(constraint: Constraint, n: int, k: int) -> None:
    """Check that a constraint speaks of nodes and devices that exist.

    Raises:
        UsageError: it does not.
    """
    nodes = getattr(constraint, "nodes", ()) or ()
    devices = getattr(constraint, "devices", ()) or ()
    for number, size, what in [*((v, n, "node") for v in nodes), *((d, k, "device") for d in devices)]:
        if not 0 <= number < size:
            raise UsageError(f"{constraint}: there is no {what} {number} (there are {size})")
