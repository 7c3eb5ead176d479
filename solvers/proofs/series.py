"""Certificates ``series``: of a makespan, modules one after another, each searched between the devices of its ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH
from mtpp_dsl.solvers.proofs.module_search import FAR, Module, ModuleSearch
from mtpp_dsl.solvers.proofs.proof_reading import colocation_class, number
from mtpp_dsl.solvers.proofs.rows import Units
from mtpp_dsl.solvers.proofs.windows import refuse_others, running_times

__all__ = ["SeriesProof", "cut_nodes"]

MAX_DEVICES = 30
MAX_NODES = 250
"""Of a module."""
HIGHER = 1.05
"""How much more than what is known of a module is asked for at a time."""
MOST_STEPS = 20
"""In how many steps at most a module gets from nothing to all that is asked."""


class SeriesProof:
    """``{"target": T}``: modules one after another take T or more, wherever the nodes between them are.

    A cut node is one before or behind which every other node is, and which no edge bypasses. All before it has ended
    when it starts, and all behind it starts when it has ended. So a makespan is a sum over the modules between cut
    nodes: from the end of the one before to the end of its own. What a module takes between two devices is at least its
    longest path with the best devices for all other nodes. Those of the least sum over devices of cut nodes are
    searched one after another: by branch and bound over the devices of their nodes, then over the order of what is on
    one device, or is sent or received by it where links are exclusive. No search is needed in the certificate.

    Memory counts node by node; ``colocate`` where an edge joins two nodes; other constraints are left out. All times
    are whole numbers, rounded down.
    """

    name = "series"
    summary = "modules in a row, each searched between the devices of its ends"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.contracts.Checker`."""
        target = number(data, "target")
        refuse_others(problem)
        if target == 0:
            return target
        if problem.k > MAX_DEVICES:
            raise Refused(f"there are more than {MAX_DEVICES} devices")
        units = Units(target)
        if not _Row(problem, units, limits).takes(units.limit):
            raise Refused(f"as far as the modules tell, a schedule may be shorter than {target!r}")
        return target


def cut_nodes(graph: Graph) -> list[int]:
    """Return the nodes that no edge bypasses, and before or behind which every other node is, in their order."""
    order = graph.topological_order.tolist()
    place = {v: i for i, v in enumerate(order)}
    last = [max((place[int(w)] for w in graph.successors(v)), default=graph.n) for v in order]
    cuts, farthest = [], -1  # how far edges reach of the nodes so far; a node without successors reaches beyond the end
    for i, v in enumerate(order):
        if farthest <= i:
            cuts.append(v)
        farthest = max(farthest, last[i])
    first = [min((place[int(u)] for u in graph.predecessors(v)), default=-1) for v in order]
    nearest, kept = graph.n, set()
    for i in range(graph.n - 1, -1, -1):
        if nearest >= i:
            kept.add(order[i])
        nearest = min(nearest, first[i])
    return [v for v in cuts if v in kept]


class _Kind:
    """Modules that nothing tells apart, and what is known of their times.

    Attributes:
        least: [a, b] units that they take at least between the devices of their ends.
        exact: [a, b] whether a schedule takes no more.
    """

    def __init__(self, module: Module, entry: bool, leave: bool, allowed: Ints) -> None:
        k = module.time.shape[1]
        self._module, self._entry, self._leave, self._allowed = module, entry, leave, allowed
        shape = (k if entry else 1, k if leave else 1)
        self.least = np.zeros(shape, np.int64)
        self.exact = np.zeros(shape, np.bool_)
        for a in range(shape[0]):
            for b in range(shape[1]):
                self.least[a, b] = self._path(a, b)

    def _devices(self, a: int, b: int) -> Ints:
        devices = self._allowed.copy()
        if self._entry:
            devices[0] &= 1 << a
        if self._leave:
            devices[-1] &= 1 << b
        return devices

    def _path(self, a: int, b: int) -> int:
        """Return the longest path with the best device for every node."""
        module, devices = self._module, self._devices(a, b)
        if (devices == 0).any():
            return FAR
        k = module.time.shape[1]
        on = devices[:, None] >> np.arange(k) & 1 == 1
        head = np.where(on, 0, FAR)
        ended = np.zeros_like(head)
        e = 0
        for v in range(len(head)):
            while e < len(module.target) and module.target[e] == v:
                arrives = (ended[module.source[e]][:, None] + module.cost[e]).min(axis=0)
                head[v] = np.maximum(head[v], arrives)
                e += 1
            ended[v] = np.where(on[v], np.minimum(head[v] + module.time[v], FAR), FAR)
        return int(min(ended.min(axis=1).max(), FAR))

    def raise_to(self, a: int, b: int, cutoff: int, limits: Limits) -> None:
        """Search between two devices for what takes less than a cutoff."""
        search = ModuleSearch(self._module, self._devices(a, b), cutoff)
        if not search.run(limits):
            self.exact[a, b] = True  # no more can be told
            return
        self.exact[a, b] = search.least < cutoff
        self.least[a, b] = max(self.least[a, b], search.least)


