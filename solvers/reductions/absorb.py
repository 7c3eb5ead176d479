"""Merge supernodes without weight into others that some optimal plan has on the same device."""

from __future__ import annotations

from math import fsum

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Linear, Separate
from mtpp_dsl.core.problem.colocation import ordered_edges
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["absorbed"]


def absorbed(problem: Problem, classes: Ints) -> Ints:
    """Merge each supernode without weight into one that it may always join; see :class:`Fuse` for the proof.

    Where the problem colocates nothing, merge only those for which no ``colocate`` is needed afterwards.

    Args:
        problem: the problem.
        classes: [n] nodes that every plan has together, numbered from 0.
    """
    if any(problem.of(Linear)) or problem.hierarchical:
        return classes
    view = _View(problem, classes)
    todo = np.flatnonzero(view.light).tolist()
    while todo:
        a = todo.pop()
        b = view.host_of(a)
        if b is not None:
            todo += [c for c in view.join(a, b) if view.light[c]]
    into = np.array(view.into, np.int64)
    while (into[into] != into).any():
        into = into[into]
    merged: Ints = into[classes]
    return merged


class _View:
    """Supernodes while they are merged: their neighbours in the order, and the tensors that have pins in them."""

    def __init__(self, problem: Problem, classes: Ints) -> None:
        count = int(classes.max(initial=-1)) + 1
        graph = problem.graph
        self.into = list(range(count))
        self.light = _weightless(problem, classes, count)
        self.allowed = np.ones((count, problem.k), np.bool_)
        np.logical_and.at(self.allowed, classes, problem.allowed)
        self.free = any(problem.of(Colocate))
        self.near: list[set[int]] = [set() for _ in range(count)]
        for tails, heads in ordered_edges(problem):
            for a, b in zip(classes[tails].tolist(), classes[heads].tolist(), strict=True):
                if a != b:
                    self.near[a].add(b)
                    self.near[b].add(a)
        self.nets: list[list[set[int]]] = [[] for _ in range(count)]
        self.made: list[list[set[int]]] = [[] for _ in range(count)]
        for u in np.flatnonzero(problem.tensor_time > 0).tolist():
            net = {int(classes[u]), *classes[graph.successors(u)].tolist()}
            if len(net) > 1:
                self.made[int(classes[u])].append(net)
                for c in net:
                    self.nets[c].append(net)
        parts = problem.acyclic or problem.objective.parts == "separate"
        back = graph.backward & parts
        self.parts: list[set[bool]] = [set() for _ in range(count)]
        for c, side in zip(classes.tolist(), back.tolist(), strict=True):
            self.parts[c].add(side)

    def host_of(self, a: int) -> int | None:
        """Return a supernode that *a* may be merged into, or None."""
        if self.into[a] != a:
            return None
        nets = [net for net in self.nets[a] if len(net) > 1]
        if not nets and not self.near[a]:
            return None
        hosts = set.intersection(*nets) - {a} if nets else set(self.near[a])
        if self.near[a]:
            hosts &= self.near[a] if len(self.near[a]) == 1 else set()
        return next((b for b in sorted(hosts) if self._fits(a, b)), None)

    def _fits(self, a: int, b: int) -> bool:
        if (self.allowed[b] & ~self.allowed[a]).any():
            return False
        return self.free or (self.parts[a] <= self.parts[b] and all(net <= {a, b} for net in self.made[a]))

    def join(self, a: int, b: int) -> set[int]:
        """Merge *a* into *b*; return the supernodes whose neighbours or tensors have changed."""
        self.into[a] = b
        for c in self.near[a]:
            self.near[c].discard(a)
        for net in self.nets[a]:
            net.discard(a)
        self.made[b] += self.made[a]
        self.parts[b] |= self.parts[a]
        return {b, *self.near[b], *(c for net in self.nets[b] for c in net)}


def _weightless(problem: Problem, classes: Ints, count: int) -> Bools:
    """Return [supernodes] which have no time and no memory that can bind, and are in no conflict set."""
    graph = problem.graph
    heavy = np.logical_or.reduce((problem.time > 0) & problem.allowed, axis=1)
    if (fsum(graph.memory) > problem.memory_limit).any():
        heavy |= graph.memory > 0
    if (fsum(graph.params) > problem.overflow_limit).any():
        heavy |= graph.params > 0
    for apart in problem.of(Separate):
        heavy[list(apart.nodes)] = True
    light = np.ones(count, np.bool_)
    light[classes[heavy]] = False
    return light
