"""The count bound: tensors that no device can keep to itself below a target are paid by several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Result
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.bounds.partition.anchor import anchor_bound
from mtpp_dsl.solvers.bounds.partition.around import scale_for
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, bound_instance
from mtpp_dsl.solvers.bounds.partition.conflicts import Apart

__all__ = ["count"]

NAME = "count"
ROUNDING = 1e-11
MAX_CHECKED = 4_000
"""With more supernodes a certificate would take too long to check."""
CLOSE = 1e-3
"""Relative: targets closer to one that failed are not tried."""


def count(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound by counting tensors; stopped early, what the cuts made so far prove."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None or simple.bound is None:
        return replace(simple, method=NAME)
    instance = bound_instance(problem)
    bound = anchor_bound(problem, instance, simple.bound, limits, progress)[0] or simple.bound
    found = None
    if instance.nets and np.isfinite(instance.time).any(axis=1).all():
        found = _Counting(problem, instance, bound.cost, limits, progress).run()
    if found is not None:
        bound = Bound(
            found.target,
            method=NAME,
            proof="checked",
            by="mtpp",
            detail=f"{len(found.shared)} tensors are on several devices each below this, by minimum cuts in whole "
            "units, rounded down; with them the devices cost more together than they may",
            certificate=_certificate(problem, instance, found) if instance.n <= MAX_CHECKED else None,
        )
        progress.report_bound(bound)
    return progress.result(NAME, limits, progress.ended(limits) or "complete", bound=bound)


@dataclass(frozen=True)
class _Found:
    """A target that is proved: the tensors shared, by how many devices and what shows it; weights of the kinds."""

    target: float
    shared: dict[int, tuple[int, tuple[int, ...]]]
    weights: Floats


class _Counting:
    """Raises the target for weights of the devices: below it, they would cost more together than they may."""

    def __init__(
        self, problem: Problem, instance: BoundInstance, known: float, limits: Limits, progress: Progress
    ) -> None:
        self._instance, self._known = instance, known
        self._sums = [_Sum(instance, p) for p in _weights(instance)]
        ceiling = max((s.most() for s in self._sums), default=0.0)
        self._scale = scale_for(max(ceiling, known, 1e-300))
        self._top = int(ceiling * self._scale) + 1
        self._floor = int(known * self._scale) + 1
        self._apart: Apart | None = None
        if ceiling > known:

            def stopped() -> bool:
                return progress.stopped or limits.remaining <= 0

            self._apart = Apart(problem, instance, self._scale, self._top, stopped)

    def run(self) -> _Found | None:
        """Return the best target above the one known, or None."""
        best: _Found | None = None
        low = self._floor
        for total in self._sums if self._apart is not None else ():
            high = min(int(total.most() * self._scale), self._top)
            step = 0
            while high - low > (CLOSE * high if step else 0):
                target = low + (high - low + 1) // 2 if step else low
                step += 1
                found = self._try(total, target)
                if found is None:
                    if step == 1:
                        break
                    high = target - 1
                else:
                    best, low = found, int(found.target * self._scale)
        return best

    def _try(self, total: _Sum, target: int) -> _Found | None:
        """Return what proves *target* or more, or None."""
        apart = self._apart
        assert apart is not None
        hoped = [apart.parts(e, target, hopeful=True)[0] for e in range(len(self._instance.nets))]
        share = total.base + sum(total.each(e, count) for e, count in enumerate(hoped))
        shared: dict[int, tuple[int, tuple[int, ...]]] = {}
        for e in sorted(range(len(hoped)), key=lambda e: -total.each(e, hoped[e])):
            count = hoped[e]
            if share * self._scale < target:
                return None
            if count > 1:
                apart.decide(target, apart.unknown(e, target))
                found = apart.parts(e, target)
                if found[0] < count:
                    share += total.each(e, found[0]) - total.each(e, count)
                if found[0] > 1:
                    shared[e] = found
        share = total.base + sum(total.each(e, count) for e, (count, _) in shared.items())
        if share * self._scale * (1 - ROUNDING) < target:
            return None
        units = min((apart.least(e, shown, target) for e, (_, shown) in shared.items()), default=self._top)
        reached = min(int(share * self._scale * (1 - ROUNDING)), max(units, target))
        return _Found(reached / self._scale, shared, total.weights)


class _Sum:
    """What devices cost together, for weights of theirs, over the sum of the weights."""

    def __init__(self, instance: BoundInstance, weights: Floats) -> None:
        self.weights = weights
        counts = instance.counts
        self._total = float((weights * counts).sum())
        time = np.where(np.isfinite(instance.time), instance.time, 0.0) * weights
        self.base = float(np.where(np.isfinite(instance.time), time, inf).min(axis=1).sum())
        kept = float((instance.types.overflow * counts).sum())
        excess = max(float(instance.params.sum()) * (1 - ROUNDING) - kept - abs(kept) * ROUNDING, 0.0)
        self.base = (self.base + excess / instance.types.bandwidth * float(weights.min())) / self._total
        pays = np.sort(np.repeat(weights * instance.types.pays, counts))
        self._charge: list[float] = np.concatenate(([0.0], np.cumsum(pays))).tolist()
        self._cost = [cost for _, cost in instance.nets]
        self._pins = [len(pins) for pins, _ in instance.nets]

    def each(self, tensor: int, count: int) -> float:
        """Return what a tensor on at least so many devices, or on all, adds to the share of each."""
        return self._cost[tensor] * self._charge[min(count, len(self._charge) - 1)] / self._total if count > 1 else 0.0

    def most(self) -> float:
        """Return a share that there is no more than."""
        return self.base + sum(self.each(e, pins) for e, pins in enumerate(self._pins))


def _weights(instance: BoundInstance) -> list[Floats]:
    """Return weights of the kinds: equal ones, and typical speeds where they differ."""
    usable = np.isfinite(instance.time)
    time = np.where(usable, instance.time, 0.0)
    fastest = np.where(usable, instance.time, inf).min(axis=1)
    own, least = time.sum(axis=0), np.where(usable, fastest[:, None], 0.0).sum(axis=0)
    speeds = np.where(own > 0, least / np.where(own > 0, own, 1.0), 0.0)
    useful = usable.any(axis=0)
    found = [np.where(useful, 1.0, 0.0), np.where(useful, speeds, 0.0)]
    found = [p for p in found if (p * instance.counts).sum() > 0]
    return found[:1] if len(instance.counts) == 1 else found


def _certificate(problem: Problem, instance: BoundInstance, found: _Found) -> Certificate:
    """Return target, weights of the devices, and each tensor by a node that makes it, with what shows its parts."""
    names, devices = problem.graph.names, problem.devices
    producers: dict[tuple[int, ...], int] = {}
    for u in np.flatnonzero(instance.types.tensor > 0).tolist():
        touched = {int(instance.of[u]), *instance.of[problem.graph.successors(u)].tolist()}
        producers.setdefault(tuple(sorted(touched)), u)
    nets = {
        names[producers[instance.nets[e][0]]]: {
            "devices": count,
            "apart": [names[instance.members[g][0]] for g in shown],
        }
        for e, (count, shown) in found.shared.items()
    }
    shares = {
        devices[d].name: float(found.weights[kind])
        for kind, members in enumerate(instance.types.members)
        for d in members
        if found.weights[kind] > 0
    }
    return Certificate("count", {"target": found.target, "shares": shares, "nets": nets})
