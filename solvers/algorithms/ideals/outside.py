"""Bounds that need no search, and what they say of the supernodes outside of an ideal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, measure
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import Ahead
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import DeviceStates, WholeCosts

ROUNDING = 1e-9
CHEAP = 1e-9
"""The price of a device type on which nothing takes time that takes time elsewhere."""
DEAR = 1e100
"""The most that a device type can cost."""


class Prices:
    """Prices of the device types, and the least price times time of every supernode.

    If every load is at most T, the weights of some supernodes sum to at most T times the prices of the devices that
    they are on. One row of prices makes all devices equal; one per kind q makes the others so dear that no supernode is
    cheaper there than on q, where that can be.

    Args:
        time: [n, types] of the supernodes; ``inf`` where they may not be.

    Attributes:
        price: [rows, types].
        weight: [rows, n].
    """

    def __init__(self, time: Floats) -> None:
        kinds = time.shape[1]
        rows = [np.ones(kinds)]
        if kinds > 1:
            rows += [self._relative(time, q) for q in range(kinds)]
        self.price = np.array(rows)
        weight = (time[None, :, :] * self.price[:, None, :]).min(axis=2)
        self.weight = np.where(np.isfinite(weight), weight, 0.0)

    @staticmethod
    def _relative(time: Floats, q: int) -> Floats:
        both = np.isfinite(time) & np.isfinite(time[:, q : q + 1]) & (time > 0)
        with np.errstate(over="ignore"):
            ratio = np.divide(time[:, q : q + 1], time, out=np.zeros_like(time), where=both)
        return np.asarray(np.minimum(ratio.max(axis=0, initial=CHEAP), DEAR), np.float64)

    def ahead(self, lattice: Lattice, costs: WholeCosts, states: DeviceStates, say: Callable[[str], None]) -> Ahead:
        """Return what is sure to come after every ideal of *lattice*."""
        left, cut = measure(lattice, costs, self.weight, say)
        price, cheapest = self.of_states(costs, states)
        return Ahead(left, cut, price, cheapest, ROUNDING * self.weight.sum(axis=1))

    def of_states(self, costs: WholeCosts, states: DeviceStates) -> tuple[Floats, Floats]:
        """Return [states, rows] the sum of the prices of the devices left, and the least if all of them pay, else 0."""
        owned = states.left > 0
        cheapest = np.where(owned[:, None, :], self.price[None], np.inf).min(axis=2)
        paid: Bools = np.all(costs.pays | ~owned, axis=1, keepdims=True) & owned.any(axis=1, keepdims=True)
        cheapest = np.where(paid, cheapest, 0.0)
        return states.left @ self.price.T, cheapest


def first_bound(supernodes: OrderedSupernodes, devices: DeviceTypes) -> float:
    """Return a number that no split's largest load is below, whatever its order.

    The larger of two. The sum of weights over the sum of prices, see :class:`Prices`. And for each supernode v the
    least load of a block that has it: its time, and for every other pin u of tensors at v, with each tensor counted at
    one u, the lesser of their cost and the time of u: they are cut, or u is in the block; divided by the most replicas.

    Every supernode must be allowed on some device type.
    """
    if not supernodes.n:
        return 0.0
    prices = Prices(supernodes.time)
    members = np.array([len(group) for group in devices.members])
    shares = prices.weight.sum(axis=1) / (prices.price @ members)
    best = np.full(supernodes.time.shape, 0.0)
    for q in range(len(members)):
        cost = supernodes.time[:, q] + (_kept_or_paid(supernodes, supernodes.time[:, q]) if devices.pays[q] else 0.0)
        best[:, q] = cost / min(int(devices.replicas[q]), members[q])
    return float(max(shares.max(), best.min(axis=1).max())) * (1 - ROUNDING * 1e-3)


def _kept_or_paid(supernodes: OrderedSupernodes, time: Floats) -> Floats:
    """Return [n] what a block pays for the tensors at each of its supernodes, or works in their stead."""
    cost: list[dict[int, float]] = [{} for _ in range(supernodes.n)]
    for pins, c in supernodes.nets:
        by_time = sorted(pins, key=lambda u: float(time[u]))
        for v in pins:
            u = by_time[-1] if by_time[-1] != v else by_time[-2]
            cost[v][u] = cost[v].get(u, 0.0) + c
    return np.array([sum(min(c, float(time[u])) for u, c in row.items()) for row in cost])
