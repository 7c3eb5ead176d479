"""Bound by counting tensors: those that no device can keep to itself below a target are paid by several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Result
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.algorithms.slicing.one_order import SegmentCosts
from mtpp_dsl.solvers.algorithms.slicing.orders import orders
from mtpp_dsl.solvers.bounds.partition.anchor import anchor_bound
from mtpp_dsl.solvers.bounds.partition.around import Around, arcs_of, reached, scale_for
from mtpp_dsl.solvers.bounds.partition.bound_instance import (
    BoundInstance,
    always_streamed,
    bound_instance,
    device_weights,
    typical_speeds,
)

__all__ = ["count"]

MAX_PINS = 64
"""Of a tensor with more, pairs of the heaviest are looked at."""
MAX_SETS = 100_000
STARTS = 4
ORDERS, MAX_NODES = 7, 2_000


class Apart:
    """The least cost of a device that holds given supernodes together, by minimum cuts made when needed.

    Args:
        problem: what is asked.
        instance: its supernodes.
        scale: units per time.
        top: units of the highest target that will be asked for.
        stopped: whether to make no more cuts; what is not known then is taken to fit.
    """

    def __init__(
        self, problem: Problem, instance: BoundInstance, scale: float, top: int, stopped: Callable[[], bool]
    ) -> None:
        self._instance, self._top, self.stopped = instance, top, stopped
        self._sets: list[tuple[int, ...]] = []
        self.pins: list[tuple[int, ...]] = []
        self._pairs: list[Ints] = []
        self._collect()
        kinds = range(len(instance.counts))
        arcs = [arcs_of(problem, instance, kind) for kind in kinds]
        self._around = [Around(instance, kind, arcs[kind], scale, len(self._sets)) for kind in kinds]
        self._low = np.zeros(len(self._sets), np.int64)
        self._high = np.full(len(self._sets), top, np.int64)
        self._ranks = (
            _Ranks(problem, instance.n, self._around[0].work, arcs[0]) if _pipeline(problem, instance) else None
        )
        self._first_look(problem, scale)

    def _collect(self) -> None:
        """Number the pairs within tensors, and the tensors themselves."""
        number: dict[tuple[int, ...], int] = {}
        time = np.where(np.isfinite(self._instance.time), self._instance.time, 0.0).min(axis=1)
        for pins, _ in self._instance.nets:
            chosen = sorted(sorted(pins, key=lambda g: -time[g])[:MAX_PINS])
            table = np.full((len(chosen), len(chosen)), -1, np.int64)
            if len(number) < MAX_SETS:
                for i, j in combinations(range(len(chosen)), 2):
                    table[i, j] = table[j, i] = number.setdefault((chosen[i], chosen[j]), len(number))
            self.pins.append(tuple(chosen))
            self._pairs.append(table)
        pairs = list(number)
        self._wholes = [number.setdefault(pins, len(number)) for pins, _ in self._instance.nets]
        self._sets = list(number)
        self._ends = np.array(pairs, np.int64).reshape(-1, 2)

    def _first_look(self, problem: Problem, scale: float) -> None:
        """Bound what sets cost: by their work from below, by the windows of some orders that hold them from above."""
        work = np.min([around.work for around in self._around], axis=0)
        self._low[:] = [min(int(work[list(members)].sum()), self._top) for members in self._sets]
        graph, instance = problem.graph, self._instance
        if instance.n < graph.n or graph.n > MAX_NODES or not self._sets:
            return
        first_pin = np.array([members[0] for members in self._sets])
        for order in islice(orders(graph, instance.types.tensor, seed=0), ORDERS):
            if self.stopped():
                return
            place = np.empty(graph.n, np.int64)
            place[instance.of[order]] = np.arange(graph.n)
            first, last = place[first_pin], place[first_pin]
            for i, members in enumerate(self._sets):
                if len(members) > 2:
                    first[i], last[i] = place[list(members)].min(), place[list(members)].max()
            pairs = place[self._ends]
            first[: len(pairs)], last[: len(pairs)] = pairs.min(axis=1), pairs.max(axis=1)
            costs = SegmentCosts(graph, instance.types, order)
            for kind in range(len(instance.counts)):
                window = np.minimum.accumulate(costs.on(kind), axis=0)
                window = np.minimum.accumulate(window[:, ::-1], axis=1)[:, ::-1]
                cheapest = np.minimum(window[first, last + 1] * scale + 1, self._top).astype(np.int64)
                self._high = np.minimum(self._high, cheapest)

    def decide(self, target: int, wanted: Ints) -> None:
        """Make the cuts that tell which of the sets *wanted* no device holds below *target*."""
        for s in wanted.tolist():
            if self._low[s] < target <= self._high[s] and not self.stopped():
                self._cut(s)

    def _cut(self, s: int) -> None:
        least = self._top
        for around in self._around:
            value, side = around.least(list(self._sets[s]), least)
            if value < least and around.holds(side):
                together = side[self._ends[:, 0]] & side[self._ends[:, 1]]
                self._high[: len(together)][together] = np.minimum(self._high[: len(together)][together], value)
            least = min(least, value)
        self._low[s] = self._high[s] = least

    def unknown(self, tensor: int, target: int) -> Ints:
        """Return the sets of a tensor of which nothing is known at a target."""
        mine = np.unique(np.append(self._pairs[tensor], self._wholes[tensor]))
        mine = mine[mine >= 0]
        unknown: Ints = mine[(self._low[mine] < target) & (target <= self._high[mine])]
        return unknown

    def parts(self, tensor: int, target: int, *, hopeful: bool = False) -> tuple[int, tuple[int, ...]]:
        """Return on how many devices a tensor is at least below a target, and the supernodes that show it, if any.

        Where *hopeful*, what is not known counts as what would be best.
        """
        known = self._high if hopeful else self._low
        table, pins = self._pairs[tensor], self.pins[tensor]
        apart = (known[table] >= target) & (table >= 0)
        if self._ranks is not None:
            apart |= self._ranks.apart(np.array(pins, np.int64), target)
        clique = _clique(apart)
        if len(clique) >= 2:
            return len(clique), tuple(pins[i] for i in clique)
        return (2, ()) if known[self._wholes[tensor]] >= target else (1, ())

    def least(self, tensor: int, shown: tuple[int, ...], target: int) -> int:
        """Return a target, no lower, up to which what was shown at *target* stays."""
        if not shown:
            return int(self._low[self._wholes[tensor]])
        places = [self.pins[tensor].index(g) for g in shown]
        table = self._pairs[tensor][np.ix_(places, places)]
        off = ~np.eye(len(places), dtype=np.bool_)
        low = self._low[table][off]
        return int(low.min()) if (low >= target).all() else target


class _Ranks:
    """Places in a pipeline of k blocks at which a supernode may stand: blocks before it take its ancestors' work."""

    def __init__(self, problem: Problem, n: int, work: Ints, arcs: Ints) -> None:
        self._k = problem.k
        self._upto: Ints = work
        self._onward: Ints = work
        if len(arcs):
            reach = reached(n, arcs) | np.eye(n, dtype=np.bool_)
            self._upto, self._onward = work @ reach, reach @ work

    def apart(self, chosen: Ints, target: int) -> Bools:
        """Return [supernodes, supernodes] which cannot stand at one place."""
        first, last = self._upto[chosen] // target, self._k - 1 - self._onward[chosen] // target
        later = first[:, None] > last
        return np.asarray((later | later.T) & ~np.eye(len(chosen), dtype=np.bool_), np.bool_)


