"""A schedule of batches in whole numbers: when each starts and ends, and how long it is from there to the end."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.batch_problem import WholeBatches

__all__ = ["BatchTimeline"]


@dataclass(frozen=True, eq=False)
class BatchTimeline:
    """A schedule of batches.

    Attributes:
        plan: in exact times.
        device: [n, chunks] where every chunk runs.
        there: [n, k] whether there is a batch of a node on a device; the rest counts there only.
        rank: [n, k] its place in the order of starts.
        start, end: [n, k] in units.
        rest: [n, k] the least time from its start to the end of everything, in this order on every device.
    """

    plan: Plan
    device: Ints
    there: Bools
    rank: Ints
    start: Ints
    end: Ints
    rest: Ints

    @classmethod
    def of(cls, whole: WholeBatches, plan: Plan) -> BatchTimeline:
        """Return the timeline of a plan."""
        batches, instance = plan.batches, whole.instance
        assert batches is not None
        device = batches.device[:, :: instance.batching.chunk]
        sizes = (device[:, :, None] == np.arange(instance.k)).sum(axis=1)
        there = sizes > 0
        takes = np.take_along_axis(whole.request.duration, sizes[:, :, None], axis=2)[:, :, 0]
        alone = np.take_along_axis(whole.request.alone, sizes[:, :, None], axis=2)[:, :, 0]
        start = whole.scale.down(np.nan_to_num(batches.start))
        rank = _ranks(whole, plan, there)
        rest = _rests(whole, device, there, np.where(there, takes, 0), alone, rank)
        return cls(plan, device, there, rank, start, start + np.where(there, takes, 0), rest)

    @property
    def makespan(self) -> int:
        """When the last batch ends, in units."""
        return int((self.start + self.rest)[self.there].max(initial=0))


def _ranks(whole: WholeBatches, plan: Plan, there: Bools) -> Ints:
    batches, graph = plan.batches, whole.instance.graph
    assert batches is not None
    place = np.repeat(np.argsort(graph.topological_order), there.shape[1])
    flat = np.flatnonzero(there.ravel())
    order = flat[np.lexsort((place[flat], batches.end.ravel()[flat], batches.start.ravel()[flat]))]
    rank = np.full(there.size, -1)
    rank[order] = np.arange(len(order))
    return rank.reshape(there.shape)


def _rests(whole: WholeBatches, device: Ints, there: Bools, takes: Ints, alone: Bools, rank: Ints) -> Ints:
    """Return [n, k] the longest way from the start of every batch to the end, last batches first."""
    graph, request, k = whole.instance.graph, whole.request, there.shape[1]
    rest, behind = np.zeros(there.shape, np.int64), np.zeros(k, np.int64)
    after: dict[tuple[int, int], int] = defaultdict(int)
    into = [graph.by_head[graph.offsets_in[v] : graph.offsets_in[v + 1]].tolist() for v in range(graph.n)]
    flat = np.flatnonzero(there.ravel())
    for item in flat[np.argsort(-rank.ravel()[flat])].tolist():
        v, f = divmod(item, k)
        rest[v, f] = takes[v, f] + max(after[v, f], int(behind[f]) if alone[v, f] else 0)
        if alone[v, f]:
            behind[f] = max(int(behind[f]), int(rest[v, f]))
        mine = device[v] == f
        for e in into[v]:
            u, row = int(graph.tails[e]), int(request.row[e])
            shared = np.bincount(device[u][mine], minlength=k)
            for d in np.flatnonzero(shared).tolist():
                carried = int(request.fixed[row, d, f] + shared[d] * request.growing[row, d, f])
                after[u, d] = max(after[u, d], carried + int(rest[v, f]))
    return rest
