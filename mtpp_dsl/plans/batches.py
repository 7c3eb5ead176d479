"""When every batch runs, and of which inputs: the second half of a plan for the throughput of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mtpp_dsl.base.pickling import Picklable
from mtpp_dsl.base.shown import Short
from mtpp_dsl.errors import UsageError, did_you_mean
from mtpp_dsl.problem.graph import Floats, Ints, frozen

if TYPE_CHECKING:
    from mtpp_dsl.problem import Problem

__all__ = ["Batch", "Batches", "Shipment", "shipments", "timed"]


class Batch(NamedTuple):
    """A batch of one node: on which device, of how many inputs, from when to when."""

    node: int
    device: int
    size: int
    start: float
    end: float


class Shipment(NamedTuple):
    """What an edge carries from the batch of its tail on one device to that of its head on another.

    ``size`` is the number of inputs that both batches have; it starts when the tail's batch ends.
    """

    edge: int
    source: int
    target: int
    size: int
    start: float
    end: float


@dataclass(frozen=True, eq=False, repr=False)
class Batches(Short, Picklable):
    """Which device runs which input of every node, and when: on every device at most one batch of a node.

    Attributes:
        device: [n, inputs] the device of every input of every node.
        start, end: [n, devices] of the batch of a node on a device, in the problem's unit of time; nan where none is.
    """

    device: Ints
    start: Floats
    end: Floats

    @classmethod
    def create(
        cls, problem: Problem, device: Ints | Sequence[Sequence[int]], start: Floats, end: Floats | None = None
    ) -> Batches:
        """Check the shapes; without *end*, every batch takes what the problem says.

        Args:
            problem: a batched throughput.
            device: [n, inputs], or [n, chunks] with all inputs of a chunk on one device.
            start: [n, devices]; what it says of devices without a batch of the node does not count.
            end: as *start*.

        Raises:
            UsageError: a wrong shape, a device that does not exist, a batch without a time.
        """
        batching, n, k = problem.batching, problem.graph.n, problem.k
        where = np.asarray(device, np.int64)
        if where.shape == (n, batching.count):
            where = np.repeat(where, batching.chunk, axis=1)
        if where.shape != (n, batching.inputs):
            raise UsageError(f"the plan places {where.shape} inputs of nodes, not {(n, batching.inputs)}")
        if where.size and not (where.min() >= 0 and where.max() < k):
            raise UsageError(f"the plan names a device outside 0..{k - 1}")
        sizes = _sizes(where, k)
        if end is None:
            chunks = -(-sizes // batching.chunk)
            end = start + np.take_along_axis(batching.time, chunks[:, :, None], axis=2)[:, :, 0]
        times = [np.where(sizes > 0, x, np.nan) for x in (start, end)]
        if any(x.shape != (n, k) or not np.isfinite(x[sizes > 0]).all() for x in times):
            raise UsageError("every batch of a plan has a start and an end, and runs where it can")
        return cls(frozen(where, np.int64), frozen(times[0], np.float64), frozen(times[1], np.float64))

    @property
    def sizes(self) -> Ints:
        """[n, devices] how many inputs of each node each device runs."""
        return _sizes(self.device, self.start.shape[1])

    @property
    def makespan(self) -> float:
        """When the last batch ends."""
        return float(np.nanmax(self.end)) if np.isfinite(self.end).any() else 0.0

    @property
    def assignment(self) -> Ints:
        """[n] the device that runs most inputs of each node; of several the first."""
        most: Ints = self.sizes.argmax(axis=1)
        return most

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches by start."""
        sizes = self.sizes
        nodes, devices = np.nonzero(sizes)
        order = np.lexsort((nodes, self.end[nodes, devices], self.start[nodes, devices]))
        for v, d in zip(nodes[order].tolist(), devices[order].tolist(), strict=True):
            yield Batch(v, d, int(sizes[v, d]), float(self.start[v, d]), float(self.end[v, d]))

    def to_json(self, problem: Problem) -> list[dict[str, Any]]:
        """Return the rows of the JSON answer, by start; ``inputs`` are ranges [first, behind the last]."""
        return [
            {
                "node": problem.graph.names[batch.node],
                "device": problem.devices[batch.device].name,
                "start": batch.start,
                "end": batch.end,
                "batch": batch.size,
                "inputs": _ranges(np.flatnonzero(self.device[batch.node] == batch.device)),
            }
            for batch in self
        ]

    def assignment_to_json(self, problem: Problem) -> dict[str, str | list[str]]:
        """Return the device of every node, or all devices, where several share its inputs."""
        names = np.array([device.name for device in problem.devices], object)
        used = [names[row > 0].tolist() for row in self.sizes]
        return {v: on[0] if len(on) == 1 else on for v, on in zip(problem.graph.names, used, strict=True)}

    def transfers_to_json(self, problem: Problem) -> list[dict[str, Any]]:
        """Return the rows of the transfers, by start."""
        names, devices, graph = problem.graph.names, problem.devices, problem.graph
        return [
            {
                "source": names[graph.tails[move.edge]],
                "target": names[graph.heads[move.edge]],
                "from": devices[move.source].name,
                "to": devices[move.target].name,
                "start": move.start,
                "end": move.end,
                "batch": move.size,
            }
            for move in sorted(shipments(problem, self), key=lambda move: (move.start, move.end))
        ]

    @classmethod
    def from_json(cls, problem: Problem, rows: object) -> Batches:
        """Read the ``schedule`` of a JSON answer.

        Raises:
            UsageError: no list of such rows; an unknown node or device; an input of a node that no batch has, or two.
        """
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise UsageError("the schedule of a plan is a list of objects")
        graph, inputs = problem.graph, problem.batching.inputs
        device = np.full((graph.n, inputs), -1)
        start, end = np.full((2, graph.n, problem.k), np.nan)
        for row in rows:
            v = _known(row, "node", graph.index)
            d = _known(row, "device", problem.device_index)
            if not np.isnan(start[v, d]):
                raise UsageError(f"the schedule has two batches of {graph.names[v]!r} on {problem.devices[d].name}")
            start[v, d], end[v, d] = _number(row, "start"), _number(row, "end")
            for first, behind in _read_ranges(row, inputs):
                if (device[v, first:behind] >= 0).any():
                    raise UsageError(f"the schedule runs an input of {graph.names[v]!r} twice")
                device[v, first:behind] = d
        if (device < 0).any():
            v, i = (int(x) for x in np.argwhere(device < 0)[0])
            raise UsageError(f"the schedule leaves out input {i} of node {graph.names[v]!r}")
        return cls.create(problem, device, start, end)


