"""Bound a chain together with the nodes beside it: by its time, the load of one device and its transfers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.request import INF, Answer, Effort
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample
from mtpp_dsl.solvers.schedule.decomposition.weighted_module import PartWeights, Sides, weighed
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["Balance", "least_larger"]

FIRST_TRY = 6.0
"""Seconds for the first question about a pair; each further one that finds no answer has twice as many."""
REACH, NEXT, AGAIN = 0.18, 0.6, 1.3
"""Share of what is between the bound and a known sum that a first question leaves out, the next after one that was
answered, and by how much more after one that was not."""
SMALL = 30
"""Nodes of a module whose least sum is asked for at once."""
MAX_FAILED = 5
"""After so many questions without an answer a pair is left as it is."""
LOOK = 0.1
CLOSE = 0.01

Pair = tuple[int, int, int]
"""A module, and the numbers of the states of its ends."""


@dataclass
class _Job:
    pair: Pair
    cutoff: int
    answer: Future[Answer]


class Balance:
    """Raise a bound: no makespan is below the weighted mean of the chain's time, a device's load and its transfers.

    The load counts all nodes, also those beside the chain. For every module and every pair of devices of its ends, the
    least weighted sum is bounded. A path along the chain is as long as the larger of its time and its weighted sum, so
    nothing is lost where changing to another device only pays on average. The hub is taken to be on the device; paths
    with the hub elsewhere are bounded without the nodes beside the chain.

    Args:
        whole: the problem. modules, pieces: of the chain. sides: nodes beside it. weights: of the sums.
        times: [entries, exits] per module: bounds on its time.
        pool, seed: of CP-SAT. options: parameters of CP-SAT.

    Attributes:
        lower, upper: [entries, exits] per module: bounds on its weighted sum, and the least sums found.
        solves: how often CP-SAT was asked.
    """

    def __init__(
        self,
        whole: WholeSample,
        modules: list[CutModule],
        pieces: list[ModulePiece],
        sides: Sides,
        weights: PartWeights,
        times: list[Floats],
        pool: ProcessPool,
        seed: int,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._whole, self._pieces, self._sides, self.weights = whole, pieces, sides, weights
        self._hub = modules[sides.hub].exit if sides.hub >= 0 else NONE
        self._times, self._pool, self._seed, self._options = times, pool, seed, dict(options or {})
        self._base = [self._at_least(j) for j in range(len(pieces))]
        self.lower = [table.copy() for table in self._base]
        self.upper = [self._at_most(j) for j in range(len(pieces))]
        self._elsewhere = False
        self._failed: dict[Pair, int] = {}
        self._share: dict[Pair, float] = {}
        self._jobs: list[_Job] = []
        self.solves = 0

    @property
    def best(self) -> BestPath:
        """The path that determines the bound, with both lengths in units of time."""
        if self._hub == NONE:
            return self._best(self._times, self.lower)
        at, exits = self._sides.hub, self._pieces[self._sides.hub].exits
        here = np.array([d == self.weights.device for d in exits])
        lower = [
            base if near.far else table
            for base, table, near in zip(self._base, self.lower, self._sides.of, strict=True)
        ]
        ways = []
        for closed, sums in ((~here, self.lower), (here, lower)):
            times = list(self._times)
            times[at] = np.where(closed, np.inf, times[at])
            ways.append(self._best(times, sums))
        self._elsewhere = max(ways[1].one, ways[1].other) < max(ways[0].one, ways[0].other)
        return ways[self._elsewhere]

    def _best(self, times: list[Floats], sums: list[Floats]) -> BestPath:
        return least_larger(times, [table / self.weights.total for table in sums])

    @property
    def bound(self) -> float:
        """The lower bound on the makespan, in units."""
        best = self.best
        return max(best.one, float(np.floor(best.other)))

    def run(
        self,
        until: Callable[[], float],
        stopped: Callable[[], bool],
        target: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        """Ask CP-SAT until the bound reaches *target*, no question could raise it, or the time is up."""
        halted = False

        def over() -> bool:
            return halted or stopped() or until() <= 0

        try:
            best = self.best
            while not over() and best.states and max(best.one, best.other) < target():
                self._refill(best, until, over)
                if not self._jobs:
                    break
                wait([job.answer for job in self._jobs], timeout=LOOK, return_when=FIRST_COMPLETED)
                if self._collect():
                    best = self.best
                    changed()
        finally:
            halted = True
            wait([job.answer for job in self._jobs])
            if self._collect():
                changed()

    def _at_least(self, j: int) -> Floats:
        """Return [entries, exits] lower bounds: the weighted time, and the load of the exit if it is on the device."""
        piece, weights = self._pieces[j], self.weights
        own = np.zeros(len(piece.exits))
        if piece.exit:
            d = weights.device
            own[[i for i, b in enumerate(piece.exits) if b == d]] = weights.load * piece.time[-1, d]
        return self._times[j] * weights.time + own

    def _at_most(self, j: int) -> Floats:
        """Return [entries, exits] upper bounds: everything on the device if both ends are, else a trivial one."""
        piece, weights, d = self._pieces[j], self.weights, self.weights.device
        work = float(piece.time[int(piece.entry) :, d].sum())
        near = self._whole.request.duration[list(self._sides.of[j].nodes), d].astype(np.float64)
        everything = weights.time * work + weights.load * (work + float(near.sum()))
        upper = np.full((len(piece.entries), len(piece.exits)), inf)
        for i, a in enumerate(piece.entries):
            for k, b in enumerate(piece.exits):
                if a in (d, -1) and b in (d, -1) and everything < INF:
                    upper[i, k] = everything
        return upper

    def _refill(self, best: BestPath, until: Callable[[], float], over: Callable[[], bool]) -> None:
        """Give every idle process a question about a pair on the path that determines the bound, small ones first."""
        busy = {job.pair for job in self._jobs}
        pairs = [(j, best.states[j], best.states[j + 1]) for j in range(len(self._pieces))]
        pairs = [pair for pair in pairs if pair not in busy and self._gain(pair) > 0]
        pairs.sort(key=lambda pair: (self._failed.get(pair, 0), self._size(pair[0])))
        for pair in pairs[: self._pool.size - len(self._jobs)] if self._promises(best) else []:
            (j, a, b), failed = pair, self._failed.get(pair, 0)
            low, high = float(self.lower[j][a, b]), float(self.upper[j][a, b])
            share = self._share.get(pair, 0.0 if self._size(j) <= SMALL else REACH)
            cutoff = ceil(high - share * (high - low))
            piece = self._pieces[j]
            asked = weighed(
                self._whole,
                piece,
                self._sides.of[j],
                self.weights,
                piece.entries[a],
                piece.exits[b],
                self._hub,
                cutoff=max(cutoff, ceil(low)),
                at_least=ceil(low),
            )
            effort = Effort(min(FIRST_TRY * 2**failed, until()), 1, self._seed, options=self._options)
            self._jobs.append(_Job(pair, cutoff, self._pool.submit(asked, effort, stopped=over)))
            self.solves += 1

    def _promises(self, best: BestPath) -> bool:
        """Return whether the weighted sums along some path could still exceed its time."""
        most = 0.0
        for j in range(len(self._pieces)):
            at = best.states[j], best.states[j + 1]
            high, counted = float(self.upper[j][at]), not (self._elsewhere and self._sides.of[j].far)
            most += high if np.isfinite(high) and counted else float(self.lower[j][at])
        return most / self.weights.total > best.one

    def _size(self, j: int) -> int:
        """Return how many nodes a question about module *j* has."""
        return self._pieces[j].size + len(self._sides.of[j].nodes)

    def _gain(self, pair: Pair) -> float:
        """Return the gap between bound and sum of a pair if it is worth a question; else 0."""
        j, a, b = pair
        if self._elsewhere and self._sides.of[j].far:
            return 0.0
        gain = float(self.upper[j][a, b] - self.lower[j][a, b])
        worth = np.isfinite(gain) and gain > CLOSE * self.upper[j][a, b]
        return gain if worth and self._failed.get(pair, 0) < MAX_FAILED else 0.0

    def _collect(self) -> bool:
        """Take the answers that have arrived; return whether there were any."""
        done = [job for job in self._jobs if job.answer.done()]
        self._jobs = [job for job in self._jobs if job not in done]
        for job in done:
            answer, (j, a, b) = job.answer.result(), job.pair
            if answer.value is not None:
                self.upper[j][a, b] = min(self.upper[j][a, b], answer.value)
            if answer.status in ("unknown", "feasible"):
                self._failed[job.pair] = self._failed.get(job.pair, 0) + 1
                self._share[job.pair] = min(1.0, AGAIN * max(REACH, self._share.get(job.pair, REACH)))
            else:
                self._share[job.pair] = NEXT
            self.lower[j][a, b] = max(self.lower[j][a, b], min(float(answer.bound), self.upper[j][a, b]))
        return bool(done)


# Find paths through a chain by two lengths at once, of which the larger counts.

MAX_LABELS = 1000
"""Labels of one state; of more, neighbours are made one that is no longer than either."""


@dataclass(frozen=True)
class BestPath:
    """A path whose larger length no other path is below.

    Attributes:
        one, other: its two lengths; bounds on them where labels have been merged.
        states: see :class:`mtpp_dsl.solvers.schedule.decomposition.solve_modules.ChainPath`.
    """

    one: float
    other: float
    states: tuple[int, ...]


def least_larger(ones: Sequence[Floats], others: Sequence[Floats]) -> BestPath:
    """Return the path through the tables that minimises the larger of two sums (dynamic programme over labels)."""
    labels = [np.zeros((1, 2)) for _ in range(ones[0].shape[0])]
    came: list[list[Ints]] = []
    for one, other in zip(ones, others, strict=True):
        reached, back = [], []
        for b in range(one.shape[1]):
            parts = [labels[a] + [one[a, b], other[a, b]] for a in range(len(labels))]
            count = [len(part) for part in parts]
            states = np.repeat(np.arange(len(parts)), count)
            numbers = np.concatenate([np.arange(size) for size in count])
            kept, rows = _thinned(*_undominated(np.concatenate(parts)))
            reached.append(rows)
            back.append(np.stack([states, numbers], axis=1)[kept])
        labels = reached
        came.append(back)
    best = [(float(rows.max(axis=1).min(initial=np.inf)), b) for b, rows in enumerate(labels)]
    _, state = min(best)
    if not len(labels[state]):
        return BestPath(np.inf, np.inf, ())
    at = int(labels[state].max(axis=1).argmin())
    one, other = labels[state][at].tolist()
    way = [state]
    for back in reversed(came):
        state, at = back[state][at].tolist()
        way.append(state)
    return BestPath(one, other, tuple(reversed(way)))


def _undominated(rows: Floats) -> tuple[Ints, Floats]:
    """Return the indices of the finite rows that no other row dominates, by the first length, and the rows."""
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    order = order[np.isfinite(rows[order]).all(axis=1)]
    second = rows[order, 1]
    before = np.concatenate(([np.inf], np.minimum.accumulate(second)[:-1])) if len(order) else second
    better: Bools = second < before
    return order[better], rows[order[better]]


def _thinned(kept: Ints, rows: Floats) -> tuple[Ints, Floats]:
    """Return at most :data:`MAX_LABELS` labels: labels with close first lengths are merged into their minimum."""
    if len(kept) <= MAX_LABELS:
        return kept, rows
    low, high = rows[0, 0], rows[-1, 0]
    share = np.minimum((rows[:, 0] - low) / (high - low) * MAX_LABELS, MAX_LABELS - 1).astype(np.int64)
    first = np.flatnonzero(np.diff(share, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    return kept[first], np.stack([rows[first, 0], rows[last, 1]], axis=1)
