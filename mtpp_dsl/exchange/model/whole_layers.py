"""Layers in one piece: which runs of operators become one group, so that no cycle arises between groups."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

Key: TypeAlias = tuple[str, int | None]
"""The key of operators that are one node: the path of their module, or that of their layer, with its number."""

MAX_TAKEN = 20
"""How often layers may take in what they make cycles with, before they are parted."""
MAX_TRIED = 20_000_000
"""Runs of one path, times edges, beyond which joining them is not tried."""


def whole_layers(keys: Sequence[Key], edges: Collection[tuple[int, int]]) -> tuple[list[int], set[Key]]:
    """Return for each run the run that stands for its group, with every layer in one, and no cycle between groups.

    Where groups are on a cycle that has one layer, it takes the others in; one with several leaves them as runs.
    """
    count = len(keys)
    whole: dict[Key, int] = {}
    for p, key in enumerate(keys):
        if key[1] is not None:
            whole.setdefault(key, p)
    taken: dict[int, int] = {}  # runs that a layer took in
    parted: set[Key] = set()
    for attempt in range(2 * count + 1):
        place = [whole.get(key, taken.get(p, p)) for p, key in enumerate(keys)]
        quotient = {(place[u], place[v]) for u, v in edges if place[u] != place[v]}
        if _has_order(quotient):
            break
        runs: dict[int, list[int]] = {}
        for p, at in enumerate(place):
            runs.setdefault(at, []).append(p)
        for cycle in _cycles(quotient):
            layers = {keys[p] for p in cycle if keys[p] in whole}
            others = [p for at in cycle for p in runs[at] if keys[p] not in whole]
            if len(layers) == 1 and attempt < MAX_TAKEN and all(keys[p][1] is None for p in others):
                taken |= dict.fromkeys(others, whole[next(iter(layers))])
                continue
            for key in layers:
                del whole[key]
            parted |= layers
            taken = {p: at for p, at in taken.items() if keys[at] not in layers}
    return place, parted


def joined_outside(keys: Sequence[Key], place: Sequence[int], edges: Collection[tuple[int, int]]) -> list[int]:
    """Join the runs of one path that stand outside of the layers at the same place, where that makes no cycle."""
    level, passed = [0] * len(keys), 0
    seen: set[int] = set()
    for p, key in enumerate(keys):
        if key[1] is not None and place[p] not in seen:
            seen.add(place[p])
            passed += 1
        level[p] = passed
    same: dict[tuple[str, int], list[int]] = {}
    for p, key in enumerate(keys):
        if key[1] is None and place[p] == p:
            same.setdefault((key[0], level[p]), []).append(p)
    for runs in same.values():
        for p in runs[1:] if len(runs) * len(edges) < MAX_TRIED else ():
            joined = [runs[0] if at == p else at for at in place]
            quotient = {(joined[u], joined[v]) for u, v in edges if joined[u] != joined[v]}
            if _has_order(quotient):
                place = joined
    return list(place)


def _has_order(edges: Iterable[tuple[int, int]]) -> bool:
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


def _cycles(edges: Collection[tuple[int, int]]) -> list[set[int]]:
    """Return the sets of nodes that reach each other, of two nodes or more."""
    import networkx as nx

    return [nodes for nodes in nx.strongly_connected_components(nx.DiGraph(edges)) if len(nodes) > 1]
