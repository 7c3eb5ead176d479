"""Check what has to hold of the parts of a problem, and warn of what is given and nothing reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Constraint,
    Linear,
    Memory,
    Replicate,
    Robust,
    Shard,
    StageMemory,
)
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError, did_you_mean
from mtpp_dsl.core.problem.batching import menus
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, check_lines

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared
    from mtpp_dsl.core.problem.objective import Objective

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
                f"constraint {constraint} is about the bottleneck, and separate parts have one each; write load(d)",
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
        sums: dict[str, float] = {
            "the running times": graph.work.sum() / slowest,
            "the sizes": (graph.params + graph.output).sum(),
        }
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


DEFAULT_TYPE = "accelerator"


def unread(
    graph: Graph,
    devices: Sequence[Device],
    interconnect: Interconnect,
    objective: Objective,
    constraints: Sequence[Constraint],
) -> Iterator[str]:
    """Yield a sentence for every sort of time, size or kind that is given and means nothing in the problem."""
    yield from _kinds(graph, devices)
    yield from _types(graph, devices)
    yield from _barred_times(graph, devices)
    yield from _of_stages(graph, objective, constraints)
    yield from _of_groups(interconnect, constraints)
    if not graph.cache.any() and any(isinstance(c, Memory) and c.pool is not None for c in constraints):
        yield "'constraint cache uniform' asks no more than 'constraint memory': give nodes (cache = …)"
    by_links = interconnect.keyword in ("links", "tree")
    if graph.origin is None and not by_links and (graph.sizes != graph.output[graph.tails]).any():
        e = int(np.flatnonzero(graph.sizes != graph.output[graph.tails])[0])
        one, two = graph.names[graph.tails[e]], graph.names[graph.heads[e]]
        yield (
            f"the size of the edge {one} -> {two} has no effect on interconnect {interconnect.keyword}, which carries "
            f"tensors: give the output of {one}"
        )
    if objective.batch is not None:
        yield from _unsupported(graph, devices)
        yield from _sizes(graph, devices, menus(objective, len(devices), constraints))
        yield from _laws(graph, devices)


def _of_groups(interconnect: Interconnect, constraints: Sequence[Constraint]) -> Iterator[str]:
    """Yield that groups are left free where there are none to be ordered."""
    free = any(isinstance(c, Acyclic) and c.groups == "free" for c in constraints)
    if free and getattr(interconnect, "between", None) is None:
        yield (
            "groups = free has no effect: without a bandwidth between groups of devices (between = …), 'constraint "
            "acyclic' asks the devices alone"
        )


def _of_stages(graph: Graph, objective: Objective, constraints: Sequence[Constraint]) -> Iterator[str]:
    """Yield what nodes say of stages, where nothing asks for it; of a model only what a memory leaves out."""
    staged = any(isinstance(c, StageMemory) for c in constraints)
    if graph.origin is not None:
        if not staged and any(isinstance(c, Memory) for c in constraints) and (graph.state != graph.params).any():
            yield (
                "'constraint memory' counts the parameters alone, and this model is trained: gradients, what the "
                "optimizer keeps and activations count in 'constraint memory (schedule = …, microbatches = …)'"
            )
        return
    memory = "what a stage keeps: say 'constraint memory (schedule = …, microbatches = …)'"
    forward = "passes apart: minimize iteration, or 'constraint memory (schedule = …, recompute = free)'"
    usual = np.where(graph.backward, 0.0, 1.0)
    late = ~np.isnan(graph.deviation) | ~np.isnan(graph.deviation_share)
    robust = any(isinstance(c, Robust) for c in constraints)
    asks = staged or objective.is_iteration
    for what, odd, read, remedy in (
        ("saved", graph.saved != graph.output, staged, memory),
        ("state", graph.state != graph.params, staged, memory),
        ("reduce", graph.reduce > 0, any(isinstance(c, Shard) for c in constraints), "shards: say 'constraint shard'"),
        ("deviation", late, robust, "times that are off: say 'constraint robust up to 2'"),
        ("forward", graph.forward_share != usual, asks, forward),
    ):
        if not read and odd.any():
            v = int(np.flatnonzero(odd)[0])
            more = f" ({int(odd.sum()) - 1} more such nodes)" if odd.sum() > 1 else ""
            yield f"{what} of {graph.names[v]} has no effect{more}: nothing here is about {remedy}"


def _kinds(graph: Graph, devices: Sequence[Device]) -> Iterator[str]:
    """Yield a kind that a device does not support, and that looks like a wrong spelling of a node's."""
    known = {kind for kind in graph.kinds if kind}
    for device in devices:
        for kind in sorted(device.unsupported - known):
            hint = did_you_mean(kind, known)
            if hint or not known:
                yield f"device {device.name} does not support the kind {kind!r}, which no node has{hint}"
                return


