"""Where in a chain of blocks a node can be: what comes before it fills the devices before it."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance

__all__ = ["Position", "positions"]

MAX_APART = 8
"""With more devices than this, those in the middle are taken together."""


@dataclass(frozen=True)
class Position:
    """Positions *first* to *last* of a chain of k blocks.

    Attributes:
        first, last: counted from 1.
        shut: the nodes that no block there holds.
        before, after: the most work of the nodes outside of a block there that come before it, and after it.
    """

    first: int
    last: int
    shut: int
    before: int
    after: int

    def count(self, used: int = 0) -> int:
        """Return how many there are after the first *used* of the chain."""
        return max(0, self.last - max(self.first - 1, used))


def positions(data: BitsetInstance, k: int, cap: int) -> list[Position]:
    """Return all positions, some of them together, for loads up to *cap*.

    If the first i blocks hold a node and with it all before it, that work is less than i times the next load above the
    cap, so the node is at no earlier position than that lets it be; likewise from the end. Plans of fewer blocks stand
    at the first positions.
    """
    cap += 1
    n, work = len(data.work), [int(w) for w in data.work]
    lowest, highest = [], []
    for v in range(n):
        early, late = (
            work[v] + sum(work[u] for u in range(n) if int(sets[v]) >> u & 1) for sets in (data.before, data.after)
        )
        lowest.append(max(1, _devices(early, cap, k)))
        highest.append(k + 1 - max(1, _devices(late, cap, k)))
    ends = range(1, k + 1)
    spans = [(i, i) for i in ends] if k <= MAX_APART else [(1, 1), (2, 2), (3, k - 2), (k - 1, k - 1), (k, k)]
    return [
        Position(
            a,
            b,
            shut=sum(1 << v for v in range(n) if lowest[v] > b or highest[v] < a or lowest[v] > highest[v]),
            before=(b - 1) * cap,
            after=(k - a) * cap,
        )
        for a, b in spans
    ]


def _devices(work: int, cap: int, k: int) -> int:
    """Return how many devices so much work takes, k + 1 for more than there are."""
    return min(-(-work // cap), k + 1)
