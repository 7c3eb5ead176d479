"""Count the memory and the work of ideals in whole units, for bounds on chains of ideals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor, frexp, inf, ldexp

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.base.compiling import inputs
from mtpp_dsl.core.problem.colocation import ordered_edges, together
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph
from mtpp_dsl.solvers.algorithms.reach.trade_off import MeasuredPart

BITS = 40
"""All memory, and all work, are between this power of two and half of it in units, unless they are zero."""
ROOM = 1e-11
"""Relative: what sums of sizes and times may be off by their rounding."""
CHUNK = 250
MEMORY, WORK = 0, 1


@dataclass(frozen=True, eq=False)
class Measures:
    """The memory and the work of supernodes in whole units, rounded down, and what they are in ideals.

    An ideal holds, with each supernode, all that lead to it. Both measures of a block of a plan are no more than what
    the block's device allows, see :meth:`room` and :meth:`share`.

    Attributes:
        graph: the supernodes: colocated nodes, and those on a cycle of such.
        arcs: [arcs, 2] between supernodes, each once; they have no cycle.
        speed: [devices] such that a node takes its work or more, divided by the speed of its device; 0 for a device
            that may take nothing.
        work: [n] the least of speed times running time over the devices where a supernode may be; 0 where there is
            none.
        values: [2, n] memory and work in units.
        scale: units per memory, and per work: powers of two.
        needs: [2, n] the measures of everything that leads to a supernode, itself included.
        others: [2, n] the measures of everything that does not depend on it.
    """

    graph: Hypergraph
    arcs: Ints
    speed: Floats
    work: Floats
    values: Ints
    scale: tuple[float, float]
    needs: Ints
    others: Ints

    @property
    def n(self) -> int:
        """Number of supernodes."""
        return self.graph.n

    @cached_property
    def total(self) -> Ints:
        """[2] all memory and all work, in units."""
        total: Ints = self.values.sum(axis=1)
        return total

    @cached_property
    def room(self) -> Ints:
        """[devices] the most memory of a block on each that the check of plans lets pass, in units."""
        problem = self.graph.problem
        size = np.array([device.memory or 0.0 for device in problem.devices])
        limit = np.where(self.speed > 0, (problem.memory_limit + TOLERANCE * size) * (1 + ROOM), 0.0)
        most = float(self.total[MEMORY])
        scaled = [floor(min(a * self.scale[MEMORY] + most * ROOM, most)) for a in limit.tolist()]
        return np.array(scaled, np.int64)

    def share(self, target: float) -> Ints:
        """Return [devices] the most work of a block on each whose load is *target* or less, in units."""
        most = float(self.total[WORK])
        scaled = [floor(min(target * s * (1 + ROOM) * self.scale[WORK], most)) for s in self.speed.tolist()]
        return np.array(scaled, np.int64)

    @cached_property
    def part(self) -> MeasuredPart:
        """The supernodes, as ideals hold them."""
        return self._part(self.arcs, self.needs, self.others)

    @cached_property
    def mirrored(self) -> MeasuredPart:
        """The same with all arcs turned round: as what is outside of ideals holds them."""
        total = self.total[:, None]
        return self._part(self.arcs[:, ::-1], total - self.others, total - self.needs)

    def _part(self, arcs: Ints, needs: Ints, others: Ints) -> MeasuredPart:
        order = np.argsort(arcs[:, 1], kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(arcs[:, 1], minlength=self.n)))).astype(np.int64)
        return inputs(MeasuredPart(self.values, needs, others, starts, arcs[order, 0]))


def measured(problem: Problem) -> Measures:
    """Return the measures of a problem without a backward part, whose quotient graph must be acyclic."""
    graph = hypergraph(problem, together(problem))
    tails, heads = ordered_edges(problem)[0]
    arcs = np.array(graph.edges(tails, heads), np.int64).reshape(-1, 2)
    allowed = graph.allowed
    time = np.where(allowed, graph.total(np.where(problem.allowed, problem.time, 0.0), exact=True), inf)
    speed = _speeds(time)
    with np.errstate(invalid="ignore"):
        work = np.where(allowed, time * speed, inf).min(axis=1, initial=inf)
    work = np.where(np.isfinite(work), work, 0.0)
    rows = (graph.total(problem.graph.memory, exact=True), work)
    scale = (_scale(rows[0]), _scale(rows[1]))
    values = np.array([np.floor(row * s) for row, s in zip(rows, scale, strict=True)]).astype(np.int64)
    needs, others = _around(graph.n, arcs, values)
    return Measures(graph, arcs, speed, work, values, scale, needs, others)


def _speeds(time: Floats) -> Floats:
    """Return [devices] how fast each is on what it can take, the fastest of all about 1; *time* is [n, devices].

    Any speeds give valid measures. Where running times are work divided by speeds, these are the speeds.
    """
    able = np.isfinite(time)
    fastest = np.where(able, time, inf).min(axis=1, initial=inf)
    own = np.where(able, time, 0.0).sum(axis=0)
    least = np.where(able, fastest[:, None], 0.0).sum(axis=0)
    speeds: Floats = np.where(able.any(axis=0), np.where(own > 0, least / np.where(own > 0, own, 1.0), 1.0), 0.0)
    return speeds


def _scale(row: Floats) -> float:
    total = float(row.sum())
    return ldexp(1.0, min(BITS - frexp(total)[1], 1000)) if total > 0 else 1.0


def _around(n: int, arcs: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Return [2, n] the measures of what leads to each supernode with itself, and of what does not depend on it."""
    before: list[list[int]] = [[] for _ in range(n)]
    after: list[list[int]] = [[] for _ in range(n)]
    for u, v in arcs.tolist():
        before[v].append(u)
        after[u].append(v)
    order = _sorted(before, after)
    total = values.sum(axis=1, keepdims=True)
    needs = _sums(_closures(order, before), values)
    return needs, total - _sums(_closures(order[::-1], after), values)


def _sorted(before: list[list[int]], after: list[list[int]]) -> list[int]:
    """Return a topological order."""
    waiting = [len(row) for row in before]
    order = [v for v, count in enumerate(waiting) if not count]
    for u in order:
        for v in after[u]:
            waiting[v] -= 1
            if not waiting[v]:
                order.append(v)
    return order


def _closures(order: list[int], before: list[list[int]]) -> list[int]:
    """Return for each vertex, as bits, those that lead to it, itself included."""
    closed = [0] * len(order)
    for v in order:
        bits = 1 << v
        for u in before[v]:
            bits |= closed[u]
        closed[v] = bits
    return closed


def _sums(sets: list[int], values: Ints) -> Ints:
    """Return [2, sets] the measures of sets of bits, by tables of what every eight bits sum to."""
    n, size = len(sets), (len(sets) + 7) // 8
    eight = np.zeros((2, size, 8), np.int64)
    eight.reshape(2, -1)[:, :n] = values
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    tables = (eight @ bits.T).reshape(2, -1)
    sums = np.zeros((2, n), np.int64)
    at = np.arange(0, 256 * size, 256)
    for first in range(0, n, CHUNK):
        packed = b"".join(row.to_bytes(size, "little") for row in sets[first : first + CHUNK])
        places = np.frombuffer(packed, np.uint8).reshape(-1, size).T + at[:, None]
        for key in range(2):
            sums[key, first : first + CHUNK] = tables[key].take(places).sum(axis=0)
    return sums
