"""Tensors as weighted sets of pins, while groups of nodes are merged or taken out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

__all__ = ["Nets"]

Pins = frozenset[int]

MOST_PINS = 64
"""A set of more pins, that would stand for a group taken out, is left out."""


class Nets:
    """Weighted sets of groups: a device that holds some pins of a set and not all pays its weight.

    Producer and consumers pay alike, so sets of equal pins are one.

    Args:
        tensors: pins and weight of each; those of one pin or without weight do not count.
    """

    def __init__(self, tensors: Iterable[tuple[Iterable[int], float]]) -> None:
        self._weight: dict[Pins, float] = defaultdict(float)
        self._at: dict[int, set[Pins]] = defaultdict(set)
        for pins, weight in tensors:
            self.add(pins, weight)

    def at(self, group: int) -> set[Pins]:
        """Return the sets that have *group* as a pin."""
        return self._at[group]

    def cost_at(self, group: int) -> float:
        """Return the weight of all sets that have *group* as a pin."""
        return sum(self._weight[pins] for pins in self._at[group])

    def items(self) -> list[tuple[tuple[int, ...], float]]:
        """Return all sets, pins sorted, and their weights, in a fixed order."""
        return sorted((tuple(sorted(pins)), weight) for pins, weight in self._weight.items())

    def merge(self, group: int, into: int) -> None:
        """Make *group* part of *into*."""
        for pins in sorted(self._at[group], key=sorted):
            self.add((pins - {group}) | {into}, self.drop(pins))

    def take_out(self, group: int) -> None:
        """Remove *group*, and leave what everybody must pay wherever it is put.

        Sort the sets at the group by weight, largest first: c_1 >= c_2 >= ...; let A_j be the pins of the
        first j but for the group. A device that cuts A_j, but not A_{j-1}, has a pin of A_j and lacks another; with
        the group on it or not, it cuts one of the first j sets, and pays c_j at least. Sets A_j of weight
        c_j - c_{j+1} charge it just that, as it cuts every later A.
        """
        touching = sorted(((self.drop(pins), sorted(pins)) for pins in list(self._at[group])), reverse=True)
        lighter = [weight for weight, _ in touching[1:]]
        union: set[int] = set()
        for (weight, pins), following in zip(touching, [*lighter, 0.0], strict=False):
            union |= set(pins) - {group}
            if len(union) <= MOST_PINS:
                self.add(union, weight - following)

    def weight(self, pins: Pins) -> float:
        """Return the weight of a set."""
        return self._weight[pins]

    def add(self, groups: Iterable[int], weight: float) -> None:
        """Add a set; one of a single pin, or without weight, does not count."""
        pins = frozenset(groups)
        if len(pins) > 1 and weight > 0:
            self._weight[pins] += weight
            for group in pins:
                self._at[group].add(pins)

    def drop(self, pins: Pins) -> float:
        """Remove a set and return its weight."""
        for group in pins:
            self._at[group].discard(pins)
        return self._weight.pop(pins)