def _pipeline(problem: Problem, instance: BoundInstance) -> bool:
    """Return whether the devices are equal and stand in an order."""
    return len(instance.counts) == 1 and problem.acyclic and not problem.graph.backward.any()


def _clique(apart: Bools) -> list[int]:
    """Return numbers of which every two are apart, by a greedy search from several starts."""
    degree = apart.sum(axis=1)
    if not degree.any():
        return []
    order = np.argsort(-degree, kind="stable").tolist()
    best: list[int] = []
    for start in order[:STARTS]:
        left, clique = apart[start].copy(), [start]
        for other in order:
            if left[other]:
                clique.append(other)
                left &= apart[other]
        best = max(best, clique, key=len)
    return best


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
    proof = None
    if instance.nets and np.isfinite(instance.time).any(axis=1).all():
        proof = _Counting(problem, instance, bound.cost, limits, progress).run()
    if proof is not None:
        bound = Bound(
            proof.target,
            method=NAME,
            proof="checked",
            by="mtpp",
            detail=f"{len(proof.shared)} tensors are on several devices each below this, by minimum cuts in whole "
            "units, rounded down; with them the devices cost more together than they may",
            certificate=_certificate(problem, instance, proof) if instance.n <= MAX_CHECKED else None,
        )
        progress.report_bound(bound)
    return progress.result(NAME, limits, progress.ended(limits) or "complete", bound=bound)


