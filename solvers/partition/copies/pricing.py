"""Columns of the programme over routes: the route that is cheapest at prices of devices and channels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.kernels import PRICE
from mtpp_dsl.solvers.partition.copies.states import CopiesStates, of_sets

__all__ = ["Pricer"]


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
