"""One target of the configuration bound: sets are priced until it is proved, refuted, or the time is up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any, Literal, TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.bounds.configuration.convex import heavy_windows
from mtpp_dsl.solvers.bounds.configuration.covering import Columns, CoveringMaster, Point, Proof
from mtpp_dsl.solvers.bounds.configuration.greedy_sets import heavy_sets, incidence
from mtpp_dsl.solvers.bounds.configuration.set_pricing import FINE_BITS, Pricing
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, whole_loads

__all__ = ["Attempt", "Verdict"]

Verdict: TypeAlias = Literal["proved", "out of reach", "open", "found", "tired"]
"""Of a target: proved; not to be proved by any weights; open, when the time is up or numbers run out. Of one exact
search also: a set was found; patience ended."""
MAX_ROUNDS = 48
ROUND_STEPS = 1e7
TABLE = 2**22
FRESH = 12
"""Sets of a kind that are added at a time."""
PULL = 0.7
"""How far prices are drawn towards the best ones known: smoothed prices find better sets."""
SLACK = 2e-4
PATIENCE = 0.2
"""The share of the time spent so far that one exact search may take, while there are other ways to go on."""
MIN_PROMISE = 0.25
"""The share of what theta exceeds 1 by that weights have to, as far as sets are known, before a proof is tried."""
EVERY = 5
"""After so many rounds the exact search looks for a heavy set as well."""
MAX_EXCESS = 1.2
"""It ends with a set that is so many times too heavy."""


class Attempt:
    """An attempt to prove one target.

    Args:
        instance: what is placed.
        columns: sets known; those found are added.
        costliest: [supernodes, types] loads that no set with the supernode is below.
        target: what to prove.
        stopped: asked often.
        say: told what is being done.
        seed: of the heuristics.
        fine: count loads so finely that the target may be all but the cost of a plan. It takes longer.
    """

    def __init__(
        self,
        instance: BoundInstance,
        columns: Columns,
        costliest: Floats,
        target: float,
        *,
        stopped: Callable[[], bool],
        say: Callable[[str], None],
        seed: int,
        fine: bool = False,
    ) -> None:
        self._instance, self._columns, self._target = instance, columns, target
        self._stopped, self._say, self._seed, self._fine = stopped, say, seed, fine
        self._sizes = whole_loads(instance, target, bits=FINE_BITS, room=0.0) if fine else whole_loads(instance, target)
        self._closed = (costliest >= target) | ~np.isfinite(instance.time)
        self._kinds = range(len(instance.counts))
        self._simple = [instance.is_knapsack(kind) and not fine for kind in self._kinds]
        self._pricing: dict[int, Pricing] = {}
        self._links = incidence(instance.n, instance.nets)
        self._master = CoveringMaster(instance.n, instance.counts.astype(np.float64))
        self._known: list[list[Bools]] = [[] for _ in self._kinds]
        self._tables = [np.zeros((0, instance.n), np.bool_) for _ in self._kinds]
        self._centre = Point.at(np.zeros(instance.n), np.ones(len(self._simple)))
        self._doubt = SLACK
        dear = instance.n**2 / float(instance.counts.sum())
        self._rounds = int(min(max(instance.n // 2, 4), MAX_ROUNDS, max(ROUND_STEPS / dear, 2)))
        self.proof: Proof | None = None
        self.theta = inf

    def run(self, seconds: float) -> Verdict:
        """Generate sets until the target is proved or out of reach, for at most *seconds*."""
        self._deadline = monotonic() + seconds
        for kind in self._kinds:
            self._feed(kind, self._columns.sets[kind])
        self._cover()
        pull, patience, rounds = 0.0, 1.0, 0
        while not self._late:
            self.theta, weights, threshold = self._master.solve()
            if self.theta <= 1 + 1e-7:
                return "out of reach"
            out = Point.at(weights, threshold)
            point = out if pull == 0.0 else out.towards(self._centre, pull)
            estimate, fresh = self._price(point, out)
            if estimate > self._centre.estimate:
                self._centre = replace(point, estimate=estimate)
            rounds += 1
            if rounds % EVERY == 0:
                verdict = self._exact(point, 0.5)
                if verdict in ("proved", "open"):
                    return verdict
            elif self._centre.estimate > 1 + max(self._doubt, MIN_PROMISE * (self.theta - 1)) or (
                not fresh and pull == 0.0
            ):
                which = self._centre if self._centre.estimate > 1 + SLACK else replace(point, estimate=estimate)
                verdict = self._exact(which, patience if fresh else inf)
                if verdict in ("proved", "open"):
                    return verdict
                if verdict == "tired":
                    self._doubt = max(2 * self._doubt, 0.6 * (self._centre.estimate - 1) + 0.4 * (self.theta - 1))
                patience = max(1.0, PATIENCE * (monotonic() - self._deadline + seconds))
            pull = PULL if fresh else 0.0
        return "open"

    @property
    def _late(self) -> bool:
        return self._stopped() or monotonic() >= self._deadline

    def _feed(self, kind: int, sets: list[Bools]) -> None:
        """Give the master those of *sets* that are below the target."""
        for in_set, load in zip(sets, self._columns.loads(kind, self._sizes[kind], sets).tolist(), strict=True):
            if load <= self._sizes[kind].capacity and not (in_set & self._closed[:, kind]).any():
                self._enter(kind, in_set)

    def _enter(self, kind: int, in_set: Bools) -> None:
        self._known[kind].append(in_set)
        self._master.add(kind, in_set)

    def _take(self, kind: int, in_set: Bools) -> bool:
        """Add a set that is below the target; return whether it is new."""
        load = self._columns.loads(kind, self._sizes[kind], [in_set])[0]
        if load > self._sizes[kind].capacity or not self._columns.add(kind, in_set):
            return False
        self._enter(kind, in_set)
        return True

    def _cover(self) -> None:
        """Add sets that together cover as much as the devices can, each filled with what the others left."""
        left = np.where(np.isfinite(self._instance.time), self._instance.time, 0.0).max(axis=1)
        left = np.rint(left / max(float(left.max(initial=0.0)), 1e-300) * 1e5).astype(np.int64) + 1
        for kind in sorted(self._kinds, key=lambda kind: self._simple[kind]):
            for _ in range(int(self._instance.counts[kind])):
                if self._late:
                    return
                sets, weights = self._heavy(kind, left)
                if weights.max(initial=0.0) <= 0:
                    break
                heaviest = sets[int(weights.argmax())]
                self._take(kind, heaviest)
                left[heaviest] = 0

    def _price(self, point: Point, out: Point) -> tuple[float, int]:
        """Look for sets that are heavy at a point; add those that lower theta.

        Returns:
            How many times the devices hold all weight, if no set is heavier than those known; how many sets are new.
        """
        total, fresh = 0.0, 0
        for kind in self._kinds:
            sets, weights = self._heavy(kind, point.whole)
            most = float(weights.max(initial=0.0))
            if self._known[kind] and not self._simple[kind]:
                most = max(most, float((self._table(kind) @ point.whole).max()))
            total += float(self._instance.counts[kind]) * most
            gain = sets @ out.whole - out.level[kind] * (1 + 1e-6)
            for row in np.argsort(-gain, kind="stable")[:FRESH].tolist():
                if gain[row] > 0:
                    fresh += self._take(kind, sets[row])
        return float(point.whole.sum()) / max(total, 1.0), fresh

    def _heavy(self, kind: int, weights: Ints) -> tuple[Bools, Floats]:
        """Return sets below the target, and their weights: the heaviest where loads are sums."""
        if not self._simple[kind]:
            return self._search(kind, weights)
        most, in_set = knapsack(weights, self._sizes[kind].work, self._sizes[kind].capacity, TABLE)
        return in_set[None, :], np.array([most], np.float64)

    def _search(self, kind: int, weights: Ints) -> tuple[Bools, Floats]:
        """Return sets below the target by a heuristic, and their weights."""
        instance, sizes = self._instance, self._sizes[kind]
        self._seed += 1
        data = (
            weights.astype(np.float64),
            np.where(self._closed[:, kind], sizes.capacity + 1, sizes.work),
            instance.memory,
            sizes.nets,
            self._links,
        )
        limits = (sizes.capacity, float(instance.types.memory[kind]))
        asked: Any = {"seed": self._seed, "say": self._say, "stopped": lambda: self._late}
        if instance.convex[kind].any():
            arcs = self._columns.convexity.arcs
            sets, weight = heavy_windows(*data, arcs, *limits, rounds=self._rounds, **asked)
            convex = [self._columns.convexity.holds(kind, in_set) for in_set in sets]
            return sets[convex], weight[convex]
        starts = np.zeros((self._rounds, instance.n), np.bool_)
        if self._known[kind]:
            heaviest = np.argsort(-(self._table(kind) @ weights), kind="stable")[: self._rounds // 2]
            starts[: len(heaviest)] = self._table(kind)[heaviest]
        return heavy_sets(*data, *limits, starts=starts, **asked)

    def _exact(self, point: Point, patience: float) -> Verdict:
        """Ask for a set that is too heavy: none is a proof; one that is found is added."""
        weights, counts = point.whole, self._instance.counts.tolist()
        most = [0] * len(counts)
        for kind in self._kinds:
            if self._simple[kind]:
                most[kind] = int(self._heavy(kind, weights)[1][0])
        left = int(weights.sum()) - 1 - sum(q * m for q, m in zip(counts, most, strict=True))
        others = [kind for kind in self._kinds if not self._simple[kind]]
        share = sum(counts[kind] * float(point.level[kind]) for kind in others)
        for kind in others if left >= 0 else []:
            than = int(left * float(point.level[kind]) / share) if share > 0 else left // sum(counts[o] for o in others)
            answer = self._pricer(kind).heavier(
                weights,
                than,
                seconds=min(self._deadline - monotonic(), patience),
                stopped=self._stopped,
                enough=than * MAX_EXCESS + 1.0,
            )
            if answer.most <= than:
                most[kind] = than
                continue
            if answer.heavier is not None and self._take(kind, answer.heavier):
                self._recentre()
                return "found"
            return "open" if self._late or patience == inf else "tired"
        if left < 0:
            return "open" if patience == inf else "tired"
        self.proof = Proof(self._target, weights, tuple(most))
        return "proved"

    def _recentre(self) -> None:
        """Take new sets into account in the estimate of the centre."""
        centre = self._centre
        if centre.estimate > 0:
            heaviest = [float((self._table(k) @ centre.whole).max()) if self._known[k] else 0.0 for k in self._kinds]
            total = float((self._instance.counts * np.array(heaviest)).sum())
            self._centre = replace(centre, estimate=min(centre.estimate, float(centre.whole.sum()) / max(total, 1.0)))

    def _pricer(self, kind: int) -> Pricing:
        if kind not in self._pricing:
            closed = self._closed[:, kind]
            self._pricing[kind] = Pricing(self._instance, self._sizes[kind], kind, closed, fine=self._fine)
        return self._pricing[kind]

    def _table(self, kind: int) -> Bools:
        """Return [sets, supernodes] the sets known of a kind."""
        table = self._tables[kind]
        if len(table) < len(self._known[kind]):
            table = np.concatenate((table, np.array(self._known[kind][len(table) :])))
            self._tables[kind] = table
        return table


# The heaviest set of supernodes when loads are sums: a knapsack.

MAX_STEPS = 2**16


def knapsack(weights: Ints, work: Ints, capacity: int, room: int) -> tuple[int, Bools]:
    """Return the largest weight of a set whose work is at most *capacity*, and the set.

    Args:
        weights: [supernodes] zero or more.
        work: [supernodes] units; supernodes above the capacity are left out.
        capacity: in units.
        room: numbers the table may hold. With fewer than it takes, work is rounded down to coarser units: the weight is
            then never too low, and may be too high.
    """
    chosen = np.flatnonzero((weights > 0) & (work <= capacity))
    coarse = max(-(-(capacity + 1) * max(len(chosen), 1) // room), -(-(capacity + 1) // MAX_STEPS), 1)
    steps = capacity // coarse
    best = np.zeros(steps + 1, np.int64)
    taken = np.zeros((len(chosen), steps + 1), np.bool_)
    for row, g in enumerate(chosen.tolist()):
        w, value = int(work[g]) // coarse, int(weights[g])
        better = best[: steps + 1 - w] + value
        taken[row, w:] = better > best[w:]
        best[w:] = np.maximum(best[w:], better)
    in_set = np.zeros(len(weights), np.bool_)
    left = steps
    for row in range(len(chosen) - 1, -1, -1):
        if taken[row, left]:
            in_set[chosen[row]] = True
            left -= int(work[chosen[row]]) // coarse
    return int(best[steps]), in_set
