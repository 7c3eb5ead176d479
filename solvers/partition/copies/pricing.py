"""Find the route that is cheapest at prices of devices and channels: a column of the programme over routes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.kernels import PRICE

__all__ = ["Pricer", "of_types"]


@dataclass(frozen=True, eq=False)
class CopiesStates:
    """States of devices used.

    Attributes:
        members: the devices of each type; of sets, each device by itself.
        count: [states, types] how many of each type are used.
        after: [states, types] the state with one more of the type, -1 where there is none left.
    """

    members: tuple[tuple[int, ...], ...]
    count: Ints
    after: Ints


def of_sets(k: int, *, ordered: bool = True) -> CopiesStates:
    """Return sets of devices as numbers with a bit for each; one state alone where a device may have several stages."""
    members = tuple((d,) for d in range(k))
    if not ordered:
        return CopiesStates(members, np.zeros((1, k), np.int64), np.zeros((1, k), np.int64))
    sets = np.arange(1 << k)[:, None] >> np.arange(k) & 1
    after = np.where(sets == 1, -1, np.arange(1 << k)[:, None] | (1 << np.arange(k)))
    return CopiesStates(members, sets.astype(np.int64), after.astype(np.int64))


def of_types(instance: ChainInstance) -> CopiesStates:
    """Return how many devices of each type are used; devices of one type may be exchanged everywhere."""
    members: list[list[int]] = []
    for d in range(instance.k):
        group = next((group for group in members if _equal(instance, group[0], d)), None)
        if group is None:
            members.append([d])
        else:
            group.append(d)
    counts = np.array([len(group) for group in members])
    stride = np.concatenate([[1], np.cumprod(counts[:-1] + 1)]).astype(np.int64)
    used = np.arange(int(np.prod(counts + 1)))[:, None] // stride % (counts + 1)
    after = np.where(used < counts, np.arange(len(used))[:, None] + stride, -1)
    return CopiesStates(tuple(map(tuple, members)), used, after.astype(np.int64))


def _equal(instance: ChainInstance, d: int, e: int) -> bool:
    """Return whether devices *d* and *e* may be exchanged."""
    same = (instance.room[d] == instance.room[e]) and np.array_equal(instance.time[:, d], instance.time[:, e])
    if not same or not np.array_equal(instance.end[:, d], instance.end[:, e]):
        return False
    swap = np.arange(instance.k)
    swap[[d, e]] = e, d
    pairs = (instance.sent, instance.received, *instance.carried)
    return all(np.array_equal(cost, cost[:, swap][:, :, swap]) for cost in pairs)


class Pricer:
    """Finds cheapest routes of an instance, which may be narrowed from call to call.

    Args:
        instance: the chain and the devices.
        say: told when code has to be compiled.
    """

    def __init__(self, instance: ChainInstance, say: Callable[[str], None] | None = None) -> None:
        self.instance = instance
        self.states: CopiesStates = of_sets(instance.k, ordered=instance.ordered)
        shape = (len(self.states.after), instance.k, instance.n)
        self._into = np.empty(shape)
        self._origin = np.empty((*shape, 3), np.int64)
        self._queue = np.empty(shape, np.int64)
        self._edges = np.zeros((2, *shape[:2]), np.int64)
        self._run = PRICE.pick(200.0 * self._into.size * instance.k, say)
        self._time = np.where(np.isfinite(instance.time), instance.time, 0.0)
        self._closed = np.isinf(instance.sent) | np.isinf(instance.received)
        self._sent, self._received = (np.where(self._closed, 0.0, x) for x in (instance.sent, instance.received))

    def cheapest(self, price: Floats, end: Ints) -> tuple[float, Ints | None]:
        """Return the least sum of price times load of any route, and the route; ``inf`` and None if there is none.

        Args:
            price: [devices + channels] at least 0.
            end: [n, k] where stages may end: that of the instance, or narrower.
        """
        n, k = self.instance.n, self.instance.k
        ahead = np.zeros((k, n + 1))
        ahead[:, 1:] = (np.cumsum(self._time, axis=0) * price[:k]).T
        places = np.arange(n + 1)
        low = np.stack([np.searchsorted(end[:, d], places, side="left") for d in range(k)])
        closing = self._sent * price[:k, None] + self._received * price[:k]
        for c, own in enumerate(price[k:].tolist()):
            closing += own * self.instance.carried[c]
        closing[self._closed] = np.inf
        self._into.fill(np.inf)
        self._edges.fill(0)
        answer = np.zeros(3, np.int64)
        value = float(
            self._run(
                ahead, low, closing, self.states.after, self._into, self._origin, self._queue, self._edges[0],
                self._edges[1], answer,
            )
        )  # fmt: skip
        if value == np.inf:
            return value, None
        device = np.empty(n, np.int64)
        stop, (begin, v, state) = n, answer.tolist()
        while True:
            device[begin:stop] = v
            if begin == 0:
                return value, device
            stop = begin
            begin, v, state = self._origin[state, v, begin].tolist()