def _types(graph: Graph, devices: Sequence[Device]) -> Iterator[str]:
    """Yield a type of device that none of the graph's tables of times is for."""
    tables = {*graph.times, *graph.batch_times}
    for device in devices:
        if (
            graph.times
            and device.name not in graph.device_times
            and device.type != DEFAULT_TYPE
            and not {device.name, device.type} & tables
        ):
            yield (
                f"device {device.name} is of type {device.type!r}, for which the graph has no times (it has them for "
                f"{', '.join(sorted(graph.times))}): it runs by the nodes' work{did_you_mean(device.type, graph.times)}"
            )
            return


def _barred_times(graph: Graph, devices: Sequence[Device]) -> Iterator[str]:
    """Yield that a node has a time on a device that does not support its kind."""
    for device in devices:
        own = graph.device_times.get(device.name)
        if own is None or not device.unsupported:
            continue
        barred = np.flatnonzero(_barred(graph, device) & np.isfinite(own))
        if barred.size:
            v = int(barred[0])
            more = f" ({barred.size - 1} more such nodes)" if barred.size > 1 else ""
            yield (
                f"the time of {graph.names[v]} on {device.name} has no effect{more}: {device.name} does not support "
                f"the kind {graph.kinds[v]!r}; remove that kind from 'unsupported', or remove the time"
            )
            return


def _table(graph: Graph, device: Device) -> Mapping[int, Floats]:
    return graph.batch_times.get(device.name, graph.batch_times.get(device.type, {}))


def _barred(graph: Graph, device: Device) -> Bools:
    return np.array([kind in device.unsupported for kind in graph.kinds], np.bool_)


def _unsupported(graph: Graph, devices: Sequence[Device]) -> Iterator[str]:
    """Yield that a batch has a time where its node's kind is not supported."""
    unsupported = [
        (v, device)
        for device in devices
        if device.unsupported
        for v in np.flatnonzero(
            _barred(graph, device) & np.array([np.isfinite(row) for row in _table(graph, device).values()]).any(axis=0)
        ).tolist()
    ]
    if unsupported:
        v, device = unsupported[0]
        more = f" ({len(unsupported) - 1} more such nodes)" if unsupported[1:] else ""
        yield (
            f"the times of batches of {graph.names[v]} on {device.name} have no effect{more}: {device.name} does not "
            f"support the kind {graph.kinds[v]!r}; remove that kind from 'unsupported', or remove the times"
        )


def _sizes(graph: Graph, devices: Sequence[Device], sizes: Sequence[Sequence[int]]) -> Iterator[str]:
    """Yield that there are times for sizes that no batch has."""
    without_time: list[tuple[Device, list[int], Sequence[int]]] = []
    for device, menu in zip(devices, sizes, strict=True):
        known = set(menu)
        idle = [p for p, row in _table(graph, device).items() if p not in known and np.isfinite(row).any()]
        if idle:
            without_time.append((device, idle, menu))
    if without_time:
        device, idle, menu = without_time[0]
        more = f" (nor on {len(without_time) - 1} more devices)" if without_time[1:] else ""
        runs = f"runs batches of {_listed(menu)}" if menu else "runs none"
        yield (
            f"the times of batches of {_listed(idle)} on {device.name} have no effect{more}: it {runs}; see "
            "'constraint batch', and the batch of the objective"
        )


def _laws(graph: Graph, devices: Sequence[Device]) -> Iterator[str]:
    """Yield that a device's fixed share or overhead goes into no time, as all nodes have times of their own there."""
    for device in devices:
        table = _table(graph, device)
        if not (device.fixed or device.overhead) or not table:
            continue
        measured = ~np.isnan(np.stack(list(table.values()))).all(axis=0)
        if (measured | _barred(graph, device)).all():
            what = " and ".join(word for word in ("fixed", "overhead") if getattr(device, word))
            yield (
                f"{what} of device {device.name} has no effect: every node has its own times of batches there; put "
                "it into those times, or remove it"
            )
            return


def _listed(sizes: Sequence[int], most: int = 6) -> str:
    words = [str(size) for size in sizes[:most]] + [f"{len(sizes) - most} more sizes"] * (len(sizes) > most)
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def untimed(graph: Graph, devices: Sequence[Device]) -> Iterator[str]:
    """Yield a warning where nodes have costs that have not been made into times: they would take no time at all."""
    for part in [phase.graph for phase in graph.phases] or [graph]:
        if part.costs is None or part.work.any():
            continue
        lacking = [device.name for device in devices if not _timed(part, device)]
        if lacking:
            yield (
                f"nodes have costs, and no times were made of them on {lacking[0]}, where they take none: give "
                "the graph mtpp_dsl.with_times(graph, devices)"
            )
            return


def _timed(graph: Graph, device: Device) -> bool:
    return device.name in graph.device_times or bool({device.name, device.type} & {*graph.times})
