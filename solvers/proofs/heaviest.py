"""Tell whether a device can hold more weight below a target than is said: branch and bound with minimum cuts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf
from time import monotonic

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Bools, Ints, frozen
from mtpp_dsl.solvers.proofs.flow import FREE, IN, LEAST_CUT, NO_FLOW, OUT
from mtpp_dsl.solvers.proofs.proof_reading import DeviceKind, ProofReading, units_for
from mtpp_dsl.solvers.proofs.settle import SETTLE

__all__ = ["NOT_ENOUGH", "Sets", "StagePlace"]

NOT_ENOUGH = "the time is not enough to check the certificate; give more with --time-limit"
LARGEST = 1 << 58
SHARPEST = 20
MAX_CUTS = 3
MAX_GROUPS = 4_000
NEARLY = 1e-12
FINER = 64.0
"""Units are so much smaller than those that targets are counted in: whoever rounds less finely is not refuted."""


@dataclass(frozen=True)
class StagePlace:
    """Where in a pipeline a set stands.

    Attributes:
        early, late: units of work that may stand before and after it; None: any.
        ideal, filter: whether nothing may.
    """

    early: int | None = None
    late: int | None = None
    ideal: bool = False
    filter: bool = False


class Sets:
    """The sets of groups that a kind of device can hold below a target, in whole units of load, rounded down.

    A set whose load is below the target has at most :attr:`below` units: rounding lets sets pass, and keeps none off.
    Where the parameters that are free are far more than could be streamed below the target, what is streamed is not
    counted; that no more than it is, is a limit.

    Args:
        reading: the problem.
        kind: of device.
        target: above zero.
        arcs: between groups, of which every path between two groups of a set is in it.

    Raises:
        UsageError: there are too many groups.
    """

    def __init__(self, reading: ProofReading, kind: DeviceKind, target: float, arcs: Iterable[tuple[int, int]]) -> None:
        self.n = len(reading.members)
        if self.n > MAX_GROUPS:
            raise UsageError(f"{self.n} groups of nodes are too many to check the certificate")
        tensors = list(reading.tensors.items()) if kind.pays else []
        self._memory, self._limit = np.array(reading.memory, np.float64), kind.memory * (1 + NEARLY)
        for finer in (FINER, 1.0):
            self.units = units_for(target) * finer
            enough = ceil(target * self.units)
            self._free, self._stream = _streams(reading, kind, self.units, enough)
            if (len(tensors) + self.n + 1) * (abs(self._free) + 3 * enough) < LARGEST // 4:
                break
        else:
            self._free, self._stream = 0, np.zeros(self.n, np.int64)
            self._memory, streamed = np.array(reading.params, np.float64), target * reading.bandwidth
            self._limit = kind.free + streamed + NEARLY * (abs(kind.free) + streamed)
        self.below = enough - 1
        self._work = np.array([floor(t * self.units) if t < target else enough for t in kind.time], np.int64)
        dear = enough + max(self._free, 0)  # even where parameters that are not streamed were taken off
        nets = [(sorted(pins), dear if c * self.units >= dear else floor(c * self.units)) for pins, c in tensors]
        self._starts = np.cumsum([0, *(len(pins) for pins, _ in nets)], dtype=np.int64)
        self._pins = np.array([pin for pins, _ in nets for pin in pins], np.int64)
        self._cost = np.array([cost for _, cost in nets], np.int64)
        self._sizes = np.diff(self._starts)
        self._net = np.repeat(np.arange(len(nets)), self._sizes)
        self.may_stream = bool(self._stream.any()) or self._free < 0
        self._arcs = np.array(sorted(set(arcs)), np.int64).reshape(-1, 2)
        self._tails, self._heads = (frozen(ends, np.int64) for ends in self._arcs.T)
        self._reach = closure(self.n, self._arcs)
        self._busy = int(self._work.sum())
        self._total = self._busy + int(self._cost.sum()) + int(self._stream.sum()) + self._free + enough
        self._settle, self._least_cut = SETTLE.pick(0.0), LEAST_CUT.pick(0.0)

    def place(self, before: int | None, after: int | None) -> StagePlace:
        """Return the place after *before* and before *after* sets below the target."""
        early, late = (None if sets is None else sets * (self.below + 1) for sets in (before, after))
        return StagePlace(early, late, ideal=before == 0, filter=after == 0)

    def heavier(self, weights: Sequence[int], most: int, place: StagePlace, seconds: float = inf) -> Bools | None:
        """Return a set at *place* that weighs more than *most*, or None if there is none.

        Raises:
            TimeoutError: *seconds* were not enough to tell.
        """
        return _Search(self, np.array(weights, np.int64), most, place, monotonic() + seconds).run()

    def start(self) -> Ints:
        """Return the state in which all is free that one device may take."""
        return np.where(self._work > self.below, OUT, FREE).astype(np.int64)

    def settled(self, state: Ints, place: StagePlace, falls: Bools, climbs: Bools) -> bool:
        """Settle what follows from *state*; return whether a set may be left."""
        early = self._busy if place.early is None else min(place.early, self._busy)
        late = self._busy if place.late is None else min(place.late, self._busy)
        return bool(
            self._settle(
                state,
                self._reach,
                self._work,
                self._memory,
                self.below,
                self._limit,
                early,
                late,
                place.ideal,
                place.filter,
                falls,
                climbs,
            )
        )

    def cheapest(
        self, state: Ints, falls: Bools, climbs: Bools, sharp: int, weights: Ints, price: int, streams: bool
    ) -> tuple[int, Bools]:
        """Return what ``sharp * load - price * weight`` is at least for all sets left, and a set that is cheap.

        With *streams* every parameter beyond those free is counted, also where that is below zero.
        """
        prices = sharp * self._work - price * weights
        extra = 0
        if streams:
            prices = prices + sharp * self._stream
            extra = -sharp * self._free
        elif self.may_stream:
            extra = sharp * max(int(self._stream[state == IN].sum()) - self._free, 0)
        side = np.zeros(self.n, np.bool_)
        tails, heads = self._tails, self._heads
        value = self._least_cut(
            state, prices, self._starts, self._pins, sharp * self._cost, tails, heads, falls, climbs, side
        )
        return (NO_FLOW if value == NO_FLOW else int(value) + extra), side

    def least_with(self, groups: Ints) -> int:
        """Return what every set with all of *groups* costs at least; more than :attr:`below` if there is none."""
        state, none = self.start(), np.zeros(self.n, np.int64)
        falls, climbs = np.zeros(self.n, np.bool_), np.zeros(self.n, np.bool_)
        if (state[groups] == OUT).any():
            return self.below + 1
        state[groups] = IN
        if not self.settled(state, StagePlace(), falls, climbs):
            return self.below + 1
        least, side = self.cheapest(state, falls, climbs, 1, none, 0, streams=False)
        if least <= self.below and self.streams(side):
            least = max(least, self.cheapest(state, falls, climbs, 1, none, 0, streams=True)[0])
        return least

    def ranks(self, groups: Ints, k: int) -> tuple[Ints, Ints]:
        """Return the first and the last of *k* places in a pipeline at which each of *groups* may stand."""
        reach = self._reach | np.eye(self.n, dtype=np.bool_)
        upto, onward = self._work @ reach[:, groups], reach[groups] @ self._work
        return upto // (self.below + 1), k - 1 - onward // (self.below + 1)

    def load(self, in_set: Bools) -> int:
        """Return the load of a set."""
        many = np.bincount(self._net[in_set[self._pins]], minlength=len(self._cost))
        cut = (many > 0) & (many < self._sizes)
        stream = max(int(self._stream[in_set].sum()) - self._free, 0)
        return int(self._work[in_set].sum()) + int(self._cost[cut].sum()) + stream

    def possible(self, in_set: Bools, place: StagePlace) -> bool:
        """Return whether a set is below the target, convex, and fits into the memory and its place."""
        if self.load(in_set) > self.below:
            return False
        flags = np.zeros((2, self.n), np.bool_)
        return self.settled(np.where(in_set, IN, OUT).astype(np.int64), place, flags[0], flags[1])

    def streams(self, in_set: Bools) -> bool:
        """Return whether a set has more parameters than are free."""
        return int(self._stream[in_set].sum()) > self._free

    def sharp(self, weights: int) -> int:
        """Return how many times units of load can be multiplied, for prices that are whole numbers."""
        return 1 << max(min(SHARPEST, (LARGEST // (4 * max(self._total, weights, 1))).bit_length() - 1), 0)


class _Search:
    """Depth first: sets with the heaviest group, then those with the next and without the first, and so on."""

    def __init__(self, sets: Sets, weights: Ints, most: int, place: StagePlace, end: float) -> None:
        self._sets, self._weights, self._most, self._place, self._end = sets, weights, most, place, end
        total = int(weights.sum())
        self._sharp = sets.sharp(total)
        self._highest = max(LARGEST // (2 * max(total, 1)), 1)
        self._plain = not sets.may_stream
        self._found: Bools | None = None

    def run(self) -> Bools | None:
        state = self._sets.start()
        for group in np.argsort(-self._weights, kind="stable").tolist():
            if self._weights[state != OUT].sum() <= self._most:
                return None
            if state[group] == OUT:
                continue
            inside = state.copy()
            inside[group] = IN
            if self._tree(inside):
                return self._found
            state[group] = OUT
        return None

    def _tree(self, root: Ints) -> bool:
        """Return whether a set was found that is too heavy."""
        price = max(min(self._sharp * self._sets.below // max(self._most, 1), self._highest), 1)
        stack = [(root, price)]
        n = self._sets.n
        falls, climbs = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        while stack:
            if monotonic() > self._end:
                raise TimeoutError
            state, price = stack.pop()
            if not self._sets.settled(state, self._place, falls, climbs):
                continue
            if self._weights[state != OUT].sum() <= self._most:
                continue
            pruned, side, price = self._bounded(state, falls, climbs, price)
            if self._found is not None:
                return True
            if pruned:
                continue
            free = state == FREE
            if not free.any():
                if self._check(state == IN):
                    return True
                continue
            open_to = free & side if (free & side).any() else free
            branch = int(np.where(open_to, self._weights, -1).argmax())
            for fate in (OUT, IN):
                child = state.copy()
                child[branch] = fate
                stack.append((child, price))
        return False

    def _check(self, in_set: Bools) -> bool:
        if int(self._weights[in_set].sum()) > self._most and self._sets.possible(in_set, self._place):
            self._found = in_set
            return True
        return False

    def _bounded(self, state: Ints, falls: Bools, climbs: Bools, price: int) -> tuple[bool, Bools, int]:
        """Return whether no set is heavy enough, the last set of a cut, and the price of weight that bounds best.

        For a price p and sets of load f below b: ``p weight <= sharp b - min (sharp f - p weight)``.
        """
        sharp, goal = self._sharp, self._sets.below * self._sharp
        streams = not self._plain and self._sets.streams(state == IN)
        under: tuple[int, int] | None = None
        over: tuple[int, int] | None = None
        side, best, best_price = state == IN, inf, price
        for _ in range(MAX_CUTS):
            least, side = self._sets.cheapest(state, falls, climbs, sharp, self._weights, price, streams)
            if least == NO_FLOW:
                break
            if goal - least < price * (self._most + 1):
                return True, side, price
            if (goal - least) / price < best:
                best, best_price = (goal - least) / price, price
            weight = int(self._weights[side].sum())
            load = (least + price * weight) // sharp if self._plain else self._sets.load(side)
            if load <= self._sets.below and weight > self._most and self._check(side):
                break
            if not (streams or self._plain) and load > self._sets.below and self._sets.streams(side):
                streams, under, over = True, None, None
                continue
            if load <= self._sets.below:
                under, guess = (load, weight), price * 3 // 2 + 1
            else:
                over, guess = (load, weight), price * 2 // 3
            if under is not None and over is not None:
                if over[1] <= under[1]:
                    break
                guess = sharp * (over[0] - under[0]) // (over[1] - under[1])
            guess = max(min(guess, self._highest), 1)
            if abs(guess - price) * 100_000 < price:
                break
            price = guess
        return False, side, best_price


def closure(n: int, arcs: Ints) -> Bools:
    """Return [n, n] whether a path of one arc or more leads from a group to another, or back to itself."""
    reach = np.zeros((n, n), np.bool_)
    reach[arcs[:, 0], arcs[:, 1]] = True
    for middle in np.unique(arcs[:, 0]).tolist():
        reach[np.flatnonzero(reach[:, middle])] |= reach[middle]
    return reach


def _streams(reading: ProofReading, kind: DeviceKind, units: float, enough: int) -> tuple[int, Ints]:
    """Return the parameters that are free, rounded up, and those of each group, down, in units of load."""
    n = len(reading.members)
    if kind.free == inf:
        return 0, np.zeros(n, np.int64)
    rate = Fraction(units) / Fraction(reading.bandwidth)
    free = min(max(ceil(Fraction(kind.free) * rate), -2 * enough), LARGEST)
    most = max(free, 0) + 2 * enough
    return free, np.array([min(floor(Fraction(size) * rate), most) for size in reading.params], np.int64)
