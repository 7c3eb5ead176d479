"""Part the devices in two, and branch on which nodes are in the first part."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import fsum
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.algorithms.maximum_flow import NO_LIMIT, arc, flow
from mtpp_dsl.solvers.partition.branching.bitsets import unit_of
from mtpp_dsl.solvers.partition.branching.branching_search import BranchingSearch

__all__ = ["HalvesRun", "IdealCuts", "halved"]

BITS = 38
"""All work and tensors sum to about this power of two of the units that loads are counted in."""
STEP = 1e-4
"""Bounds are reported when they are better by this share."""
PARTINGS = 3
"""How many ways to part more than two devices are tried, the most even ones first."""
INF = 1 << 62
DETAIL = (
    "{first} of {k} devices hold an ideal and the others the rest, and no ideal leaves both below their share of this: "
    "branch and bound over the nodes of the ideal, with minimum cuts for the best multiplier between the two loads; "
    "all in whole numbers, loads rounded down"
)


def halved(problem: Problem) -> bool:
    """Whether the best ideal and its rest are an optimal plan: over two devices, whose memory does not matter."""
    devices, graph = device_types(problem), problem.graph
    binds = fsum(graph.memory) > devices.memory[0] or fsum(graph.params) > devices.overflow[0]
    return problem.k == 2 and not binds


class HalvesRun(BranchingSearch):
    """Splits a graph over two equal devices; over more, or with memory that matters, it bounds what others find.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        annealing: makes the method that looks for plans.
        alone: whether it looks for better plans to the end, as no other search follows.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        annealing: Callable[..., Method],
        *,
        alone: bool = True,
    ) -> None:
        super().__init__(problem, limits, progress, annealing, unit_of(problem, BITS), rounding=2 * problem.graph.n + 4)
        self._exact, self._alone = halved(problem), alone
        self._least = INF

    def _search(self) -> None:
        """Part the devices in the most even ways; then look for better plans, where that was not all."""
        k = self._problem.k
        for first in sorted(range(1, k), key=lambda j: abs(2 * j - k))[:PARTINGS]:
            self._part(first)
        annealing = self._annealing()
        if self._alone and not self._exact and not self._closed and annealing.accepts(self._problem) is None:
            self._anneal(annealing, self._limits.remaining)
            self._incumbent.pause()

    def _part(self, first: int) -> None:
        """Branch on the subproblem with the least bound, until that is reached by an ideal, or by the best plan."""
        self._least = INF
        halves = Halves(self._problem, first, self._unit, self._progress.say, self._take)
        detail = DETAIL.format(first=first, k=self._problem.k)
        left = [halves.root()]
        while left and not self._closed:
            self._incumbent.pause()
            node = heapq.heappop(left)
            if node.bound >= self._enough:
                break
            if self._incumbent.bound is None or node.bound * self._unit > self._incumbent.bound.cost * (1 + STEP):
                self._prove_units(node.bound, detail)
            for part in halves.children(node):
                heapq.heappush(left, part)
        if not self._closed:
            self._prove_units(self._enough, detail)

    @property
    def _enough(self) -> int:
        """The bound of a subproblem that need not be looked into."""
        below = self._below(INF)
        return below if self._exact else min(below, self._least)

    def _take(self, inside: Bools, load: int) -> None:
        """Keep the plan of an ideal, if it is one and better."""
        if load >= self._least:
            return
        self._least = load
        if self._exact and load < self._below(INF):
            self._incumbent.take(Plan.create(self._problem, (~inside).astype(int)))


# Two devices: an ideal and what is left, by branch and bound with minimum cuts.

SCALE = 1 << 16
"""The multiplier between the two loads is a whole number of this part of 1."""
CUTS = 12
"""Minimum cuts of one subproblem at most."""


class HalvesNode(NamedTuple):
    """A subproblem: no ideal of it has its larger load below ``bound``."""

    bound: int
    number: int
    fixed: Ints
    multiplier: int
    branch: int


