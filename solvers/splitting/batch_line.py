"""A schedule of batches in whole numbers: when every batch runs, and how long before the end it has to be over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.graph import Bools, Ints
from mtpp_dsl.plan import Plan
from mtpp_dsl.solvers.cpsat.batches import WholeBatches

__all__ = ["Line"]


@dataclass(frozen=True, eq=False)
class Line:
    """A schedule of batches.

    Attributes:
        device: [n, chunks]. count: [n, k] chunks of every batch; 0 for none.
        start, takes: [n, k] of every batch.
        rest: [n, k] the time from the end of a batch to the end of everything, were all as late as the order on devices
            lets it.
        alone: [n, k] whether there is a batch that keeps its device busy.
    """

    device: Ints
    count: Ints
    start: Ints
    takes: Ints
    rest: Ints
    alone: Bools

    @property
    def end(self) -> Ints:
        """[n, k] of every batch."""
        return np.asarray(self.start + self.takes, np.int64)

    @property
    def makespan(self) -> int:
        """When the last batch ends."""
        return int(self.end[self.count > 0].max(initial=0))

    @classmethod
    def of(cls, whole: WholeBatches, plan: Plan) -> Line:
        """Return the line of *plan*: its devices and order, everything as early as these let it in units of *whole*."""
        assert plan.batches is not None
        asked, chunk = whole.request, whole.instance.batching.chunk
        device = plan.batches.device[:, ::chunk]
        count = (device[:, :, None] == np.arange(whole.instance.k)).sum(axis=1)
        takes = np.take_along_axis(asked.duration, count[:, :, None], axis=2)[:, :, 0]
        alone = np.take_along_axis(asked.alone, count[:, :, None], axis=2)[:, :, 0] & (count > 0)
        line = cls(device, count, np.zeros_like(count), takes, np.zeros_like(count), alone)
        line._time(whole, plan)
        return line

    def _time(self, whole: WholeBatches, plan: Plan) -> None:
        """Set starts in the order of *plan*, and rests in its reverse."""
        assert plan.batches is not None
        nodes, devices = np.nonzero(self.count)
        place = np.argsort(whole.instance.graph.topological_order)
        starts, ends = (times[nodes, devices] for times in (plan.batches.start, plan.batches.end))
        order = np.lexsort((place[nodes], ends, starts))
        items = list(zip(nodes[order].tolist(), devices[order].tolist(), strict=True))
        into = self._arcs(whole)
        last: list[tuple[int, int] | None] = [None] * whole.instance.k
        arcs: list[list[tuple[int, int, int]]] = []
        for v, f in items:
            mine = into.get((v, f), [])
            before = last[f]
            if self.alone[v, f]:
                mine = mine if before is None else [*mine, (*before, 0)]
                last[f] = v, f
            arcs.append(mine)
            self.start[v, f] = max((self.start[u, d] + self.takes[u, d] + moves for u, d, moves in mine), default=0)
        for (v, f), mine in zip(reversed(items), reversed(arcs), strict=True):
            for u, d, moves in mine:
                self.rest[u, d] = max(self.rest[u, d], self.rest[v, f] + self.takes[v, f] + moves)

    def _arcs(self, whole: WholeBatches) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
        """Return by batch from which others it gets chunks, and what carrying these takes."""
        asked, k = whole.request, whole.instance.k
        found: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for e, (u, v) in enumerate(zip(asked.tails.tolist(), asked.heads.tolist(), strict=True)):
            shared = np.bincount(k * self.device[u] + self.device[v], minlength=k * k)
            for pair in np.flatnonzero(shared).tolist():
                d, f = divmod(pair, k)
                row = int(asked.row[e])
                moves = int(asked.fixed[row, d, f] + shared[pair] * asked.growing[row, d, f])
                found.setdefault((v, f), []).append((u, d, moves))
        return found
