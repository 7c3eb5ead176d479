"""The heaviest set below a target where few tensors are open along some order: a table of loads for each state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from math import ceil, floor
from time import monotonic

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.proofs.proof_reading import DeviceKind, ProofReading

__all__ = ["heaviest_below"]

LARGEST_TABLE, MAX_ENTRIES = 2**19, 2**26
"""Units of load of a table, and entries of the tables of all states; with more, nothing is told."""
NO_SET = -(2**62)
MULTIPLIERS = (1, 7919, 104729, 1299709)
"""Of the numbers of groups, for ties in orders: each makes an order of its own."""
OUTSIDE, INSIDE = 1, 2
BOTH = OUTSIDE | INSIDE
State = tuple[tuple[int, int], ...]
"""Of each open tensor, by its number, on which sides it has groups so far."""


def heaviest_below(
    reading: ProofReading,
    kind: DeviceKind,
    target: float,
    weights: Sequence[int],
    unit: float,
    seconds: float,
    known: Sequence[int] = (),
) -> int | None:
    """Return what no set with a load below the target is heavier than, or None if the time or the states do not do.

    Loads are counted in units, rounded down. Memory, streaming and the shape of sets are left out: they only take sets
    away.

    Args:
        reading: the problem.
        kind: of device.
        target: above zero.
        weights: of the groups.
        unit: above zero; any one is right, and those in which loads are nearly whole tell most.
        seconds: how long it may take.
        known: all groups in an order along which few tensors may be open, tried first; none for orders found here.
    """
    until, exact = monotonic() + seconds, Fraction(unit)
    most = ceil(Fraction(target) / exact) - 1
    if not 0 <= most < LARGEST_TABLE:
        return None
    work = [most + 1 if not time < target else floor(Fraction(time) / exact) for time in kind.time]
    tensors = [sorted(pins) for pins in reading.tensors] if kind.pays else []
    costs = [most + 1 if not cost < target else floor(Fraction(cost) / exact) for cost in reading.tensors.values()]
    most_states = MAX_ENTRIES // (most + 1)
    for order in chain([[*known]] if known else [], _orders(len(weights), tensors)):
        if _most_states(order, tensors, most_states) <= most_states:
            return _swept(order, tensors, costs, work, weights, most, until)
    return None


def _swept(
    order: list[int],
    tensors: list[list[int]],
    costs: list[int],
    work: list[int],
    weights: Sequence[int],
    most: int,
    until: float,
) -> int | None:
    """Return the largest weight of a set of *most* units at most, one group after the other inside or outside."""
    tables: dict[State, Ints] = {(): np.zeros(most + 1, np.int64)}
    for touched, group in zip(_touched(order, tensors), order, strict=True):
        following: dict[State, Ints] = {}
        for state, table in tables.items():
            if monotonic() > until:
                return None
            for side in (OUTSIDE, INSIDE):
                after, cut = _after(state, touched, side)
                inside = side == INSIDE
                load = sum(costs[e] for e in cut) + inside * work[group]
                best = following.setdefault(after, np.full(most + 1, NO_SET))
                if load <= most:
                    np.maximum(best[load:], table[: most + 1 - load] + inside * weights[group], out=best[load:])
        tables = following
    return int(tables[()][most])


def _after(state: State, touched: list[tuple[int, bool]], side: int) -> tuple[State, list[int]]:
    """Return the state when a group of the tensors *touched* is on a side, and which tensors that cuts.

    With each tensor comes whether the group is its last.
    """
    sides, cut = dict(state), []
    for tensor, last in touched:
        before = sides.get(tensor, 0)
        now = sides[tensor] = before | side
        if now == BOTH and before != BOTH:
            cut.append(tensor)
        if last:
            del sides[tensor]
    return tuple(sorted(sides.items())), cut


def _touched(order: list[int], tensors: list[list[int]]) -> list[list[tuple[int, bool]]]:
    """Return for each place of an order the tensors of its group, and whether the group is the last of the tensor."""
    place = {group: i for i, group in enumerate(order)}
    touched: list[list[tuple[int, bool]]] = [[] for _ in order]
    for tensor, pins in enumerate(tensors):
        last = max(place[pin] for pin in pins)
        for pin in pins:
            touched[place[pin]].append((tensor, place[pin] == last))
    return touched


def _most_states(order: list[int], tensors: list[list[int]], enough: int) -> int:
    """Return how many states there are at most at a time; of more than *enough*, some number that is larger."""
    states: dict[State, None] = {(): None}
    most = 1
    for touched in _touched(order, tensors):
        states = {_after(state, touched, side)[0]: None for state in states for side in (OUTSIDE, INSIDE)}
        most = max(most, len(states))
        if most > enough:
            break
    return most


def _orders(n: int, tensors: list[list[int]]) -> Iterator[list[int]]:
    """Yield orders in which each group is one after which few tensors are open."""
    of: list[list[int]] = [[] for _ in range(n)]
    for tensor, pins in enumerate(tensors):
        for pin in pins:
            of[pin].append(tensor)
    for multiplier in MULTIPLIERS:
        left = [len(pins) for pins in tensors]
        waiting, order = set(range(n)), list[int]()
        near: set[int] = set()
        while waiting:
            keys = {
                g: (
                    sum((left[e] == len(tensors[e])) - (left[e] == 1) for e in of[g]) if near else len(of[g]),
                    g * multiplier % 15485863,
                )
                for g in near or waiting
            }
            group = min(keys, key=keys.__getitem__)
            waiting.remove(group)
            order.append(group)
            for e in of[group]:
                left[e] -= 1
                near.update(tensors[e])
            near &= waiting
        yield order
