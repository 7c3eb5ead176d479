"""Find the route that is cheapest at prices of devices and channels: a column of the programme over routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import Route
from mtpp_dsl.solvers.partition.copies.kernels import PRICE
from mtpp_dsl.solvers.partition.copies.states import states_of

__all__ = ["Cheapest", "CountedPricer", "Pricer"]

MAX_ENTRIES = 4_000_000
"""Entries of a table of states: some 150 MB with what belongs to it."""


class Cheapest(NamedTuple):
    """The cheapest route, as far as it is known.

    Attributes:
        value: no route is cheaper; ``inf`` if there is none.
        route: it, or None if there is none.
        whole: whether *route* is one: else it needs more devices of a type than there are, and its value is a bound.
    """

    value: float
    route: Route | None
    whole: bool


class CountedPricer:
    """Finds cheapest routes, and counts devices of those types alone of which a route needed too many.

    Without counting, a route may use any number of devices of a type: its sum is a bound. Prices and transfers rarely
    make that pay, so that most programmes have one state in place of all sets of devices (Righini and Salani 2008:
    decremental state space relaxation).

    Args:
        instance: whose routes may be narrowed from call to call.
        say: told when code has to be compiled.

    Attributes:
        counted: the types whose devices are counted.
    """

    def __init__(self, instance: Any, say: Callable[[str], None] | None = None) -> None:
        self.instance = instance
        self.say = say
        self.counted: set[int] = set()
        self.prepare(np.zeros(0, np.int64))

    def prepare(self, counted: Ints) -> None:
        """Make the tables for states that count these types."""
        raise NotImplementedError

    def entries(self, states: int) -> int:
        """Return how many entries a table has."""
        raise NotImplementedError

    def relaxed(self, price: Floats, end: Any) -> tuple[float, Route | None]:
        """Return the least sum, and its route, where only counted types have a number of devices."""
        raise NotImplementedError

    def cheapest(self, price: Floats, end: Any) -> Cheapest:
        """Return the cheapest route.

        Args:
            price: [types + channels] at least 0, of all devices of a type together.
            end: where stages may end: that of the instance, or narrower.
        """
        instance = self.instance
        of_one = np.append(price[: instance.types] / instance.count, price[instance.types :])
        while True:
            value, route = self.relaxed(of_one, end)
            if route is None or not instance.ordered:
                return Cheapest(value, route, True)
            over = set(np.flatnonzero(instance.visits(route) > instance.count).tolist()) - self.counted
            if not over:
                return Cheapest(value, route, True)
            counted = sorted(self.counted | over)
            if self.entries(int(np.prod(instance.count[counted] + 1))) > MAX_ENTRIES:
                return Cheapest(value, route, False)
            self.counted = set(counted)
            self.prepare(np.array(counted, np.int64))


class Pricer(CountedPricer):
    """Finds cheapest routes of a chain."""

    def prepare(self, counted: Ints) -> None:
        """Make the tables for states that count these types."""
        instance = self.instance
        self._after = states_of(instance.count, counted).after
        shape = (len(self._after), instance.types, instance.n)
        self._into = np.empty(shape)
        self._origin = np.empty((*shape, 3), np.int64)
        self._queue = np.empty(shape, np.int64)
        self._edges = np.zeros((2, *shape[:2]), np.int64)
        self._run = PRICE.pick(200.0 * self._into.size * instance.types, self.say)
        self._time = np.where(np.isfinite(instance.time), instance.time, 0.0)
        self._closed = np.isinf(instance.sent) | np.isinf(instance.received)
        self._sent, self._received = (np.where(self._closed, 0.0, x) for x in (instance.sent, instance.received))

    def entries(self, states: int) -> int:
        """Return how many entries a table has."""
        return states * int(self.instance.types * self.instance.n)

    def relaxed(self, price: Floats, end: Any) -> tuple[float, Route | None]:
        """Return the least sum of price times load of any route, and the route; ``inf`` and None if there is none."""
        n, types = self.instance.n, self.instance.types
        ahead = np.zeros((types, n + 1))
        ahead[:, 1:] = (np.cumsum(self._time, axis=0) * price[:types]).T
        places = np.arange(n + 1)
        low = np.stack([np.searchsorted(end[:, d], places, side="left") for d in range(types)])
        closing = self._sent * price[:types, None] + self._received * price[:types]
        for c, own in enumerate(price[types:].tolist()):
            closing += own * self.instance.carried[c]
        closing[self._closed] = np.inf
        self._into.fill(np.inf)
        self._edges.fill(0)
        answer = np.zeros(3, np.int64)
        value = float(
            self._run(
                ahead, low, closing, self._after, self._into, self._origin, self._queue, self._edges[0],
                self._edges[1], answer,
            )
        )  # fmt: skip
        if value == np.inf:
            return value, None
        stages = []
        stop, (begin, v, state) = n, answer.tolist()
        while True:
            stages.append((begin, stop, v))
            if begin == 0:
                return value, tuple(stages[::-1])
            stop = begin
            begin, v, state = self._origin[state, v, begin].tolist()
