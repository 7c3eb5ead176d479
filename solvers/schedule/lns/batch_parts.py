"""Choose parts of a schedule of batches, and state each as a request, all else staying as it is."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.batch_problem import WholeBatches
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest, BatchSolution
from mtpp_dsl.solvers.backends.cpsat.request import Reply, Status
from mtpp_dsl.solvers.schedule.lns.neighbourhoods import Neighbourhoods


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


BEFORE, INSIDE, AFTER = 0, 1, 2


@dataclass(frozen=True, eq=False)
class BatchWindow:
    """Nodes that are scheduled anew between what comes before them and what comes after.

    Attributes:
        whole: the problem.
        line: the schedule.
        side: [n] whether a node comes before, is inside, or comes after.
        free: [n] of those inside, whose chunks may run elsewhere.
    """

    whole: WholeBatches
    line: BatchTimeline
    side: Ints
    free: Bools

    @classmethod
    def of(cls, whole: WholeBatches, line: BatchTimeline, first: int, last: int, free: Bools) -> BatchWindow:
        """Return the window of the batches with ranks from *first* to *last*, in which the nodes *free* may move.

        A node is inside if it has batches on both sides of a rank there; so is whatever a device runs between batches
        of nodes inside, and what comes between nodes inside by precedence. Nodes that the rest of the schedule holds to
        their places, by colocation or separation, are not free.
        """
        earliest = np.where(line.there, line.rank, line.rank.max(initial=0) + 1).min(axis=1)
        latest = line.rank.max(axis=1)
        side = np.where(latest < first, BEFORE, np.where(earliest > last, AFTER, INSIDE))
        side = _closed(whole, line, side)
        free = free & (side == INSIDE)
        together = whole.request.together
        bound = np.bincount(together[~free], minlength=int(together.max(initial=0)) + 1) > 0
        free &= ~bound[together]
        for nodes in whole.request.apart:
            if (side[list(nodes)] != INSIDE).any():
                free[list(nodes)] = False
        return cls(whole, line, side, free)

    @property
    def everything(self) -> bool:
        """Whether this is the whole problem: if nothing shorter is found in it, there is none."""
        return bool(self.free.all())

    def request(self) -> BatchRequest | None:
        """Return the request for a shorter schedule; None if what is outside does not allow one."""
        asked, line, nodes = self.whole.request, self.line, self._nodes()
        inside = self.side[nodes] == INSIDE
        cutoff, at_least = line.makespan - 1, self._least()
        if at_least > cutoff or not self.free.any():
            return None
        before, after = (line.there & (self.side == side)[:, None] for side in (BEFORE, AFTER))
        head = np.where(before, line.end, 0)
        tail = np.where(after, line.rest, 0)
        own = inside[:, None]
        place = np.full(self.whole.instance.n, -1)
        place[nodes] = np.arange(len(nodes))
        edges = self._edges()
        sizes = (line.device[:, :, None] == np.arange(asked.k)).sum(axis=1)
        used = (line.there * asked.weights[:, None] + sizes * asked.share[:, None])[self.side != INSIDE].sum(axis=0)
        return replace(
            asked,
            duration=np.where(own[:, :, None], asked.duration[nodes], 0),
            alone=asked.alone[nodes] & own[:, :, None],
            tails=place[asked.tails[edges]],
            heads=place[asked.heads[edges]],
            row=asked.row[edges],
            cutoff=cutoff,
            at_least=at_least,
            weights=np.where(inside, asked.weights[nodes], 0),
            share=np.where(inside, asked.share[nodes], 0),
            capacity=np.maximum(asked.capacity - used, 0),
            together=_numbered(asked.together[nodes], inside),
            apart=tuple(tuple(place[list(group)].tolist()) for group in asked.apart if self.free[list(group)].any()),
            pins=np.where(self.free[nodes, None], asked.pins[nodes], line.device[nodes]),
            ranks=(),
            head=np.where(own, _busy(before, line.end, asked.alone)[None], head[nodes]),
            tail=np.where(own, _busy(after, line.rest, asked.alone)[None], tail[nodes]),
            hint=None,
        )

    def schedule(self, solution: BatchSolution, value: int) -> BatchSolution:
        """Return the whole schedule with what was found put in, which ends at *value*."""
        line, nodes = self.line, self._nodes()
        inside = self.side[nodes] == INSIDE
        device, start = line.device.copy(), line.start.copy()
        device[nodes[inside]] = solution.device[inside]
        start[nodes[inside]] = solution.start[inside]
        after = self.side == AFTER
        start[after] = value - line.rest[after]
        return BatchSolution(device, start)

    def _edges(self) -> Ints:
        """Return the edges that have an end inside."""
        asked = self.whole.request
        return np.flatnonzero((self.side[asked.tails] == INSIDE) | (self.side[asked.heads] == INSIDE))

    def _nodes(self) -> Ints:
        """Return the nodes inside, and those that an edge joins to them."""
        asked, edges = self.whole.request, self._edges()
        inside = np.flatnonzero(self.side == INSIDE)
        return np.unique(np.concatenate([inside, asked.tails[edges], asked.heads[edges]]))

    def _least(self) -> int:
        """Return when everything ends at the earliest for what is outside: what comes before, and then after."""
        asked, line = self.whole.request, self.line
        before, after = (line.there & (self.side == side)[:, None] for side in (BEFORE, AFTER))
        over = (self.side[asked.tails] == BEFORE) & (self.side[asked.heads] == AFTER)
        least = int(line.end[before].max(initial=0))
        least = max(least, int((_busy(before, line.end, asked.alone) + _busy(after, line.rest, asked.alone)).max()))
        for e in np.flatnonzero(over).tolist():
            u, v, row = int(asked.tails[e]), int(asked.heads[e]), int(asked.row[e])
            pairs, counts = np.unique(line.device[u] * asked.k + line.device[v], return_counts=True)
            d, f = pairs // asked.k, pairs % asked.k
            carried = asked.fixed[row, d, f] + counts * asked.growing[row, d, f]
            least = max(least, int((line.end[u, d] + carried + line.rest[v, f]).max()))
        return least


def _closed(whole: WholeBatches, line: BatchTimeline, side: Ints) -> Ints:
    """Return *side* with everything inside that would come both before and after something inside."""
    asked, rank, most = whole.request, line.rank, line.rank.max(initial=0) + 1
    while True:
        moved = line.there & (side == INSIDE)[:, None]
        low, high = np.where(moved, rank, most).min(axis=0), np.where(moved, rank, -1).max(axis=0)
        late = (line.there & (rank > low)).any(axis=1) & (side == BEFORE)
        early = (line.there & (rank < high)).any(axis=1) & (side == AFTER)
        tails, heads = side[asked.tails], side[asked.heads]
        late[asked.heads[(tails != BEFORE) & (heads == BEFORE)]] = True
        early[asked.tails[(heads != AFTER) & (tails == AFTER)]] = True
        if not (late | early).any():
            return side
        side = np.where(late | early, INSIDE, side)


def _busy(there: Bools, until: Ints, alone: Bools) -> Ints:
    """Return [k] the largest of *until* over batches that no other runs beside."""
    counts = there & alone.any(axis=2)
    busy: Ints = np.where(counts, until, 0).max(axis=0, initial=0)
    return busy


def _numbered(together: Ints, inside: Bools) -> Ints:
    """Return classes as numbers from 0; who is outside is one by itself."""
    apart = np.where(inside, together, together.max(initial=0) + 1 + np.arange(len(together)))
    return np.unique(apart, return_inverse=True)[1].reshape(-1)


FIRST_SIZE, MIN_SIZE, MAX_SIZE = 6.0, 2.0, 40.0
"""Nodes that are free in a window: at first, at least, at most."""
GROW, SHRINK = 1.1, 0.95
SCATTERED = 0.5
"""How often free nodes are drawn from a window several times as long, and not all of a shorter one."""
WIDER = 3.0


class BatchParts(Neighbourhoods[BatchWindow, BatchSolution]):
    """Windows of a schedule, which grow while CP-SAT solves them to the end, and shrink where it does not.

    Args:
        whole: the problem in whole numbers.
        random: where random numbers come from.
    """

    ties = False
    options = MappingProxyType({"interleave_search": False})

    def __init__(self, whole: WholeBatches, random: np.random.Generator) -> None:
        self.problem, self.random = whole.instance.problem, random
        self._whole, self._size = whole, FIRST_SIZE

    def go_on_from(self, plan: Plan) -> None:
        """Choose parts of *plan* from now on."""
        self._line = BatchTimeline.of(self._whole, plan)

    def choose(self) -> tuple[BatchWindow, BatchRequest | None]:
        """Return a window around some batch: all nodes of a short one may move, or some of a longer one."""
        line, random = self._line, self.random
        scattered = bool(random.random() < SCATTERED)
        wanted = self._size * (WIDER if scattered else 1.0)
        batches = int(line.rank.max(initial=0)) + 1
        middle, reach = int(random.integers(batches)), round(wanted * batches / len(line.rank) / 2)
        first, last = middle - reach, middle + reach
        here = line.there & (line.rank >= first) & (line.rank <= last)
        free: Bools = np.asarray(here.any(axis=1), np.bool_)
        if scattered:
            free &= random.random(len(free)) < 1 / WIDER
        window = BatchWindow.of(self._whole, line, first, last, free)
        return window, window.request()

    def plans(self, part: BatchWindow, reply: Reply[BatchSolution]) -> list[Plan]:
        """Return the plan with a solution of a part put in, in exact times; none if there is no solution."""
        if reply.solution is None or reply.value is None:
            return []
        return self._whole.plans(part.schedule(reply.solution, reply.value))

    def learn(self, part: BatchWindow, status: Status, *, better: bool) -> None:  # noqa: ARG002 (other parts use it)
        """Make windows larger where they are solved to the end, and smaller where not."""
        solved = status in ("optimal", "infeasible")
        self._size = min(MAX_SIZE, max(MIN_SIZE, self._size * (GROW if solved else SHRINK)))

    def proves(self, part: BatchWindow, reply: Reply[BatchSolution] | None) -> bool:
        """Return whether the part is all of the schedule, and no shorter one exists."""
        return part.everything and reply is not None and reply.status == "infeasible"
