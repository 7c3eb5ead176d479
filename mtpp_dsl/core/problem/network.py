"""Channels between devices, and the routes over them, of splits on ``links`` and on a ``tree``.

A tensor is *shipped* from the device of its producer to every other device with a reader, once per device; its size is
that of the largest of its edges there. With ``send = each`` a shipment loads every channel of its route; with ``once``
a tensor loads each channel that any of its shipments goes over once, by the largest of their sizes. The load of a
channel is the sum of sizes over its bandwidth.

A device spends time in its own shipments. On links these go over a route at the rate of its narrowest channel; on a
tree a device is only as busy as its own uplink is, and switches pass tensors on. With ``send = once`` it sends a
tensor once, at its slowest reader's rate; with ``each`` once per reading device; it receives each once. With
``overlap = none`` its load is work, sends and receives, and the latency of each; with ``full`` the largest of the
three, without latencies. The bottleneck is the largest load of a device or a channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.constraints import Constraint, Decision, ExclusiveLinks, Latency, Linear, Replicate
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError
from mtpp_dsl.core.problem.devices import Device, Interconnect, Links, Overlap, Send, Tree
from mtpp_dsl.core.problem.graph import Floats, Graph, check_lines, frozen
from mtpp_dsl.core.problem.soundness import LARGEST

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device
    from mtpp_dsl.core.problem.objective import Objective

Route = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Network(Short, Picklable):
    """What a split needs to know of links or a tree; k is the number of devices.

    Attributes:
        channels: names. A direction of a link or an uplink is ``a -> b``; with half duplex both are ``a <-> b``.
        bandwidth: [channels] all finite: what limits nothing is no channel.
        route: [k][k] numbers of the channels from one device to another; empty within a device.
        rate: [k, k] least bandwidth on the route; 0: no route; ``inf`` within a device, and where nothing limits it.
        latency: [k, k] of the route; ``inf`` where there is none.
        out_inverse, out_delay: [k, k] what device d is busy for in sending a tensor to e: the delay, and the inverse
            times the size. Without a route the delay is ``inf`` and the inverse 0.
        in_inverse, in_delay: [k, k] what e is busy for in receiving it from d.
        overlap, send: see the module.
    """

    channels: tuple[str, ...]
    bandwidth: Floats
    route: tuple[tuple[Route, ...], ...]
    rate: Floats
    latency: Floats
    out_inverse: Floats
    out_delay: Floats
    in_inverse: Floats
    in_delay: Floats
    overlap: Overlap
    send: Send

    @property
    def connected(self) -> bool:
        """Whether every device can send to every other one."""
        return bool((self.rate > 0).all())

    def shipment(self, size: float, d: int, e: int) -> float:
        """Return what a tensor of this size takes from device *d* to another one; ``inf`` if there is no route."""
        return float(self.latency[d, e] + (size / self.rate[d, e] if self.rate[d, e] > 0 else np.inf))


def network_of(joined: Links | Tree, devices: tuple[Device, ...]) -> Network:
    """Return the channels and routes of *joined*.

    On links a pair of devices with a link of its own uses that; others, unless routing is "direct", the path of the
    largest least bandwidth, among those the one of least latency, then of fewest hops, then the first by the numbers
    of its devices.
    """
    names = [device.name for device in devices]
    return _on_links(joined, names) if isinstance(joined, Links) else _on_tree(joined, names)


def _on_links(links: Links, names: list[str]) -> Network:
    """Return the network of *links*: a channel for every link and direction, or for both."""
    k, half = len(names), links.duplex == "half"
    number: dict[tuple[int, int], int] = {}
    channels: list[str] = []
    bandwidth: list[float] = []
    for d, e in zip(*np.nonzero(np.isfinite(links.bandwidth) & (links.bandwidth > 0)), strict=True):
        if d != e and not (half and d > e):
            number[int(d), int(e)] = len(channels)
            channels.append(f"{names[d]} {'<->' if half else '->'} {names[e]}")
            bandwidth.append(float(links.bandwidth[d, e]))
    if half:
        number |= {(e, d): c for (d, e), c in number.items()}
    route: list[tuple[Route, ...]] = []
    rate, latency = np.zeros((k, k)), np.full((k, k), np.inf)
    for d, paths in enumerate(_paths(links)):
        row = []
        for e, path in enumerate(paths):
            hops = list(pairwise(path))
            row.append(tuple(number[hop] for hop in hops if hop in number))
            if path:
                rate[d, e] = min([float(links.bandwidth[hop]) for hop in hops], default=np.inf)
                latency[d, e] = sum(float(links.latency[hop]) for hop in hops)
        route.append(tuple(row))
    inverse, delay = _busy(rate, latency, links.overlap)
    return Network(
        channels=tuple(channels),
        bandwidth=frozen(bandwidth, np.float64),
        route=tuple(route),
        rate=frozen(rate, np.float64),
        latency=frozen(latency, np.float64),
        out_inverse=inverse,
        out_delay=delay,
        in_inverse=inverse,
        in_delay=delay,
        overlap=links.overlap,
        send=links.send,
    )


def _busy(rate: Floats, latency: Floats, overlap: Overlap) -> tuple[Floats, Floats]:
    """Return [k, k] what a device is busy for, per size and beside, at these rates; latencies count without overlap."""
    reached = rate > 0
    with np.errstate(divide="ignore"):
        inverse = np.where(reached, 1.0 / rate, 0.0)
    delay = np.where(reached, latency if overlap == "none" else 0.0, np.inf)
    return frozen(inverse, np.float64), frozen(delay, np.float64)


def _paths(links: Links) -> list[list[tuple[int, ...]]]:
    """Return [k][k] the devices that every pair's route passes, both ends too; empty where there is none."""
    direct = np.array(links.bandwidth)
    np.fill_diagonal(direct, 0.0)
    k = len(direct)
    wide = direct.copy()
    np.fill_diagonal(wide, np.inf)
    for via in range(k):
        wide = np.maximum(wide, np.minimum(wide[:, via, None], wide[None, via, :]))
    paths: list[list[tuple[int, ...]]] = []
    for d in range(k):
        row: list[tuple[int, ...]] = [(d, e) if direct[d, e] > 0 else () for e in range(k)]
        row[d] = (d,)
        far = [e for e in range(k) if not row[e] and wide[d, e] > 0 and links.routing == "widest"]
        for width in sorted({float(wide[d, e]) for e in far}):
            reached = _shortest(d, direct >= width, links.latency)
            for e in far:
                if wide[d, e] == width:
                    row[e] = reached[e]
        paths.append(row)
    return paths