class _Row:
    """The modules of a problem in their order.

    Args:
        problem: a makespan on links.
        units: of time.
        limits: of time.

    Raises:
        Refused: a module is too large.
        UsageError: the time is not enough.
    """

    def __init__(self, problem: Problem, units: Units, limits: Limits) -> None:
        self._limits = limits
        graph, reading = problem.graph, _Reading(problem, units)
        order = graph.topological_order.tolist()
        cutting = set(cut_nodes(graph))
        cuts = [i for i, v in enumerate(order) if v in cutting]
        ends = [*cuts] if cuts and cuts[-1] == graph.n - 1 else [*cuts, graph.n - 1]
        kinds: dict[bytes, _Kind] = {}
        self._kinds: list[_Kind] = []
        for first, last in zip([-1, *ends[:-1]], ends, strict=True):
            if limits.remaining <= 0:
                raise UsageError(NOT_ENOUGH)
            nodes = order[max(first, 0) : last + 1]
            if len(nodes) > MAX_NODES:
                raise Refused(f"a module has more than {MAX_NODES} nodes")
            module, allowed = reading.module(nodes, entry=first >= 0)
            shape = np.array([*module.time.shape, len(module.source), first >= 0, last in cuts])
            key = b"".join(part.tobytes() for part in (shape, *module[:4], allowed))
            if key not in kinds:
                kinds[key] = _Kind(module, first >= 0, last in cuts, allowed)
            self._kinds.append(kinds[key])

    def takes(self, limit: int) -> bool:
        """Return whether the modules take *limit* units or more, whatever the devices of their ends."""
        while True:
            before, behind = self._sums()
            if before[-1].min() >= limit:
                return True
            a = 0
            open_kinds = []  # of the shortest way: those of which a search may tell more
            for j, kind in enumerate(self._kinds):
                b = int((before[j][a] + kind.least[a] + behind[j + 1]).argmin())
                if not kind.exact[a, b]:
                    cutoff = limit - int(before[j][a]) - int(behind[j + 1][b])
                    open_kinds.append((kind, a, b, cutoff))
                a = b
            if not open_kinds:
                return False
            for kind, a, b, cutoff in open_kinds:
                if not kind.exact[a, b] and kind.least[a, b] < cutoff:
                    kind.raise_to(
                        a, b, min(cutoff, max(int(kind.least[a, b] * HIGHER), cutoff // MOST_STEPS) + 1), self._limits
                    )

    def _sums(self) -> tuple[list[Ints], list[Ints]]:
        """Return [modules + 1][devices] the least sums of the modules before each end, and of those behind it."""
        before = [np.zeros(1, np.int64)]
        for kind in self._kinds:
            before.append(np.minimum((before[-1][:, None] + kind.least).min(axis=0), FAR))
        behind = [np.zeros(len(before[-1]), np.int64)]
        for kind in reversed(self._kinds):
            behind.append(np.minimum((kind.least + behind[-1][None, :]).min(axis=1), FAR))
        return before, behind[::-1]


class _Reading:
    """Times in whole units, rounded down.

    Args:
        problem: a makespan on links.
        units: of time.
    """

    def __init__(self, problem: Problem, units: Units) -> None:
        self._graph, self._units, self._problem = problem.graph, units, problem
        self._group = np.array(colocation_class(problem), np.int64)
        self._time = self._whole(running_times(problem, self._group))
        self._exclusive = any(problem.of(ExclusiveLinks))

    def _whole(self, times: Floats) -> Ints:
        flat = [FAR if t == inf else self._units.used(t) for t in times.ravel().tolist()]
        return np.array(flat, np.int64).reshape(times.shape)

    def module(self, nodes: Sequence[int], *, entry: bool) -> tuple[Module, Ints]:
        """Return the module of some nodes in topological order, and [n] as bits the devices of each.

        With an *entry* the first node has run before the module begins.
        """
        graph, k = self._graph, self._problem.k
        number = {v: i for i, v in enumerate(nodes)}
        time = self._time[nodes]
        allowed = ((time < FAR) << np.arange(k)).sum(axis=1)
        if entry:
            time[0] = 0
        edges = [
            (number[v], number[int(graph.tails[e])], e)
            for v in nodes
            for e in graph.by_head[graph.offsets_in[v] : graph.offsets_in[v + 1]].tolist()
            if int(graph.tails[e]) in number
        ]
        edges.sort()
        cost = np.zeros((len(edges), k, k), np.int64)
        for i, (v, u, e) in enumerate(edges):
            carries = np.array(self._problem.transfers.of(e))
            np.fill_diagonal(carries, 0.0)
            if self._group[nodes[u]] == self._group[nodes[v]]:
                carries = np.where(np.eye(k, dtype=np.bool_), 0.0, inf)
            cost[i] = self._whole(carries)
        ends = np.array([(u, v) for v, u, _ in edges], np.int64).reshape(-1, 2)
        return Module(time, ends[:, 0].copy(), ends[:, 1].copy(), cost, self._exclusive), allowed
