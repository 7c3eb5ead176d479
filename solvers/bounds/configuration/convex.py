"""Convex sets of supernodes: whether one is, and heavy ones, as windows of random topological orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.base.lazy import csgraph, sparse
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.bounds.configuration.by_row import improve_each
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance

STEPS_A_SECOND = 1e6


class Convexity:
    """The order of nodes in the parts of a graph.

    Args:
        instance: what is in a set.

    Attributes:
        arcs: [arcs, 2] supernodes of which the first comes first in orders whose windows are convex: in all parts where
            one order can be that, the backward part from its end or from its beginning; else in the forward part.
    """

    def __init__(self, instance: BoundInstance) -> None:
        self._instance = instance
        self._rank: list[int] = instance.rank.tolist()
        self._after: list[dict[int, list[int]]] = []
        for arcs in instance.parts:
            after: dict[int, list[int]] = {}
            for u, v in arcs:
                after.setdefault(u, []).append(v)
            self._after.append(after)
        self.arcs = _arcs(instance)

    def holds(self, kind: int, in_set: Bools) -> bool:
        """Return whether a set is convex in every part in which a kind asks it."""
        asked = self._instance.convex[kind].tolist()
        if not any(asked):
            return True
        inside = {v for g in np.flatnonzero(in_set).tolist() for v in self._instance.members[g]}
        return all(self._convex(after, inside) for after, must in zip(self._after, asked, strict=True) if must)

    def _convex(self, after: dict[int, list[int]], inside: set[int]) -> bool:
        """Return whether no path leaves the set and comes back."""
        last = max((self._rank[u] for u in inside), default=-1)
        left = [v for u in inside for v in after.get(u, ()) if v not in inside]
        seen = set(left)
        while left:
            for v in after.get(left.pop(), ()):
                if v in inside:
                    return False
                if v not in seen and self._rank[v] < last:
                    seen.add(v)
                    left.append(v)
        return True


def _arcs(instance: BoundInstance) -> Ints:
    """Return the arcs that orders of the supernodes follow."""
    parts = [instance.of[np.array(arcs, np.int64).reshape(-1, 2)] for arcs in instance.parts]
    forward = parts[0]
    choices = [np.concatenate((forward, part[:, ::way])) for part in parts[1:] for way in (-1, 1)]
    for choice in [*choices, forward]:
        arcs: Ints = np.unique(choice[choice[:, 0] != choice[:, 1]], axis=0)
        graph = sparse.coo_array((np.ones(len(arcs)), (arcs[:, 0], arcs[:, 1])), shape=(instance.n, instance.n))
        if csgraph.connected_components(graph, directed=True, connection="strong")[0] == instance.n:
            break
    return arcs


def _fill(
    weights: Floats,
    work: Ints,
    size: Floats,
    cost: Ints,
    starts: Ints,
    first: Ints,
    at: Ints,
    offsets: Ints,
    heads: Ints,
    capacity: int,
    memory: float,
    seed: int,
    sets: Bools,
    heaviest: Floats,
) -> None:
    """Make row r of *sets* the heaviest window of a random topological order, of weight ``heaviest[r]``."""
    n = len(weights)
    state = seed % 2147483646 + 1
    count = np.zeros(len(cost), np.int64)
    order = np.zeros(n, np.int64)
    ready = np.zeros(n, np.int64)
    waiting = np.zeros(n, np.int64)
    for r in range(len(heaviest)):
        # Draw a random topological order: the ready supernodes in a list, of which the newest is taken more often in
        # deep rows.
        waiting[:] = 0
        for e in range(len(heads)):
            waiting[heads[e]] += 1
        many, placed = 0, 0
        for v in range(n):
            if waiting[v] == 0:
                ready[many] = v
                many += 1
        state = state * 48271 % 2147483647
        depth = state % 4
        while many > 0:
            state = state * 48271 % 2147483647
            pick = state % many
            state = state * 48271 % 2147483647
            if depth > 0 and state % 8 < 2 * depth:
                pick = many - 1
            v = ready[pick]
            for i in range(pick, many - 1):
                ready[i] = ready[i + 1]
            many -= 1
            order[placed] = v
            placed += 1
            for j in range(offsets[v], offsets[v + 1]):
                waiting[heads[j]] -= 1
                if waiting[heads[j]] == 0:
                    ready[many] = heads[j]
                    many += 1
        # Windows of a topological order are convex: for each begin, grow the window while work and memory fit, and keep
        # the heaviest whose cut tensors fit, too.
        heaviest[r] = -1.0
        best_from, best_to = 0, 0
        for i in range(placed):
            count[:] = 0
            total, used, busy, paid = 0.0, 0.0, 0, 0
            for j in range(i, placed):
                v = order[j]
                busy += work[v]
                used += size[v]
                total += weights[v]
                if busy > capacity or used > memory:
                    break
                # A tensor is paid from its first pin inside until its last one is.
                for z in range(first[v], first[v + 1]):
                    e = at[z]
                    count[e] += 1
                    if count[e] == 1:
                        paid += cost[e]
                    if count[e] == starts[e + 1] - starts[e]:
                        paid -= cost[e]
                if busy + paid <= capacity and total > heaviest[r]:
                    heaviest[r] = total
                    best_from, best_to = i, j + 1
        # Write the heaviest window.
        sets[r, :] = False
        for i in range(best_from, best_to):
            sets[r, order[i]] = True


_FILL = Kernel(_fill, STEPS_A_SECOND)


def heavy_windows(
    weights: Floats,
    work: Ints,
    size: Floats,
    cost: Ints,
    links: tuple[Ints, Ints, Ints, Ints],
    arcs: Ints,
    capacity: int,
    memory: float,
    *,
    rounds: int,
    seed: int,
    say: Any,
    stopped: Callable[[], bool],
) -> tuple[Bools, Floats]:
    """Return [rounds, supernodes] sets within capacity and memory, and their weights; -1 where none was found.

    Args:
        weights: [supernodes] zero or more.
        work: [supernodes] units.
        size: [supernodes] memory.
        cost: [tensors] units that a cut tensor costs.
        links: of :func:`mtpp_dsl.solvers.bounds.configuration.greedy_sets.incidence`.
        arcs: [arcs, 2] of :class:`Convexity`; supernodes on a cycle of them are left out.
        capacity: of work and cut tensors.
        memory: how much of it there is.
        rounds: how many orders.
        seed: of the orders.
        say: told when code has to be compiled.
        stopped: whether to leave the rest of the orders.
    """
    n = len(weights)
    sets = np.zeros((rounds, n), np.bool_)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(arcs[:, 0], minlength=n)))).astype(np.int64)
    fill: Any = _FILL.pick(2.0 * rounds * n * (n + len(cost)), say)
    heads = np.ascontiguousarray(arcs[:, 1])
    starts, _, first, at = links
    given = (weights, work, size, cost, starts, first, at, offsets, heads, capacity, memory)
    return sets, improve_each(lambda own, *row: fill(*given, own, *row), sets, seed, stopped)
