"""Fuse nodes that every plan keeps on one device, or that some optimal plan does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.constraints import (
    Colocate,
    Linear,
    Separate,
)
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import numbered, ordered_edges, strong, together
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.clusters import KEPT, is_contiguous_anyway, lifted, may_bind, quotient, roots

__all__ = ["Fuse"]


class Fuse:
    """Reduction ``fuse``: every plan of the smaller problem is one of the problem, load by load; an optimum is kept.

    * Classes: nodes that are colocated, or that lie on a cycle of such groups where the quotient graph must be acyclic,
      are on one device in every plan (:func:`mtpp_dsl.core.problem.colocation.together`).
    * Weightless classes: let class a take no time, no memory where memory may bind, and no parameters where they may
      overflow; let no constraint count or keep apart its nodes, and let it be allowed wherever class b is; let every
      tensor that costs something and has a pin (producer or consumer) in a have one in b; and, where the quotient graph
      must be acyclic, let edges of such a part join a to no class but b. Move a from its device A to the device B of b.
      B cuts no tensor that it did not cut: those of a had a pin on it. A cuts at most those that it cut: every tensor
      of a had a pin on B, outside. No other device sees a difference. An order of the devices that edges respect is
      still one, as a now stands where b does. So some optimal plan has a and b together.

    A node has one tensor. So those nodes of a class become one whose tensors are read by the same other classes; their
    tensors are one, of the sum of the sizes, cut when each of them is. Nodes whose tensors cost nothing, or are read in
    their class alone, go with any that have those readers and more. Where ``acyclic`` is asked, or parts have loads of
    their own, it is nodes of one part. Edges within a class join nothing and are left out: its nodes are never apart.
    (``contiguous`` looks at paths through them, and is honoured only where ``acyclic`` implies it.) Where nodes of one
    class would still close a cycle of edges, they stay as they are. If more than one node is left of a class,
    ``colocate`` holds them together.

    So the plans of the smaller problem are the plans with these classes together, and their loads are the same sums.
    """

    name = "fuse"

    def accepts(self, problem: Problem) -> str | None:
        """Return why fusing might lose the optimum here, or None."""
        if not problem.is_split:
            return "fuse keeps the optimum of a bottleneck on a shared interconnect only"
        if problem.phased:
            return "a fused node has the times and tensors of all phases together, not of each"
        if problem.prefetches:
            return "a fused node may hide parameters that are streamed behind other work"
        if problem.uneven_workspace:
            return "a fused node needs the largest workspace of its nodes wherever it is"
        other = next((c for c in problem.constraints if not isinstance(c, KEPT)), None)
        if other is not None:
            return f"a fused node might break 'constraint {other.keyword}'"
        if problem.contiguous and not is_contiguous_anyway(problem):
            return "a fused node joins paths, and 'constraint contiguous' looks at paths"
        classes = together(problem)
        for apart in problem.of(Separate):
            nodes = sorted(set(apart.nodes))
            if len(set(classes[nodes].tolist())) < len(nodes):
                return f"constraint {apart} keeps apart what every plan has together"
        return None

    def apply(self, problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
        """Return the problem on fused nodes, and a function that turns its plans into ones of equal cost."""
        graph = problem.graph
        classes = numbered(absorbed(problem, together(problem)))
        cluster = _without_cycles(problem, classes, _clusters(problem, classes))
        kept = np.unique(cluster, return_index=True)[1]
        apart = classes[graph.tails] != classes[graph.heads]
        ends = zip(cluster[graph.tails[apart]].tolist(), cluster[graph.heads[apart]].tolist(), strict=True)
        outside = np.zeros(graph.n, np.bool_)
        outside[graph.tails[apart]] = True
        output = np.bincount(cluster, weights=np.where(outside, graph.output, 0.0), minlength=len(kept))
        smaller = quotient(problem, cluster, kept, sorted(set(ends)), output.astype(np.float64))
        rest = [constraint for constraint in smaller.constraints if not isinstance(constraint, Colocate)]
        return smaller.with_constraints([*rest, *_left_together(problem, classes, cluster)]), lifted(problem, cluster)


def _clusters(problem: Problem, classes: Ints) -> Ints:
    """Return [n] a label of the node that each becomes part of."""
    graph = problem.graph
    readers: list[set[int]] = [set() for _ in range(graph.n)]
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if classes[u] != classes[v]:
            readers[u].add(int(classes[v]))
    back: Bools = graph.backward & (problem.acyclic or problem.objective.parts == "separate")
    groups: dict[tuple[int, bool], dict[frozenset[int], int]] = {}
    cluster = np.empty(graph.n, np.int64)
    paid = [bool(graph.output[v] > 0 and readers[v]) for v in range(graph.n)]
    for v in sorted(range(graph.n), key=lambda v: not paid[v]):
        group = groups.setdefault((int(classes[v]), bool(back[v])), {})
        like = next((u for read, u in group.items() if not paid[v] and readers[v] <= read), None)
        cluster[v] = group.setdefault(frozenset(readers[v]), v) if like is None else like
    return cluster


def _without_cycles(problem: Problem, classes: Ints, cluster: Ints) -> Ints:
    """Return *cluster* with those taken apart that lie on a cycle of edges, numbered by their first nodes."""
    graph = problem.graph
    apart = classes[graph.tails] != classes[graph.heads]
    while True:
        cluster = numbered(cluster)
        component = strong(cluster, graph.tails[apart], graph.heads[apart])
        first = np.unique(cluster, return_index=True)[1]
        caught = np.bincount(component[first])[component] > 1
        if not caught.any():
            return cluster
        cluster = np.where(caught, graph.n + np.arange(graph.n), cluster)


def _left_together(problem: Problem, classes: Ints, cluster: Ints) -> list[Colocate]:
    """Return what holds the nodes of a class together that did not become one."""
    members: dict[int, set[int]] = {}
    for home, c in zip(classes.tolist(), cluster.tolist(), strict=True):
        members.setdefault(home, set()).add(c)
    origin = {int(classes[group.nodes[0]]): group.origin for group in problem.of(Colocate)}
    groups = [(tuple(sorted(group)), origin.get(home, "")) for home, group in members.items() if len(group) > 1]
    return [Colocate(nodes=group, origin=place) for group, place in groups]


# Merge supernodes without weight into others that some optimal plan has on the same device.


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
    merged: Ints = roots(view.into)[classes]
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
    heavy = np.logical_or.reduce((problem.time > 0) & problem.allowed, axis=1) | may_bind(problem)
    for apart in problem.of(Separate):
        heavy[list(apart.nodes)] = True
    light = np.ones(count, np.bool_)
    light[classes[heavy]] = False
    return light
