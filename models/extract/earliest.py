"""The earliest times of everything in given orders: exact, whatever a solver's tolerances were."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph

__all__ = ["Arc", "ItemOrder", "earliest", "order_of"]

Arc = tuple[int, int, float]
"""The second item starts no sooner than the first's start and this much later; -1 for the beginning of all."""

ROUNDS = 1000
CLOSE = 1e-13
"""A start that is later by less than this share of the longest is the same: cycles of lags end."""


class ItemOrder:
    """Items 0..count-1 (nodes, then transfers as n + edge) in an order that precedence and devices allow.

    Attributes:
        arcs: what starts after what, each from an earlier item of ``items`` to a later one.
        items: all items.
    """

    def __init__(self, items: Sequence[int], arcs: Sequence[Arc]) -> None:
        self.items, self.arcs = items, arcs


def order_of(graph: Graph, takes: Floats, carry: Floats, uses: Sequence[Sequence[int]], middle: Floats) -> ItemOrder:
    """Return the order in which the items follow each other where they want the same.

    Of the items whose predecessors are behind, the one whose middle is first comes next: middles of two that do not
    overlap, to a solver's tolerance, tell which is first however short one is.

    Args:
        graph: n nodes, m edges.
        takes: [n] running times.
        carry: [m] times of transfers.
        uses: [n + m] what each item has for itself while it runs; numbers.
        middle: [n + m] the middle of each item in the solution.
    """
    n, count = graph.n, graph.n + graph.m
    waiting = np.concatenate([np.diff(graph.offsets_in), np.ones(graph.m, np.int64)])
    length = np.concatenate([takes, carry])
    place = np.empty(n, np.int64)
    place[graph.topological_order] = np.arange(n)
    queue: list[tuple[float, int, int]] = []
    items: list[int] = []
    arcs: list[Arc] = []
    last: dict[int, int] = {}

    def free(item: int) -> None:
        waiting[item] -= 1
        if waiting[item] <= 0:
            heappush(queue, (float(middle[item]), int(place[item if item < n else graph.heads[item - n]]), item))

    for v in np.flatnonzero(waiting[:n] == 0).tolist():
        free(v)
    while len(items) < count:
        _, _, item = heappop(queue)
        items.append(item)
        for thing in uses[item]:
            if thing in last:
                arcs.append((last[thing], item, float(length[last[thing]])))
            last[thing] = item
        after = (
            [int(graph.heads[item - n])]
            if item >= n
            else range(n + int(graph.offsets[item]), n + int(graph.offsets[item + 1]))
        )
        for other in after:
            arcs.append((item, other, float(length[item])))
            free(other)
    return ItemOrder(items, arcs)


def earliest(order: ItemOrder, lags: Sequence[Arc] = ()) -> Floats | None:
    """Return the earliest start of every item; None if lags go round in a circle.

    One pass over the order is enough without *lags*; they may lead back, and passes are repeated until nothing moves.
    """
    start = np.zeros(len(order.items))
    into: list[list[tuple[int, float]]] = [[] for _ in order.items]
    for before, after, by in [*order.arcs, *lags]:
        into[after].append((before, by))
    for _ in range(ROUNDS if lags else 1):
        moved = False
        for item in order.items:
            sooner = max([0.0, *(by + (0.0 if u < 0 else float(start[u])) for u, by in into[item])])
            if sooner > start[item] * (1 + CLOSE):
                start[item], moved = sooner, True
        if not moved:
            return start
    return None if lags else start
