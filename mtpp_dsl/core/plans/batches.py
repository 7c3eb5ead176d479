"""When every batch runs, and of which inputs: the second half of a plan for the throughput of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Floats, Ints, frozen

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.problem import Problem


class Batch(NamedTuple):
    """A batch of one node: on which device, of how many inputs, from when to when.

    ``slot`` tells the batches of one node on one device apart; 0 where there is only one.
    """

    node: int
    device: int
    size: int
    start: float
    end: float
    slot: int = 0


class Shipment(NamedTuple):
    """What an edge carries from the batch of its tail on one device to that of its head on another.

    ``size`` is the number of inputs that both batches have; it starts when the tail's batch ends. The slots are those
    of the two batches.
    """

    edge: int
    source: int
    target: int
    size: int
    start: float
    end: float
    slots: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False, repr=False)
class Batches(Short, Picklable):
    """Which device runs which input of every node, in which of its batches of that node, and when.

    Without ``constraint repeat`` a device runs one batch of a node. With it, the batches of a node on a device have the
    numbers ``slot``; slot q of device d is **lane** ``d * slots + q``, and times are by lane.

    Attributes:
        device: [n, inputs] the device of every input of every node.
        start, end: [n, devices * slots] of the batch of a node in a lane, in the problem's unit of time; nan where none
            is.
        slot: [n, inputs] in which batch of its node on its device every input runs.
        slots: how many batches of a node a device could have.
    """

    device: Ints
    start: Floats
    end: Floats
    slot: Ints
    slots: int = 1

    @classmethod
    def create(
        cls,
        problem: Problem,
        device: Ints | Sequence[Sequence[int]],
        start: Floats,
        end: Floats | None = None,
        slot: Ints | None = None,
    ) -> Batches:
        """Check the shapes; without *end*, every batch takes what the problem says.

        Args:
            problem: a batched throughput.
            device: [n, inputs], or [n, chunks] with all inputs of a chunk on one device.
            start: [n, devices], or [n, devices * slots]; what it says of lanes without a batch of the node does not
                count.
            end: as *start*.
            slot: of the shape of *device*; None for one batch of a node on a device.

        Raises:
            UsageError: a wrong shape, a device that does not exist, a batch without a time.
        """
        batching, n, k = problem.batching, problem.graph.n, problem.k
        where = np.asarray(device, np.int64)
        which = np.zeros(where.shape, np.int64) if slot is None else np.asarray(slot, np.int64)
        slots = max(1, start.shape[1] // max(k, 1)) if start.ndim == 2 else 1
        if where.shape == (n, batching.count):
            where = np.repeat(where, batching.chunk, axis=1)
            which = np.repeat(which, batching.chunk, axis=1)
        if where.shape != (n, batching.inputs) or which.shape != where.shape:
            raise UsageError(f"the plan places {where.shape} inputs of nodes, not {(n, batching.inputs)}")
        if where.size and not (where.min() >= 0 and where.max() < k):
            raise UsageError(f"the plan names a device outside 0..{k - 1}")
        if which.size and not (which.min() >= 0 and which.max() < slots):
            raise UsageError(f"the plan names a batch of a node on a device outside 0..{slots - 1}")
        sizes = lane_counts(where * slots + which, k * slots)
        if end is None:
            end = start + batch_lengths(problem, sizes, slots)
        if any(x.shape != (n, k * slots) or not np.isfinite(x[sizes > 0]).all() for x in (start, end)):
            raise UsageError("every batch of a plan has a start and an end, and runs where it can")
        times = [np.where(sizes > 0, x, np.nan) for x in (start, end)]
        return cls(
            frozen(where, np.int64),
            frozen(times[0], np.float64),
            frozen(times[1], np.float64),
            frozen(which, np.int64),
            slots,
        )

    @property
    def lane(self) -> Ints:
        """[n, inputs] the device and the slot of every input as one number, ``device * slots + slot``."""
        return self.device * self.slots + self.slot

    @property
    def sizes(self) -> Ints:
        """[n, devices] how many inputs of each node each device runs."""
        return lane_counts(self.device, self.start.shape[1] // self.slots)

    @property
    def lane_sizes(self) -> Ints:
        """[n, devices * slots] how many inputs each batch has; 0 where there is none."""
        return lane_counts(self.lane, self.start.shape[1])

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
        sizes = self.lane_sizes
        nodes, lanes = np.nonzero(sizes)
        order = np.lexsort((nodes, self.end[nodes, lanes], self.start[nodes, lanes]))
        for v, i in zip(nodes[order].tolist(), lanes[order].tolist(), strict=True):
            d, slot = divmod(i, self.slots)
            yield Batch(v, d, int(sizes[v, i]), float(self.start[v, i]), float(self.end[v, i]), slot)

    def to_json(self, problem: Problem) -> list[dict[str, Any]]:
        """Return the rows of the JSON answer, by start; ``inputs`` are ranges [first, behind the last]."""
        return [
            {
                "node": problem.graph.names[batch.node],
                "device": problem.devices[batch.device].name,
                "start": batch.start,
                "end": batch.end,
                "batch": batch.size,
                "inputs": _ranges(np.flatnonzero(self.lane[batch.node] == batch.device * self.slots + batch.slot)),
                **({"slot": batch.slot} if self.slots > 1 else {}),
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
        moves = sorted(shipments(problem, self), key=lambda move: (move.start, move.end))
        return [
            {
                "source": names[graph.tails[move.edge]],
                "target": names[graph.heads[move.edge]],
                "from": devices[move.source].name,
                "to": devices[move.target].name,
                "start": move.start,
                "end": move.end,
                "batch": move.size,
                **({"slots": list(move.slots)} if self.slots > 1 else {}),
            }
            for move in moves
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
        lane = np.full((graph.n, inputs), -1)
        numbered = any("slot" in row for row in rows)  # though no device runs two batches of a node
        slots = max([1 + numbered, *(_slot(row, inputs) + 1 for row in rows)])
        start, end = np.full((2, graph.n, problem.k * slots), np.nan)
        for row in rows:
            v = _known(row, "node", graph.index)
            d = _known(row, "device", problem.device_index)
            i = d * slots + _slot(row, inputs)
            if not np.isnan(start[v, i]):
                again = f" with slot {i % slots}" if slots > 1 else ""
                name = graph.names[v]
                raise UsageError(f"the schedule has two batches of {name!r} on {problem.devices[d].name}{again}")
            start[v, i], end[v, i] = _number(row, "start"), _number(row, "end")
            for first, behind in _read_ranges(row, inputs):
                if (lane[v, first:behind] >= 0).any():
                    raise UsageError(f"the schedule runs an input of {graph.names[v]!r} twice")
                lane[v, first:behind] = i
        if (lane < 0).any():
            v, i = (int(x) for x in np.argwhere(lane < 0)[0])
            raise UsageError(f"the schedule leaves out input {i} of node {graph.names[v]!r}")
        return cls.create(problem, lane // slots, start, end, lane % slots)


def shipments(problem: Problem, batches: Batches) -> Iterator[Shipment]:
    """Yield what edges carry between devices, edge by edge."""
    graph, carried, slots = problem.graph, problem.transfers, batches.slots
    per_input, lane, lanes = problem.batching.per_input, batches.lane, problem.k * batches.slots
    rows = [row.tobytes() for row in lane]  # of many nodes few differ

    @cache
    def crossings(a: bytes, b: bytes) -> list[tuple[int, int, int]]:
        """Return the lanes of row *a*, those of row *b*, and how many inputs have both, where devices differ."""
        one, other = (np.frombuffer(row, lane.dtype) for row in (a, b))
        pairs, counts = np.unique(one * lanes + other, return_counts=True)
        both = zip((pairs // lanes).tolist(), (pairs % lanes).tolist(), counts.tolist(), strict=True)
        return [(i, j, count) for i, j, count in both if i // slots != j // slots]

    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        for i, j, count in crossings(rows[u], rows[v]):
            d, f = i // slots, j // slots
            begin = float(batches.end[u, i])
            takes = carried.time(e, d, f) if not per_input else carried.scaled(e, d, f, count)
            yield Shipment(e, d, f, count, begin, begin + takes, (i % slots, j % slots))


def batch_lengths(problem: Problem, sizes: Ints, slots: int = 1, *, chunks: bool = False) -> Floats:
    """Return [n, devices * slots] what batches take that have *sizes* inputs, or *chunks*; 0 where none is.

    *sizes* is of the same shape.
    """
    batching = problem.batching
    time = np.repeat(batching.time, slots, axis=1)
    counts = sizes if chunks else -(-sizes // batching.chunk)
    takes: Floats = np.take_along_axis(time, counts[:, :, None], axis=2)[:, :, 0]
    return takes


def timed(problem: Problem, device: Ints, priority: Floats, *, slots: int = 1, barrier: bool = False) -> Batches:
    """Return the earliest schedule in which every device runs its batches in a given order.

    Every batch starts as soon as its inputs have arrived and the batches before it on its device have ended; one that
    takes no time waits for no device, and none for it.

    Args:
        problem: a batched throughput on links.
        device: [n, chunks] or [n, inputs] where every chunk of every node runs: its lane, ``device * slots + slot``,
            which is the device where there is one batch of a node on a device.
        priority: [n, devices * slots] of the batches on one device, which are shared neither by two of one device nor
            in conflict with precedence: a batch that needs another one's output has the larger number, wherever they
            run.
        slots: how many batches of a node a device could have.
        barrier: whether batches wait for all batches of what their nodes read, as in ghannane2023, (3.3) as published.

    Raises:
        UsageError: a batch that its device does not support, inputs that no link can carry, or an order against
            precedence.
    """
    batching, graph, k = problem.batching, problem.graph, problem.k
    where = np.asarray(device, np.int64)
    lanes = k * slots
    sizes = lane_counts(where, lanes)
    takes = batch_lengths(problem, sizes, slots, chunks=where.shape[1] == batching.count)
    per_input, carried = batching.per_input, problem.transfers
    inputs = batching.inputs // where.shape[1]
    start, end = np.full((2, graph.n, lanes), np.nan)
    free = np.zeros(k)
    nodes, batches = np.nonzero(sizes)
    into = [graph.by_head[graph.offsets_in[v] : graph.offsets_in[v + 1]].tolist() for v in range(graph.n)]
    tails = graph.tails.tolist()
    for i in np.lexsort((np.argsort(graph.topological_order)[nodes], priority[nodes, batches])).tolist():
        v, b = int(nodes[i]), int(batches[i])
        f = b // slots
        mine = where[v] == b
        ready = free[f] if takes[v, b] > 0 else 0.0
        for e in into[v]:
            shared = np.bincount(where[tails[e]][mine], minlength=lanes)
            if barrier:
                ready = float(np.maximum(ready, end[tails[e], sizes[tails[e]] > 0].max()))
            for a in np.flatnonzero(shared).tolist():
                d = a // slots
                moves = carried.scaled(e, d, f, int(shared[a]) * inputs) if per_input else carried.time(e, d, f)
                ready = float(np.maximum(ready, end[tails[e], a] + moves))  # nan where the order is none
        if not np.isfinite(ready + takes[v, b]):
            raise UsageError(
                f"the batch of {graph.names[v]!r} cannot run on {problem.devices[f].name}, or get its inputs"
            )
        start[v, b], end[v, b] = ready, ready + takes[v, b]
        if takes[v, b] > 0:
            free[f] = end[v, b]
    return Batches.create(problem, where // slots, start, end, where % slots)


def lane_counts(device: Ints, k: int) -> Ints:
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
        raise UsageError(f"the schedule has {name!r}, which is not a {key}{did_you_mean(str(name), index)}")
    return index[name]


def _slot(row: Mapping[str, Any], inputs: int) -> int:
    """Return which batch of its node on its device a row is, from 0; 0 where it does not say."""
    value = row.get("slot", 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < inputs:
        raise UsageError(f"the slot of {row.get('node')!r} in the schedule is {value!r}, none of 0 to {inputs - 1}")
    return value


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise UsageError(f"the {key} of {row.get('node')!r} in the schedule is {value!r}, no time")
    return float(value)
