"""Chains of nodes beside a path, and how subgraphs may share them: states between the runs of a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph, Ints

CHAINS = 3
"""Chains of one bundle."""
LENGTH = 12
"""Nodes of one chain."""


@dataclass(frozen=True)
class Bundle:
    """Chains of nodes off a path that one of its nodes reaches and that reach another.

    Attributes:
        first, last: the indices of these nodes of the path.
        chains: nodes off the path, each of which reaches the next.
        stops: indices of some nodes of each chain; options tell which of these a subgraph has.
    """

    first: int
    last: int
    chains: tuple[tuple[int, ...], ...]
    stops: tuple[tuple[int, ...], ...]

    @property
    def options(self) -> list[tuple[int, ...]]:
        """How many stops of each chain a subgraph may take: nothing first, everything last."""
        return list(product(*(range(len(stops) + 1) for stops in self.stops)))

    def between(self, low: Sequence[int], high: Sequence[int]) -> list[tuple[int, ...]]:
        """Return of each chain what is from the first stop that only the second option has to its last one.

        A subgraph that holds both of these holds the nodes between them, too. If neither a subgraph before nor one
        behind holds one of these, none holds what is between.
        """
        parts = []
        for chain, stops, a, b in zip(self.chains, self.stops, low, high, strict=True):
            parts.append(chain[stops[a] : stops[b - 1] + 1] if a < b else ())
        return parts

    def fuller(self, weight: Floats, ways: int) -> Bundle:
        """Return the bundle with more stops, heavy nodes first, and no more options than *ways*."""
        kept = [set(stops) for stops in self.stops]
        order = [(c, i) for c, chain in enumerate(self.chains) for i in range(len(chain))]
        for c, i in sorted(order, key=lambda one: -weight[self.chains[one[0]][one[1]]]):
            sizes = [len(stops | {i} if c == d else stops) + 1 for d, stops in enumerate(kept)]
            if int(np.prod(sizes)) <= ways:
                kept[c].add(i)
        return replace(self, stops=tuple(tuple(sorted(stops)) for stops in kept))

    def taken(self, other: Bundle, option: Sequence[int]) -> tuple[int, ...]:
        """Return the option whose last stops are those of an option of a bundle with fewer stops."""
        given = zip(self.stops, other.stops, option, strict=True)
        return tuple(mine.index(stops[s - 1]) + 1 if s else 0 for mine, stops, s in given)

    def left(self, other: Bundle, option: Sequence[int]) -> tuple[int, ...]:
        """Return the option that leaves what an option of a bundle with fewer stops leaves."""
        given = zip(self.stops, other.stops, option, strict=True)
        return tuple(mine.index(stops[t]) if t < len(stops) else len(mine) for mine, stops, t in given)

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
                    parts = self.between(taken, left)
                    beside = max(float(alone[list(part)].sum()) for part in parts)
                    other = max(_other(part, alone, own) for part in parts) if s != t else float(np.inf)
                    yield s, t, beside, other


def _other(part: tuple[int, ...], alone: Floats, own: Callable[[tuple[int, ...]], float]) -> float:
    """Return what a part of a chain takes at least that may have subgraphs of its own."""
    least = float(sum(alone[list(part)].tolist()))
    each = [min(float(alone[v]), own((v,))) for v in part]
    for i in range(len(part)):
        for j in range(i, len(part)):
            least = min(least, own((part[i], part[j])) + sum(each[:i]) + sum(each[j + 1 :]))
    return least


def bundles(graph: Graph, path: Sequence[int], reach: tuple[Ints, Ints], weight: Floats) -> list[Bundle | None]:
    """Return [len(path) + 1] the bundle of each boundary of a path, without stops: before its first node, after each.

    Args:
        graph: the graph.
        path: its path.
        reach: [n] the last index of the path that reaches each node, and [n] the first that it reaches.
        weight: [n] of nodes; heavy ones are taken first.
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
            found[ends] = _without_stops(*ends, _chains(graph, inside, weight))
    return [found[ends] for ends in at]


def _without_stops(first: int, last: int, chains: tuple[tuple[int, ...], ...]) -> Bundle:
    return Bundle(first, last, chains, tuple(() for _ in chains))


def _chains(graph: Graph, inside: Ints, weight: Floats) -> tuple[tuple[int, ...], ...]:
    """Return the heaviest disjoint paths through some nodes."""
    left = set(inside.tolist())
    order = [v for v in graph.topological_order.tolist() if v in left]
    chains: list[list[int]] = []
    while left and len(chains) < CHAINS:
        chain = _heaviest(graph, order, left, weight)
        left -= set(chain)
        ends = {chain[0], chain[-1]}
        kept = ends.union(sorted(chain, key=lambda v: -weight[v])[: LENGTH - len(ends)])
        chains.append([v for v in chain if v in kept])
    return tuple(tuple(chain) for chain in chains)


def _heaviest(graph: Graph, order: Sequence[int], left: set[int], weight: Floats) -> list[int]:
    """Return the heaviest path through some nodes."""
    value: dict[int, float] = {}
    came: dict[int, int] = {}
    for v in (v for v in order if v in left):
        ahead = [u for u in graph.predecessors(v).tolist() if u in value]
        came[v] = max(ahead, key=value.__getitem__, default=-1)
        value[v] = float(weight[v]) + value.get(came[v], 0.0)
    chain = [max(value, key=value.__getitem__)]
    while came[chain[-1]] >= 0:
        chain.append(came[chain[-1]])
    return chain[::-1]
