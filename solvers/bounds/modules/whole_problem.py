"""A problem in whole numbers for the bound by modules: one sample or one chunk, and all chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mtpp_dsl.core.constraints import BatchSizes, Colocate, ExclusiveLinks, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.batch_problem import lower_batches
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest
from mtpp_dsl.solvers.backends.cpsat.request import INF, Request, request
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.backends.cpsat.whole_times import WholeScale
from mtpp_dsl.solvers.bounds.modules.side import apart_of, within

__all__ = ["Wanted", "wanted"]

KEPT = (BatchSizes, Colocate, ExclusiveLinks, Forbid, Memory, Pin, PinChunks, Separate)
"""Constraints that are in the arrays of a schedule; rows and the breaking of symmetry are not."""


@dataclass(frozen=True, eq=False)
class Wanted:
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
        place = np.full(whole.n, -1)
        place[nodes] = np.arange(len(nodes))
        edges = np.flatnonzero((place[whole.tails] >= 0) & (place[whole.heads] >= 0))
        return replace(
            whole,
            duration=whole.duration[nodes],
            alone=whole.alone[nodes],
            tails=place[whole.tails[edges]],
            heads=place[whole.heads[edges]],
            row=whole.row[edges],
            weights=whole.weights[nodes],
            share=whole.share[nodes],
            together=np.unique(whole.together[nodes], return_inverse=True)[1].reshape(-1).astype(np.int64),
            apart=apart_of(whole.apart, place),
            pins=whole.pins[nodes],
            head=head,
            tail=tail,
        )


def wanted(problem: Problem) -> Wanted:
    """Turn a makespan on links, or a batched throughput, into whole numbers, without rows and symmetry breaking."""
    bare = problem.with_constraints([c for c in problem.constraints if isinstance(c, KEPT)])
    if problem.objective.batch is None:
        whole = lower(bare)
        return Wanted(whole.scale, whole.request, None)
    batches = lower_batches(bare)
    return Wanted(batches.scale, _one(batches.request), batches.request)


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