@dataclass(frozen=True)
class _CountProof:
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
        self._stopped: Callable[[], bool] = lambda: progress.stopped or limits.remaining <= 0
        self._apart: Apart | None = None
        if ceiling > known:
            self._apart = Apart(problem, instance, self._scale, self._top, self._stopped)

    def run(self) -> _CountProof | None:
        """Return the best target above the one known, or None."""
        best: _CountProof | None = None
        low = self._floor
        for total in self._sums if self._apart is not None else ():
            high = min(int(total.most() * self._scale), self._top)
            step = 0
            while high - low > (CLOSE * high if step else 0) and not (step and self._stopped()):
                target = low + (high - low + 1) // 2 if step else low
                step += 1
                proof = self._try(total, target)
                if proof is None:
                    if step == 1:
                        break
                    high = target - 1
                else:
                    best, low = proof, int(proof.target * self._scale)
        return best

    def _try(self, total: _Sum, target: int) -> _CountProof | None:
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
                if not apart.stopped():
                    apart.decide(target, apart.unknown(e, target))
                proved = apart.parts(e, target)
                if proved[0] < count:
                    share += total.each(e, proved[0]) - total.each(e, count)
                if proved[0] > 1:
                    shared[e] = proved
        share = total.base + sum(total.each(e, count) for e, (count, _) in shared.items())
        if share * self._scale * (1 - ROUNDING) < target:
            return None
        units = min((apart.least(e, shown, target) for e, (_, shown) in shared.items()), default=self._top)
        reached = min(int(share * self._scale * (1 - ROUNDING)), max(units, target))
        return _CountProof(reached / self._scale, shared, total.weights)


class _Sum:
    """What devices cost together, for weights of theirs, over the sum of the weights."""

    def __init__(self, instance: BoundInstance, weights: Floats) -> None:
        self.weights = weights
        counts = instance.counts
        self._total = float((weights * counts).sum())
        time = np.where(np.isfinite(instance.time), instance.time, 0.0) * weights
        self.base = float(np.where(np.isfinite(instance.time), time, inf).min(axis=1).sum())
        streamed = always_streamed(instance, ROUNDING)
        self.base = (self.base + streamed * float(weights.min())) / self._total
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
    useful = np.isfinite(instance.time).any(axis=0)
    choices = [np.where(useful, 1.0, 0.0), np.where(useful, typical_speeds(instance.time), 0.0)]
    choices = [p for p in choices if (p * instance.counts).sum() > 0]
    return choices[:1] if len(instance.counts) == 1 else choices


def _certificate(problem: Problem, instance: BoundInstance, proof: _CountProof) -> Certificate:
    """Return target, weights of the devices, and each tensor by a node that makes it, with what shows its parts."""
    names = problem.graph.names
    producers: dict[tuple[int, ...], int] = {}
    for u in np.flatnonzero(instance.types.tensor > 0).tolist():
        touched = {int(instance.of[u]), *instance.of[problem.graph.successors(u)].tolist()}
        producers.setdefault(tuple(sorted(touched)), u)
    nets = {
        names[producers[instance.nets[e][0]]]: {
            "devices": count,
            "apart": [names[instance.members[g][0]] for g in shown],
        }
        for e, (count, shown) in proof.shared.items()
    }
    shares = device_weights(problem, instance, proof.weights)
    return Certificate("count", {"target": proof.target, "shares": shares, "nets": nets})
