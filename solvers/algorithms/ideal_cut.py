"""The cheapest ideal: a minimum cut, since tensors leave an ideal in one direction only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.base.compiling import Kernel
from mtpp_dsl.problem.graph import Ints

__all__ = ["CUT", "ENDLESS", "Network", "network_of"]

ENDLESS = 1 << 58
"""Capacity of arcs that no minimum cut contains."""


class Network(NamedTuple):
    """Vertices: the nodes, one for each tensor of several readers, source, sink.

    Attributes:
        start: [vertices+1] row pointers.
        head, back: [arcs] where each goes, and the arc that goes back.
        capacity: [arcs] of tensors and of the order; 0 at source and sink.
        source, sink: [n] the arcs from the source to each node, and to the sink.
    """

    start: Ints
    head: Ints
    back: Ints
    capacity: Ints
    source: Ints
    sink: Ints


def network_of(n: int, before: list[list[int]], tensors: list[tuple[int, list[int], int]]) -> Network:
    """Return the network of a graph.

    The source's side of a cut is an ideal: an endless arc leads from each node to those *before* it. A tensor, given as
    producer, readers and cost, is cut if its producer is in the ideal and some reader is not.
    """
    arcs: list[tuple[int, int, int]] = [(v, u, ENDLESS) for v in range(n) for u in before[v]]
    vertices = n
    for producer, readers, cost in tensors:
        if len(readers) == 1:
            arcs.append((producer, readers[0], cost))
            continue
        arcs.append((producer, vertices, cost))
        arcs += [(vertices, reader, ENDLESS) for reader in readers]
        vertices += 1
    source, sink = vertices, vertices + 1
    first = len(arcs)
    arcs += [(source, v, 0) for v in range(n)] + [(v, sink, 0) for v in range(n)]
    ends = [end for tail, head, cost in arcs for end in ((tail, head, cost), (head, tail, 0))]
    order = sorted(range(len(ends)), key=lambda a: ends[a][0])
    place = np.empty(len(ends), np.int64)
    place[order] = np.arange(len(ends))
    counts = np.bincount([tail for tail, _, _ in ends], minlength=vertices + 2)
    return Network(
        start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        head=np.array([ends[a][1] for a in order], np.int64),
        back=np.array([place[a ^ 1] for a in order], np.int64),
        capacity=np.array([ends[a][2] for a in order], np.int64),
        source=place[2 * np.arange(first, first + n)],
        sink=place[2 * np.arange(first + n, first + 2 * n)],
    )


def _cut(
    fixed: Ints, weight: Ints, scale: int, start: Ints, head: Ints, back: Ints, capacity: Ints, source: Ints,
    sink: Ints, inside: Ints,
) -> int:  # fmt: skip
    """Return the least of *scale* times the tensors that an ideal cuts plus the weights in it, and the ideal.

    Args:
        fixed: [n] 1 for nodes in the ideal, -1 for nodes outside.
        weight: [n] of any sign.
        scale: of the costs of tensors.
        start: of the network, as the next five.
        head: as there.
        back: as there.
        capacity: as there.
        source: as there.
        sink: as there.
        inside: [n] is set to the smallest ideal of that value.
    """
    n, vertices = len(fixed), len(start) - 1
    s, t = vertices - 2, vertices - 1
    left = np.empty(len(head), np.int64)
    for a in range(len(head)):
        left[a] = capacity[a] if capacity[a] >= ENDLESS else capacity[a] * scale
    value = 0
    for v in range(n):
        if fixed[v] > 0:
            left[source[v]] = ENDLESS
            value += weight[v]
        elif fixed[v] < 0:
            left[sink[v]] = ENDLESS
        elif weight[v] > 0:
            left[sink[v]] = weight[v]
        else:
            left[source[v]] = -weight[v]
            value += weight[v]
    level = np.empty(vertices, np.int64)
    queue = np.empty(vertices, np.int64)
    at = np.empty(vertices, np.int64)
    path = np.empty(vertices, np.int64)
    while True:
        level[:] = -1
        level[s] = 0
        queue[0] = s
        first, last = 0, 1
        while first < last and level[t] < 0:
            x = queue[first]
            first += 1
            for a in range(start[x], start[x + 1]):
                if left[a] > 0 and level[head[a]] < 0:
                    level[head[a]] = level[x] + 1
                    queue[last] = head[a]
                    last += 1
        if level[t] < 0:
            break
        for x in range(vertices):
            at[x] = start[x]
        depth = 0
        x = s
        while True:
            if x == t:
                push = left[path[0]]
                for d in range(1, depth):
                    push = min(push, left[path[d]])
                value += push
                again = depth
                for d in range(depth - 1, -1, -1):
                    left[path[d]] -= push
                    left[back[path[d]]] += push
                    if left[path[d]] == 0:
                        again = d
                depth = again
                x = head[back[path[depth]]]
                continue
            moved = False
            while at[x] < start[x + 1]:
                a = at[x]
                if left[a] > 0 and level[head[a]] == level[x] + 1:
                    path[depth] = a
                    depth += 1
                    x = head[a]
                    moved = True
                    break
                at[x] += 1
            if moved:
                continue
            if depth == 0:
                break
            level[x] = -1
            depth -= 1
            x = head[back[path[depth]]]
            at[x] += 1
    for v in range(n):
        inside[v] = 1 if level[v] >= 0 else 0
    return value


CUT = Kernel(_cut, 0)
