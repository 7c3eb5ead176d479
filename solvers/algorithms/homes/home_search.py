"""The least largest load of any split of ideals on a network, by targets; with homes of tensors, or without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.homes.extend import EXTEND, IdealSteps, Labels, Scratch
from mtpp_dsl.solvers.algorithms.homes.shipping import Loads, Shipping, whole_loads
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice

CHUNK = 300_000
"""Supernodes tried, and splits compared with, between two looks at the clock."""
FIRST_STEP, LAST_STEP = 0.005, 0.08
"""The first target is above the bound by this share; the next by twice that, and so on, up to the latter: far above the
best split there are far more splits."""
NARROW = 1e-4
"""What is left between bound and plan, as a share, is tried at once."""
COARSE = 1e-9
"""A unit above this share of the cost of the best plan is too large."""


class LabelsCrowded(Exception):
    """There is no room for more labels."""


class HomeSearch:
    """Splits of the ideals of a lattice into stages, of which each has a device of its own.

    A state is an ideal, the devices used, and the home of each tensor that is still read outside: what a stage pays to
    receive it depends on that. Between two splits of one state the one whose devices have paid less goes on. This is
    exact on every network; there are few homes where the ideals cut few tensors.

    Args:
        shipping: what splits cost.
        lattice: the ideals.
        most_bytes: how much memory the labels may take.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
        found: told of the device of each supernode in every split; returns what it costs.
        bounded: told of bounds.
    """

    def __init__(
        self,
        shipping: Shipping,
        lattice: Lattice,
        most_bytes: float,
        *,
        say: Callable[[str], None],
        pause: Callable[[], None],
        keep: Callable[[Ints], float],
        bounded: Callable[[float], None],
    ) -> None:
        self._shipping, self._lattice = shipping, lattice
        self._say, self._pause, self._keep, self._bounded = say, pause, keep, bounded
        self._channels = max(1, shipping.carried.shape[1])
        self._first, self._live = _live(shipping, lattice)
        self.width = int(np.diff(self._first).max(initial=0))
        label_bytes = 8 * (6 + shipping.k + self._channels + 3 * self.width)
        self._most = max(1_000, int(most_bytes / label_bytes))

    def climb(self, lower: float, upper: float, gap: float, *, relaxed: bool) -> tuple[float, float, bool]:
        """Return a bound on all splits, the cost of the best plan known, and whether all splits were looked at.

        Args:
            lower: a bound that is known.
            upper: the cost of a plan that is known; ``inf`` for none.
            gap: as a share of the cost: it ends where the bound is so near.
            relaxed: whether homes are forgotten, so that splits may cost more than the search counts.
        """
        while True:
            known = upper
            top = upper if np.isfinite(upper) else self._shipping.ceiling()
            loads, unit, most = whole_loads(self._shipping, top)
            steps = self._steps(loads)
            floor, share, halving = int(lower / unit), FIRST_STEP, False
            slack = 4 * (self._shipping.n + len(self._shipping.readers) + 1)  # what rounding down may hide of a load
            while floor < most and not (np.isfinite(upper) and upper - lower <= gap * upper):
                target = min(most, int(floor + share * max(floor, most / 1000)) + 1)
                if halving:
                    target = most if most - floor < NARROW * most else (floor + most) // 2 + 1
                stages = self._below(steps, loads, target - 1, relaxed)
                if stages is None:
                    floor, share = target, min(2 * share, LAST_STEP if floor > most / 1000 else 1.0)
                    lower = max(lower, min(target * unit, upper))
                    self._bounded(lower)
                    continue
                cost = self._keep(stages)
                upper = min(upper, cost)
                if cost > (target + slack) * unit and most - floor < NARROW * most:
                    return lower, upper, True  # it costs more than is counted, and so may all that are left
                if unit > COARSE * upper and upper < known:
                    break
                if relaxed:
                    return lower, upper, True
                most, halving = min(target - 1, int(min(upper, top) / unit) - slack), True
            else:
                return lower, upper, True

    def _below(self, steps: IdealSteps, loads: Loads, target: int, relaxed: bool) -> Ints | None:
        """Return [n] devices of a split whose loads are *target* or less, or None.

        Raises:
            Crowded: there is no room for the labels.
        """
        size = self._lattice.size
        room = 1 << 12
        while True:  # again with more room where it was not enough
            labels = self._labels(room, relaxed)
            scratch = self._scratch()
            run = EXTEND.pick(size * size * self._shipping.k, self._say)
            source = 0
            while 0 <= source < size - 1:
                source = run(source, EXTEND.portion(CHUNK), target, relaxed, steps, loads, labels, scratch)
                self._pause()
            if source >= 0:
                break
            if room >= self._most:
                raise LabelsCrowded
            room = min(self._most, 8 * room)
        return self._traced(labels) if source == size else None

    def _traced(self, labels: Labels) -> Ints:
        lattice, device = self._lattice, np.empty(self._shipping.n, np.int64)
        x = int(labels.made[0]) - 1
        while labels.parent[x] >= 0:
            before = int(labels.ideal[labels.parent[x]])
            added = (lattice.bits[int(labels.ideal[x])] & ~lattice.bits[before])[lattice.word] & lattice.bit
            device[added != 0] = labels.device[x]
            x = int(labels.parent[x])
        return device

    def _steps(self, loads: Loads) -> IdealSteps:
        lattice = self._lattice
        left = np.empty((lattice.size, loads.weight.shape[1]))
        for begin in range(0, lattice.size, 4096):
            outside = (lattice.bits[begin : begin + 4096][:, lattice.word] & lattice.bit) == 0
            left[begin : begin + 4096] = outside @ loads.weight
        return IdealSteps(lattice.start, lattice.above, lattice.node, self._first, self._live, left)

    def _labels(self, most: int, relaxed: bool) -> Labels:
        size, k = self._lattice.size, self._shipping.k
        full = 1 if relaxed else most
        buckets = max(1 << 10, 1 << (2 * most).bit_length())

        def empty(rows: int, *shape: int) -> Ints:
            return np.empty((rows, *shape), np.int64)

        labels = Labels(
            made=np.ones(1, np.int64),
            parent=empty(most),
            device=empty(most),
            ideal=empty(most),
            used=empty(most),
            load=empty(full, k),
            channel=empty(full, self._channels),
            home=empty(full, max(1, self.width)),
            paid=empty(full, max(1, self.width)),
            passed=empty(full, max(1, self.width)),
            dead=np.zeros(most, np.int64),
            head=np.full(size, -1, np.int64),
            bucket=np.full(buckets, -1, np.int64),
            following=empty(most),
            equal=empty(most),
        )
        labels.parent[0] = labels.following[0] = labels.equal[0] = -1
        labels.ideal[0] = labels.used[0] = labels.head[0] = 0
        labels.load[0] = labels.channel[0] = 0
        return labels

    def _scratch(self) -> Scratch:
        n, k = self._shipping.n, self._shipping.k
        tensors, depth = len(self._shipping.readers), n + 2

        def zeros(*shape: int) -> Ints:
            return np.zeros(shape, np.int64)

        widest = sum(len(way) for ways in self._shipping.routes for way in ways)
        return Scratch(
            stamp=zeros(self._lattice.size),
            turn=zeros(1),
            home=zeros(tensors),
            paid=zeros(tensors),
            passed=zeros(tensors),
            inside=zeros(tensors),
            member=zeros(n),
            load=zeros(k),
            channel=zeros(self._channels),
            need=zeros(k),
            at=zeros(depth),
            edge=zeros(depth),
            added=zeros(depth),
            work=zeros(depth),
            got=zeros(depth),
            logged=zeros(depth),
            memory=np.zeros(depth),
            log=zeros(2 * (1 + min(widest, self._channels)) * (tensors + 1), 3),
            next=np.full(1, -1, np.int64),
        )


def _live(shipping: Shipping, lattice: Lattice) -> tuple[Ints, Ints]:
    """Return row pointers and the tensors that each ideal makes and that are read outside of it."""
    rows, columns = [], []

    def member(v: int) -> Bools:
        return np.asarray((lattice.bits[:, lattice.word[v]] & lattice.bit[v]) != 0, np.bool_)

    for t, readers in enumerate(shipping.readers):
        inside = np.ones(lattice.size, np.bool_)
        for v in readers:
            inside &= member(v)
        ideals = np.flatnonzero(member(int(shipping.producer[t])) & ~inside)
        rows.append(ideals)
        columns.append(np.full(len(ideals), t, np.int64))
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    column = np.concatenate([np.zeros(0, np.int64), *columns])
    order = np.lexsort((column, row))
    first = np.searchsorted(row[order], np.arange(lattice.size + 1))
    return first.astype(np.int64), column[order]
