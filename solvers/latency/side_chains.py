"""Chains of nodes beside a path, and how subgraphs may share them: states between the runs of a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph, Ints

CHAINS = 3
"""Chains of one bundle."""


@dataclass(frozen=True)
class Bundle:
    """Chains of nodes off a path that one of its nodes reaches and that reach another.

    Attributes:
        first, last: the indices of these nodes of the path.
        chains: nodes off the path, each of which reaches the next.
    """

    first: int
    last: int
    chains: tuple[tuple[int, ...], ...]

    @property
    def options(self) -> list[tuple[int, ...]]:
        """How many nodes of each chain a subgraph may take: nothing first, everything last."""
        return list(product(*(range(len(chain) + 1) for chain in self.chains)))

    def before(self, option: Sequence[int]) -> list[int]:
        """Return the nodes that are taken."""
        return [v for chain, s in zip(self.chains, option, strict=True) for v in chain[:s]]

    def after(self, option: Sequence[int]) -> list[int]:
        """Return the nodes that are left."""
        return [v for chain, s in zip(self.chains, option, strict=True) for v in chain[s:]]

    def delays(self, alone: Floats, own: Callable[[tuple[int, ...]], float]) -> Iterator[tuple[int, int, float, float]]:
        """Yield options s <= t, and what it takes to run what t has beyond s, beside host memory and otherwise.

        Args:
            alone: [n] time of each node beside host memory.
            own: least time of a subgraph with some nodes and none of the path.
        """
        options = self.options
        for s, taken in enumerate(options):
            for t, left in enumerate(options):
                if all(a <= b for a, b in zip(taken, left, strict=True)):
                    parts = [chain[a:b] for chain, a, b in zip(self.chains, taken, left, strict=True)]
                    beside = max(float(alone[list(part)].sum()) for part in parts)
                    other = max(_other(part, alone, own) for part in parts) if s != t else float(np.inf)
                    yield s, t, beside, other


def _other(part: tuple[int, ...], alone: Floats, own: Callable[[tuple[int, ...]], float]) -> float:
    """Return what a part of a chain takes at least that may have subgraphs of its own."""
    least = float(sum(alone[list(part)].tolist()))
    each = [min(float(alone[v]), own((v,))) for v in part]
    for i in range(len(part)):
        for j in range(i, len(part)):
            least = min(least, own(part[i : j + 1]) + sum(each[:i]) + sum(each[j + 1 :]))
    return least


def bundles(
    graph: Graph, path: Sequence[int], reach: tuple[Ints, Ints], weight: Floats, ways: int
) -> list[Bundle | None]:
    """Return [len(path) + 1] the bundle of each boundary of a path: before its first node, after each.

    Args:
        graph: the graph.
        path: its path.
        reach: [n] the last index of the path that reaches each node, and [n] the first that it reaches.
        weight: [n] of nodes; heavy ones are taken first.
        ways: to take a prefix of each chain of one bundle, at most.
    """
    length = len(path)
    lowest, highest = reach
    off = np.ones(graph.n, np.bool_)
    off[list(path)] = False
    between = np.flatnonzero(off & (lowest >= 0) & (highest < length) & (weight > 0))
    at: list[tuple[int, int] | None] = [None] * (length + 1)
    worth = np.zeros(length + 1)
    for a, b in sorted({(int(lowest[u]), int(highest[u])) for u in between.tolist()}):
        value = float(weight[between[(lowest[between] >= a) & (highest[between] <= b)]].sum()) / (b - a)
        for x in range(a + 1, b + 1):
            if value > worth[x]:
                at[x], worth[x] = (a, b), value
    found: dict[tuple[int, int] | None, Bundle | None] = {None: None}
    for ends in dict.fromkeys(at):
        if ends is not None:
            inside = between[(lowest[between] >= ends[0]) & (highest[between] <= ends[1])]
            found[ends] = Bundle(*ends, _chains(graph, inside, weight, ways))
    return [found[ends] for ends in at]


def _chains(graph: Graph, inside: Ints, weight: Floats, ways: int) -> tuple[tuple[int, ...], ...]:
    """Return the heaviest nodes of disjoint paths through some nodes."""
    left = set(inside.tolist())
    order = [v for v in graph.topological_order.tolist() if v in left]
    chains: list[list[int]] = []
    while left and len(chains) < CHAINS:
        value: dict[int, float] = {}
        came: dict[int, int] = {}
        for v in order:
            if v in left:
                ahead = [u for u in graph.predecessors(v).tolist() if u in value]
                best = max(ahead, key=value.__getitem__, default=-1)
                came[v] = best
                value[v] = float(weight[v]) + (value[best] if best >= 0 else 0.0)
        v = max(value, key=value.__getitem__)
        chain = []
        while v >= 0:
            chain.append(v)
            v = came[v]
        chains.append(chain[::-1])
        left -= set(chain)
    kept: list[set[int]] = [set() for _ in chains]
    heavy = sorted(((c, v) for c, chain in enumerate(chains) for v in chain), key=lambda cv: -weight[cv[1]])
    for c, v in heavy:
        sizes = [len(k) + 1 + (d == c) for d, k in enumerate(kept)]
        if int(np.prod(sizes)) <= ways:
            kept[c].add(v)
    return tuple(tuple(v for v in chain if v in k) for chain, k in zip(chains, kept, strict=True) if k)
