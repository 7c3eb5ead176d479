"""List what the load of a device or a channel consists of: its nodes, and the tensors that it moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.stages import ring_time, shard_speedup
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem

Kind = Literal["node", "read", "write", "carry"]
"""A node that runs; a tensor that a device reads or writes (receives or sends); one that a channel carries."""


@dataclass(frozen=True, repr=False)
class LoadPiece(Short):
    """One part of a load.

    Attributes:
        kind: what it is.
        name: of the node that runs, or whose tensor it is.
        time: what it adds to the load.
        devices: where a tensor that is read comes from, or that is written goes to; of a channel both ends, the sender
            first.
    """

    kind: Kind
    name: str
    time: float
    devices: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"kind": self.kind, "name": self.name, "time": self.time, "devices": list(self.devices)}


def device_pieces(problem: Problem, plan: Plan, d: int) -> list[LoadPiece]:
    """Return the pieces of the load of device *d* in a split, the largest first; none that takes no time.

    The nodes add up to its work; tensors that are read to its input, and those that are written to its output.
    """
    if plan.routes:
        times: dict[tuple[Kind, str, tuple[str, ...]], float] = {}
        for route in plan.routes:
            alone = replace(plan, assignment=route.assignment, routes=())
            for piece in _of_device(problem, alone, d):
                key = (piece.kind, piece.name, piece.devices)
                times[key] = times.get(key, 0.0) + float(route.share) * piece.time
        return _largest_first(LoadPiece(kind, name, time, devices) for (kind, name, devices), time in times.items())
    return _largest_first(_of_device(problem, plan, d))


def channel_pieces(problem: Problem, plan: Plan, c: int) -> list[LoadPiece]:
    """Return what loads channel *c* of a split on links or a tree, the largest first."""
    net, names = problem.network, problem.graph.names
    where = [device.name for device in problem.devices]
    pieces: list[LoadPiece] = []
    for u, d, e, size in _shipments(problem, plan):
        if c in net.route[d][e]:
            pieces.append(LoadPiece("carry", names[u], size / float(net.bandwidth[c]), (where[d], where[e])))
    if net.send == "once":  # of several shipments of a tensor the largest counts
        largest: dict[str, LoadPiece] = {}
        for piece in pieces:
            if piece.name not in largest or piece.time > largest[piece.name].time:
                largest[piece.name] = piece
        pieces = list(largest.values())
    return _largest_first(iter(pieces))


def node_times(problem: Problem, plan: Plan) -> Floats:
    """Return [n] what every node adds to the work of each device that runs it, in a split of one route."""
    shards = np.array([plan.shards.get(d, 1) for d in range(problem.k)])
    device = plan.assignment
    time = problem.time[np.arange(problem.graph.n), device] / shard_speedup(problem, shards)[device]
    time = time + problem.graph.reduce * ring_time(problem, shards)[device]
    again = np.isin(device, list(plan.recomputed))
    forward = np.where(problem.graph.forward_share > 0, problem.graph.forward_share, 0.0)
    time = np.where(again & (forward > 0), time * (1.0 + forward), time)
    share = np.array([plan.shards.get(d, 1) / len(plan.replicas.get(d, (d,))) for d in range(problem.k)])
    times: Floats = time * share[device]
    return times


def _largest_first(pieces: Iterator[LoadPiece]) -> list[LoadPiece]:
    return sorted((piece for piece in pieces if piece.time > 0), key=lambda piece: -piece.time)


def _of_device(problem: Problem, plan: Plan, d: int) -> Iterator[LoadPiece]:
    lead = int(plan.leads(problem.k)[d])
    time = node_times(problem, plan)
    for v in np.flatnonzero(plan.assignment == lead).tolist():
        yield LoadPiece("node", problem.graph.names[v], float(time[v]))
    yield from _shipped(problem, plan, lead) if problem.networked else _through_memory(problem, plan, lead)


def _through_memory(problem: Problem, plan: Plan, d: int) -> Iterator[LoadPiece]:
    """Yield the tensors that a device reads and writes on ``shared`` and ``host``."""
    graph, link = problem.graph, problem.channel
    if not (isinstance(link, Shared) or problem.devices[d].pays_io):
        return
    share = plan.shards.get(d, 1) / len(plan.replicas.get(d, (d,)))
    names, device = graph.names, plan.assignment.tolist()
    where = [one_device.name for one_device in problem.devices]
    spans = [frozenset(problem.group[list(plan.replicas.get(e, (e,)))].tolist()) for e in range(problem.k)]
    far = 1.0 if link.between is None else link.bandwidth / link.between
    reads: dict[int, int] = {}
    writes: dict[int, set[int]] = {}
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if device[u] != device[v] and d in (device[u], device[v]):
            if device[v] == d:
                reads[u] = device[u]
            else:
                writes.setdefault(u, set()).add(device[v])
    for u, e in reads.items():
        cost = float(graph.output[u]) / link.bandwidth * (far if spans[e] != spans[d] else 1.0)
        yield LoadPiece("read", names[u], cost * share, (where[e],))
    for u, others in writes.items():
        leaves = any(spans[e] != spans[d] for e in others)
        cost = float(graph.output[u]) / link.bandwidth * (far if leaves else 1.0)
        yield LoadPiece("write", names[u], cost * share, tuple(where[e] for e in sorted(others)))


def _shipments(problem: Problem, plan: Plan) -> list[tuple[int, int, int, float]]:
    """Return tensor, sender, reader and size of every shipment of a split on links or a tree."""
    graph, device = problem.graph, plan.assignment.tolist()
    size: dict[tuple[int, int], float] = {}
    ends = zip(graph.tails.tolist(), graph.heads.tolist(), graph.sizes.tolist(), strict=True)
    for u, v, amount in ends:
        if device[u] != device[v]:
            size[u, device[v]] = max(size.get((u, device[v]), 0.0), amount)
    return [(u, device[u], e, amount) for (u, e), amount in size.items()]


def _shipped(problem: Problem, plan: Plan, d: int) -> Iterator[LoadPiece]:
    """Yield the tensors that a device receives and sends on links or a tree."""
    net, names = problem.network, problem.graph.names
    where = [device.name for device in problem.devices]
    sent: dict[int, list[tuple[float, int]]] = {}
    for u, source, reader, size in _shipments(problem, plan):
        if reader == d:
            time = float(net.in_delay[source, d]) + size * float(net.in_inverse[source, d])
            yield LoadPiece("read", names[u], time, (where[source],))
        elif source == d:
            time = float(net.out_delay[d, reader]) + size * float(net.out_inverse[d, reader])
            sent.setdefault(u, []).append((time, reader))
    for u, times in sent.items():
        total = max(time for time, _ in times) if net.send == "once" else sum(time for time, _ in times)
        yield LoadPiece("write", names[u], total, tuple(where[e] for _, e in times))
