"""The anchor bound: what a device pays at least for any set with a given node in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import floor, inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Result
from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, CheapestSets
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.bounds.partition.around import MAX_REACHED, Around, arcs_of, scale_for
from mtpp_dsl.solvers.bounds.partition.bound_instance import (
    BoundInstance,
    WholeLoads,
    always_streamed,
    bound_instance,
    device_weights,
    finished,
    typical_speeds,
    whole_loads,
)

__all__ = ["anchor", "anchor_bound"]

NAME = "anchor"
ROUNDING = 1e-12


def anchor(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound by minimum cuts and shares of what is left; stopped early, the best of the cuts made so far."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None:
        return replace(simple, method=NAME)
    bound, _, complete = anchor_bound(problem, bound_instance(problem), simple.bound, limits, progress)
    return finished(NAME, limits, progress, bound, complete)


def anchor_bound(
    problem: Problem, instance: BoundInstance, known: Bound | None, limits: Limits, progress: Progress
) -> tuple[Bound | None, Floats, bool]:
    """Report and return the anchor bound, or the one *known* if that is better.

    Returns:
        The bound; [supernodes, types] the least load of a device of the type with the supernode; whether all cuts were
        made.
    """
    least = 0.0 if known is None else known.cost
    costliest, complete = anchored(problem, instance, least, limits, progress)
    cost, weights = best_share(instance, costliest, least)
    if known is not None and cost <= known.cost:
        return known, costliest, complete
    bound = Bound(
        cost,
        method="anchor",
        proof="checked",
        by="mtpp",
        detail="no device takes the nodes of the certificate below this, by minimum cuts in whole units, rounded down; "
        "what is left to the other devices takes them as long",
        certificate=_certificate(problem, instance, costliest, cost, weights),
    )
    progress.report_bound(bound)
    return bound, costliest, complete


def anchored(
    problem: Problem, instance: BoundInstance, known: float, limits: Limits, progress: Progress
) -> tuple[Floats, bool]:
    """Return [supernodes, types] the least load of a device of the type with the supernode; whether all cuts were made.

    Cuts that cannot lift the bound above *known* are left out: those of supernodes that cost no more by themselves, or
    that lie in the cheapest set of another. The least that a supernode costs over all kinds is a bound, and becomes
    known. Graphs of many supernodes are cut without what convexity, memory and streams force.
    """
    costliest = instance.time.copy()
    for kind in range(len(instance.counts)):
        open_to = np.isfinite(instance.time[:, kind])
        alone = np.where(open_to, instance.time[:, kind], 0.0)
        if instance.types.pays[kind]:
            for pins, cost in instance.nets:
                alone[list(pins)] += cost
        free = float(instance.types.overflow[kind])
        alone += np.maximum(instance.params - free, 0.0) / instance.types.bandwidth
        ceiling = float(alone[open_to].max(initial=0.0))
        pays = bool(instance.nets) and bool(instance.types.pays[kind])
        if ceiling <= known or not (ceiling < inf and (pays or instance.overflows(kind))):
            continue
        cuts = _cuts(problem, instance, kind, ceiling)
        settled = ~open_to
        for v in np.argsort(-alone, kind="stable").tolist():
            if settled[v] or alone[v] <= known:
                continue
            if progress.stopped or limits.remaining <= 0:
                return costliest, False
            value, side = cuts(v)
            costliest[v, kind] = max(costliest[v, kind], value)
            known = max(known, float(costliest[v].min()) if len(instance.counts) > 1 else value)
            if value <= known:
                settled |= side
    return costliest, True


def _cuts(problem: Problem, instance: BoundInstance, kind: int, ceiling: float) -> Callable[[int], tuple[float, Bools]]:
    """Return what gives the least load of a set with a supernode, and supernodes for which it is no more."""
    if instance.n > MAX_REACHED:
        return _loose_cuts(instance, whole_loads(instance, ceiling)[kind])
    scale = scale_for(ceiling)
    around = Around(instance, kind, arcs_of(problem, instance, kind), scale, instance.n)
    enough = floor(ceiling * scale)

    def least(v: int) -> tuple[float, Bools]:
        value, side = around.least([v], enough)
        return value / scale, side if around.holds(side) else np.arange(instance.n) == v

    return least


def _loose_cuts(instance: BoundInstance, sizes: WholeLoads) -> Callable[[int], tuple[float, Bools]]:
    """Return what :func:`_cuts` does, for sets of any shape and size."""
    nets = zip((pins for pins, _ in instance.nets), sizes.nets.tolist(), strict=True)
    sets = CheapestSets(instance.n, nets, np.zeros((0, 2), np.int64), inf)
    nowhere = np.zeros(instance.n, np.bool_)

    def least(v: int) -> tuple[float, Bools]:
        state = np.where(np.arange(instance.n) == v, IN, FREE)
        value, side = sets.least(state, nowhere, nowhere, sizes.work, sizes.capacity + 1)
        return min(value / sizes.scale, sizes.target), side

    return least


def best_share(instance: BoundInstance, costliest: Floats, known: float = 0.0) -> tuple[float, Floats]:
    """Return the best bound that a closing of kinds gives, and [types] the weights of the devices that prove it.

    Let loads be below T. A kind is closed to a supernode where ``costliest`` is T or more. For any weights p >= 0 the
    sum over the supernodes of the least ``p * time`` over open kinds is then at most the sum of ``p * load``, so below
    T times the sum of p.
    """
    best, weights = 0.0, np.zeros(len(instance.counts))
    levels = np.unique(costliest[np.isfinite(costliest)])
    levels = np.append(levels[levels > known], inf)
    for p in _weights(instance):
        first = bisect_left(levels, True, key=partial(_covers, instance, costliest, p))
        for level in levels[max(first - 1, 0) : first + 1].tolist():
            cost = min(level, _share(instance, costliest < level, p))
            if best < cost < inf:
                best, weights = cost, p
    return best, weights


def _covers(instance: BoundInstance, costliest: Floats, p: Floats, level: float) -> bool:
    """Return whether the shares that a closing at *level* gives are no more than it."""
    return _share(instance, costliest < level, p) <= level


def _share(instance: BoundInstance, below: Bools, p: Floats) -> float:
    """Return what the supernodes take at least of each device, ``inf`` if one is left without any."""
    opened = np.isfinite(instance.time) & below
    if not opened.any(axis=1).all():
        return inf
    total = float((p * instance.counts).sum())
    cost = np.where(opened, np.where(opened, instance.time, 0.0) * p, inf).min(axis=1).sum()
    cost += float(p.min()) * always_streamed(instance, ROUNDING)
    return float(cost / total) * (1 - ROUNDING) if total > 0 else 0.0


def _weights(instance: BoundInstance) -> list[Floats]:
    """Return weights of the kinds: equal ones, typical speeds, and each kind alone."""
    useful: Bools = np.asarray(np.isfinite(instance.time).any(axis=0), np.bool_)
    return [np.where(useful, 1.0, 0.0), typical_speeds(instance.time), *np.eye(len(useful))]


def _certificate(
    problem: Problem, instance: BoundInstance, costliest: Floats, target: float, weights: Floats
) -> Certificate:
    """Return the nodes that cuts keep off some device, and the weights of the devices."""
    names = problem.graph.names
    shut = (costliest >= target).all(axis=1)
    cut = (costliest >= target) & (instance.time < target)
    chosen = np.flatnonzero(shut)[:1] if shut.any() else np.flatnonzero(cut.any(axis=1))
    nodes = [names[instance.members[g][0]] for g in chosen.tolist()]
    return Certificate("cuts", {"target": target, "nodes": nodes, "shares": device_weights(problem, instance, weights)})
