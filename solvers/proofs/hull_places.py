"""Where the path of a certificate ``path-hull`` may be cut: places, several of them between two colocated nodes.

Of these the second is on the device of the first. So behind a subgraph that ends there, one of the same device begins,
and both share its memory. Each place there says how much of it subgraphs of the device have that follow each other so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from mtpp_dsl.core.errors import Refused

MOST_PLACES = 64


class Place(NamedTuple):
    """A place before the node *before* of the path, where more than *used* of a memory is full, and at most *room*."""

    before: int
    tied: bool = False
    used: float = 0.0
    room: float = inf


def read_places(given: object, path: Sequence[int], together: Callable[[int, int], bool]) -> list[Place]:
    """Return the places along a path, in its order, or raise Refused.

    Args:
        given: what the certificate says: boundaries, each with rising amounts of memory.
        path: the path.
        together: whether two nodes are colocated.
    """
    if not isinstance(given, list) or not all(isinstance(entry, (list, tuple)) and entry for entry in given):
        raise Refused("the certificate's 'ties' is no list of boundaries")
    amounts: dict[int, list[float]] = {}
    for x, *some in given:
        if type(x) is not int or not 0 < x < len(path) or x in amounts or not together(path[x - 1], path[x]):
            raise Refused(f"the certificate's 'ties' has {x!r:.40}, which is not between colocated nodes of its path")
        if len(some) >= MOST_PLACES or not all(type(one) in (int, float) and 0 < one < inf for one in some):
            raise Refused(f"the certificate's 'ties' has amounts at {x} that are none, or too many")
        amounts[x] = [0.0, *map(float, some), inf]
        if not all(low < high for low, high in pairwise(amounts[x])):
            raise Refused(f"the certificate's 'ties' has amounts at {x} that do not rise")
    places = []
    for x in range(len(path) + 1):
        tied = [Place(x, True, used, room) for used, room in pairwise(amounts.get(x, []))]
        places += tied or [Place(x)]
    return places


def least_along(
    places: Sequence[Place], alone: Sequence[float], runs: Sequence[Sequence[tuple[int, float]]], most: int
) -> float:
    """Return the least cost of a way to cut a path.

    Args:
        places: the places.
        alone: what each item between two places takes by itself.
        runs: of each place but the last, the items at the ends of runs from there, and what these take.
        most: how many runs there may be.
    """
    ends = [[inf] * (most + 1) for _ in places]
    walks = [row.copy() for row in ends]
    walks[0][0] = 0.0
    for a, place in enumerate(places):
        if not place.tied:
            walks[a] = ends[a] = [min(pair) for pair in zip(walks[a], ends[a], strict=True)]
        if a == len(alone):
            break
        walks[a + 1] = [cost + alone[a] for cost in walks[a]]
        for b, cost in runs[a]:
            for r in range(most):
                ends[b + 1][r + 1] = min(ends[b + 1][r + 1], ends[a][r] + cost)
    return min(ends[-1])
