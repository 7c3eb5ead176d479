"""Store the ideals that a lazy search has reached, and bound what the devices left can do."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import Small
from mtpp_dsl.solvers.algorithms.ideals.outside import ROUNDING, Prices
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import DeviceStates, WholeCosts

A = TypeVar("A", Ints, Floats, Small)
ROOM = 256


class Entries(NamedTuple):
    """Ideals, each with the devices used for it, in the order found; the first is the empty one.

    Attributes:
        bits: [room, words] the supernodes in each.
        hashes: [room] of the ideals.
        state: [room] which devices have been used.
        value: [room] largest load of the blocks on the way to it.
        parent: [room] the entry before the last block.
        score: [room] how much is left to do for each device left.
        table: [a power of two] entries by hash, open addressing; -1 where there is none.
    """

    bits: Ints
    hashes: Ints
    state: Small
    value: Ints
    parent: Small
    score: Floats
    table: Small


def entries(width: int, value: int) -> Entries:
    """Return the empty ideal of *width* words, reached with no device, and room for some more."""
    store = Entries(
        np.zeros((ROOM, width), np.int64),
        np.zeros(ROOM, np.int64),
        np.zeros(ROOM, np.int32),
        np.zeros(ROOM, np.int64),
        np.zeros(ROOM, np.int32),
        np.zeros(ROOM),
        np.full(4 * ROOM, -1, np.int32),
    )
    store.value[0], store.table[0] = value, 0
    return store


def enlarged(store: Entries, most_bytes: float) -> Entries | None:
    """Return the same entries with twice the room, or None if that takes more than *most_bytes*.

    The old arrays are there while the new ones are filled, one after the other.
    """
    size = sum(array.nbytes for array in store)
    if 2 * size + max(array.nbytes for array in store) > most_bytes:
        return None
    return Entries(
        _double(store.bits),
        _double(store.hashes),
        _double(store.state),
        _double(store.value),
        _double(store.parent),
        _double(store.score),
        _table(store.hashes, 2 * len(store.table)),
    )


def _double(array: A) -> A:
    return np.concatenate((array, np.zeros_like(array)))


def _table(hashes: Ints, size: int) -> Small:
    table: Small = np.full(size, -1, np.int32)
    left = np.arange(len(hashes), dtype=np.int32)
    place = hashes & (size - 1)
    while left.size:  # every round places one of those that want the same place
        vacant = table[place] < 0
        table[place[vacant]] = left[vacant]
        waits = table[place] != left
        left, place = left[waits], (place[waits] + 1) & (size - 1)
    return table


# Bound what the devices that are left can do, in whatever order the rest comes.


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
