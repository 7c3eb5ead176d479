"""The node bound: what a device with a node pays for each tensor at the node, or takes in to save it."""

from __future__ import annotations

from dataclasses import replace
from math import floor, inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.bounds.partition.around import MAX_REACHED, scale_for
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, bound_instance, finished

__all__ = ["node"]

NAME = "node"
ULPS, NEARLY = 1e-15, 1e-12
MAX_PINS = 1_000
"""Tensors with more are taken to be kept together for nothing."""


def node(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound of the costliest node; stopped early, that of the nodes looked at so far."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None or simple.bound is None:
        return replace(simple, method=NAME)
    bound, instance = simple.bound, bound_instance(problem)
    cost, costliest, complete = node_bound(instance, bound.cost, limits, progress)
    if costliest is not None:
        name = problem.graph.names[instance.members[costliest][0]]
        bound = Bound(
            cost,
            method=NAME,
            proof="checked",
            by="mtpp",
            detail=f"wherever {name!r} is, each of its tensors is paid, or nodes that take as long are there too",
            certificate=Certificate("cuts", {"target": cost, "nodes": [name], "shares": {}}),
        )
        progress.report_bound(bound)
    return finished(NAME, limits, progress, bound, complete)


def node_bound(
    instance: BoundInstance, known: float, limits: Limits, progress: Progress
) -> tuple[float, int | None, bool]:
    """Return the best bound of one supernode, the supernode, and whether all were looked at.

    Let a device have supernode v. For each tensor at v it pays, or it has all other pins of the tensor, and their
    times; each time is set against one tensor only, so what they save adds up. In a plain graph that is ``w(v) + sum
    over inputs u of min(c(u), w(u)) + min(c(v), sum of w over readers of v)``, or more: other readers of u count as
    well. A pin that the device cannot take, or that does not fit beside v, leaves the tensor to be paid. What v streams
    is added. The least over the device types is a bound; on one that pays nothing it is the time. What fits and what
    streams is left out of graphs of many supernodes, whose certificates are checked without.

    Returns:
        Nothing above *known*: that, and None.
    """
    lines = _Lines(instance)
    least = np.zeros(instance.n)
    complete = True
    for v in range(instance.n):
        if progress.stopped or limits.remaining <= 0:
            complete = False
            break
        least[v] = lines.least(v, None)
    for v in np.argsort(-least, kind="stable")[:1].tolist():
        if known < least[v] < inf:
            cost = lines.least(v, scale_for(float(least[v])))
            if cost > known:
                return cost, v, complete
    return known, None, complete


class _Lines:
    """One line for each supernode."""

    def __init__(self, instance: BoundInstance) -> None:
        self._instance, self._close = instance, instance.n <= MAX_REACHED
        self._at: list[list[int]] = [[] for _ in range(instance.n)]
        for e, (pins, _) in sorted(enumerate(instance.nets), key=lambda net: len(net[1][0])):
            for v in pins if len(pins) <= MAX_PINS else ():
                self._at[v].append(e)

    def least(self, v: int, scale: float | None) -> float:
        """Return the least over the device types; with *scale*, counted in whole units, rounded down."""
        values = []
        for kind in range(len(self._instance.counts)):
            if np.isfinite(self._instance.time[v, kind]):
                value = self._line(v, kind, 1.0 if scale is None else scale, whole=scale is not None)
                values.append(value if scale is None else value / scale)
        return min(values, default=inf)

    def _line(self, v: int, kind: int, scale: float, *, whole: bool) -> float:
        instance, devices = self._instance, self._instance.types
        total = self._round(float(instance.time[v, kind]) * scale, whole=whole)
        rate = scale / devices.bandwidth
        excess = float(instance.params[v]) * rate * (1 - ULPS)
        free = float(devices.overflow[kind]) * rate
        if free < inf and self._close:
            free = -self._round(-free - abs(free) * ULPS, whole=whole)
            total += max(self._round(excess, whole=whole) - free, 0.0)
        left: dict[int, float] = {}
        for e in self._at[v] if devices.pays[kind] else ():
            pins, cost = instance.nets[e]
            due = self._round(cost * scale, whole=whole)
            for pin in pins:
                if pin != v and due > 0:
                    has = left.get(pin)
                    if has is None:
                        has = self._other(v, pin, kind, scale, whole=whole)
                    taken = min(has, due)
                    left[pin] = has - taken if has < inf else inf
                    due -= taken
                    total += taken
        return total

    def _other(self, v: int, pin: int, kind: int, scale: float, *, whole: bool) -> float:
        """Return the time of another supernode beside *v*; ``inf`` where it cannot be there."""
        instance = self._instance
        used = float(instance.memory[v] + instance.memory[pin]) if self._close else 0.0
        if used > float(instance.types.memory[kind]) * (1 + NEARLY) or not np.isfinite(instance.time[pin, kind]):
            return inf
        return self._round(float(instance.time[pin, kind]) * scale, whole=whole)

    @staticmethod
    def _round(value: float, *, whole: bool) -> float:
        return float(floor(value)) if whole else value
