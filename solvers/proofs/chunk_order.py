"""The rows of the order of chunks: when the first, the second, ... of a node starts and ends, and what lies between.

Of c chunks of node v, ``start(v, j)`` is the j-th least of the times at which they start with their batches, and
``end(v, j)`` the j-th least of those at which they end. Where v reaches w, each chunk of w starts after the same chunk
of v has ended, so ``end(v, j) <= start(w, j)``. A batch of q chunks of a node between v and w has one that is not among
the first q - 1 that end in v: it starts after ``end(v, q)``. And it has one that is not among the last q - 1 that start
in w: it ends before ``start(w, c + 1 - q)``. So what a device works on nodes between v and w in batches of q chunks or
more fits between ``end(v, a)`` and ``start(w, b)`` where a is at most q, b at least c + 1 - q, and a at most b: with a
larger a, there would have to be such a batch. The same holds from the beginning to w, and from v to the end. All times
of starts and ends together are further apart by what the batches take, each once for each of its chunks, and by what
the transfers of single chunks take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from mtpp_dsl.core.constraints import Repeat
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.solvers.proofs.batches import transfers_of_one_chunk
from mtpp_dsl.solvers.proofs.divided_chunks import DividedChunks
from mtpp_dsl.solvers.proofs.proof_reading import reach_of
from mtpp_dsl.solvers.proofs.rows import Sum

__all__ = ["MAX_NUMBERS", "add_chunk_order"]

MAX_NODES = 1_000
ROUNDING = 1e-12
"""Relative: by so much sums of times may be rounded."""
MAX_NUMBERS = 250_000
"""Numbers in the rows about the work between two nodes, at most about so many, where nothing else is asked."""
MAX_SENT = 200_000
"""The same in the rows about transfers: if there are more, these are left out."""
ENDS = 2
"""Numbers in such a row beside the work."""
MAX_SIZE = 400_000
"""The same in all rows."""


def add_chunk_order(chunks: DividedChunks, head: Floats, tail: Floats, most: int) -> None:
    """Add the rows of the order of chunks to those of how they are divided.

    First come the rows about the work before and after each node, if they have at most a quarter of the numbers; then
    those about the work between two nodes of which nothing leaves the one but to the other, and enters the other but
    from the one; then the rest, the fewest nodes first, while there is room.

    Args:
        chunks: how they are divided.
        head: [n, k] before which no batch of a node starts.
        tail: [n, k] how long before the end each batch ends at least.
        most: numbers in the rows about the work between two nodes, at most about so many.

    Raises:
        Refused: a device runs several batches of a node, or the graph is too large.
    """
    if any(rule.most > 1 for rule in chunks.problem.of(Repeat)):
        raise Refused("the order of chunks is not known where a device runs several batches of a node")
    if chunks.problem.graph.n > MAX_NODES:
        raise Refused(f"the graph has more than {MAX_NODES:,} nodes")
    _close(chunks, head, tail)
    _ChunkOrder(chunks, most)


def _close(chunks: DividedChunks, head: Floats, tail: Floats) -> None:
    """Add that chunks are divided in no way with a batch that takes too long between head and tail."""
    for v in range(chunks.problem.graph.n):
        beside = [
            sum(chunks.units.used(float(side[v, kind].min()) * (1 - ROUNDING)) for side in (head, tail))
            for kind in chunks.kinds
        ]
        closed = [
            (1, part)
            for way, part in chunks.ways_of(v)
            if any(beside[d] + chunks.takes(v, d, p) > chunks.units.limit for d, parts in enumerate(way) for p in parts)
        ]
        if closed:
            chunks.rows.add(f"batches of {v} that are too long", closed, 0)


class _ChunkOrder:
    """Adds the rows one kind after another."""

    def __init__(self, chunks: DividedChunks, most: int) -> None:
        self._chunks, self._rows, self._limit = chunks, chunks.rows, chunks.units.limit
        graph = chunks.problem.graph
        self._start, self._end = (
            [
                [{self._rows.variable(f"{what} of chunk {j + 1} of {v}", self._limit): 1} for j in range(chunks.count)]
                for v in range(graph.n)
            ]
            for what in ("start", "end")
        )
        self._from_first_to_last()
        sent = graph.m * self._numbers_sent <= MAX_SENT
        for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
            self._along(u, v, self._transfers(e, u, v) if sent and chunks.home[u] != chunks.home[v] else [])
        room = min(most, MAX_SIZE - self._rows.size)
        for first, last, nodes in _between(graph, room // (chunks.count * len(chunks.kinds))):
            try:
                self._work_between(first, last, nodes)
            except Refused:  # there are as many numbers as rows may have
                break

    def _from_first_to_last(self) -> None:
        """Add the order of the chunks of each node, and what it takes from their starts to their ends."""
        chunks, rows, limit = self._chunks, self._rows, self._limit
        for v, (starts, ends) in enumerate(zip(self._start, self._end, strict=True)):
            each = [(chunks.batches(v, way), part) for way, part in chunks.ways_of(v)]
            shortest = chunks.at_least(
                f"shortest batch of {v}", [(min(takes for _, takes in batches), part) for batches, part in each]
            )
            for j, (start, end) in enumerate(zip(starts, ends, strict=True)):
                rows.add(f"chunk {j + 1} of {v} runs", [(1, start), (1, shortest), (-1, end)], 0)
                if j:
                    rows.add(f"chunk {j + 1} of {v} starts after {j}", [(1, starts[j - 1]), (-1, start)], 0)
                    rows.add(f"chunk {j + 1} of {v} ends after {j}", [(1, ends[j - 1]), (-1, end)], 0)
            takes_all = [(sum(p * takes for p, takes in batches), part) for batches, part in each]
            both = [*((1, start) for start in starts), *((-1, end) for end in ends)]
            rows.add(f"all chunks of {v} run", [*takes_all, *both], 0)
            rows.add(f"the last chunk of {v} ends", [(1, ends[-1])], limit, costs=limit)

    @property
    def _numbers_sent(self) -> int:
        """How many numbers the rows about the transfers of one edge have, at most."""
        k = len(self._chunks.kinds)
        most = max(map(len, self._chunks.divided.values()), default=0)
        return k * (4 * (k + most) + k)

    def _along(self, u: int, v: int, transfers: Sequence[tuple[int, Sum]]) -> None:
        """Add that each chunk of a node starts after that of its producer has ended, and all have arrived."""
        rows = self._rows
        for j, (end, start) in enumerate(zip(self._end[u], self._start[v], strict=True)):
            rows.add(f"chunk {j + 1} of {u} before {v}", [(1, end), (-1, start)], 0)
        if transfers:
            waits = [*((1, end) for end in self._end[u]), *((-1, start) for start in self._start[v])]
            rows.add(f"all chunks of {u} before {v}", [*waits, *transfers], 0)

    def _transfers(self, e: int, u: int, v: int) -> list[tuple[int, Sum]]:
        """Return what the transfers of the chunks of an edge take, one by one, as a sum."""
        chunks, rows, kinds = self._chunks, self._rows, self._chunks.kinds
        k = len(kinds)
        one = transfers_of_one_chunk(chunks.problem, e)
        carries = np.array([[one[np.ix_(there, here)].min() for here in kinds] for there in kinds])
        ways: list[list[Sum]] = [
            [{rows.variable(f"chunks of edge {e} from {d} to {f}", chunks.count): 1} for f in range(k)]
            for d in range(k)
        ]
        late = []
        for d in range(k):
            out = [(-sum(way[d]), part) for way, part in chunks.ways_of(u) if way[d]]
            into = [(-sum(way[d]), part) for way, part in chunks.ways_of(v) if way[d]]
            rows.equal(f"edge {e} from {d}", [*((1, way) for way in ways[d]), *out], 0)
            rows.equal(f"edge {e} to {d}", [*((1, ways[f][d]) for f in range(k)), *into], 0)
            for f in range(k):
                if d != f and carries[d, f] == inf:
                    rows.add(f"edge {e} not from {d} to {f}", [(1, ways[d][f])], 0)
                elif d != f and carries[d, f] > 0:
                    late.append((chunks.units.used(float(carries[d, f])), ways[d][f]))
        return late

    def _work_between(self, first: int | None, last: int | None, nodes: Ints) -> None:
        """Add that work on nodes between two others lies between them; None: the beginning, the end."""
        chunks, rows, limit = self._chunks, self._rows, self._limit
        for d, kind in enumerate(chunks.kinds):
            many = len(kind)
            for a, b, q in self._places(first, last):
                work = [(1, part) for v in nodes.tolist() if (part := chunks.work(v, d, q))]
                if not work:
                    continue
                after = [] if first is None else [(many, self._end[first][a - 1])]
                name = f"work between {a} of {first} and {b} of {last} on {d}"
                if last is None:
                    rows.add(name, [*work, *after], many * limit, costs=many * limit)
                else:
                    rows.add(name, [*work, *after, (-many, self._start[last][b - 1])], 0)

    def _places(self, first: int | None, last: int | None) -> Iterator[tuple[int, int, int]]:
        """Yield places a of an end and b of a start, and how many chunks put a batch between these.

        Between two nodes a is at most b, so that the end is before the start where there is no such batch.
        """
        count = self._chunks.count
        for q in range(1, count + 1):
            if first is None or last is None or q <= count + 1 - q:
                yield q, count + 1 - q, q
            else:
                yield from ((a, a, q) for a in sorted({q, count + 1 - q}))


def _between(graph: Graph, most: int) -> Iterator[tuple[int | None, int | None, Ints]]:
    """Yield pairs of nodes, None for the beginning and the end, and what lies between, no more than *most* in all."""
    reach = reach_of(graph)
    size = (reach.astype(np.float32) @ reach.astype(np.float32)).astype(np.int64)
    first, last = np.nonzero(reach & (size > 0))
    ends = np.arange(graph.n)
    outer = np.where(reach.sum() + ENDS * graph.n <= most // 4, 0, 2)
    kind = np.concatenate([np.where(_closed(graph, reach)[first, last], 1, 2), *[np.full(graph.n, outer)] * 2])
    count = np.concatenate([size[first, last], reach.sum(axis=0), reach.sum(axis=1)])
    pairs = [*zip(first.tolist(), last.tolist(), strict=True), *((None, v) for v in ends), *((v, None) for v in ends)]
    for i in np.lexsort((count, kind)).tolist():
        u, v = pairs[i]
        most -= int(count[i]) + ENDS
        if most < 0:
            return
        after: Bools = np.ones(graph.n, np.bool_) if u is None else reach[u]
        before: Bools = np.ones(graph.n, np.bool_) if v is None else reach[:, v]
        if count[i]:
            yield u, v, np.flatnonzero(after & before)


def _closed(graph: Graph, reach: Bools) -> Bools:
    """Return [n, n] for two nodes whether all that leaves the one leads to the other, which nothing else enters."""
    both: Bools = reach | np.eye(graph.n, dtype=np.bool_)
    out = np.stack([both[graph.successors(v)].all(axis=0) for v in range(graph.n)])
    into = np.stack([both[:, graph.predecessors(v)].all(axis=1) for v in range(graph.n)], axis=1)
    closed: Bools = out & into
    return closed
