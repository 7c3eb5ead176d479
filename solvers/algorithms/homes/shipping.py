"""Hold what a split on a network costs, in whole numbers, as the compiled programme over ideals and homes reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.whole_numbers import binary_unit, floored

BITS = 44
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Shipping:
    """Supernodes in a partial order, the tensors between them, and what devices and channels take for these.

    Attributes:
        time: [n, devices] running times; ``inf`` where a supernode may not be.
        memory: [n], and [devices] ``room``.
        before: pairs of supernodes of which the first is in the stage of the second, or in an earlier one.
        producer: [tensors] supernode.
        readers: [tensors] the other supernodes that read each.
        sent, received: [tensors, devices, devices] what the producer's device pays to send a tensor to another one, and
            what that one pays; ``inf`` where nothing leads there.
        routes: [devices][devices] numbers of those channels that shipments of other devices may share.
        carried: [tensors, channels] what each takes of them.
        overlap: whether transfers run beside work.
        serial: whether a tensor is sent to one reading device after the other.
        half: [devices] whether sending and receiving add up where they overlap work.
        owed: where stages are in the order of the devices, the bits of those that have to have a supernode; else -1.
    """

    time: Floats
    memory: Floats
    room: Floats
    before: tuple[tuple[int, int], ...]
    producer: Ints
    readers: tuple[tuple[int, ...], ...]
    sent: Floats
    received: Floats
    routes: tuple[tuple[tuple[int, ...], ...], ...]
    carried: Floats
    overlap: bool
    serial: bool
    half: Bools
    owed: int = -1

    @property
    def n(self) -> int:
        """Number of supernodes."""
        return len(self.time)

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.time.shape[1])

    def types(self) -> Ints:
        """Return [devices] the first device that each may be exchanged with: no load would change."""
        kind = np.arange(self.k)
        for d in range(self.k) if self.owed < 0 else ():
            kind[d] = next((e for e in range(d) if kind[e] == e and self._equal(d, e)), d)
        return kind

    def _equal(self, d: int, e: int) -> bool:
        """Return whether exchanging two devices changes nothing."""
        if self.room[d] != self.room[e] or self.half[d] != self.half[e]:
            return False
        if not np.array_equal(self.time[:, d], self.time[:, e]) or self.routes[d][e] or self.routes[e][d]:
            return False
        other = np.setdiff1d(np.arange(self.k), [d, e])
        return all(
            np.array_equal(cost[:, d, e], cost[:, e, d])
            and np.array_equal(cost[:, d, other], cost[:, e, other])
            and np.array_equal(cost[:, other, d], cost[:, other, e])
            for cost in (self.sent, self.received)
        ) and all(
            self.routes[d][f] == self.routes[e][f] and self.routes[f][d] == self.routes[f][e] for f in other.tolist()
        )

    def ceiling(self) -> float:
        """Return more than any split costs."""
        total = 0.0
        for cost in (self.time, self.sent, self.received, self.carried):
            finite = np.where(np.isfinite(cost), cost, 0.0)
            total += float(finite.max(axis=tuple(range(1, cost.ndim)), initial=0.0).sum()) * self.k
        return total * 2 or 1.0


class Loads(NamedTuple):
    """The costs of :class:`Shipping` in whole numbers of a unit, rounded down, so that no load is overstated.

    Attributes:
        time: [devices, n].
        memory: [n], and [devices] ``room``.
        first, tensor: [n + 1] row pointers into the tensors that each supernode reads from others.
        producer: [tensors] supernode.
        sent, received: [tensors, devices, devices].
        least_sent: [tensors, devices] the least that a device can pay to send a tensor anywhere.
        least_received: [tensors, devices] the least that a device can pay to receive one.
        route, channel: [devices * devices + 1] row pointers into the numbers of channels.
        carried: [tensors, channels].
        kind: [devices] the first equal device.
        mode: [devices] 0: work, sending and receiving add up; 1: they overlap; 2: the last two add up.
        serial: 1 if a tensor is sent to one reading device after the other, else 0.
        owed: where stages are in the order of the devices, the bits of those that have to have a supernode; else -1.
        weight: [n, rows], and [devices, rows] ``price``: weights add up to the target times the prices at the most.
    """

    time: Ints
    memory: Floats
    room: Floats
    first: Ints
    tensor: Ints
    producer: Ints
    sent: Ints
    received: Ints
    least_sent: Ints
    least_received: Ints
    route: Ints
    channel: Ints
    carried: Ints
    kind: Ints
    mode: Ints
    serial: int
    owed: int
    weight: Floats
    price: Floats


def whole_loads(shipping: Shipping, top: float) -> tuple[Loads, float, int]:
    """Return the costs in whole numbers, their unit, and *top*, the cost of a known plan, in it, rounded down."""
    unit = binary_unit(top, BITS)
    most = int(top / unit)
    k, n = shipping.k, shipping.n

    def whole(values: Floats) -> Ints:
        return np.ascontiguousarray(floored(values, unit, most + 1))

    reads: list[list[int]] = [[] for _ in range(n)]
    for t, readers in enumerate(shipping.readers):
        for v in readers:
            reads[v].append(t)
    ways = [list(shipping.routes[d][e]) for d in range(k) for e in range(k)]
    sent, received = whole(shipping.sent), whole(shipping.received)
    apart = ~np.eye(k, dtype=np.bool_)
    time = np.where(shipping.time < (most + 1) * unit, shipping.time, np.inf)
    price, weight = _prices(time / unit)
    return (
        Loads(
            time=np.ascontiguousarray(whole(shipping.time).T),
            memory=np.ascontiguousarray(shipping.memory),
            room=np.ascontiguousarray(shipping.room),
            first=_pointers(reads),
            tensor=_flat(reads),
            producer=np.asarray(shipping.producer, np.int64),
            sent=sent,
            received=received,
            least_sent=np.where(apart, sent, most + 1).min(axis=2, initial=most + 1),
            least_received=np.where(apart, received, most + 1).min(axis=1, initial=most + 1),
            route=_pointers(ways),
            channel=_flat(ways),
            carried=whole(shipping.carried),
            kind=shipping.types(),
            mode=np.where(shipping.half, 2, 1) if shipping.overlap else np.zeros(k, np.int64),
            serial=int(shipping.serial),
            owed=shipping.owed,
            weight=weight,
            price=price,
        ),
        unit,
        most,
    )


def _prices(time: Floats) -> tuple[Floats, Floats]:
    """Return prices of the devices [devices, rows] and the least price times time of each supernode [n, rows].

    One row makes all devices equal; one for each device makes the others so dear that no supernode is cheaper there.
    """
    k = time.shape[1]
    rows = [np.ones(k)]
    for q in range(k):
        both = np.isfinite(time) & np.isfinite(time[:, q : q + 1]) & (time > 0)
        ratio = np.divide(time[:, q : q + 1], time, out=np.zeros_like(time), where=both)
        rows.append(np.clip(ratio.max(axis=0, initial=1e-9), 1e-9, 1e9))
    total = np.where(np.isfinite(time), time, 0.0).sum(axis=0)
    rows.append(np.where(total > 0, total.max(initial=1.0) / np.maximum(total, 1e-9 * total.max(initial=1.0)), 1.0))
    price = np.array(rows).T
    weight = np.array([(time * row).min(axis=1, initial=np.inf) for row in rows]).T
    return price, np.where(np.isfinite(weight), weight, 0.0).reshape(len(time), len(rows)) * (1 - ROUNDING)


def _pointers(rows: list[list[int]]) -> Ints:
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def _flat(rows: list[list[int]]) -> Ints:
    return np.array([x for row in rows for x in row], np.int64)
