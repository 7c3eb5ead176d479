"""The least cost of a chain over devices, each of which it may enter more than once, and its proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

ROUNDING = 1e-9
"""Sums are in floating point: what is proved is so much lower, and rooms are so much larger."""
DIGITS = 1e12
"""Sums of one slot that differ by less than this share of the largest one count as equal."""
RIVALS = 48
"""Each label is compared with so many of the best ones that end on the same device."""
ROUNDS, LATE, SHORTER, LEAST_STEP = 150, 4, 0.7, 1e-3
"""In which prices of memory are sought; after so many without a better bound, steps get shorter, by so much."""


@dataclass(frozen=True, eq=False)
class ChainWalk:
    """Nodes 0..n-1, each of which hands tensors to the next, and what placing them adds to sums and to slots.

    A sum grows over the whole chain. A slot is what one device, or one channel, has to hold or to do: it may have a
    limit, and *tops* are the largest of the slots of one kind.

    Attributes:
        place: [sums, n, devices] what a node adds on a device; ``inf`` in the first sum where it may not be.
        move: [sums, n - 1, devices, devices] what a tensor adds between two devices; ``inf`` in the first sum where
            nothing leads there, 0 within a device.
        placed: [n, devices, slots] what a node adds to slots.
        moved: [n - 1, devices, devices, slots] what a tensor adds.
        room: [slots] limits; ``inf`` where there is none.
        top: [slots] the number of the top that a slot counts for; -1 for none.
        owner: [slots] the device that a slot belongs to; -1 for those of channels.
        tops: how many there are.
        once: [devices] which of them hold one range of nodes at the most.
        alike: groups of devices that may be exchanged.
        cost: returns [labels] what is minimised from [labels, sums] and [labels, tops]; it grows with all of them.
        keeps: returns [labels] whether limits of the same hold, which only fail more where they are larger.
    """

    place: Floats
    move: Floats
    placed: Floats
    moved: Floats
    room: Floats
    top: Ints
    owner: Ints
    tops: int
    once: Bools
    alike: Sequence[Sequence[int]]
    cost: Callable[[Floats, Floats], Floats]
    keeps: Callable[[Floats, Floats], Bools]

    @property
    def n(self) -> int:
        """Number of nodes."""
        return int(self.place.shape[1])

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.place.shape[2])


class Walked(NamedTuple):
    """What a search found.

    Attributes:
        devices: the best splits, as [n] devices, the best first.
        lower: no split costs less; ``inf`` where it is proved that there is none, or none below what was known.
        complete: whether every split was gone through, or left out as no better than another.
    """

    devices: list[Ints]
    lower: float
    complete: bool


class _Labels(NamedTuple):
    """Beginnings of splits up to one node: where they end, what they used, and their sums and slots."""

    last: Ints
    used: Ints
    sums: Floats
    tops: Floats
    slots: Floats
    priced: Floats

    def of(self, which: Ints | Bools) -> _Labels:
        return _Labels(
            self.last[which],
            self.used[which],
            self.sums[which],
            self.tops[which],
            self.slots[which],
            self.priced[which],
        )


def least_walk(
    walk: ChainWalk, width: int, *, upper: float = np.inf, pause: Callable[[], None] = lambda: None, most: int = 5
) -> Walked:
    """Return the best splits of a chain, by labels of its beginnings, of which *width* are kept at each node.

    A beginning is left out where another on the same device has no larger sum, top or slot; where it cannot cost less
    than *upper*; and where there are too many. What these last ones cost at least bounds the result: the sums of the
    cheapest way on, and with prices of memory the cheapest priced way on. Equal devices are entered in their order.

    Args:
        walk: what is split, and over which devices.
        width: how many labels are kept.
        upper: the cost of a split that is known; only better ones are looked for.
        pause: called after each node; may raise.
        most: so many splits are returned.
    """
    ahead = [_ahead(place, move) for place, move in zip(walk.place, walk.move, strict=True)]
    prices = _prices(walk, upper)
    priced = walk.place[0] + walk.placed @ prices
    beyond = _ahead(priced, walk.move[0])
    offset = float(prices @ np.where(np.isfinite(walk.room), walk.room, 0.0)) * (1 + ROUNDING)
    enough = upper - ROUNDING / 2 * abs(upper) if np.isfinite(upper) else np.inf
    rest = _Rest(walk)
    labels = _first(walk, priced)
    trail: list[tuple[Ints, Ints]] = []
    parent = np.full(len(labels.last), -1, np.int64)
    missed, complete = np.inf, True
    for j in range(walk.n):
        if j:
            labels, parent = _next(walk, labels, j, priced)
        sums = labels.sums + np.stack([back[j, labels.last] for back in ahead], axis=1)
        sums[:, 0] = np.maximum(sums[:, 0], labels.priced + beyond[j, labels.last] - offset)
        tops = np.maximum(labels.tops, rest.tops)
        least = walk.cost(sums, tops)
        fine = np.isfinite(sums).all(axis=1) & walk.keeps(sums, tops) & rest.fits(labels, j) & (least < enough)
        chosen = np.flatnonzero(fine)
        chosen = chosen[np.argsort(least[chosen], kind="stable")]
        chosen = chosen[_undominated(walk, labels.of(chosen))]
        if len(chosen) > width:
            missed, complete = min(missed, float(least[chosen[width]])), False
            chosen = chosen[:width]
        labels = labels.of(chosen)
        trail.append((parent[chosen], labels.last))
        pause()
    costs = walk.cost(labels.sums, labels.tops)
    best = np.argsort(costs, kind="stable")[:most]
    lower = min(missed, upper, float(costs.min(initial=np.inf)))
    lower -= ROUNDING * abs(lower) if np.isfinite(lower) else 0.0
    return Walked([_traced(trail, int(label)) for label in best], lower, complete)


def _ahead(place: Floats, move: Floats) -> Floats:
    """Return [n, devices] the least sum of what comes after each node, if that is on a device."""
    rest = np.zeros(place.shape)
    for j in range(len(place) - 2, -1, -1):
        rest[j] = (move[j] + (place[j + 1] + rest[j + 1])[None, :]).min(axis=1)
    return rest


def _prices(walk: ChainWalk, upper: float) -> Floats:
    """Return [slots] prices of what has a limit, by subgradients: any prices give a bound, the best ones a good one.

    Steps are as long as they would have to be if the best prices gave *upper*, or twice what no prices give.
    """
    limited = np.isfinite(walk.room)
    prices, best = np.zeros(len(walk.room)), (-np.inf, np.zeros(len(walk.room)))
    if not limited.any():
        return prices
    room, placed = np.where(limited, walk.room, 0.0), np.where(limited, walk.placed, 0.0)
    goal, share, late = upper, 1.0, 0
    for _ in range(ROUNDS):
        place = walk.place[0] + placed @ prices
        ahead = place + _ahead(place, walk.move[0])
        value = float(ahead[0].min()) - float(prices @ room)
        if not np.isfinite(value):
            break
        goal = goal if np.isfinite(goal) else 2 * abs(value)
        if value > best[0]:
            best, late = (value, prices), 0
        elif late == LATE:
            share, late = share * SHORTER, 0
        else:
            late += 1
        way = [int(ahead[0].argmin())]
        for j in range(1, walk.n):
            way.append(int((walk.move[0][j - 1, way[-1]] + ahead[j]).argmin()))
        over = placed[np.arange(walk.n), way].sum(axis=0) - room
        square = float(over @ over)
        if square == 0:
            break
        prices = np.maximum(0.0, prices + share * max(goal - value, LEAST_STEP * abs(value)) * over / square)
    return best[1]


class _Rest:
    """What the nodes after each one need at least: of limited slots, and of the largest ones."""

    def __init__(self, walk: ChainWalk) -> None:
        self._walk = walk
        limited = np.isfinite(walk.room)
        allowed = np.isfinite(walk.place[0])[:, :, None]
        least = np.where(allowed, np.where(limited, walk.placed, 0.0), np.inf).sum(axis=2, keepdims=True).min(axis=1)
        after = np.zeros(walk.n)
        after[:-1] = np.cumsum(least[:0:-1, 0])[::-1]
        self._after = after
        self.tops = np.zeros(walk.tops)
        for top in range(walk.tops):
            of = walk.top == top
            most = np.where(allowed[:, :, 0], walk.placed[:, :, of].max(axis=2, initial=0.0), np.inf).min(axis=1)
            self.tops[top] = np.where(np.isfinite(most), most, 0.0).max(initial=0.0)

    def fits(self, labels: _Labels, j: int) -> Bools:
        """Return [labels] whether what is left has room for the nodes after *j*."""
        walk = self._walk
        limited = np.flatnonzero(np.isfinite(walk.room))
        if not len(limited):
            return np.ones(len(labels.last), np.bool_)
        left = walk.room[limited] * (1 + ROUNDING) - labels.slots[:, limited]
        fine: Bools = np.asarray((left >= 0).all(axis=1), np.bool_)
        owner = walk.owner[limited]
        closed = walk.once[owner] & (labels.used[:, None] >> owner & 1).astype(np.bool_)
        left = np.where(closed & (owner != labels.last[:, None]), 0.0, left)
        if len(set(owner.tolist())) == walk.k:
            fine &= left.sum(axis=1) >= self._after[j] * (1 - ROUNDING)
        return fine


def _first(walk: ChainWalk, priced: Floats) -> _Labels:
    """Return the labels of the first node."""
    last = np.array([group[0] for group in walk.alike], np.int64)
    slots = walk.placed[0, last]
    none = np.zeros((len(last), walk.tops))
    return _Labels(last, 1 << last, walk.place[:, 0, last].T, _raised(walk, none, slots), slots, priced[0, last])


def _next(walk: ChainWalk, labels: _Labels, j: int, priced: Floats) -> tuple[_Labels, Ints]:
    """Return the labels of node *j*, and those that they go on from."""
    k, count = walk.k, len(labels.last)
    parent, device = np.repeat(np.arange(count), k), np.tile(np.arange(k), count)
    old = labels.last[parent]
    first = np.full(k, -1, np.int64)  # the device that has to be used before another one of its group
    for group in walk.alike:
        first[list(group[1:])] = group[:-1]
    may = (first[device] < 0) | (labels.used[parent] >> np.maximum(first[device], 0) & 1).astype(np.bool_)
    may &= (old == device) | ~(walk.once[device] & (labels.used[parent] >> device & 1).astype(np.bool_))
    may &= np.isfinite(walk.place[0, j, device]) & np.isfinite(walk.move[0, j - 1, old, device])
    parent, device, old = parent[may], device[may], old[may]
    slots = labels.slots[parent] + walk.moved[j - 1, old, device]
    tops = _raised(walk, labels.tops[parent], slots)
    slots[(walk.owner == old[:, None]) & (walk.once[old] & (old != device))[:, None]] = 0.0  # they get no more
    slots += walk.placed[j, device]
    return _Labels(
        device,
        labels.used[parent] | 1 << device,
        labels.sums[parent] + walk.move[:, j - 1, old, device].T + walk.place[:, j, device].T,
        _raised(walk, tops, slots),
        slots,
        labels.priced[parent] + walk.move[0, j - 1, old, device] + priced[j, device],
    ), parent


def _raised(walk: ChainWalk, tops: Floats, slots: Floats) -> Floats:
    """Return [labels, tops] the largest slots so far."""
    raised = tops.copy()
    for top in range(walk.tops):
        raised[:, top] = np.maximum(raised[:, top], slots[:, walk.top == top].max(axis=1, initial=0.0))
    return raised


def _undominated(walk: ChainWalk, labels: _Labels) -> Bools:
    """Return [labels] which are not left out for an earlier one, on the same device, that is no larger in anything.

    The other has used the same ones of the devices that hold one range, too.
    """
    key = (labels.used & int((1 << np.flatnonzero(walk.once)).sum())) * walk.k + labels.last
    columns = np.concatenate([labels.sums, labels.tops, labels.slots], axis=1)
    live = columns.max(axis=0, initial=0.0)
    columns = np.round(columns[:, live > 0] / live[live > 0] * DIGITS)
    kept = np.ones(len(key), np.bool_)
    for group in np.split(np.argsort(key, kind="stable"), np.flatnonzero(np.diff(np.sort(key))) + 1):
        open_ = group
        for _ in range(RIVALS):
            if len(open_) < 2:
                break
            rival, open_ = open_[0], open_[1:]
            worse = (columns[open_] >= columns[rival]).all(axis=1)
            kept[open_[worse]] = False
            open_ = open_[~worse]
    return kept


def _traced(trail: Sequence[tuple[Ints, Ints]], label: int) -> Ints:
    """Return [n] the devices of a label of the last node."""
    devices = []
    for parent, last in reversed(trail):
        devices.append(int(last[label]))
        label = int(parent[label])
    return np.array(devices[::-1], np.int64)
