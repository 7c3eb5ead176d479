"""A first placement that keeps to all rules: what shows that list schedulers can go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.schedule.list.packing import FILL, SEARCH
from mtpp_dsl.solvers.schedule.list.placement_rules import Hold, PlacementRules

__all__ = ["witness"]

CHUNK = 256
"""Classes placed between two looks at the clock."""
MAX_TRIES = 300_000
"""Places tried by the search for a placement."""
MAX_CLASSES = 400
"""Classes for which that search is begun."""


def witness(rules: PlacementRules, order: Ints, pause: Callable[[], None]) -> Hold | None:
    """Return a placement of all classes that keeps to *rules*, or None if none was found.

    Tried in turn: everything on one device, the fastest first; classes by decreasing memory, and in *order*, each on
    the device with most room, or the fastest, where others can make room for it; every way, for up to :data:`MAX_TRIES`
    places.

    Args:
        rules: see there.
        order: [classes] of the first nodes of each in a topological order.
        pause: called often; raises to end the attempts.
    """
    classes, k = rules.work.shape
    heavy = np.lexsort((np.arange(classes), -rules.need))
    for islands in _islands(rules):
        for row, liked in _attempts(rules, order, heavy, islands):
            hold = _filled(rules, row, liked, pause)
            if hold is not None:
                return hold
    if classes <= MAX_CLASSES:
        hold = Hold.empty(classes, k)
        if SEARCH.pick(MAX_TRIES)(rules, hold, heavy, MAX_TRIES):
            return hold
    return None


def _filled(rules: PlacementRules, order: Ints, liked: Ints, pause: Callable[[], None]) -> Hold | None:
    """Return a placement made class by class, or None if one finds no place."""
    classes, k = rules.work.shape
    hold = Hold.empty(classes, k)
    run = FILL.pick(classes * k)
    for first in range(0, classes, CHUNK):
        pause()
        last = min(first + CHUNK, classes)
        if run(rules, hold, order, liked, first, last) < last:
            return None
    return hold


def _attempts(rules: PlacementRules, order: Ints, heavy: Ints, inside: Bools) -> Iterator[tuple[Ints, Ints]]:
    """Yield orders of the classes, and the devices that each likes, best first; those *inside* before others."""
    classes, k = rules.work.shape
    fastest = np.argsort(np.where(rules.may.all(axis=0), rules.work.sum(axis=0), np.inf), kind="stable")
    for d in fastest.tolist():
        if inside[d]:
            row = np.append(d, np.delete(np.arange(k), d))
            yield order, np.tile(row, (classes, 1))
    outside = np.where(inside, 0.0, 1.0)
    roomy = np.lexsort((-rules.limit, outside))
    quick = np.argsort(np.where(rules.may, rules.work, np.inf) + np.where(inside, 0.0, 1e300), axis=1, kind="stable")
    for row in (heavy, order):
        yield row, np.tile(roomy, (classes, 1))
        yield row, quick


def _islands(rules: PlacementRules) -> list[Bools]:
    """Return sets of devices that all can send to each other, the largest first, then all devices."""
    k = len(rules.limit)
    joined: Bools = np.asarray(rules.joined[:-1].all(axis=0))
    both: Bools = joined & joined.T
    found: list[Bools] = []
    for d in range(k):
        inside = np.zeros(k, np.bool_)
        for f in [d, *range(k)]:
            inside[f] |= bool(both[f, inside].all())
        if not any((inside == other).all() for other in found):
            found.append(inside)
    found.sort(key=lambda inside: -int(inside.sum()))
    everywhere = np.ones(k, np.bool_)
    return found if found and found[0].all() else [*found, everywhere]
