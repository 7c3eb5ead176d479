"""A batched throughput as arrays: what every scheduler of batches works on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtpp_dsl.core.constraints import PinChunks, Separate
from mtpp_dsl.core.plans.batches import timed
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.batching import Batching
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.transfers import Transfers
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph

__all__ = ["BatchInstance"]


@dataclass(frozen=True, eq=False)
class BatchInstance:
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