def _shortest(d: int, usable: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], latency: Floats) -> dict[int, Route]:
    """Return the best path from *d* to every device over usable links: by latency, then hops, then device numbers."""
    done: dict[int, Route] = {}
    heap: list[tuple[float, int, Route]] = [(0.0, 0, (d,))]
    while heap:
        late, hops, path = heappop(heap)
        if path[-1] in done:
            continue
        done[path[-1]] = path
        for e in np.flatnonzero(usable[path[-1]]).tolist():
            if e not in done:
                heappush(heap, (late + float(latency[path[-1], e]), hops + 1, (*path, e)))
    return done


def _on_tree(tree: Tree, names: list[str]) -> Network:
    """Return the network of a tree: a channel for every uplink and direction, or for both."""
    k, ends = len(names), [*names, *tree.switches]
    channels: list[str] = []
    bandwidth: list[float] = []
    up: dict[int, int] = {}
    down: dict[int, int] = {}
    # A channel for every uplink that limits anything: one for both directions, or one each.
    for x, parent in enumerate(tree.parents.tolist()):
        if parent >= 0 and np.isfinite(tree.uplink[x]):
            above = tree.switches[parent]
            up[x] = down[x] = len(channels)
            channels.append(f"{ends[x]} {'<->' if tree.half[x] else '->'} {above}")
            if not tree.half[x]:
                down[x] = len(channels)
                channels.append(f"{above} -> {ends[x]}")
            bandwidth += [float(tree.uplink[x])] * (len(channels) - len(bandwidth))
    rate, latency = np.zeros((k, k)), np.full((k, k), np.inf)
    np.fill_diagonal(rate, np.inf)
    np.fill_diagonal(latency, 0.0)
    # A route rises to the first switch above both ends, and falls from there.
    ways = [tree.way_up(d) for d in range(k)]
    route: list[list[Route]] = [[() for _ in range(k)] for _ in range(k)]
    for d in range(k):
        for e in range(k):
            meet = next((x for x in ways[d] if x in ways[e]), None)
            if d == e or meet is None:
                continue
            rising, falling = (way[: way.index(meet)] for way in (ways[d], ways[e]))
            route[d][e] = tuple([up[x] for x in rising if x in up] + [down[x] for x in reversed(falling) if x in down])
            passed = [*rising, *falling]
            rate[d, e] = min(float(tree.uplink[x]) for x in passed)
            latency[d, e] = sum(float(tree.latency[x]) for x in passed)
    # A device is only as busy as its own uplink is: switches pass tensors on.
    own = np.where(rate > 0, tree.uplink[:k, None], 0.0)
    late = np.repeat(tree.latency[:k, None], k, axis=1)
    np.fill_diagonal(own, np.inf)
    np.fill_diagonal(late, 0.0)
    out_inverse, out_delay = _busy(own, late, tree.overlap)
    in_inverse, in_delay = _busy(own.T, late.T, tree.overlap)
    return Network(
        channels=tuple(channels),
        bandwidth=frozen(bandwidth, np.float64),
        route=tuple(map(tuple, route)),
        rate=frozen(rate, np.float64),
        latency=frozen(latency, np.float64),
        out_inverse=out_inverse,
        out_delay=out_delay,
        in_inverse=in_inverse,
        in_delay=in_delay,
        overlap=tree.overlap,
        send=tree.send,
    )


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
    remedy = "leave it out, or minimise the latency of the plan, too"
    if joined.overlap == "full" and joined.latency.any():
        yield f"latency of {joined.keyword} has no effect on a bottleneck with overlap = full; {remedy}"
    elif isinstance(joined, Tree) and joined.latency[joined.k :].any():
        s = int(np.flatnonzero(joined.latency[joined.k :])[0])
        yield (
            f"latency of switch {joined.switches[s]} has no effect on a bottleneck, for which a device waits for its "
            f"own uplink alone; {remedy}"
        )
