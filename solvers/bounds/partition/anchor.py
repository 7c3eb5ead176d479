"""The anchor bound: what a device pays at least for any set with a given node in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import floor, inf

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.result import Bound, Certificate, Result, Termination
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Bools, Floats
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, CheapestSets
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.bounds.partition.around import MOST_REACHED, Around, arcs_of, scale_for
from mtpp_dsl.solvers.bounds.partition.groups import Groups, Sizes, groups_of, sizes_at

__all__ = ["anchor", "anchor_bound", "anchored", "best_share"]

NAME = "anchor"
ROUNDING = 1e-12


def anchor(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound by minimum cuts and shares of what is left; stopped early, the best of the cuts made so far."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None:
        return replace(simple, method=NAME)
    bound, _, complete = anchor_bound(problem, groups_of(problem), simple.bound, limits, progress)
    stopped: Termination = "interrupted" if progress.stopped else "time_limit"
    return progress.result(NAME, limits, "complete" if complete else stopped, bound=bound)


def anchor_bound(
    problem: Problem, groups: Groups, known: Bound | None, limits: Limits, progress: Progress
) -> tuple[Bound | None, Floats, bool]:
    """Report and return the anchor bound, or the one *known* if that is better.

    Returns:
        The bound; [groups, kinds] a load that no device of a kind with a group is below; whether all cuts were made.
    """
    least = 0.0 if known is None else known.cost
    dearest, complete = anchored(problem, groups, least, limits, progress)
    cost, weights = best_share(groups, dearest, least)
    if known is not None and cost <= known.cost:
        return known, dearest, complete
    bound = Bound(
        cost,
        method="anchor",
        proof="checked",
        by="mtpp",
        detail="no device takes the nodes of the certificate below this, by minimum cuts in whole units, rounded down; "
        "what is left to the other devices takes them as long",
        certificate=_certificate(problem, groups, dearest, cost, weights),
    )
    progress.report_bound(bound)
    return bound, dearest, complete


def anchored(problem: Problem, groups: Groups, known: float, limits: Limits, progress: Progress) -> tuple[Floats, bool]:
    """Return [groups, kinds] a load that no device of a kind with a group is below, and whether all cuts were made.

    Cuts that cannot lift the bound above *known* are left out: those of groups that cost no more by themselves, or that
    lie in the cheapest set of another. The least that a group costs over all kinds is a bound, and becomes known.
    Graphs of many groups are cut without what convexity, memory and streams force.
    """
    dearest = groups.time.copy()
    for kind in range(len(groups.counts)):
        open_to = np.isfinite(groups.time[:, kind])
        alone = np.where(open_to, groups.time[:, kind], 0.0)
        if groups.devices.pays[kind]:
            for pins, cost in groups.tensors:
                alone[list(pins)] += cost
        free = float(groups.devices.overflow[kind])
        alone += np.maximum(groups.params - free, 0.0) / groups.devices.bandwidth
        ceiling = float(alone[open_to].max(initial=0.0))
        pays = bool(groups.tensors) and bool(groups.devices.pays[kind])
        if ceiling <= known or not (ceiling < inf and (pays or groups.overflows(kind))):
            continue
        cuts = _cuts(problem, groups, kind, ceiling)
        settled = ~open_to
        for v in np.argsort(-alone, kind="stable").tolist():
            if settled[v] or alone[v] <= known:
                continue
            if progress.stopped or limits.remaining <= 0:
                return dearest, False
            value, side = cuts(v)
            dearest[v, kind] = max(dearest[v, kind], value)
            known = max(known, float(dearest[v].min()) if len(groups.counts) > 1 else value)
            if value <= known:
                settled |= side
    return dearest, True


def _cuts(problem: Problem, groups: Groups, kind: int, ceiling: float) -> Callable[[int], tuple[float, Bools]]:
    """Return what gives the least load of a set with a group, and groups for which it is no more."""
    if groups.n > MOST_REACHED:
        return _loose_cuts(groups, sizes_at(groups, ceiling)[kind])
    scale = scale_for(ceiling)
    around = Around(groups, kind, arcs_of(problem, groups, kind), scale, groups.n)
    enough = floor(ceiling * scale)

    def least(v: int) -> tuple[float, Bools]:
        value, side = around.least([v], enough)
        return value / scale, side if around.holds(side) else np.arange(groups.n) == v

    return least


def _loose_cuts(groups: Groups, sizes: Sizes) -> Callable[[int], tuple[float, Bools]]:
    """Return what :func:`_cuts` does, for sets of any shape and size."""
    nets = zip((pins for pins, _ in groups.tensors), sizes.tensors.tolist(), strict=True)
    sets = CheapestSets(groups.n, nets, np.zeros((0, 2), np.int64), inf)
    nowhere = np.zeros(groups.n, np.bool_)

    def least(v: int) -> tuple[float, Bools]:
        state = np.where(np.arange(groups.n) == v, IN, FREE)
        value, side = sets.least(state, nowhere, nowhere, sizes.work, sizes.capacity + 1)
        return min(value / sizes.scale, sizes.target), side

    return least


def best_share(groups: Groups, dearest: Floats, known: float = 0.0) -> tuple[float, Floats]:
    """Return the best bound that a closing of kinds gives, and [kinds] the weights of the devices that prove it.

    Let loads be below T. A kind is closed to a group where ``dearest`` is T or more. For any weights p >= 0 the sum
    over the groups of the least ``p * time`` over open kinds is then at most the sum of ``p * load``, so below T times
    the sum of p.
    """
    best, weights = 0.0, np.zeros(len(groups.counts))
    levels = np.unique(dearest[np.isfinite(dearest)])
    levels = np.append(levels[levels > known], inf)
    for p in _weights(groups):
        first = bisect_left(levels, True, key=partial(_covers, groups, dearest, p))
        for level in levels[max(first - 1, 0) : first + 1].tolist():
            cost = min(level, _share(groups, dearest < level, p))
            if best < cost < inf:
                best, weights = cost, p
    return best, weights


def _covers(groups: Groups, dearest: Floats, p: Floats, level: float) -> bool:
    """Return whether the shares that a closing at *level* gives are no more than it."""
    return _share(groups, dearest < level, p) <= level


def _share(groups: Groups, below: Bools, p: Floats) -> float:
    """Return what the groups take at least of each device, ``inf`` if one is left without any."""
    opened = np.isfinite(groups.time) & below
    if not opened.any(axis=1).all():
        return inf
    total = float((p * groups.counts).sum())
    cost = np.where(opened, np.where(opened, groups.time, 0.0) * p, inf).min(axis=1).sum()
    cost += float(p.min()) * _streams(groups)
    return float(cost / total) * (1 - ROUNDING) if total > 0 else 0.0


def _streams(groups: Groups) -> float:
    """Return how long all devices together stream parameters for at least, less what rounding may change."""
    kept = float((groups.devices.overflow * groups.counts).sum())
    if kept == inf:
        return 0.0
    excess = float(groups.params.sum()) * (1 - ROUNDING) - kept - abs(kept) * ROUNDING
    return max(excess, 0.0) / groups.devices.bandwidth


def _weights(groups: Groups) -> list[Floats]:
    """Return weights of the kinds: equal ones, typical speeds, and each kind alone."""
    time = np.where(np.isfinite(groups.time), groups.time, 0.0)
    fastest = np.where(np.isfinite(groups.time), groups.time, inf).min(axis=1, initial=inf)
    own, least = time.sum(axis=0), np.where(np.isfinite(groups.time), fastest[:, None], 0.0).sum(axis=0)
    speeds = np.where(own > 0, least / np.where(own > 0, own, 1.0), 0.0)
    useful: Bools = np.asarray(np.isfinite(groups.time).any(axis=0), np.bool_)
    return [np.where(useful, 1.0, 0.0), speeds, *np.eye(len(useful))]


def _certificate(problem: Problem, groups: Groups, dearest: Floats, target: float, weights: Floats) -> Certificate:
    """Return the nodes that cuts keep off some device, and the weights of the devices."""
    names, kinds = problem.graph.names, groups.devices.members
    shut = (dearest >= target).all(axis=1)
    cut = (dearest >= target) & (groups.time < target)
    chosen = np.flatnonzero(shut)[:1] if shut.any() else np.flatnonzero(cut.any(axis=1))
    shares: Mapping[str, float] = {
        problem.devices[d].name: float(weights[kind])
        for kind, group in enumerate(kinds)
        for d in group
        if weights[kind] > 0
    }
    data = {"target": target, "nodes": [names[groups.members[g][0]] for g in chosen.tolist()], "shares": dict(shares)}
    return Certificate("cuts", data)