@dataclass(eq=False)
class Halves:
    """Ideals with some nodes in and others out, and what the larger of the two loads is at least.

    Let the ideal be split over the first j of k devices, and the rest over the others. The load of a set is no more
    than those of its parts together, so the largest load T is at least that of the ideal over j, and that of the rest
    over k - j; for two devices it is the larger of both. For a multiplier a between -1 and 1, (1 + a) / 2 times the
    first load plus (1 - a) / 2 times the second is the tensors cut, plus a times the work of the ideal, plus
    (1 - a) / 2 times all work, and at most T times (k + a (2j - k)) / 2. Its least value is a minimum cut. The best a
    is where a light ideal and a heavy one are both cheapest; mostly one lies in the other, and a node between them is
    put in, with all before it, then out, with all after it.

    Args:
        problem: on equal devices; what their memory takes away or adds is left out.
        first: how many devices the ideal is split over, the j above.
        unit: the time of a unit of loads.
        say: told when code has to be compiled.
        take: told of an ideal and its larger load, in units.
    """

    problem: Problem
    first: int
    unit: float
    say: Callable[[str], None]
    take: Callable[[Bools, int], None]

    def __post_init__(self) -> None:
        graph, devices = self.problem.graph, device_types(self.problem)
        n = graph.n
        self._others = self.problem.k - self.first
        self._work = np.asarray(np.floor(devices.time[:, 0] / self.unit), np.int64)
        self._total = int(self._work.sum())
        tensor = devices.tensor if devices.pays[0] else np.zeros(n)
        cost = np.asarray(np.floor(tensor / self.unit), np.int64)
        tensors = [(u, graph.successors(u).tolist(), int(cost[u])) for u in np.flatnonzero(cost).tolist()]
        self._cuts = IdealCuts([graph.predecessors(v).tolist() for v in range(n)], tensors, self.say)
        self._before = np.eye(n, dtype=np.bool_)
        for v in graph.topological_order.tolist():
            for u in graph.predecessors(v).tolist():
                self._before[v] |= self._before[u]
        self._after = np.ascontiguousarray(self._before.T)
        self._numbers = count()

    def root(self) -> HalvesNode:
        """Return the whole problem."""
        return self._bounded(np.zeros(len(self._work), np.int64), 0, 0)

    def children(self, node: HalvesNode) -> list[HalvesNode]:
        """Return the two parts of a subproblem; none if its bound is the load of an ideal that was found.

        The parts' bounds are no lower.
        """
        if node.branch < 0:
            return []
        parts = []
        for side, reach in ((1, self._before), (-1, self._after)):
            fixed = node.fixed.copy()
            fixed[reach[node.branch]] = side
            parts.append(self._bounded(fixed, node.multiplier, node.bound))
        return parts

    def _bounded(self, fixed: Ints, multiplier: int, bound: int) -> HalvesNode:
        """Return a subproblem with the best bound that a few multipliers give."""
        light: _Ideal | None = None
        heavy: _Ideal | None = None
        best, chosen = bound, multiplier
        for _ in range(CUTS):
            ideal, lower = self._least(fixed, multiplier)
            higher = lower > best
            if higher:
                best, chosen = lower, multiplier
            one, other = ideal.cut + ideal.work, ideal.cut + self._total - ideal.work
            if one * self._others <= other * self.first:
                light = ideal
            if one * self._others >= other * self.first:
                heavy = ideal
            if light is None or heavy is None:
                if abs(multiplier) == SCALE and (multiplier > 0) == (light is None):
                    return self._node(best, fixed, chosen, -1)  # the bound is the load of the ideal
                multiplier = _farther(multiplier) if light is None else -_farther(-multiplier)
                continue
            if heavy is light:
                return self._node(best, fixed, chosen, -1)
            if heavy.work <= light.work:
                break
            between = SCALE * (light.cut - heavy.cut) // (heavy.work - light.work)
            if between == multiplier or abs(between) > SCALE:
                break
            multiplier = between
        return self._node(best, fixed, chosen, self._pick(fixed, light, heavy))

    def _node(self, bound: int, fixed: Ints, multiplier: int, branch: int) -> HalvesNode:
        return HalvesNode(bound, next(self._numbers), fixed, multiplier, branch)

    def _least(self, fixed: Ints, multiplier: int) -> tuple[_Ideal, int]:
        """Return the cheapest ideal for a multiplier, and what the larger load of every ideal is at least."""
        inside = np.zeros(len(fixed), np.int64)
        value = self._cuts.least(fixed, multiplier * self._work, SCALE, inside)
        work = int(inside @ self._work)
        ideal = _Ideal(work, (value - multiplier * work) // SCALE, inside)
        one, other = ideal.cut + work, ideal.cut + self._total - work
        self.take(inside > 0, max(-(-one // self.first), -(-other // self._others)))
        part = self.problem.k * SCALE + multiplier * (self.first - self._others)
        return ideal, -((-2 * value - (SCALE - multiplier) * self._total) // part)

    def _pick(self, fixed: Ints, light: _Ideal | None, heavy: _Ideal | None) -> int:
        """Return the free node between two ideals that decides most of the work between them, either way."""
        between = fixed == 0
        if light is not None and heavy is not None:
            apart = between & (heavy.inside > 0) & (light.inside == 0)
            between = apart if apart.any() else between
        nodes = np.flatnonzero(between)
        work = np.where(between, self._work, 0)
        decided = np.minimum(self._before[nodes] @ work, self._after[nodes] @ work)
        return int(nodes[decided.argmax()])


class _Ideal(NamedTuple):
    work: int
    cut: int
    inside: Ints


def _farther(multiplier: int) -> int:
    """Return a multiplier further up, the largest after a few steps."""
    return 0 if multiplier < 0 else min(SCALE, max(2 * multiplier, SCALE // 64))


# The cheapest ideal: a minimum cut, since tensors leave an ideal in one direction only.

CUT_INF = 1 << 58
"""Capacity of arcs that no minimum cut contains."""


class IdealCuts:
    """The cheapest ideals of one graph, for weights that change.

    The source's side of a cut is an ideal: an endless arc leads from each node to those *before* it. A tensor is cut if
    its producer is in the ideal and some reader is not. Vertices of the network are the nodes, and one more for each
    tensor of several readers.

    Args:
        before: the nodes that each node reads.
        tensors: producer, readers and cost of each.
        say: told when code has to be compiled.
    """

    def __init__(
        self, before: list[list[int]], tensors: list[tuple[int, list[int], int]], say: Callable[[str], None]
    ) -> None:
        self._run = CUT.pick(0.0, say)
        vertices = len(before)
        arcs = [(v, u, CUT_INF) for v in range(vertices) for u in before[v]]
        for producer, readers, cost in tensors:
            if len(readers) == 1:
                arcs.append((producer, readers[0], cost))
                continue
            arcs.append((producer, vertices, cost))
            arcs += [(vertices, reader, CUT_INF) for reader in readers]
            vertices += 1
        self._last = np.full(vertices, -1, np.int64)
        self._arcs = np.zeros((3, 2 * len(arcs)), np.int64)
        for number, (tail, head, cost) in enumerate(arcs):
            arc(tail, head, cost, 0, 2 * number, self._last, *self._arcs)
        self._scratch = np.zeros((6, vertices), np.int64)

    def least(self, fixed: Ints, weight: Ints, scale: int, inside: Ints) -> int:
        """Return the least of *scale* times the tensors that an ideal cuts plus the weights in it, and the ideal.

        Args:
            fixed: [n] 1 for nodes in the ideal, -1 for nodes outside.
            weight: [n] of any sign.
            scale: of the costs of tensors.
            inside: [n] is set to the smallest ideal of that value.
        """
        nxt, to, capacity = self._arcs
        return int(self._run(fixed, weight, scale, self._last, nxt, to, capacity, self._scratch, inside))


def _cut(
    fixed: Ints, weight: Ints, scale: int, last: Ints, nxt: Ints, to: Ints, capacity: Ints, scratch: Ints, inside: Ints
) -> int:
    """Return what :meth:`IdealCuts.least` does."""
    n, vertices = len(fixed), len(last)
    source, sink, level = scratch[0], scratch[1], scratch[2]
    left = np.empty(len(to), np.int64)
    for a in range(len(to)):
        left[a] = capacity[a] if capacity[a] >= CUT_INF else capacity[a] * scale
    source[:] = 0
    sink[:] = 0
    value = 0
    for v in range(n):
        if fixed[v] > 0:
            source[v] = CUT_INF
            value += weight[v]
        elif fixed[v] < 0:
            sink[v] = CUT_INF
        elif weight[v] > 0:
            sink[v] = weight[v]
        else:
            source[v] = -weight[v]
            value += weight[v]
    value += flow(vertices, last, nxt, to, left, source, sink, level, scratch[3], scratch[4], scratch[5], NO_LIMIT)
    for v in range(n):
        inside[v] = 1 if level[v] >= 0 else 0
    return value


CUT = Kernel(_cut, 1.0, arc, flow)
