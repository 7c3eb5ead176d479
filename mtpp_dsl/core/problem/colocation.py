"""Derive what ``colocate``, ``acyclic``, ``stages`` and ``contiguous`` ask of nodes.

That is classes of nodes on one device, and the edges that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np

from mtpp_dsl.core.base.lazy import csgraph, sparse
from mtpp_dsl.core.constraints import Acyclic, Colocate, Contiguous
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem

FEW_EDGES = 50_000
"""Up to so many, a search for a cycle takes less than the import of scipy, which names the classes on each cycle."""


def together(problem: Problem) -> Ints:
    """Return [n] classes, numbered by their first nodes; every plan has all nodes of a class on one device.

    Colocated nodes are in one class. Where the quotient graph of a part must be acyclic, so are classes on a cycle of
    edges of that part: on two devices they would make it a cycle of the quotient graph. And nothing else: with each
    class on a device of its own, only the other constraints can break.
    """
    classes = colocated(problem)
    parts = ordered_edges(problem)
    changed = bool(classes.max(initial=-1) + 1 < problem.graph.n)  # the graph itself has no cycle
    while changed:
        changed = False
        for tails, heads in parts:
            merged = strong(classes, tails, heads)
            changed |= bool(merged.max(initial=-1) < classes.max(initial=-1))
            classes = merged
    return classes


def colocated(problem: Problem) -> Ints:
    """Return [n] the classes of nodes that ``constraint colocate`` holds together, numbered by their first nodes."""
    root = np.arange(problem.graph.n)
    if not any(True for _ in problem.of(Colocate)):
        return root

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = int(root[v])
        return v

    for group in problem.of(Colocate):
        for v in group.nodes[1:]:
            root[find(v)] = find(group.nodes[0])
    return numbered(np.array([find(v) for v in range(problem.graph.n)], np.int64))


def ordered_edges(problem: Problem) -> list[tuple[Ints, Ints]]:
    """Return the tails and heads of the edges of each part of the graph whose quotient must be acyclic."""
    asked: set[str] = {constraint.parts for constraint in problem.of(Acyclic)}
    if problem.line is not None:
        asked.add("both")
    if not asked:
        return []
    sides = [False, True] if "both" in asked and problem.graph.backward.any() else [False]
    return [_edges_of_part(problem, backward=side) for side in sides]


def convex_edges(problem: Problem) -> dict[bool, tuple[Ints, Ints, tuple[int, ...]]]:
    """Return, of each part of the graph, the tails and heads of its edges and the devices whose nodes must be convex.

    A part is there, by whether it is the backward one, if ``constraint contiguous`` speaks of it, and ``acyclic`` does
    not: an acyclic quotient graph has convex sets only.
    """
    parts: dict[bool, tuple[Ints, Ints, tuple[int, ...]]] = {}
    for backward in (False, True) if problem.graph.backward.any() else (False,):
        kinds = {"both"} if backward else {"both", "forward"}
        asked = [constraint for constraint in problem.of(Contiguous) if constraint.parts in kinds]
        devices = {
            d for constraint in asked for d in (range(problem.k) if constraint.devices is None else constraint.devices)
        }
        acyclic = any(constraint.parts in kinds for constraint in problem.of(Acyclic))
        if devices and not acyclic and problem.line is None:
            parts[backward] = (*_edges_of_part(problem, backward=backward), tuple(sorted(devices)))
    return parts


def _edges_of_part(problem: Problem, *, backward: bool) -> tuple[Ints, Ints]:
    """Return the tails and heads of the edges within the forward, or the backward, part of the graph."""
    graph = problem.graph
    inside = (graph.backward[graph.tails] == backward) & (graph.backward[graph.heads] == backward)
    return graph.tails[inside], graph.heads[inside]


def cycle(problem: Problem, nodes: Sequence[int]) -> list[int]:
    """Return nodes on a shortest cycle through colocated groups among *nodes*, the first again at the end; [] if none.

    Each is followed by one that reads its tensor, or one that is colocated with it.
    """
    inside = np.zeros(problem.graph.n, np.bool_)
    inside[list(nodes)] = True
    group = colocated(problem)
    walks: list[list[int]] = []
    for tails, heads in ordered_edges(problem):
        kept = inside[tails] & inside[heads] & (group[tails] != group[heads])
        exits: dict[int, list[tuple[int, int]]] = {}
        for u, v in zip(tails[kept].tolist(), heads[kept].tolist(), strict=True):
            exits.setdefault(int(group[u]), []).append((u, v))
        walks += [walk for first in sorted(exits) if (walk := _around(first, exits, group))]
    return min(walks, key=len, default=[])


def _around(first: int, exits: dict[int, list[tuple[int, int]]], group: Ints) -> list[int]:
    """Return a shortest cycle of groups through *first*, as the ends of the edges that join them; [] without one."""
    came: dict[int, tuple[int, int]] = {}
    waiting = [first]
    while waiting and first not in came:
        for u, v in exits.get(waiting.pop(0), []):
            if int(group[v]) not in came:
                came[int(group[v])] = (u, v)
                waiting.append(int(group[v]))
    if first not in came:
        return []
    walk: list[int] = []
    at = first
    while not walk or at != first:
        u, v = came[at]
        walk = [u, v, *walk]
        at = int(group[u])
    walk.append(walk[0])
    return [v for i, v in enumerate(walk) if i == 0 or v != walk[i - 1]]


def strong(classes: Ints, tails: Ints, heads: Ints) -> Ints:
    """Return *classes* with those merged that lie on a cycle of edges."""
    if not len(tails):
        return numbered(classes)
    count = int(classes.max()) + 1
    if len(tails) <= FEW_EDGES and not _has_cycle(classes[tails], classes[heads]):
        return numbered(classes)
    edges = sparse.coo_array((np.ones(len(tails)), (classes[tails], classes[heads])), shape=(count, count))
    component: Ints = csgraph.connected_components(edges, directed=True, connection="strong")[1]
    return numbered(component[classes])


def _has_cycle(tails: Ints, heads: Ints) -> bool:
    """Return whether edges between different classes lead in a circle."""
    before: dict[int, set[int]] = {}
    for tail, head in zip(tails.tolist(), heads.tolist(), strict=True):
        if tail != head:
            before.setdefault(head, set()).add(tail)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return True
    return False


def numbered(labels: Ints) -> Ints:
    """Return *labels* replaced by 0, 1, ... in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    numbered: Ints = number[inverse].astype(np.int64)
    return numbered
