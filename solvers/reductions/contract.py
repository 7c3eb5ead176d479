"""Merge neighbours that some optimal plan keeps together (for equal devices without binding memory)."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum

import numpy as np

from mtpp_dsl.constraints import Acyclic, Contiguous, Memory
from mtpp_dsl.graph import Floats, Graph, Ints
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Host, Links, Problem

__all__ = ["Contract"]


class Contract:
    """Reduction ``contract``: the optimum of the smaller problem is the optimum of the problem.

    Write w for work, s for what one crossing of a tensor costs (0 if nobody reads it). All devices are
    equal, so a load is work plus cut tensors, f(S) = w(S) + sum of s(u) over the tensors u with a pin (producer
    or consumer) in S and one outside. Take a plan with the ends of an edge a -> b in different
    blocks, a in A and b in B, and move one end to the other:

    * Rule A: b is a's only consumer and ``w(a) + sum of s(p) over the inputs p of a <= s(a)``. Move a to B.
      A loses w(a) and s(a), which it had to write; it may begin to write inputs of a that it makes, at
      most the sum. B gains w(a), no longer reads s(a), and may begin to read inputs of a, at most the sum. Any
      other block keeps its pins; what it makes and a reads was cut before, a being in A.
    * Rule B: b is a's only consumer, a is b's only input and ``w(b) + s(b) <= s(a)``. Move b to A. A gains w(b),
      no longer writes s(a), and at most begins to be charged for b's tensor. B loses w(b) and the reading of
      s(a), and at most begins to read b's tensor. Any other block with a consumer of b read b's tensor before.
    * Rule S: b is a sink with the one input a, and w(b) = 0. Move b to A. Nobody reads b's tensor; A and B can
      only lose a's, no other block changes.

    So no load grows. The quotient graph stays acyclic: number the blocks so that edges never go back. In
    rule A all inputs of a are in A or before, and A is before B; in B and S all consumers of b are in B or later. Hence
    some optimal plan has a and b together, and plans that do are the plans of the graph in which they are
    one node, load by load: it works w(a) + w(b), reads what either reads, and makes one tensor; in rules A
    and B that of b, since a's has no pin outside; in rule S that of a with the consumers it still has,
    since b's has no consumer. By induction the same holds after many merges. Nor does a merge close a cycle: that
    takes a second path from a to b, which a single consumer, or a single input, rules out.

    The conditions are decided exactly (a correctly rounded sum has the right sign) on the weights of the graph
    as it stands; the weights of merged nodes, and so the costs of their plans, are rounded sums.
    """

    name = "contract"

    def accepts(self, problem: Problem) -> str | None:
        """Return why merging might lose the optimum here, or None."""
        if problem.objective.quantity != "bottleneck" or isinstance(problem.interconnect, Links):
            return "contract keeps the optimum of a bottleneck on a shared interconnect only"
        if problem.hierarchical:
            return "a merged node might move to another group of devices"
        other = next((c for c in problem.constraints if not isinstance(c, (Acyclic, Contiguous, Memory))), None)
        if other is not None:
            return f"a merged node might break 'constraint {other.keyword}'"
        if problem.contiguous and not problem.acyclic:
            return "moving a node may break 'constraint contiguous' where the quotient graph may have cycles"
        if problem.acyclic and problem.graph.backward.any():
            return "forward and backward parts have an order each"
        if not np.isfinite(problem.time).all() or (problem.time != problem.time[:, :1]).any():
            return "the devices differ in their running times"
        pays = {device.pays_io for device in problem.devices}
        if isinstance(problem.interconnect, Host) and pays != {True}:
            return "some device does not pay for its tensors"
        if (fsum(problem.graph.memory) > problem.memory_limit).any():
            return "memory may bind"
        if (fsum(problem.graph.params) > problem.overflow_limit).any():
            return "parameters may overflow"
        return None

    def apply(self, problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
        """Return the problem on the contracted graph, and what turns its plans into plans of equal cost."""
        net = _Net(problem.graph, problem.time[:, 0], problem.tensor_time)
        net.contract()
        kept, cluster = net.clusters()
        smaller = Problem.create(
            _quotient(problem.graph, kept, cluster),
            problem.devices,
            problem.interconnect,
            problem.objective,
            problem.constraints,
            time_unit=problem.time_unit,
            origin=problem.origin,
            warnings=problem.warnings,
        )
        return smaller, lambda plan: Plan.create(problem, plan.assignment[cluster], plan.order)


class _Net:
    """The graph while it shrinks; a merged node goes by the number of the node whose tensor it makes."""

    def __init__(self, graph: Graph, work: Floats, tensor: Floats) -> None:
        self._into = list(range(graph.n))
        self._work: list[float] = work.tolist()
        self._tensor: list[float] = tensor.tolist()
        self._consumers: list[set[int]] = [set(graph.successors(v).tolist()) for v in range(graph.n)]
        self._inputs: list[set[int]] = [set(graph.predecessors(v).tolist()) for v in range(graph.n)]

    def clusters(self) -> tuple[Ints, Ints]:
        """Return the nodes that are left, and [n] the place among them of what each node became part of."""
        into = np.array(self._into, np.int64)
        while (into[into] != into).any():
            into = into[into]
        kept, cluster = np.unique(into, return_inverse=True)
        return kept, cluster.astype(np.int64)

    def contract(self) -> None:
        """Merge until no rule applies.

        A merge changes what the rules look at only for edges into and out of the merged node.
        """
        todo = list(range(len(self._into)))
        while todo:
            v = todo.pop()
            if self._into[v] == v:
                merged = self._as_sink(v) if self._is_free_sink(v) else self._along_only_edge(v)
                if merged is not None:
                    todo += [*sorted(self._inputs[merged]), merged]

    def _along_only_edge(self, a: int) -> int | None:
        """Apply rule A or B to the edge from *a* to its only consumer, if it has one."""
        if len(self._consumers[a]) != 1:
            return None
        b = next(iter(self._consumers[a]))
        if not (self._rule_a(a) or self._rule_b(a, b)):
            return None
        for p in self._inputs[a]:
            self._consumers[p].remove(a)
            self._consumers[p].add(b)
        self._inputs[b] = (self._inputs[b] | self._inputs[a]) - {a}
        self._into[a] = b
        self._work[b] += self._work[a]
        return b

    def _rule_a(self, a: int) -> bool:
        return fsum([self._work[a], *(self._tensor[p] for p in self._inputs[a]), -self._tensor[a]]) <= 0

    def _rule_b(self, a: int, b: int) -> bool:
        written = self._tensor[b] if self._consumers[b] else 0.0
        return len(self._inputs[b]) == 1 and fsum([self._work[b], written, -self._tensor[a]]) <= 0

    def _is_free_sink(self, b: int) -> bool:
        return not self._consumers[b] and len(self._inputs[b]) == 1 and self._work[b] == 0

    def _as_sink(self, b: int) -> int:
        """Apply rule S to *b*."""
        a = next(iter(self._inputs[b]))
        self._consumers[a].remove(b)
        self._into[b] = a
        return a


def _quotient(graph: Graph, kept: Ints, cluster: Ints) -> Graph:
    """Return the graph of the clusters; each has the sums of its nodes and the tensor and name of the one kept."""

    def total(weights: Floats) -> Floats:
        return np.bincount(cluster, weights=weights, minlength=len(kept)).astype(np.float64)

    tails, heads = cluster[graph.tails], cluster[graph.heads]
    between = tails != heads
    return Graph.create(
        [graph.names[v] for v in kept],
        zip(tails[between].tolist(), heads[between].tolist(), strict=True),
        work=total(graph.work),
        params=total(graph.params),
        output=graph.output[kept],
        memory=total(graph.memory),
        kinds=[graph.kinds[v] for v in kept],
        labels=[graph.labels[v] for v in kept],
        colors=graph.colors[kept],
        backward=graph.backward[kept],
        times={kind: total(times) for kind, times in graph.times.items()},
        work_unit=graph.work_unit,
        size_unit=graph.size_unit,
        memory_unit=graph.memory_unit,
    )
