"""Merge the ends of edges that some optimal plan keeps on one device."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum

import numpy as np

from mtpp_dsl.core.constraints import (
    Linear,
    On,
)
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.clusters import KEPT, is_contiguous_anyway, lifted, may_bind, named, quotient, roots


class Contract:
    """Reduction ``contract``: the optimum of the smaller problem is the optimum of the problem.

    Write t(v, d) for the time of node v on device d, and s(v) for what one crossing of its tensor costs (0 if no node
    reads it). The load of a device that pays is its nodes' time plus s(u) for every tensor u with a pin (producer or
    consumer) on it and one elsewhere; of a device that does not pay it is the time alone. Take a plan with the ends of
    an edge a -> b on different devices, a on A and b on B, and move one end to the other:

    * Rule A: b is a's only consumer; ``t(a, d) + sum of s(p) over the inputs p of a <= s(a)`` on each paying device d
      that may have b, and without the time on every other; ``t(a, d) = 0`` on each other device that may have b. Move a
      to B. A loses t(a, A) and, if it pays, s(a), which it had to write; it may begin to write inputs of a that it
      makes, at most the sum. B gains t(a, B) and, if it pays, no longer reads s(a), and may begin to read inputs of a,
      at most the sum. Any other device keeps its pins; what it makes and a reads was cut before, a being on A.
    * Rule B: b is a's only consumer, a is b's only input; ``t(b, d) + s(b) <= s(a)`` on each paying device d that may
      have a, and without the time on every other; ``t(b, d) = 0`` on each other device that may have a. Move b to A. A
      gains t(b, A) and, if it pays, no longer writes s(a), and at most begins to be charged for b's tensor. B loses
      t(b, B) and, if it pays, the reading of s(a), and at most begins to read b's tensor. Any other device with a
      consumer of b read b's tensor before.
    * Rule S: b is a sink with the one input a, and t(b, d) = 0 on each device d that may have a. Move b to A. No node
      reads b's tensor; A and B can only lose a's, no other device changes.

    What moves may be wherever the end that stays may be; no constraint names it together with other nodes; it has no
    memory where memory may bind, and no parameters where they may overflow. So no load grows, and every constraint
    that held still holds. Where the quotient graph must be acyclic, a and b are in the same part, and it stays so:
    number the devices so that edges of the part never go back. In rule A all inputs of a in the part are on A or
    before, and A is before B; in B and S all consumers of b in the part are on B or later; edges between parts ask
    nothing.

    Hence some optimal plan has a and b together, and plans that do are the plans of the graph in which they are
    one node, load by load: it takes t(a, d) + t(b, d), reads what either reads, and makes one tensor; in rules A
    and B that of b, since a's has no pin outside; in rule S that of a with the consumers it still has,
    since b's has no consumer. By induction the same holds after many merges. Nor does a merge close a cycle: that
    takes a second path from a to b, which a single consumer, or a single input, rules out.

    The conditions are decided exactly (a correctly rounded sum has the right sign) on the weights of the graph
    as it stands; the weights of merged nodes, and so the costs of their plans, are rounded sums.
    """

    name = "contract"

    def accepts(self, problem: Problem) -> str | None:
        """Return why merging might lose the optimum here, or None."""
        if problem.objective.quantity != "bottleneck" or not problem.is_split:
            return "contract keeps the optimum of a bottleneck on a shared interconnect only"
        if problem.phased:
            return "a merged node has the times and tensors of all phases together, not of each"
        if problem.prefetches:
            return "a merged node may hide parameters that are streamed behind other work"
        if problem.uneven_workspace:
            return "a merged node needs the largest workspace of its nodes wherever it is"
        if problem.hierarchical:
            return "a merged node might move to another group of devices"
        other = next((c for c in problem.constraints if not isinstance(c, KEPT)), None)
        if other is not None:
            return f"a merged node might break 'constraint {other.keyword}'"
        if any(not isinstance(decision, On) for row in problem.of(Linear) for decision, _ in row.terms):
            return "a constraint over loads may ask for what merging lowers"
        if problem.contiguous and not is_contiguous_anyway(problem):
            return "moving a node may break 'constraint contiguous' where the quotient graph may have cycles"
        return None

    def apply(self, problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
        """Return the problem on the contracted graph, and a function that turns its plans into ones of equal cost."""
        net = _Net(problem)
        net.contract()
        kept, cluster = net.clusters()
        graph = problem.graph
        tails, heads = cluster[graph.tails], cluster[graph.heads]
        between = tails != heads
        edges = sorted(set(zip(tails[between].tolist(), heads[between].tolist(), strict=True)))
        return quotient(problem, cluster, kept, edges, graph.output[kept]), lifted(problem, cluster)


class _Net:
    """The graph while it is contracted; a merged node has the number of the node whose tensor it makes."""

    def __init__(self, problem: Problem) -> None:
        graph = problem.graph
        self._into = list(range(graph.n))
        self._time = np.where(problem.allowed, problem.time, 0.0)
        self._allowed = problem.allowed.copy()
        shared = isinstance(problem.interconnect, Shared)
        self._pays = np.array([shared or device.pays_io for device in problem.devices])
        self._tensor: list[float] = problem.tensor_time.tolist()
        self._consumers: list[set[int]] = [set(graph.successors(v).tolist()) for v in range(graph.n)]
        self._inputs: list[set[int]] = [set(graph.predecessors(v).tolist()) for v in range(graph.n)]
        self._part = (graph.backward if problem.acyclic else np.zeros(graph.n, np.bool_)).tolist()
        self._stays: list[bool] = (named(problem) | may_bind(problem)).tolist()

    def clusters(self) -> tuple[Ints, Ints]:
        """Return the nodes that remain, and [n] for each node the index of the one that it was merged into."""
        kept, cluster = np.unique(roots(self._into), return_inverse=True)
        return kept, cluster.astype(np.int64)

    def contract(self) -> None:
        """Merge until no rule applies.

        After a merge, only the merged node and its neighbours have to be looked at again.
        """
        todo = list(range(len(self._into)))
        while todo:
            v = todo.pop()
            if self._into[v] == v:
                merged = self._as_sink(v) if self._is_free_sink(v) else self._along_only_edge(v)
                if merged is not None:
                    todo += [*sorted(self._inputs[merged]), *sorted(self._consumers[merged]), merged]

    def _may_join(self, a: int, b: int) -> bool:
        """Return whether *a* may be wherever *b* is, and no constraint ties it to other nodes."""
        return (
            not self._stays[a]
            and self._part[a] == self._part[b]
            and not bool((self._allowed[b] & ~self._allowed[a]).any())
        )

    def _light(self, a: int, b: int, *costs: float) -> bool:
        """Return whether *a* and tensors of these costs add nothing to the load of any device that may have *b*."""
        where = self._allowed[b]
        if self._time[a, where & ~self._pays].any():
            return False
        if not self._pays.any():
            return True
        slowest = float(self._time[a, where & self._pays].max(initial=0.0))
        return fsum([slowest, *costs]) <= 0

    def _along_only_edge(self, a: int) -> int | None:
        """Apply rule A or B to the edge from *a* to its only consumer, if it has one."""
        if len(self._consumers[a]) != 1:
            return None
        b = next(iter(self._consumers[a]))
        if not (self._rule_a(a, b) or self._rule_b(a, b)):
            return None
        for p in self._inputs[a]:
            self._consumers[p].remove(a)
            self._consumers[p].add(b)
        self._inputs[b] = (self._inputs[b] | self._inputs[a]) - {a}
        self._merge(a, b)
        return b

    def _rule_a(self, a: int, b: int) -> bool:
        read = [self._tensor[p] for p in self._inputs[a]]
        return self._may_join(a, b) and self._light(a, b, *read, -self._tensor[a])

    def _rule_b(self, a: int, b: int) -> bool:
        written = self._tensor[b] if self._consumers[b] else 0.0
        only = len(self._inputs[b]) == 1
        return only and self._may_join(b, a) and self._light(b, a, written, -self._tensor[a])

    def _is_free_sink(self, b: int) -> bool:
        if self._consumers[b] or len(self._inputs[b]) != 1:
            return False
        a = next(iter(self._inputs[b]))
        return self._may_join(b, a) and not self._time[b, self._allowed[a]].any()

    def _as_sink(self, b: int) -> int:
        """Apply rule S to *b*."""
        a = next(iter(self._inputs[b]))
        self._consumers[a].remove(b)
        self._merge(b, a)
        return a

    def _merge(self, a: int, b: int) -> None:
        """Make *a* part of *b*."""
        self._into[a] = b
        self._time[b] += self._time[a]
        self._allowed[b] &= self._allowed[a]
        self._stays[b] |= self._stays[a]
