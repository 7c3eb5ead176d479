"""Choose a label for every node of a graph so that nodes and edges cost least together, one node after another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from math import inf
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints

__all__ = ["LabelCosts", "Labelling"]


class LabelCosts(NamedTuple):
    """The least cost of all labels together, of those with one label given, and of those with two at an edge.

    Attributes:
        least: of all. nodes: [n, k]. edges: [m, k, k]; ``inf`` where nothing is possible.
    """

    least: float
    nodes: Floats
    edges: Floats


class Labelling:
    """A graph whose nodes are left out one after another: each together with those neighbours that are left.

    What is left out becomes a cost of these neighbours, which are joined (bucket elimination, of Dechter; on trees of
    cliques Lauritzen and Spiegelhalter's).

    Args:
        n: nodes. tails, heads: [m] of edges, whose directions do not matter.

    Attributes:
        width: how many neighbours are left of a node that is left out, at most.
    """

    def __init__(self, n: int, tails: Ints, heads: Ints) -> None:
        self._ends = list(zip(tails.tolist(), heads.tolist(), strict=True))
        self._order, self._near = _orders(n, self._ends)
        self._place = {v: i for i, v in enumerate(self._order)}
        self.width = max(map(len, self._near), default=0)

    @cached_property
    def _behind(self) -> list[list[int]]:
        """[n] the places whose costs become one of each place."""
        behind: list[list[int]] = [[] for _ in self._order]
        for i, near in enumerate(self._near):
            if near:
                behind[min(self._place[v] for v in near)].append(i)
        return behind

    def costs(self, nodes: Floats, edges: Floats) -> LabelCosts:
        """Return the least costs for [n, k] costs of nodes and [m, k, k] of edges, ``inf`` for what cannot be."""
        n, k = nodes.shape
        scopes = [[v, *near] for v, near in zip(self._order, self._near, strict=True)]
        tables = [_spread(nodes[v], [v], scope, k) for v, scope in zip(self._order, scopes, strict=True)]
        for e, (u, v) in enumerate(self._ends):
            i = min(self._place[u], self._place[v])
            tables[i] = tables[i] + _spread(edges[e], [u, v], scopes[i], k)
        up: list[Floats] = []
        for i in range(n):
            for j in self._behind[i]:
                tables[i] = tables[i] + _spread(up[j], self._near[j], scopes[i], k)
            up.append(tables[i].min(axis=0))
        roots = [i for i, near in enumerate(self._near) if not near]
        least = float(sum(up[i] for i in roots))
        for i in roots:
            tables[i] = tables[i] + (least - float(up[i]) if least < inf else inf)
        for i in range(n - 1, -1, -1):
            for j in self._behind[i]:
                possible, own = np.isfinite(up[j]), np.where(np.isfinite(up[j]), up[j], 0.0)
                rest = _within(tables[i], scopes[i], self._near[j]) - own  # what all but the places behind j cost
                tables[j] = tables[j] + np.where(possible, rest, inf)
        of_nodes = np.array([_within(tables[self._place[v]], scopes[self._place[v]], [v]) for v in range(n)])
        of_edges = np.empty_like(edges)
        for e, (u, v) in enumerate(self._ends):
            i = min(self._place[u], self._place[v])
            of_edges[e] = _within(tables[i], scopes[i], [u, v])
        return LabelCosts(least, of_nodes.reshape(n, k), of_edges)


def _orders(n: int, ends: Sequence[tuple[int, int]]) -> tuple[list[int], list[list[int]]]:
    """Return the order in which nodes are left out, fewest neighbours first, and which neighbours each then has."""
    near: list[set[int]] = [set() for _ in range(n)]
    for u, v in ends:
        near[u].add(v)
        near[v].add(u)
    left, order, scopes = set(range(n)), list[int](), list[list[int]]()
    while left:
        v = min(left, key=lambda v: (len(near[v]), v))
        left.remove(v)
        order.append(v)
        scopes.append(sorted(near[v]))
        for u in near[v]:
            near[u].remove(v)
        for a, b in combinations(near[v], 2):
            near[a].add(b)
            near[b].add(a)
    return order, scopes


def _spread(table: Floats, own: Sequence[int], scope: Sequence[int], k: int) -> Floats:
    """Return a table over the nodes *own* as one over *scope*, its axes in that order, of length one elsewhere."""
    axes = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
    inside = set(own)
    spread: Floats = table.transpose(axes).reshape([k if v in inside else 1 for v in scope])
    return spread


def _within(table: Floats, scope: Sequence[int], own: Sequence[int]) -> Floats:
    """Return the least entries of a table over *scope* for each choice of the nodes *own*, axes in their order."""
    inside = set(own)
    least = table.min(axis=tuple(i for i, v in enumerate(scope) if v not in inside))
    kept = [v for v in scope if v in inside]
    moved: Floats = least.transpose([kept.index(v) for v in own])
    return moved
