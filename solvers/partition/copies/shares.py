"""The best shares of given routes, and the least period of any shares of any routes, with its proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.pricing import Pricer

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
        price: what proves *lower*: of devices and channels, in sum 1.
        columns: all routes that were found.
    """

    lower: float
    period: float
    routes: list[Ints]
    shares: Floats
    price: Floats
    columns: list[Ints]


def best_mix(load: Floats) -> tuple[float, Floats, Floats]:
    """Return the least largest load of any shares of routes, the shares, and prices of the resources.

    Args:
        load: [routes, resources].
    """
    from scipy.optimize import linprog

    size = float(load.max(initial=0.0)) or 1.0
    count, rows = load.shape
    solution = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.hstack([load.T / size, -np.ones((rows, 1))]),
        b_ub=np.zeros(rows),
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=[1.0],
        method="highs-ds",
    )
    shares = np.maximum(solution.x[:-1], 0.0)
    price = np.maximum(-solution.ineqlin.marginals, 0.0)
    return float(solution.x[-1]) * size, shares / shares.sum(), price / (price.sum() or 1.0)


def priced(
    pricer: Pricer,
    end: Ints,
    columns: Sequence[Ints] = (),
    *,
    cutoff: float = inf,
    gap: float = 1e-7,
    pause: Callable[[], None] = lambda: None,
    proved: Callable[[float, Floats], None] = lambda *_: None,
) -> Mix:
    """Return the best shares of routes each of which is a plan by itself, by column generation.

    Args:
        pricer: of the instance.
        end: where stages may end, as :meth:`Pricer.cheapest` takes it.
        columns: routes that are known; those that do not keep *end* are left out.
        cutoff: the search ends where no period is below it.
        gap: or where bound and shares are so near to each other.
        pause: raises where the time is up.
        proved: told of every better bound, and its prices.
    """
    instance = pricer.instance
    kept = [route for route in columns if instance.keeps(end, route)]
    load = [instance.loads(route) for route in kept]
    price = _first(instance)
    lower, period, proof = 0.0, inf, price
    shares = np.zeros(0)
    if kept:
        period, shares, price = best_mix(np.array(load))
    for _ in range(MAX_ROUNDS):
        pause()
        value, route = pricer.cheapest(price, end)
        if route is None:
            return Mix(inf, inf, [], shares, proof, [])
        value *= 1 - ROUNDING
        if value > lower:
            lower, proof = value, price
            proved(lower, proof)
        if lower >= cutoff or lower >= period * (1 - gap):
            break
        column = instance.loads(route)
        if value >= period * (1 - gap) or any(np.array_equal(route, other) for other in kept):
            break
        kept.append(route)
        load.append(column)
        period, shares, price = best_mix(np.array(load))
    used = [i for i in range(len(kept)) if i < len(shares) and shares[i] > USED]
    return Mix(lower, period, [kept[i] for i in used], shares[used], proof, kept)


def _first(instance: ChainInstance) -> Floats:
    """Return prices to begin with: what a device does in a unit of time, in sum 1."""
    total = np.where(np.isfinite(instance.time), instance.time, 0.0).sum(axis=0)
    price = np.append(1 / np.maximum(total, total.max() * 1e-6 or 1.0), np.zeros(len(instance.carried)))
    return np.asarray(price / price.sum())


def fractions(instance: ChainInstance, routes: Sequence[Ints], shares: Floats, period: float) -> list[Fraction]:
    """Return shares as fractions that add up to 1: the simplest ones with which the period is as good."""
    load = np.array([instance.loads(route) for route in routes])
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
