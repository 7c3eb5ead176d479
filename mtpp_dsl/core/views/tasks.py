"""See schedules as tasks: of one sample, of batches, and what a schedule of batches is to one input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, ExclusiveLinks, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.plans.batches import timed
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.batching import Batching
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints, frozen
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.transfers import Transfers
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph


class _TaskArrays:
    """What the arrays of a makespan and those of a batched throughput have in common."""

    problem: Problem
    graph: Graph
    together: Ints

    @cached_property
    def supernodes(self) -> Hypergraph:
        """The classes of colocated nodes, with their costs and conflict sets."""
        return hypergraph(self.problem, self.together)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.graph.n

    @property
    def m(self) -> int:
        """Number of edges."""
        return self.graph.m

    @property
    def k(self) -> int:
        """Number of devices."""
        return self.problem.k


@dataclass(frozen=True, eq=False)
class ScheduleInstance(_TaskArrays):
    """Arrays of a makespan problem on links.

    Attributes:
        problem: where it came from.
        graph: the graph; edges are numbered as there.
        time: [n, k] running time of every node on every device; ``inf`` where it may not go (support, pin, forbid).
        transfers: what edges take between devices; ``inf`` where no way leads.
        exclusive: whether transfers that leave one device, or reach one, must not overlap.
        memory: [n] what each node takes. limit: [k] what a device holds; ``inf`` without a limit.
        together: [n] number of the colocated class of each node, the same for nodes that must share a device.
        apart: lists of nodes of which no two may share a device.
    """

    problem: Problem
    graph: Graph
    time: Floats
    transfers: Transfers
    exclusive: bool
    memory: Floats
    limit: Floats
    together: Ints
    apart: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, problem: Problem) -> ScheduleInstance:
        """Return the instance of a makespan on links whose constraints have fields here."""
        return cls(
            problem=problem,
            graph=problem.graph,
            time=frozen(np.where(problem.allowed, problem.time, np.inf), np.float64),
            transfers=problem.transfers,
            exclusive=any(problem.of(ExclusiveLinks)),
            memory=problem.graph.memory,
            limit=problem.memory_room,
            together=colocated(problem),
            apart=tuple(constraint.nodes for constraint in problem.of(Separate)),
        )


@dataclass(frozen=True, eq=False)
class BatchInstance(_TaskArrays):
    """Arrays of a batched throughput. Inputs are counted in chunks.

    Attributes:
        problem: where it came from.
        graph: the graph; edges are numbered as there.
        batching: sizes, memories and the number of chunks.
        time: [n, k, chunks + 1] what a batch of so many chunks takes; ``inf`` where it may not be (support, sizes, pin,
            forbid), 0 for none.
        fixed, growing: [rows, k, k] what an edge takes whatever it carries, and for every chunk; ``inf`` in ``fixed``
            where no way leads. row: [m] the row of each edge.
        limit: [k] what a device holds; ``inf`` without a limit.
        together: [n] number of the colocated class of each node: nodes that run every input on the same device.
        apart: lists of nodes of which no two may run an input on the same device.
        pins: [n, chunks] where chunks have to run; -1 where that is free.
    """

    problem: Problem
    graph: Graph
    batching: Batching
    time: Floats
    fixed: Floats
    growing: Floats
    row: Ints
    limit: Floats
    together: Ints
    apart: tuple[tuple[int, ...], ...]
    pins: Ints

    @classmethod
    def of(cls, problem: Problem) -> BatchInstance:
        """Return the instance of a batched throughput whose constraints have fields here."""
        batching, graph = problem.batching, problem.graph
        time = np.where(problem.allowed[:, :, None], batching.time, np.inf)
        time[:, :, 0] = 0.0
        row, fixed, growing = _carried(problem.transfers, batching)
        pins = np.full((graph.n, batching.count), -1)
        for pin in problem.of(PinChunks):
            pins[list(pin.nodes)] = pin.places
        return cls(
            problem=problem,
            graph=graph,
            batching=batching,
            time=frozen(time, np.float64),
            fixed=frozen(fixed, np.float64),
            growing=frozen(growing, np.float64),
            row=frozen(row, np.int64),
            limit=problem.memory_room,
            together=colocated(problem),
            apart=tuple(constraint.nodes for constraint in problem.of(Separate)),
            pins=frozen(pins, np.int64),
        )

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.batching.count

    def takes(self, e: int, d: int, f: int, chunks: int) -> float:
        """Return what edge *e* takes from device *d* to *f* for so many chunks; ``inf`` if nothing joins them."""
        return float(self.fixed[self.row[e], d, f] + chunks * self.growing[self.row[e], d, f])

    def plan(self, device: Ints, priority: Floats) -> Plan:
        """Return the plan that :func:`mtpp_dsl.core.plans.batches.timed` makes of an order, exact times for chunks."""
        return Plan.of_batches(timed(self.problem, device, priority))


def _carried(transfers: Transfers, batching: Batching) -> tuple[Ints, Floats, Floats]:
    """Return [m] row, [rows, k, k] fixed and growing times; equal edges share a row."""
    kinds = np.stack([transfers.size, transfers.row.astype(np.float64)])
    _, first, row = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    k = len(transfers.latency)
    if not first.size:
        return np.zeros(0, np.int64), np.zeros((1, k, k)), np.zeros((1, k, k))
    size = transfers.size[first, None, None] * transfers.inverse + transfers.table[transfers.row[first]]
    late = np.broadcast_to(transfers.latency, size.shape)
    apart = 1.0 - np.eye(k)
    with np.errstate(invalid="ignore"):
        if not batching.per_input:
            return row.reshape(-1), _off(late + size), np.zeros_like(size)
        never = np.isinf(size)
        return row.reshape(-1), _off(np.where(never, np.inf, late)), np.where(never, 0.0, size) * batching.chunk * apart


def _off(times: Floats) -> Floats:
    """Return times that are zero within a device."""
    times = np.array(times)
    times[:, np.arange(times.shape[1]), np.arange(times.shape[1])] = 0.0
    return times


def one_input(problem: Problem) -> Problem:
    """Return a makespan problem on links that is a relaxation of a batched throughput.

    Of every schedule of batches take the batches that have the first chunk: one of every node. They run one at a time
    on every device, each for no less than the shortest batch of the node there, and each after those of what it reads
    and a transfer of no less than that of one chunk. So every bound on this problem's makespan is one on the batch's;
    and where this has no plan, neither has the batch. Memory is that of one chunk.
    """
    instance = BatchInstance.of(problem)
    batching, graph = problem.batching, problem.graph
    shortest = batching.time[:, :, 1:].min(axis=2)
    names = [device.name for device in problem.devices]
    carried = (instance.fixed + instance.growing)[instance.row]
    carried[:, range(problem.k), range(problem.k)] = 0.0
    rules: list[Constraint] = []
    for constraint in problem.constraints:
        if isinstance(constraint, PinChunks):
            rules.append(Pin(nodes=constraint.nodes, devices=constraint.places[:1], origin=constraint.origin))
        elif isinstance(constraint, (Colocate, Forbid, Memory, Pin, Separate)):
            rules.append(constraint)
    return Problem.create(
        Graph.create(
            graph.names,
            zip(graph.tails.tolist(), graph.heads.tolist(), strict=True),
            memory=batching.weights + batching.share,
            memory_unit=graph.memory_unit,
            times={name: shortest[:, d] for d, name in enumerate(names)},
        ),
        [Device(device.name, memory=device.memory, reserve=device.reserve) for device in problem.devices],
        Links(np.ones((problem.k, problem.k)), np.zeros((problem.k, problem.k)), carried),
        Objective("makespan"),
        rules,
        time_unit=problem.time_unit,
    )
