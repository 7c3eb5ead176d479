"""Lower bounds on latencies from paths: what a contiguous subgraph with part of a path must hold, read and write.

Take a path. Every subgraph is contiguous, so it holds a run of the path's nodes, next to each other, or none, and with
the first and the last of them all that lies between these two in the graph: their hull. It reads every tensor that a
node of the hull reads from the nodes before the run, from which the run's predecessor on the path is reached, and
writes those of the hull that are read after the run. These runs, and the nodes of the path on devices with
``io = free``, take place one after another. A dynamic programme over the path finds the cheapest way to cut it into no
more runs than there may be subgraphs, each of which fits into a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mtpp_dsl.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.solvers.latency.instance import Instance
from mtpp_dsl.verification import TOLERANCE

__all__ = ["LARGEST", "Hulls", "longest", "reachable"]

LARGEST = 6000
"""Nodes of the largest graph whose pairs of nodes are kept."""


def reachable(graph: Graph) -> Bools:
    """Return [n, n] whether a path leads from one node to another, which is not itself."""
    found = np.zeros((graph.n, graph.n), np.bool_)
    for u in graph.topological_order[::-1].tolist():
        for v in graph.successors(u).tolist():
            found[u] |= found[v]
            found[u, v] = True
    return found


class Hulls:
    """Bounds from paths of one problem.

    Args:
        instance: the problem; of no more than :data:`LARGEST` nodes.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        graph = self.graph = instance.graph
        self.after = reachable(graph)
        self.before = np.ascontiguousarray(self.after.T)
        home = instance.home[: instance.pieces]
        self.single = len(np.unique(home)) == len(home)
        kinds = {(float(instance.limit[d]), instance.time[:, d].tobytes()): int(d) for d in home.tolist()[::-1]}
        self.kinds = [(d, float(instance.limit[d]) * (1 + TOLERANCE * (1 + 1e-6))) for d in kinds.values()]
        members = np.zeros((int(instance.group.max(initial=-1)) + 1, graph.n), np.bool_)
        self.large = np.diff(instance.member_offsets) > 1
        for g in np.flatnonzero(self.large).tolist():
            members[g, instance.members[instance.member_offsets[g] : instance.member_offsets[g + 1]]] = True
        self.members = members
        free = instance.home[instance.pieces :]
        beside = np.zeros((len(members), len(free)))
        np.add.at(beside, instance.group, np.where(np.isfinite(instance.time[:, free]), 0.0, np.inf))
        self.alone: Floats = (instance.time[:, free] + beside[instance.group]).min(axis=1, initial=np.inf)

    def least(self, path: Sequence[int], stopped: Callable[[], bool]) -> float:
        """Return what no latency is below; 0 when *stopped*, ``inf`` if no plan exists.

        Args:
            path: nodes, each of which reads the tensor of the one before it.
            stopped: whether to give up.
        """
        pieces, length = self.instance.pieces, len(path)
        most = min(pieces, length)
        least = np.full((length + 1, most + 1), np.inf)
        least[0, 0] = 0.0
        for i in range(length):
            if stopped():
                return 0.0
            np.minimum(least[i + 1], least[i] + self.alone[path[i]], out=least[i + 1])
            if most and np.isfinite(least[i, :-1]).any():
                for j, cost in self.runs(path, i):
                    np.minimum(least[j + 1, 1:], least[i, :-1] + cost, out=least[j + 1, 1:])
        return float(least[length].min()) * (1 - 8e-16 * (self.graph.n + 100))

    def runs(self, path: Sequence[int], i: int) -> list[tuple[int, float]]:
        """Return (j, least time of a subgraph of the nodes i to j of the path and not those beside them) for all j."""
        graph, instance = self.graph, self.instance
        inside = np.zeros(graph.n, np.bool_)
        down, up = inside.copy(), inside.copy()
        earlier = self.before[path[i - 1]].copy() if i else np.zeros(graph.n, np.bool_)
        if i:
            earlier[path[i - 1]] = True
        found = []
        for j in range(i, len(path)):
            self._hold(inside, down, up, path[j])
            if i and inside[path[i - 1]]:
                break
            held = self._held(inside)
            room = [d for d, limit in self.kinds if held <= limit]
            if not room:
                break
            if j + 1 < len(path) and inside[path[j + 1]]:
                continue
            reads = np.zeros(graph.n, np.bool_)
            reads[graph.tails[earlier[graph.tails] & inside[graph.heads]]] = True
            if j + 1 < len(path):
                later = self.after[path[j + 1]].copy()
                later[path[j + 1]] = True
                reads[graph.tails[inside[graph.tails] & later[graph.heads]]] = True
            cost = float(instance.tensor[reads].sum()) + min(float(instance.time[inside, d].sum()) for d in room)
            if cost < np.inf:
                found.append((j, cost))
        return found

    def _hold(self, inside: Bools, down: Bools, up: Bools, v: int) -> None:
        """Add a node to a subgraph, with all between, and with one subgraph on each device all that is colocated."""
        fresh = np.array([v])
        while len(fresh):
            inside[fresh] = True
            down |= self.after[fresh].any(axis=0)
            up |= self.before[fresh].any(axis=0)
            wanted = down & up
            if self.single:
                groups = np.unique(self.instance.group[fresh])
                wanted |= self.members[groups[self.large[groups]]].any(axis=0)
            fresh = np.flatnonzero(wanted & ~inside)

    def _held(self, inside: Bools) -> float:
        """Return the memory of a set of nodes and of those colocated with them."""
        groups = np.unique(self.instance.group[inside])
        groups = groups[self.large[groups]]
        if len(groups):
            inside = inside | self.members[groups].any(axis=0)
        return float(self.instance.memory[inside].sum())

    def path(self, weights: Floats, passed: Floats) -> list[int]:
        """Return the path of the greatest sum of *weights* [n] of its nodes and *passed* [n] of all but the last."""
        return longest_path(self.graph, weights, passed)[1]


def longest_path(graph: Graph, weights: Floats, passed: Floats) -> tuple[float, list[int]]:
    """Return the greatest sum of *weights* of the nodes of a path and *passed* of all but the last, and the path."""
    value, came = np.zeros(graph.n), np.full(graph.n, -1, np.int64)
    for v in graph.topological_order.tolist():
        before: Ints = graph.predecessors(v)
        if len(before):
            sums = value[before] + passed[before]
            came[v] = before[sums.argmax()]
            value[v] = sums.max()
        value[v] += weights[v]
    if not graph.n:
        return 0.0, []
    path = [int(value.argmax())]
    while came[path[-1]] >= 0:
        path.append(int(came[path[-1]]))
    return float(value.max()), path[::-1]


def longest(instance: Instance) -> float:
    """Return the length of the longest path with each node where it is fastest, lowered for rounding."""
    fastest: Floats = instance.time.min(axis=1, initial=np.inf)
    value, _ = longest_path(instance.graph, np.where(np.isfinite(fastest), fastest, 0.0), np.zeros(instance.n))
    return value * (1 - 8e-16 * (instance.n + 100))
