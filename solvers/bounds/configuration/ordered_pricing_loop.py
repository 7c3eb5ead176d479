"""One target of the configuration bound for devices in an order: convex sets, each at its place, are priced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from time import monotonic

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.solvers.bounds.configuration.covering import CoveringMaster, Point, Proof
from mtpp_dsl.solvers.bounds.configuration.heavier import Heavier, heavy_convex
from mtpp_dsl.solvers.bounds.configuration.ordered_sets import ConvexPool, Ordered, PositionRange, Units, weigh
from mtpp_dsl.solvers.bounds.configuration.pricing_loop import Verdict

MAX_ROUNDS, GROWN, REPEATS = 160, 2000.0, 6
FRESH = 50
PULL = 0.6
MAX_SOLVES = 3
FEW_NODES, INF = 100, 2**62
MIN_PROMISE, LEAST = 0.3, 1e-4
PATIENCE = 0.5
BETTER = 1.25


class PricingAttempt:
    """An attempt to prove one target.

    Args:
        ordered: the graph.
        pool: sets known; those found are added.
        places: of the devices in their order.
        target: what to prove.
        stopped: asked often.
        say: told what is being done.
        seed: of the heuristics.
        hint: weights that were good for another target.
    """

    def __init__(
        self,
        ordered: Ordered,
        pool: ConvexPool,
        places: Sequence[PositionRange],
        target: float,
        *,
        stopped: Callable[[], bool],
        say: Callable[[str], None],
        seed: int,
        hint: Point | None = None,
    ) -> None:
        self._ordered, self._pool, self._places, self._target = ordered, pool, places, target
        self._stopped, self._say, self._seed = stopped, say, seed
        self.units = Units(ordered, target)
        self._n = n = ordered.instance.n
        self._counts: Floats = np.array([place.count for place in places], np.float64)
        self._stands = pool.standing(self.units, places, 0)
        self._inside = np.zeros_like(self._stands)
        self._master = CoveringMaster(n, self._counts)
        self.centre = Point.at(np.zeros(n), np.ones(len(places)))
        self._hint = hint
        self._pricers = [Heavier(ordered, self.units, place, say) for place in places]
        self._provers = [Heavier(ordered, self.units, place, say) for place in places]
        self._claim: Point | None = None
        self._most: list[int] = []
        self._left: list[int] = []
        self._rounds = max(min(int(GROWN * self._counts.sum() / n), MAX_ROUNDS, n // 2), 4)
        self.proof: Proof | None = None
        self.theta = inf
        self._exact_seconds = 0.0

    def run(self, seconds: float) -> Verdict:
        """Generate sets until the target is proved or out of reach, for at most *seconds*."""
        began = monotonic()
        self._deadline = began + seconds
        pull = 0.0
        if self._hint is not None:
            self._generate(self._hint, self._hint)
        while not self._late:
            out = self._solve()
            if self.theta <= 1 + 1e-7:
                return "out of reach"
            point = out if pull == 0.0 else out.towards(self.centre, pull)
            fresh = self._generate(point, out)
            share = (monotonic() - began) * PATIENCE - self._exact_seconds
            if self.centre.estimate > 1 + max(MIN_PROMISE * (self.theta - 1), LEAST) or not (fresh or pull):
                verdict = self._certify(max(share, 0.0) if fresh or pull else max(share, 1.0))
                if verdict == "proved":
                    return verdict
            pull = PULL if fresh else 0.0
        return "open"

    @property
    def _late(self) -> bool:
        return self._stopped() or monotonic() >= self._deadline

    def _generate(self, point: Point, out: Point) -> int:
        """Look for sets that are too heavy at a point; return how many would lower theta."""
        known = len(self._stands)
        self._grow(point, out)
        self._search(point)
        self._recentre()
        estimate = self._estimate(point)
        if estimate > self.centre.estimate:
            self.centre = replace(point, estimate=estimate)
        gain = weigh(self._pool.table[known:], out.whole)[:, None] > out.level * (1 + 1e-6)
        return int((gain & self._stands[known:]).any(axis=1).sum())

    def _solve(self) -> Point:
        """Return the weights that the sets known cover worst."""
        for _ in range(MAX_SOLVES):
            self.theta, weights, levels = self._master.solve()
            if not self._enter_known(weights, levels):
                break
        return Point.at(weights, levels)

    def _enter_known(self, weights: Floats, levels: Floats) -> int:
        """Add sets known, at places where they would lower theta; return how many."""
        gain = (self._pool.table[: len(self._stands)] @ weights)[:, None] - levels * (1 + 1e-7) - 1e-9
        gain[~self._stands | self._inside] = 0.0
        entered = 0
        for p in range(len(self._places)):
            chosen = np.argsort(-gain[:, p], kind="stable")[:FRESH]
            for row in chosen[gain[chosen, p] > 0].tolist():
                self._master.add(p, self._pool.table[row])
                self._inside[row, p] = True
                entered += 1
        return entered

    def _take(self, sets: Bools) -> None:
        """Add sets to those known."""
        for in_set in sets:
            self._pool.add(in_set)
        known = len(self._stands)
        if len(self._pool.table) > known:
            more = self._pool.standing(self.units, self._places, known)
            self._stands = np.concatenate((self._stands, more))
            self._inside = np.concatenate((self._inside, np.zeros_like(more)))

    def _grow(self, point: Point, out: Point) -> None:
        """Look for heavy sets by the heuristic."""
        known = len(self._stands)
        for p, place in enumerate(self._places):
            self._seed += 1
            starts = np.zeros((self._rounds, self._n), np.bool_)
            standing = np.flatnonzero(self._stands[:known, p])
            if len(standing):
                heavy = weigh(self._pool.table[standing], point.whole)
                best = standing[np.argsort(-heavy, kind="stable")[: (self._rounds + 1) // 2]]
                starts[: len(best)] = self._pool.table[best]
            sets, weights = heavy_convex(
                self._ordered,
                self.units,
                place,
                point.whole,
                starts,
                repeats=REPEATS,
                seed=self._seed,
                say=self._say,
                stopped=lambda: self._late,
            )
            gain = weigh(sets, out.whole) > out.level[p] * (1 + 1e-6)
            self._take(sets[gain | (weights > point.level[p] * (1 + 1e-6))])

    def _search(self, point: Point) -> None:
        """Look for sets heavier than those known by the first nodes of the exact search."""
        for p, than in enumerate(self._heaviest(point).astype(np.int64).tolist()):
            pricer = self._pricers[p]
            pricer.begin(point.whole, than)
            _, sets = pricer.run(FEW_NODES, self._deadline - monotonic(), self._stopped)
            self._take(np.array(sets, np.bool_).reshape(-1, self._n))

    def _certify(self, seconds: float) -> Verdict:
        """Go on with the search for sets that refute the best weights; none is a proof."""
        start = monotonic()
        point = self._claim
        if point is None or (self.centre.estimate - 1) > BETTER * (point.estimate - 1):
            point = self._claim = self.centre
            total, heaviest = int(point.whole.sum()), self._heaviest(point)
            together = max(float(self._counts @ heaviest), 1.0)
            self._most = [int(weight * (total - 1) / together) for weight in heaviest.tolist()]
            self._left = np.argsort(-heaviest, kind="stable").tolist()
            for p in self._left:
                self._provers[p].begin(point.whole, self._most[p])
        verdict: Verdict = "tired"
        while self._left and verdict == "tired":
            p = self._left[0]
            done, sets = self._provers[p].run(INF, seconds - (monotonic() - start), self._stopped, first=True)
            if sets:
                self._take(np.array(sets))
                self._recentre()
                self._claim, verdict = None, "found"
            elif done:
                self._left.pop(0)
            else:
                break
        self._exact_seconds += monotonic() - start
        if not self._left and verdict == "tired":
            most = [m for place, m in zip(self._places, self._most, strict=True) for _ in range(place.count)]
            self.proof = Proof(self._target, point.whole, tuple(most))
            return "proved"
        return verdict

    def _heaviest(self, point: Point) -> Floats:
        """Return [places] the weight of the heaviest set known."""
        weight = weigh(self._pool.table, point.whole)
        heaviest: Floats = np.where(self._stands, weight[:, None], 0.0).max(axis=0, initial=0.0)
        return heaviest

    def _estimate(self, point: Point) -> float:
        """Return how many times the devices hold all weight, if no set is heavier than those known."""
        return float(point.whole.sum()) / max(float(self._counts @ self._heaviest(point)), 1.0)

    def _recentre(self) -> None:
        """Take new sets into account in the estimate of the centre."""
        self.centre = replace(self.centre, estimate=min(self._estimate(self.centre), self.centre.estimate))
