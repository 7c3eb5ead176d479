"""Compute the earliest starts of nodes from what is before them, module by module, in a problem of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import BatchSizes, Colocate, ExclusiveLinks, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.batch_problem import lower_batches
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest
from mtpp_dsl.solvers.backends.cpsat.request import INF, Request, request
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.backends.cpsat.time_windows import heads, lists, ordered
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import WholeScale

__all__ = ["HeadsSide", "PrecedingPart", "WholeProblem", "reverse", "whole_problem"]

PLACES = 4
"""On so many devices, at the most, are the ends of modules bounded one by one; on more, on all together."""


@dataclass(frozen=True, eq=False)
class PrecedingPart:
    """A part of the graph that has to run before a node ends.

    Attributes:
        node: the last of the part.
        device: of the node; None for any.
        nodes: all of the part, with the node.
        base: nothing of the part starts before; the request counts from then.
        request: asks how soon the part can end.
    """

    node: int
    device: int | None
    nodes: Ints
    base: int
    request: Request


class HeadsSide:
    """Heads of all nodes of a problem in whole numbers; those of the reversed problem are tails.

    Args:
        asked: the problem; one sample, or one chunk of a batch.
        module: [n] the number of every node's module; edges lead to the same one or a later one.

    Attributes:
        head: [n, k] no schedule starts a node before on that device.
    """

    def __init__(self, asked: Request, module: Ints) -> None:
        self.asked, self.module = asked, module
        order = ordered(asked.n, asked.tails, asked.heads)
        self.head = heads(asked, order)
        self._order = [[v for v in order if module[v] == i] for i in range(int(module.max(initial=-1)) + 1)]
        self._into = lists(asked.n, asked.heads)
        leaving = module[asked.tails] != module[asked.heads]
        ends = np.unique(asked.tails[leaving])
        self._ends = [ends[module[ends] == i].tolist() for i in range(len(self._order))]

    @property
    def end(self) -> Ints:
        """[n, k] no schedule ends a node before on that device; ``INF`` where it cannot be."""
        ends: Ints = np.minimum(self.head + self.asked.duration, INF)
        return ends

    @property
    def earliest(self) -> Ints:
        """[n] no schedule starts a node before."""
        starts: Ints = np.where(self.asked.duration < INF, np.minimum(self.head, INF), INF).min(axis=1)
        return starts

    def advance(self, i: int) -> None:
        """Raise the heads of module *i* by those of the nodes before it and in it."""
        asked = self.asked
        for v in self._order[i]:
            edges = self._into[v]
            if len(edges):
                before = asked.tails[edges]
                ends = np.minimum(self.head[before] + asked.duration[before], INF)
                arrive = (ends[:, :, None] + asked.table[asked.row[edges]]).min(axis=1)
                self.head[v] = np.minimum(np.maximum(self.head[v], arrive.max(axis=0)), INF)

    def count(self, i: int) -> int:
        """Return how many parts there are of module *i*."""
        where = self.asked.duration[self._ends[i]] < INF
        return int(where.sum()) if self.asked.k <= PLACES else len(where)

    def parts(self, i: int, first: int) -> Iterator[PrecedingPart]:
        """Yield, for every channel that leaves module *i*, what runs before it in modules *first* to *i*."""
        for w in self._ends[i]:
            nodes = self._before(w, first)
            places = np.flatnonzero(self.asked.duration[w] < INF).tolist()
            for d in places if self.asked.k <= PLACES else [None]:
                yield self._part(w, d, nodes)

    def learn(self, part: PrecedingPart, units: int) -> None:
        """Record that no schedule ends a part in fewer units than these."""
        w, d = part.node, slice(None) if part.device is None else part.device
        self.head[w, d] = np.maximum(self.head[w, d], part.base + units - self.asked.duration[w, d])

    def raise_ends(self, nodes: Ints, units: Ints) -> None:
        """Record that no schedule ends nodes in fewer units than these."""
        self.head[nodes] = np.maximum(self.head[nodes], units[:, None] - self.asked.duration[nodes])

    def _before(self, w: int, first: int) -> Ints:
        """Return node *w* and the nodes with a path to it in modules from *first* on, ascending."""
        seen, waiting = {w}, [w]
        while waiting:
            for u in self.asked.tails[self._into[waiting.pop()]].tolist():
                if u not in seen and self.module[u] >= first:
                    seen.add(u)
                    waiting.append(u)
        return np.array(sorted(seen), np.int64)

    def _part(self, w: int, d: int | None, nodes: Ints) -> PrecedingPart:
        head, duration = self.head[nodes], self.asked.duration[nodes]
        base = int(head[duration < INF].min(initial=INF))
        if d is not None:
            others = np.arange(self.asked.k) != d
            duration[np.ix_(nodes == w, others)] = INF
        known = (self.head + self.asked.duration)[w, slice(None) if d is None else d]
        inner = within(self.asked, nodes, np.maximum(head - base, 0), np.zeros_like(head))
        return PrecedingPart(
            w, d, nodes, base, replace(inner, duration=duration, at_least=max(0, int(np.min(known)) - base))
        )


def within(asked: Request, nodes: Ints, head: Ints, tail: Ints) -> Request:
    """Return *asked* restricted to some nodes, with these heads and tails: [nodes, k].

    The other nodes are left out, so every schedule of all nodes gives one of these.
    """
    return request(
        table=asked.table,
        cutoff=asked.cutoff,
        exclusive=asked.exclusive,
        size=asked.size[nodes],
        capacity=asked.capacity,
        head=head,
        tail=tail,
        **_restricted(asked, nodes),
    )


def _restricted(asked: Request | BatchRequest, nodes: Ints) -> dict[str, Any]:
    """Return the durations, edges and constraints of a request that are left of some nodes, which get new numbers."""
    place = np.full(asked.n, -1)
    place[nodes] = np.arange(len(nodes))
    edges = np.flatnonzero((place[asked.tails] >= 0) & (place[asked.heads] >= 0))
    groups = [tuple(int(place[v]) for v in group if place[v] >= 0) for group in asked.apart]
    return {
        "duration": asked.duration[nodes],
        "tails": place[asked.tails[edges]],
        "heads": place[asked.heads[edges]],
        "row": asked.row[edges],
        "together": np.unique(asked.together[nodes], return_inverse=True)[1].reshape(-1).astype(np.int64),
        "apart": tuple(group for group in groups if len(group) > 1),
    }


def reverse(asked: Request) -> Request:
    """Return the problem whose schedules are those of *asked* read backwards."""
    return replace(
        asked,
        tails=asked.heads,
        heads=asked.tails,
        table=np.ascontiguousarray(asked.table.transpose(0, 2, 1)),
        head=asked.tail,
        tail=asked.head,
    )


KEPT = (BatchSizes, Colocate, ExclusiveLinks, Forbid, Memory, Pin, PinChunks, Separate)
"""Constraints that are in the arrays of a schedule; rows and the breaking of symmetry are not."""


@dataclass(frozen=True, eq=False)
class WholeProblem:
    """A problem in whole numbers, for bounds.

    Constraints that are left out only make the bound weaker.

    Attributes:
        scale: what one unit of time is worth.
        single: one sample; of a batch, one chunk in its fastest batches: part of every schedule.
        batches: all chunks of a batch; None for one sample.
    """

    scale: WholeScale
    single: Request
    batches: BatchRequest | None

    @property
    def duration(self) -> Ints:
        """[n, k, chunks + 1] of batches; ``INF`` where one may not be, 0 for none."""
        if self.batches is not None:
            return self.batches.duration
        return np.stack([np.zeros_like(self.single.duration), self.single.duration], axis=2)

    def window(self, nodes: Ints, head: Ints, tail: Ints) -> Request | BatchRequest:
        """Return the request for some nodes, all chunks, with these heads and tails: [nodes, k]."""
        if self.batches is None:
            return within(self.single, nodes, head, tail)
        whole = self.batches
        return replace(
            whole,
            alone=whole.alone[nodes],
            weights=whole.weights[nodes],
            share=whole.share[nodes],
            pins=whole.pins[nodes],
            head=head,
            tail=tail,
            **_restricted(whole, nodes),
        )


def whole_problem(problem: Problem) -> WholeProblem:
    """Turn a makespan on links, or a batched throughput, into whole numbers, without rows and symmetry breaking."""
    bare = problem.with_constraints([c for c in problem.constraints if isinstance(c, KEPT)])
    if problem.objective.batch is None:
        whole = lower(bare)
        return WholeProblem(whole.scale, whole.request, None)
    batches = lower_batches(bare)
    return WholeProblem(batches.scale, _one(batches.request), batches.request)


def _one(asked: BatchRequest) -> Request:
    """Return the request for one chunk: every node in a batch of whatever size is fastest."""
    return request(
        asked.duration[:, :, 1:].min(axis=2, initial=INF),
        asked.tails,
        asked.heads,
        asked.row,
        asked.fixed + asked.growing,
        cutoff=asked.cutoff,
        size=asked.weights + asked.share,
        capacity=asked.capacity,
        together=asked.together,
        apart=asked.apart,
    )
