"""A part of a schedule of batches as a request, all else staying as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.graph import Bools, Ints
from mtpp_dsl.plan import Plan
from mtpp_dsl.solvers.cpsat.batch_request import BatchRequest, BatchSolution
from mtpp_dsl.solvers.cpsat.batches import WholeBatches
from mtpp_dsl.solvers.splitting.batch_line import Line

__all__ = ["Window"]


class Window:
    """The nodes whose batches all run within a span of time, to be spread over devices and timed anew.

    Batches that end before the span stay; those that start after it keep their devices and their order, and come as
    late before the end of everything as they can. Other batches within the span keep their devices, and may be moved
    in time. Nodes at the other ends of edges are tasks that take no time: what they have sent is there when they
    have ended, what they wait for is due when they have to start.

    Args:
        whole: the problem.
        line: a schedule of it.
        first, last: the span.
        fixed: [n] nodes that keep their devices in any case.
    """

    def __init__(self, whole: WholeBatches, line: Line, first: int, last: int, fixed: Bools) -> None:
        self._whole, self._asked, self._line = whole, whole.request, line
        there = line.count > 0
        end = line.end
        self._inside: Bools = there & (line.start < last) & (end >= first) & ((end > first) | ~line.alone)
        self._before = there & ~self._inside & (end <= first)
        touched: Bools = np.asarray(self._inside.any(axis=1), np.bool_)
        beyond = (there & ~self._inside).any(axis=1)
        self.free: Bools = np.asarray(touched & ~beyond & ~fixed, np.bool_)
        edges = touched[self._asked.tails] | touched[self._asked.heads]
        self._edges = np.flatnonzero(edges)
        ends = np.append(self._asked.tails[edges], self._asked.heads[edges])
        self.nodes = np.unique(np.append(np.flatnonzero(touched), ends))

    def request(self, cutoff: int) -> BatchRequest:
        """Return what to ask for an end by *cutoff*."""
        asked, line, nodes = self._asked, self._line, self.nodes
        number = np.full(asked.n, -1)
        number[nodes] = np.arange(len(nodes))
        free = self.free[nodes]
        inside, before = self._inside[nodes], self._before[nodes]
        runs = free[:, None] | inside
        ready, due = self._ports()
        head = np.where(runs, ready, np.where(before, line.end[nodes], 0))
        tail = np.where(runs, due, np.where(before, 0, (line.rest + line.takes)[nodes]))
        pins = np.where(free[:, None], asked.pins[nodes], line.device[nodes])
        _, together = np.unique(asked.together[nodes], return_inverse=True)
        there = free[:, None] | (line.count[nodes] > 0)
        duration = np.where(runs[:, :, None] | ~there[:, :, None], asked.duration[nodes], 0)
        return replace(
            asked,
            duration=duration,
            alone=asked.alone[nodes] & runs[:, :, None],
            tails=number[asked.tails[self._edges]],
            heads=number[asked.heads[self._edges]],
            row=asked.row[self._edges],
            cutoff=cutoff,
            at_least=0,
            weights=asked.weights[nodes] * free,
            share=asked.share[nodes] * free,
            capacity=self._room(),
            together=together.astype(np.int64),
            apart=tuple(tuple(i for i in number[list(group)].tolist() if i >= 0) for group in asked.apart),
            pins=pins,
            ranks=(),
            head=head,
            tail=tail,
            hint=BatchSolution(line.device[nodes], line.start[nodes]),
        )

    def _ports(self) -> tuple[Ints, Ints]:
        """Return [k] when every device is free, and how long before the end it has to be free again."""
        line = self._line
        behind = line.alone & ~self._inside & ~self._before
        ready = np.where(line.alone & self._before, line.end, 0).max(axis=0)
        due = np.where(behind, line.rest + line.takes, 0).max(axis=0)
        return ready, due

    def _room(self) -> Ints:
        """Return [k] the memory that other nodes leave to those that are free."""
        asked, line = self._asked, self._line
        kept = ~self.free[:, None]
        used = (kept * ((line.count > 0) * asked.weights[:, None] + line.count * asked.share[:, None])).sum(axis=0)
        return np.asarray(np.maximum(asked.capacity - used, 0), np.int64)

    def plan(self, solution: BatchSolution) -> Plan:
        """Return the plan with an answer to the request put in, in exact times."""
        line, k = self._line, self._whole.instance.k
        device, start = np.array(line.device), np.array(line.start)
        device[self.nodes], start[self.nodes] = (
            np.where(self.free[self.nodes, None], solution.device, line.device[self.nodes]),
            np.where(self._runs, solution.start, line.start[self.nodes]),
        )
        side = np.where(self._inside | self.free[:, None], 1, np.where(self._before, 0, 2))
        count = (device[:, :, None] == np.arange(k)).sum(axis=1)
        takes = np.take_along_axis(self._asked.duration, count[:, :, None], axis=2)[:, :, 0]
        place = np.repeat(np.argsort(self._whole.instance.graph.topological_order), k)
        order = np.lexsort((place, (start + takes).ravel(), start.ravel(), side.ravel()))
        rank = np.empty(order.size)
        rank[order] = np.arange(order.size)
        return self._whole.instance.plan(device, rank.reshape(-1, k))

    @property
    def _runs(self) -> Bools:
        runs: Bools = self.free[self.nodes, None] | self._inside[self.nodes]
        return runs
