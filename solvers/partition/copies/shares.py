"""The best shares of given routes, and the least period of any shares of any routes, with its proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.backends.mip.matrix import CoveringProgramme
from mtpp_dsl.solvers.partition.copies.instance import Route
from mtpp_dsl.solvers.partition.copies.pricing import CountedPricer

ROUNDING = 1e-11
"""Relative: sums of some hundred numbers are off by less."""
MAX_ROUNDS = 1_000
USED = 1e-9
MAX_PARTS, NEAR = 64, 1e-7
"""Shares are parts of fewer than so many, if the period is so near to the best, relatively; else of a power of ten."""


@dataclass(frozen=True, eq=False)
class Mix:
    """Shares of routes, and what no shares of any routes are below.

    Attributes:
        lower: no plan has a smaller period; ``inf`` if there is no route.
        period: of these shares; ``inf`` without a route.
        routes: those with a share.
        shares: of each, in floating point.
        price: what proves *lower*: of types (all devices of each together) and channels, in sum 1.
        columns: all routes that were found.
    """

    lower: float
    period: float
    routes: list[Route]
    shares: Floats
    price: Floats
    columns: list[Route]


class RouteShares:
    """The best shares of routes, to which routes are added: a linear programme over their throughputs.

    The sum of throughputs is largest where each resource has a unit of time. Dual values are prices of the resources.

    Args:
        resources: types of devices, or devices, and channels.
    """

    def __init__(self, resources: int) -> None:
        self._programme = CoveringProgramme(np.full(resources, -1.0))
        self._resources = resources
        self._size = 0.0
        self._free: int | None = None
        self._count = 0

    def add(self, load: Floats) -> None:
        """Add a route.

        Args:
            load: [resources]; of a type of devices the average.
        """
        self._size = self._size or float(load.max())
        if load.max() <= 0:
            self._free = self._count
        rows = np.flatnonzero(load)
        self._programme.add(-1.0, rows, -load[rows] / (self._size or 1.0))
        self._count += 1

    def solve(self) -> tuple[float, Floats, Floats]:
        """Return the least period of any shares, [routes] the shares, and [resources] prices, in sum 1."""
        if self._free is not None:
            return 0.0, np.eye(self._count)[self._free], np.full(self._resources, 1.0 / self._resources)
        value, price = self._programme.solve()
        shares = np.maximum(self._programme.values(), 0.0)
        return self._size / -value, shares / shares.sum(), price / price.sum()


def best_mix(load: Floats) -> tuple[float, Floats, Floats]:
    """Return the least largest load of any shares of routes, the shares, and prices of the resources.

    Args:
        load: [routes, resources].
    """
    programme = RouteShares(load.shape[1])
    for row in load:
        programme.add(row)
    return programme.solve()


def priced(
    pricer: CountedPricer,
    end: Any,
    columns: Sequence[Route] = (),
    *,
    cutoff: float = inf,
    gap: float = 1e-7,
    pause: Callable[[], None] = lambda: None,
    proved: Callable[[float, Floats], None] = lambda *_: None,
) -> Mix:
    """Return the best shares of routes each of which is a plan by itself, by column generation.

    By types: if routes are best, so are they with equal devices exchanged, and all exchanges in equal shares, which
    load all devices of a type alike.

    Args:
        pricer: of the instance.
        end: where stages may end, as :meth:`CountedPricer.cheapest` takes it.
        columns: routes that are known; those that do not keep *end*, or have no way between two stages, are left out.
        cutoff: the search ends where no period is below it.
        gap: or where bound and shares are so near to each other.
        pause: raises where the time is up.
        proved: told of every better bound, and its prices.
    """
    instance = pricer.instance
    known = {one: instance.loads(one) for one in columns if instance.keeps(end, one)}
    kept = [one for one, own in known.items() if np.isfinite(own).all()]
    programme = RouteShares(instance.types + instance.channels)
    for one in kept:
        programme.add(known[one])
    price = _first(instance)
    lower, period, proof = 0.0, inf, price
    shares = np.zeros(0)
    if kept:
        period, shares, price = programme.solve()
    for _ in range(MAX_ROUNDS):
        pause()
        value, route, whole = pricer.cheapest(price, end)
        if route is None:
            return Mix(inf, inf, [], shares, proof, [])
        value *= 1 - ROUNDING
        if value > lower:
            lower, proof = value, price
            proved(lower, proof)
        if lower >= cutoff or lower >= period * (1 - gap):
            break
        if not whole or value >= period * (1 - gap) or route in kept:
            break
        kept.append(route)
        programme.add(instance.loads(route))
        period, shares, price = programme.solve()
    used = [i for i in range(len(kept)) if i < len(shares) and shares[i] > USED]
    return Mix(lower, period, [kept[i] for i in used], shares[used], proof, kept)


def _first(instance: Any) -> Floats:
    """Return prices to begin with: what the devices of a type do in a unit of time, in sum 1."""
    total = np.where(np.isfinite(instance.time), instance.time, 0.0).sum(axis=0)
    price = instance.count / np.maximum(total, total.max() * 1e-6 or 1.0)
    price = np.append(price, np.zeros(instance.channels))
    return np.asarray(price / price.sum())


def fractions(load: Floats, shares: Floats, period: float) -> list[Fraction]:
    """Return shares as fractions that add up to 1: the simplest ones with which the period is as good.

    Args:
        load: [routes, resources].
        shares: [routes] in floating point.
        period: that of *shares*.
    """
    best: tuple[float, list[Fraction]] = (inf, [])
    largest = int(np.argmax(shares))
    for parts in (*range(1, MAX_PARTS), *(10**e for e in range(2, 13))):
        whole = [round(float(share) * parts) for share in shares]
        whole[largest] += parts - sum(whole)
        if min(whole) < 0:
            continue
        value = float((np.array(whole) / parts @ load).max())
        if value < best[0]:
            best = value, [Fraction(count, parts) for count in whole]
        if best[0] <= period * (1 + NEAR):
            break
    return best[1]
