"""Two devices: an ideal and what is left, by branch and bound with minimum cuts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.algorithms.ideal_cut import IdealCuts

__all__ = ["Halves", "HalvesNode"]

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
        found: told of an ideal and its larger load, in units.
    """

    problem: Problem
    first: int
    unit: float
    say: Callable[[str], None]
    found: Callable[[Bools, int], None]

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
        self.found(inside > 0, max(-(-one // self.first), -(-other // self._others)))
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
