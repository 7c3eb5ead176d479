"""Bound what the devices that are left can do, in whatever order the rest comes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.algorithms.ideals.device_states import DeviceStates
from mtpp_dsl.solvers.algorithms.ideals.outside import ROUNDING, Prices
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import WholeCosts

__all__ = ["Needs", "needs_of"]


class Needs(NamedTuple):
    """Weights of the supernodes that a device takes only so much of, for each unit of the largest load.

    Row p holds because the weights of a block on a device of kind q sum to at most ``rate[p, q]`` times its time.

    Attributes:
        weight: [rows, n].
        rate: [rows, types] weight per unit of time; ``inf`` where that says nothing of a part of a block.
        price: [states, rows] sum of the prices of the devices left: they take that, times the largest load.
        cheapest: [states, rows] least price of a device left, 0 if one left does not pay: what each cut tensor
            takes of them beside the weights.
        slack: [rows] for rounding.
    """

    weight: Floats
    rate: Floats
    price: Floats
    cheapest: Floats
    slack: Floats


def needs_of(costs: WholeCosts, states: DeviceStates, top: int) -> Needs:
    """Return the rows of :class:`Prices`, for loads below *top*."""
    prices = Prices(np.where(costs.time < top * costs.copies.max(), costs.time, np.inf).T)
    price, cheapest = prices.of_states(costs, states)
    return Needs(prices.weight, prices.price, price, cheapest, ROUNDING * prices.weight.sum(axis=1))
