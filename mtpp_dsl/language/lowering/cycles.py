"""The edges of a cycle, for messages."""

from __future__ import annotations

from collections.abc import Sequence


def closed_walk(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of edges that form a cycle, in the order of the walk; none if there is none.

    >>> closed_walk(4, [(0, 1), (1, 2), (2, 1), (2, 3)])
    [1, 2]
    """
    leaving: list[list[int]] = [[] for _ in range(n)]
    readers = [0] * n
    for number, (u, v) in enumerate(edges):
        leaving[v].append(number)
        readers[u] += 1
    done = [v for v in range(n) if not readers[v]]
    while done:  # from the ends of the graph backwards: what is left leads to a cycle
        for number in leaving[done.pop()]:
            u = edges[number][0]
            readers[u] -= 1
            if not readers[u]:
                done.append(u)
    left = {u: number for number, (u, v) in enumerate(edges) if readers[u] and readers[v]}
    if not left:
        return []
    at, seen, walk = next(iter(left)), dict[int, int](), list[int]()
    while at not in seen:
        seen[at] = len(walk)
        walk.append(left[at])
        at = edges[left[at]][1]
    return walk[seen[at] :]
