"""Nodes for which the order of devices leaves no device, as what comes before them has to be too far along it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Bools

__all__ = ["out_of_place"]


def out_of_place(allowed: Bools, arcs: Iterable[tuple[int, int]]) -> tuple[list[int], int] | None:
    """Return groups one after the other, the last without a device, and the place from which on it has none; or None.

    The earliest place of a group is the first that it may have from the earliest places of those before it on.

    Args:
        allowed: [groups, places] where each group of nodes may be, the devices in their order.
        arcs: pairs of groups of which the first is on the device of the second, or on an earlier one.

    >>> out_of_place(np.array([[False, True], [True, True], [True, False]]), [(0, 1), (1, 2)])
    ([0, 1, 2], 1)
    >>> out_of_place(np.array([[True, False], [True, True]]), [(0, 1)]) is None
    True
    """
    after: dict[int, list[int]] = {}
    for first, then in arcs:
        after.setdefault(first, []).append(then)
    places = [np.flatnonzero(row).tolist() for row in allowed]
    earliest = [row[0] if row else 0 for row in places]
    before: dict[int, int] = {}  # the group that has moved the earliest place of another one
    waiting = [group for group, place in enumerate(earliest) if place]
    while waiting:
        group = waiting.pop()
        for other in after.get(group, ()):
            if earliest[other] >= earliest[group]:
                continue
            place = _first(places[other], earliest[group])
            if place is None:
                chain = [other, group]
                while chain[-1] in before:
                    chain.append(before[chain[-1]])
                return chain[::-1], earliest[group]
            earliest[other], before[other] = place, group
            waiting.append(other)
    return None


def _first(places: Sequence[int], least: int) -> int | None:
    """Return the first place from *least* on; None if there is none."""
    return next((place for place in places if place >= least), None)