def shipments(problem: Problem, batches: Batches) -> Iterator[Shipment]:
    """Yield what edges carry between devices, edge by edge."""
    graph, carried, k = problem.graph, problem.transfers, problem.k
    per_input = problem.batching.per_input
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        pairs, counts = np.unique(batches.device[u] * k + batches.device[v], return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            d, f = divmod(pair, k)
            if d != f:
                begin = float(batches.end[u, d])
                takes = carried.time(e, d, f) if not per_input else carried.scaled(e, d, f, count)
                yield Shipment(e, d, f, count, begin, begin + takes)


def timed(problem: Problem, device: Ints, priority: Floats, *, barrier: bool = False) -> Batches:
    """Return the earliest schedule in which every device runs its batches in a given order.

    Every batch starts as soon as its inputs have arrived and the batches before it on its device have ended; one that
    takes no time waits for no device, and none for it.

    Args:
        problem: a batched throughput on links.
        device: [n, chunks] or [n, inputs] where every chunk of every node runs.
        priority: [n, devices] of the batches on one device, which are shared neither by two of one device nor in
            conflict with precedence: a batch that needs another one's output has the larger number, wherever they run.
        barrier: whether batches wait for all batches of what their nodes read, as in ghannane2023, (3.3) as published.

    Raises:
        UsageError: a batch that its device does not support, inputs that no link can carry, or an order against
            precedence.
    """
    batching, graph, k = problem.batching, problem.graph, problem.k
    where = np.asarray(device, np.int64)
    unit = 1 if where.shape[1] == batching.count else batching.chunk
    sizes = _sizes(where, k)
    takes = np.take_along_axis(batching.time, -(-sizes // unit)[:, :, None], axis=2)[:, :, 0]
    per_input, carried = batching.per_input, problem.transfers
    inputs = batching.inputs // where.shape[1]
    start, end = np.full((2, graph.n, k), np.nan)
    free = np.zeros(k)
    nodes, devices = np.nonzero(sizes)
    into = [graph.by_head[graph.offsets_in[v] : graph.offsets_in[v + 1]].tolist() for v in range(graph.n)]
    tails = graph.tails.tolist()
    for i in np.lexsort((np.argsort(graph.topological_order)[nodes], priority[nodes, devices])).tolist():
        v, f = int(nodes[i]), int(devices[i])
        mine = where[v] == f
        ready = free[f] if takes[v, f] > 0 else 0.0
        for e in into[v]:
            shared = np.bincount(where[tails[e]][mine], minlength=k)
            if barrier:
                ready = float(np.maximum(ready, end[tails[e], sizes[tails[e]] > 0].max()))
            for d in np.flatnonzero(shared).tolist():
                moves = carried.scaled(e, d, f, int(shared[d]) * inputs) if per_input else carried.time(e, d, f)
                ready = float(np.maximum(ready, end[tails[e], d] + moves))  # nan where the order is none
        if not np.isfinite(ready + takes[v, f]):
            raise UsageError(
                f"the batch of {graph.names[v]!r} cannot run on {problem.devices[f].name}, or get its inputs"
            )
        start[v, f], end[v, f] = ready, ready + takes[v, f]
        if takes[v, f] > 0:
            free[f] = end[v, f]
    return Batches.create(problem, where, start, end)


def _sizes(device: Ints, k: int) -> Ints:
    """Return [n, devices] how often each device is in every row."""
    n = len(device)
    flat = (device + k * np.arange(n)[:, None]).ravel()
    return np.bincount(flat, minlength=n * k).reshape(n, k)


def _ranges(inputs: Ints) -> list[list[int]]:
    """Return ascending numbers as ranges [first, behind the last]."""
    breaks = np.flatnonzero(np.diff(inputs) > 1)
    firsts = inputs[np.concatenate(([0], breaks + 1))]
    lasts = inputs[np.concatenate((breaks, [len(inputs) - 1]))]
    return [[first, last + 1] for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]


def _read_ranges(row: Mapping[str, Any], inputs: int) -> Iterator[tuple[int, int]]:
    ranges, total = row.get("inputs"), 0
    if not isinstance(ranges, list) or not ranges:
        raise UsageError(f"the batch of {row.get('node')!r} on {row.get('device')!r} does not say which inputs it has")
    for part in ranges:
        if (
            not (isinstance(part, list) and len(part) == 2 and all(isinstance(x, int) for x in part))
            or not 0 <= part[0] < part[1] <= inputs
        ):
            raise UsageError(f"inputs {part!r} of {row.get('node')!r} are no range [first, behind the last]")
        total += part[1] - part[0]
        yield part[0], part[1]
    if row.get("batch", total) != total:
        raise UsageError(f"the batch of {row.get('node')!r} has {row['batch']!r} inputs, and its ranges {total}")


def _known(row: Mapping[str, Any], key: str, index: Mapping[str, int]) -> int:
    name = row.get(key)
    if not isinstance(name, str) or name not in index:
        raise UsageError(f"the schedule speaks of {name!r}, which is no {key}{did_you_mean(str(name), index)}")
    return index[name]


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise UsageError(f"the {key} of {row.get('node')!r} in the schedule is {value!r}, no time")
    return float(value)
