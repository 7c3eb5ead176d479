"""The rows of schedules of a batch that end before a target: how chunks are divided, and what lies between paths."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.batches import earliest, memory_limits
from mtpp_dsl.solvers.proofs.chunk_order import MAX_NUMBERS, add_chunk_order
from mtpp_dsl.solvers.proofs.divided_chunks import DividedChunks
from mtpp_dsl.solvers.proofs.rows import Rows, Units

__all__ = ["batch_rows"]

MAX_LEVELS = 40
"""Heads, and tails, that windows begin and end with."""
MAX_MEMBERS = 150_000
"""Nodes in all windows, at most about so many."""
MAX_ORDERED = 30_000
"""The same beside rows of the order of chunks."""
ROUNDING = 1e-12
"""Relative: by so much sums of times and sizes may be rounded."""


def batch_rows(problem: Problem, target: float, *, ordered: bool | int = False) -> Rows:
    """Return rows that every schedule of a batch keeps to that ends before the target.

    A variable for each way to divide the chunks of a node, and all colocated with it, over the devices; exactly one of
    them is 1. What a device runs between a head h and a tail t takes no longer than the target less h and t: it is the
    work of all nodes of which no batch starts there before h, nor ends later than t before the end, by longest paths of
    one input in its shortest batches. The memory holds what is on a device. ``separate`` and labelled rows are left
    out, and so is when batches start, unless the rows are *ordered*.

    Args:
        problem: the throughput of a batch.
        target: what all inputs take.
        ordered: whether to add when the first, the second, ... chunk of each node starts and ends
            (:mod:`mtpp_dsl.solvers.proofs.chunk_order`); a number: how many numbers rows between two nodes may have.

    Raises:
        Refused: it is about something else, or there are too many rows.
    """
    chunks = DividedChunks(problem, target)
    head, tail = (earliest(problem, chunks.device_time, chunks.home, forth, Limits()) for forth in (True, False))
    _add_memory(chunks)
    _add_windows(chunks, head, tail, MAX_MEMBERS if ordered is False else MAX_ORDERED)
    if ordered is not False:
        add_chunk_order(chunks, head, tail, MAX_NUMBERS if ordered is True else ordered)
    return chunks.rows


def _add_memory(chunks: DividedChunks) -> None:
    """Add that what devices of a kind hold is no more than the memory of all of them."""
    batching, rooms = chunks.problem.batching, memory_limits(chunks.problem)
    for d, kind in enumerate(chunks.kinds):
        limit = float(rooms[kind].sum())
        if 0 < limit < inf:
            units = Units(limit * (1 + ROUNDING))
            needs = []
            for g, members in chunks.groups.items():
                fixed, each = (float(part[members].sum()) for part in (batching.weights, batching.share))
                for way, part in chunks.divided[g]:
                    if way[d]:
                        held = fixed * len(way[d]) + each * sum(way[d])
                        needs.append((units.used(held * (1 - ROUNDING)), part))
            chunks.rows.add(f"memory of {d}", needs, units.limit)


def _add_windows(chunks: DividedChunks, head: Floats, tail: Floats, members_in_all: float) -> None:
    """Add what devices of each kind run between heads and tails, both [n, k]."""
    rows, units = chunks.rows, chunks.units
    for d, kind in enumerate(chunks.kinds):
        work = [chunks.work(v, d) for v in range(len(head))]
        first, last = (side[:, kind].min(axis=1) for side in (head, tail))
        for (h, t), members in _members(first, last, members_in_all / len(chunks.kinds)):
            off = units.used(h * (1 - ROUNDING)) + units.used(t * (1 - ROUNDING))
            parts = [(1, work[v]) for v in members if work[v]]
            if off > units.limit:
                for v in members:
                    rows.add(f"no batch of {v} on {d}", [(1, part) for way, part in chunks.ways_of(v) if way[d]], 0)
            elif parts:
                between = len(kind) * (units.limit - off)
                rows.add(f"between {h!r} and {t!r} on {d}", parts, between, costs=between)


def _members(head: Floats, tail: Floats, in_all: float) -> Iterator[tuple[tuple[float, float], Ints]]:
    """Yield windows of a device, by head and tail, and the nodes whose work lies in each, about so many *in_all*."""
    seen = set()
    most = min(MAX_LEVELS, int((in_all / len(head)) ** 0.5) + 2)
    for h in levels(head, most):
        for t in levels(tail, most):
            members = np.flatnonzero((head >= h) & (tail >= t) & np.isfinite(head) & np.isfinite(tail))
            if len(members):
                h_in, t_in = float(head[members].min()), float(tail[members].min())
                if members.tobytes() not in seen:
                    seen.add(members.tobytes())
                    yield (h_in, t_in), members


def levels(values: Floats, most: int) -> list[float]:
    """Return up to *most* of the values, among them the least and the greatest."""
    distinct = np.unique(values[np.isfinite(values)])
    places = np.unique(np.linspace(0, max(len(distinct) - 1, 0), most).astype(np.int64))
    chosen: list[float] = distinct[places].tolist() if len(distinct) else []
    return chosen
