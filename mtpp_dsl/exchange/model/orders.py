"""Orders of small graphs that are made on the way: topological orders, and the nodes that lie on cycles."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["components", "has_order", "ordered"]


def components(n: int, edges: Iterable[tuple[int, int]]) -> list[set[int]]:
    """Return the strongly connected components of a graph of nodes 0..n-1 (Tarjan 1972), without recursion.

    >>> components(4, [(0, 1), (1, 2), (2, 1)])
    [{1, 2}, {0}, {3}]
    """
    readers: list[list[int]] = [[] for _ in range(n)]
    for u, v in edges:
        readers[u].append(v)
    index, low = [-1] * n, [0] * n
    open_, on_stack = list[int](), [False] * n
    found: list[set[int]] = []
    count = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        path: list[tuple[int, Iterator[int]]] = []
        waiting = [root]
        while waiting or path:
            if waiting:
                v = waiting.pop()
                index[v] = low[v] = count
                count += 1
                open_.append(v)
                on_stack[v] = True
                path.append((v, iter(readers[v])))
            v, others = path[-1]
            for other in others:
                if index[other] < 0:
                    waiting.append(other)
                    break
                if on_stack[other]:
                    low[v] = min(low[v], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[v])
                if low[v] == index[v]:
                    found.append(set())
                    while v not in found[-1]:
                        on_stack[open_[-1]] = False
                        found[-1].add(open_.pop())
    return found


def has_order(edges: Iterable[tuple[int, int]]) -> bool:
    """Return whether a graph has no cycle."""
    edges = list(edges)
    nodes = {p for edge in edges for p in edge}
    return len(ordered(sorted(nodes), edges)) == len(nodes)


def ordered(nodes: Sequence[int], edges: Iterable[tuple[int, int]]) -> list[int]:
    """Return nodes in a topological order, the least of those that are ready first; those on cycles are left out."""
    readers: Mapping[int, list[int]] = {p: [] for p in nodes}
    waiting = dict.fromkeys(nodes, 0)
    for u, v in edges:
        readers[u].append(v)
        waiting[v] += 1
    ready = [p for p in nodes if not waiting[p]]
    heapq.heapify(ready)
    order = []
    while ready:
        p = heapq.heappop(ready)
        order.append(p)
        for v in readers[p]:
            waiting[v] -= 1
            if not waiting[v]:
                heapq.heappush(ready, v)
    return order
