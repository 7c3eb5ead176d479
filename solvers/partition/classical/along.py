"""The best split along one order of classes: a dynamic programme over a chain of ideals (tarnawski2020, 5.1.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.ideals.classes import Classes
from mtpp_dsl.solvers.algorithms.ideals.lattice import WORD, chain
from mtpp_dsl.solvers.algorithms.ideals.net import Net, States, ceiling, net_of, states_of
from mtpp_dsl.solvers.algorithms.ideals.outside import ROUNDING, Prices, first_bound
from mtpp_dsl.solvers.algorithms.ideals.sweep import SWEEP, Ahead, Step, sweep
from mtpp_dsl.views.device_types import DeviceTypes

__all__ = ["bytes_along", "depth_first", "prepare", "split_along"]

FIRST_STEP = 0.01
"""The first target is above the bound by this share; the next by twice that, and so on."""


def depth_first(classes: Classes, random: np.random.Generator | None = None) -> Ints:
    """Return [n] a depth-first topological order: of the classes that are ready, one that became so last.

    Ties go to the class whose first node comes last, as in tarnawski2020's program; with a *random*, to any.
    """
    first = [-min(nodes) for nodes in classes.members]
    rank = first if random is None else random.permutation(classes.n).tolist()
    after: list[list[int]] = [[] for _ in range(classes.n)]
    waiting = [0] * classes.n
    for a, b in classes.before:
        after[a].append(b)
        waiting[b] += 1
    ready = sorted((v for v in range(classes.n) if not waiting[v]), key=lambda v: -rank[v])
    order: list[int] = []
    while ready:
        v = ready.pop()
        order.append(v)
        for w in sorted(after[v], key=lambda w: -rank[w]):
            waiting[w] -= 1
            if not waiting[w]:
                ready.append(w)
    return np.array(order, dtype=np.int64)


def bytes_along(classes: Classes, devices: DeviceTypes) -> float:
    """Return how much memory :func:`split_along` takes, about."""
    states = float(np.prod([len(members) + 1.0 for members in devices.members]))
    return (classes.n + 1.0) * (8 * (classes.n // WORD + 1) + 16 * states)


def prepare(classes: Classes, orders: int, say: Callable[[str], None]) -> None:
    """Compile what :func:`split_along` runs, if that pays for so many *orders*."""
    SWEEP.pick(0.5 * orders * classes.n**2, say)


def split_along(
    classes: Classes,
    devices: DeviceTypes,
    order: Ints,
    say: Callable[[str], None],
    pause: Callable[[], None],
    below: float = np.inf,
) -> Sequence[Step] | None:
    """Return a split of *order* into blocks with the least largest load, or None if none is less than *below*.

    The devices come in whichever order is best; where a block may run on m replicas, it takes m of them and costs
    max(load / m, exchange of weights), PipeDream's recurrence. Without a known split, targets are raised from a bound
    until one is reached.

    Args:
        classes: what to place.
        devices: where.
        order: [n] of the classes, in keeping with ``before``.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
        below: the cost of a split that is known.
    """
    if not (np.isfinite(classes.time) & (classes.size[:, None] <= devices.memory)).any(axis=1).all():
        return None
    lower = first_bound(classes, devices)
    if lower >= below:
        return None
    net, unit, top = net_of(classes, devices, min(below, ceiling(classes, devices)))
    states, lattice = states_of(devices), chain(order)
    ahead = _ahead(order, net, states, top)
    floor, share, target = int(lower / unit), FIRST_STEP, 0
    while max(target, floor) < top:
        target = min(top, int(floor + share * max(floor, top / 1000)) + 1) if np.isinf(below) else top
        found = sweep(lattice, net, states, ahead, target, 0, say, pause)
        if found is not None:
            return found[1]
        share *= 2
    return None


def _ahead(order: Ints, net: Net, states: States, top: int) -> Ahead:
    """Return what is sure to come after every prefix of *order*: see :class:`Ahead`, without going through its bits."""
    prices = Prices(np.where(net.time < top * net.copies.max(), net.time, np.inf).T)
    n, tensors = len(order), len(net.pins)
    left = np.zeros((n + 1, len(prices.weight)))
    left[:-1] = np.cumsum(prices.weight.T[order][::-1], axis=0)[::-1]
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    pins = np.repeat(place, np.diff(net.start))
    first, last = np.full(tensors, n), np.zeros(tensors, np.int64)
    np.minimum.at(first, net.tensor, pins)
    np.maximum.at(last, net.tensor, pins)
    opened = np.bincount(first + 1, weights=net.cost, minlength=n + 1)
    closed = np.bincount(last + 1, weights=net.cost, minlength=n + 1)
    price, cheapest = prices.of_states(net, states)
    slack = ROUNDING * (prices.weight.sum(axis=1) + net.cost.sum())
    return Ahead(left, np.cumsum(opened - closed), price, cheapest, slack)
