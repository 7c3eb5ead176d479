"""Hulls: what a contiguous subgraph with part of a path must hold, read and write."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, frexp, inf, ldexp
from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import IN, OUT, CheapestSets
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance

SMALL = 24
BITS = 50
"""Of the sum of all times and tensors, in the whole numbers of minimum cuts."""
ROUNDING = 1e-11
"""Of sums of memory, by which a part of it may be exceeded."""
TRIALS = 12
"""Rents that are tried for one run."""
LARGEST_RENT = 2.0**16
"""Over the first; the rent of all nodes is then 64 times all times and tensors, which the whole numbers hold."""
NEVER = 1 << 58
"""What it costs to part nodes that are in one subgraph or in none."""


def reachable(graph: Graph) -> Bools:
    """Return [n, n] whether a path leads from one node to another, which is not itself."""
    reaches = np.zeros((graph.n, graph.n), np.bool_)
    for u in graph.topological_order[::-1].tolist():
        for v in graph.successors(u).tolist():
            reaches[u] |= reaches[v]
            reaches[u, v] = True
    return reaches


class Cheapest(NamedTuple):
    """The least time of a subgraph, the rent of memory that shows it, and the memory it uses then, or has."""

    cost: float
    rent: float
    memory: float


class Hulls:
    """Bounds from paths of one problem.

    Args:
        instance: the problem; of no more than :data:`mtpp_dsl.solvers.latency.path_hull.LARGEST` nodes.
    """

    def __init__(self, instance: LatencyInstance) -> None:
        self.instance = instance
        graph = self.graph = instance.graph
        self.after = reachable(graph)
        self.before = np.ascontiguousarray(self.after.T)
        home = instance.home[: instance.pieces]
        self.single = len(np.unique(home)) == len(home)
        kinds = {(float(instance.limit[d]), instance.time[:, d].tobytes()): int(d) for d in home.tolist()[::-1]}
        self.kinds = [(d, float(instance.limit[d]) * (1 + TOLERANCE * (1 + 1e-6))) for d in kinds.values()]
        self.largest = max((limit for _, limit in self.kinds), default=0.0)
        members = np.zeros((int(instance.group.max(initial=-1)) + 1, graph.n), np.bool_)
        self.large = np.diff(instance.member_offsets) > 1
        for g in np.flatnonzero(self.large).tolist():
            members[g, instance.members[instance.member_offsets[g] : instance.member_offsets[g + 1]]] = True
        self.members = members
        work, size = weights(instance)
        self.weights = work + size
        free = instance.home[instance.pieces :]
        beside = np.zeros((len(members), len(free)))
        np.add.at(beside, instance.group, np.where(np.isfinite(instance.time[:, free]), 0.0, np.inf))
        total = float(np.where(np.isfinite(instance.time), instance.time, 0.0).sum() + instance.tensor.sum()) or 1.0
        self.units = ldexp(1.0, min(BITS - frexp(total)[1], 1000))
        heavy = float(instance.memory.sum())
        self.rent = total / heavy * 2.0**-10 if heavy > 0 else 1.0
        cost = np.floor(instance.tensor * self.units).astype(np.int64).tolist()
        nets = [([u, *graph.successors(u).tolist()], cost[u]) for u in range(graph.n)]
        if self.single:
            nets += [(np.flatnonzero(members[g]).tolist(), NEVER) for g in np.flatnonzero(self.large).tolist()]
        edges = np.stack([graph.tails, graph.heads], axis=1)
        self._sets = CheapestSets(graph.n, nets, edges, inf if graph.n > SMALL else 0.0)
        self.alone: Floats = (instance.time[:, free] + beside[instance.group]).min(axis=1, initial=np.inf)

    def runs(self, path: Sequence[int], i: int) -> list[tuple[int, float, float]]:
        """Return all j, and the least time and memory of a subgraph with the nodes i to j of the path and no others."""
        graph, instance = self.graph, self.instance
        inside = np.zeros(graph.n, np.bool_)
        down, up = inside.copy(), inside.copy()
        earlier, _ = self._beyond(path, i, len(path) - 1)
        ends = []
        for j in range(i, len(path)):
            self._hold(inside, down, up, np.array([path[j]]))
            if i and inside[path[i - 1]]:
                break
            size = self._held(inside)
            room = [d for d, limit in self.kinds if size <= limit]
            if not room:
                break
            if j + 1 < len(path) and inside[path[j + 1]]:
                continue
            moved = np.zeros(graph.n, np.bool_)
            moved[graph.tails[earlier[graph.tails] & inside[graph.heads]]] = True
            _, later = self._beyond(path, i, j)
            moved[graph.tails[inside[graph.tails] & later[graph.heads]]] = True
            cost = float(instance.tensor[moved].sum()) + min(float(instance.time[inside, d].sum()) for d in room)
            if cost < np.inf:
                ends.append((j, cost, float(instance.memory[inside].sum())))
        return ends

    def fits(self, memory: float, used: float, room: float) -> bool:
        """Return whether a memory of which some is used, and some room may be, has room for a subgraph's."""
        return any(memory <= _left(limit, used, room) for _, limit in self.kinds)

    def cheapest(
        self, path: Sequence[int], i: int, j: int, more: Sequence[int] = (), used: float = 0.0, room: float = inf
    ) -> Cheapest:
        """Return the least time of a subgraph that holds the nodes i to j of the path and *more*, whatever else.

        A minimum cut, in whole numbers rounded down: other nodes cost their time, and every tensor of which it has some
        and not all of producer and readers costs a payment; with one subgraph on each device, it has all of colocated
        nodes or none. Where the cheapest set does not fit, memory has a rent, also returned, and the rent of a full
        memory is taken off: a bound at any rent, the best of some. Of the memory some is *used* by other subgraphs, and
        by all no more than *room* may be.
        """
        graph = self.graph
        inside = np.zeros(graph.n, np.bool_)
        down, up = inside.copy(), inside.copy()
        hull = self.after[path[i]] & self.before[path[j]]
        hull[[path[i], path[j]]] = True
        hull[list(more)] = True
        self._hold(inside, down, up, np.flatnonzero(hull))
        outside = np.logical_or(*self._beyond(path, i, j))
        if (outside & inside).any():
            return Cheapest(inf, 0.0, 0.0)
        kinds = [(d, _left(limit, used, room)) for d, limit in self._able(inside)]
        own = float(self.instance.memory[inside].sum())
        kinds = [(d, left) for d, left in kinds if own <= left]
        if not kinds:
            return Cheapest(inf, 0.0, own)

        def at(rent: float) -> tuple[float, float, bool]:
            return min(self._rented(d, left, rent, inside, outside, down, up) for d, left in kinds)

        best, rent, low, high = -np.inf, 0.0, 0.0, np.inf
        trial, held = 0.0, max(left for _, left in kinds)
        for _ in range(TRIALS):
            value, memory, fits = at(trial)
            if value > best:
                best, rent = value, trial
            if fits and trial == 0.0:
                held = memory
                break
            low, high = (low, trial) if fits else (trial, high)
            trial = (low + high) / 2 if high < np.inf else max(4 * low, self.rent)
            if trial > LARGEST_RENT * self.rent:
                break
        return Cheapest(float(best), rent, held)

    def beside(self, path: Sequence[int], part: Sequence[int]) -> float:
        """Return the least time of a subgraph that holds some nodes and none of a path."""
        graph = self.graph
        inside = np.zeros(graph.n, np.bool_)
        down, up = inside.copy(), inside.copy()
        self._hold(inside, down, up, np.array(part))
        outside = np.zeros(graph.n, np.bool_)
        outside[list(path)] = True
        if (outside & inside).any():
            return np.inf
        kinds = self._able(inside)
        return min((self._rented(d, limit, 0.0, inside, outside, down, up)[0] for d, limit in kinds), default=inf)

    def _able(self, inside: Bools) -> list[tuple[int, float]]:
        """Return the kinds of devices that may have a subgraph with some nodes, and those colocated with these."""
        size, time = self._held(inside), self.instance.time
        return [(d, limit) for d, limit in self.kinds if size <= limit and np.isfinite(time[inside, d]).all()]

    def _rented(
        self, d: int, limit: float, rent: float, inside: Bools, outside: Bools, down: Bools, up: Bools
    ) -> tuple[float, float, bool]:
        """Return the least cost of a set at a rent, less that of a full memory, its memory, and whether that fits."""
        graph, instance = self.graph, self.instance
        allowed = np.isfinite(instance.time[:, d])
        state = np.zeros(graph.n, np.int64)
        out = outside | ~allowed
        state[self._with_mates(out) if self.single else out] = OUT
        state[inside] = IN
        rent = rent if limit < np.inf else 0.0
        price = np.floor((np.where(allowed, instance.time[:, d], 0.0) + rent * instance.memory) * self.units)
        value, chosen = self._sets.least(state, down, up, price.astype(np.int64))
        full = ceil(rent * limit * self.units) if rent else 0
        memory = float(instance.memory[chosen].sum())
        return (value - full) / self.units, memory, memory <= limit

    def _beyond(self, path: Sequence[int], i: int, j: int) -> tuple[Bools, Bools]:
        """Return the nodes that reach the node before run i to j, with it, and those reached after, with the first."""
        earlier, later = np.zeros(self.graph.n, np.bool_), np.zeros(self.graph.n, np.bool_)
        if i:
            earlier |= self.before[path[i - 1]]
            earlier[path[i - 1]] = True
        if j + 1 < len(path):
            later |= self.after[path[j + 1]]
            later[path[j + 1]] = True
        return earlier, later

    def _hold(self, inside: Bools, down: Bools, up: Bools, fresh: Ints) -> None:
        """Add nodes to a subgraph, with all between, and with one subgraph on each device all that is colocated."""
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
        return float(self.instance.memory[self._with_mates(inside)].sum())

    def _with_mates(self, nodes: Bools) -> Bools:
        """Return a set of nodes with those colocated with them."""
        groups = np.unique(self.instance.group[nodes])
        groups = groups[self.large[groups]]
        return nodes | self.members[groups].any(axis=0) if len(groups) else nodes

    def path(self, weights: Floats, passed: Floats) -> list[int]:
        """Return the path of the greatest sum of *weights* [n] of its nodes and *passed* [n] of all but the last."""
        return longest_path(self.graph, weights, passed)[1]


def _left(limit: float, used: float, room: float) -> float:
    """Return what is left of a memory of which some is used, and no more than some room may be."""
    top = min(limit, room)
    return top if (used == 0.0 and room == inf) or top == inf else top - used + ROUNDING * top


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


def longest(instance: LatencyInstance) -> tuple[float, list[int]]:
    """Return the length of the longest path with each node where it is fastest, lowered for rounding, and the path."""
    fastest: Floats = instance.time.min(axis=1, initial=np.inf)
    fastest = np.where(np.isfinite(fastest), fastest, 0.0)
    value, path = longest_path(instance.graph, fastest, np.zeros(instance.n))
    return value * (1 - 8e-16 * (instance.n + 100)), path


def weights(instance: LatencyInstance) -> tuple[Floats, Floats]:
    """Return [n] the least time of each node, and its memory in the same unit: the sums of both are equal."""
    least = instance.time.min(axis=1, initial=np.inf)
    work: Floats = np.where(np.isfinite(least), least, 0.0)
    unit = float(instance.memory.sum()) or 1.0
    return work, instance.memory * (float(work.sum()) / unit)
