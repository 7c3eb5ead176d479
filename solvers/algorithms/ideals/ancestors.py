"""Ancestors in a directed acyclic graph, as sets of bits."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ancestors"]


def ancestors(n: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return [n] the ancestors of each vertex: bit u is set in those of v if a path leads from u to v.

    Args:
        n: number of vertices.
        pairs: (a, b): an edge from a to b. No cycles.
    """
    after: list[list[int]] = [[] for _ in range(n)]
    waiting = [0] * n
    for a, b in pairs:
        after[a].append(b)
        waiting[b] += 1
    above = [0] * n
    ready = [v for v in range(n) if not waiting[v]]
    while ready:
        a = ready.pop()
        for b in after[a]:
            above[b] |= above[a] | 1 << a
            waiting[b] -= 1
            if not waiting[b]:
                ready.append(b)
    return above
