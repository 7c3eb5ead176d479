"""Which items may want one thing at the same time, and which of the two orders are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.models.facts.times import LinkTimes


@dataclass(frozen=True, eq=False)
class ClashItems:
    """What runs without a break and alone on what it uses: nodes on devices, transfers at both ends.

    Attributes:
        start, length, rest: [items, things] if the item uses the thing: it starts no earlier, takes no less, and no
            schedule ends sooner after it; ``length`` is ``inf`` where it does not use it, or not for any time.
        first, last: [items] it starts no earlier, and ends no later, whatever it uses.
        ordered: [items, items] whether precedence puts the first before the second.
    """

    start: Floats
    length: Floats
    rest: Floats
    first: Floats
    last: Floats
    ordered: Bools


@dataclass(frozen=True, eq=False)
class ClashPairs:
    """Pairs i < j of items and things on which they may meet.

    Attributes:
        either: (i, j, thing) with both orders left.
        only: (i, j, thing) with i before j left alone.
        never: (i, j, thing) with no order left: one of them uses something else.
        slack: for every pair of which i before j is left somewhere, how much sooner than the end of i j may start.
    """

    either: list[tuple[int, int, int]]
    only: list[tuple[int, int, int]]
    never: list[tuple[int, int, int]]
    slack: dict[tuple[int, int], float]

    def named(self, names: Sequence[int]) -> ClashPairs:
        """Return the same of items called *names* in place of 0, 1, …."""
        either, only, never = (
            [(names[i], names[j], thing) for i, j, thing in pairs] for pairs in (self.either, self.only, self.never)
        )
        return ClashPairs(either, only, never, {(names[i], names[j]): slack for (i, j), slack in self.slack.items()})


def clashes(items: ClashItems, most: float) -> ClashPairs:
    """Return what is left to be decided in schedules no longer than *most*.

    Pairs that precedence orders, or whose windows do, are left out, and so are orders that take too long.
    """
    slack = items.last[:, None] - items.first[None, :]
    settled = items.ordered | items.ordered.T | (slack <= 0) | (slack.T <= 0)
    either: list[tuple[int, int, int]] = []
    only: list[tuple[int, int, int]] = []
    never: list[tuple[int, int, int]] = []
    for thing in range(items.length.shape[1]):
        users = np.flatnonzero(np.isfinite(items.length[:, thing]))
        start, length, rest = (x[users, thing] for x in (items.start, items.length, items.rest))
        fits = (start + length)[:, None] + (length + rest)[None, :] <= most
        left = np.triu(~settled[np.ix_(users, users)], 1)
        for triples, which in ((either, fits & fits.T), (never, ~fits & ~fits.T)):
            triples += [(int(users[i]), int(users[j]), thing) for i, j in np.argwhere(left & which)]
        for i, j in np.argwhere((left | left.T) & fits & ~fits.T):
            only.append((int(users[i]), int(users[j]), thing))
    pairs = {(i, j) for i, j, _ in either} | {(j, i) for i, j, _ in either} | {(i, j) for i, j, _ in only}
    return ClashPairs(either, only, never, {(i, j): float(slack[i, j]) for i, j in sorted(pairs)})


def node_items(times: LinkTimes, after: Bools) -> ClashItems:
    """Return the nodes on their devices; those that take no time are left out."""
    first, last = times.windows
    length = np.where(times.time > 0, times.time, np.inf)
    return ClashItems(times.head, length, times.tail, first, last, after)


def transfer_items(
    times: LinkTimes, graph: Graph, after: Bools, sent: list[int], routes: dict[int, list[tuple[int, int]]]
) -> ClashItems:
    """Return the edges *sent*, each using its sender (things 0..k-1) and its receiver (things k..2k-1)."""
    k = times.time.shape[1]
    shape = (len(sent), 2 * k)
    start, length, rest = (np.full(shape, np.inf) for _ in range(3))
    for i, e in enumerate(sent):
        u, v = int(graph.tails[e]), int(graph.heads[e])
        for d, f in routes[e]:
            takes = float(times.carry[e, d, f])
            if takes > 0:
                begins, left = float(times.head[u, d] + times.time[u, d]), float(times.time[v, f] + times.tail[v, f])
                for thing in (d, k + f):
                    start[i, thing] = min(start[i, thing], begins)
                    length[i, thing] = min(length[i, thing], takes)
                    rest[i, thing] = min(rest[i, thing], left)
    first, last = times.on_the_way
    tails, heads = graph.tails[sent], graph.heads[sent]
    ordered = after[np.ix_(heads, tails)] | (heads[:, None] == tails[None, :])
    return ClashItems(start, length, rest, first[tails], last[heads], ordered)
