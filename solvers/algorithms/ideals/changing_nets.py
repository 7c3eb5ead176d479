"""Nets while supernodes are merged or eliminated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mtpp_dsl.core.views.hypergraph import WeightedPins

Pins = frozenset[int]

MAX_PINS = 64
"""Eliminating a supernode adds no net of more pins than this."""


class ChangingNets:
    """Nets by their sets of pins: a device that holds some pins of a net and not all pays its cost.

    Producers and readers pay alike, so nets of equal pins are one.

    Args:
        nets: pins and cost of each; those of one pin or without cost do not count.
    """

    def __init__(self, nets: Iterable[tuple[Iterable[int], float]]) -> None:
        self._cost: dict[Pins, float] = defaultdict(float)
        self._at: dict[int, set[Pins]] = defaultdict(set)
        for pins, cost in nets:
            self.add(pins, cost)

    def at(self, supernode: int) -> set[Pins]:
        """Return the nets that have *supernode* as a pin."""
        return self._at[supernode]

    def cost_at(self, supernode: int) -> float:
        """Return the cost of all nets that have *supernode* as a pin."""
        return sum(self._cost[pins] for pins in self._at[supernode])

    def items(self) -> list[WeightedPins]:
        """Return the pins of all nets, in ascending order, and their costs, sorted by pins."""
        return sorted((tuple(sorted(pins)), cost) for pins, cost in self._cost.items())

    def merge(self, supernode: int, into: int) -> None:
        """Make *supernode* part of *into*."""
        for pins in sorted(self._at[supernode], key=sorted):
            self.add((pins - {supernode}) | {into}, self.drop(pins))

    def eliminate(self, supernode: int) -> None:
        """Remove *supernode* and replace its nets by ones that no device pays more for, wherever it was.

        Sort the nets at the supernode by cost, largest first: c_1 >= c_2 >= ...; let A_j be the pins of the first j
        without the supernode. A device that cuts A_j, but not A_{j-1}, has a pin of A_j and lacks another; with the
        supernode on it or not, it cuts one of the first j nets, and pays at least c_j. Nets A_j of cost c_j - c_{j+1}
        charge it exactly c_j, since it cuts every later A.
        """
        touching = sorted(((self.drop(pins), sorted(pins)) for pins in list(self._at[supernode])), reverse=True)
        lighter = [cost for cost, _ in touching[1:]]
        union: set[int] = set()
        for (cost, pins), following in zip(touching, [*lighter, 0.0], strict=False):
            union |= set(pins) - {supernode}
            if len(union) <= MAX_PINS:
                self.add(union, cost - following)

    def cost(self, pins: Pins) -> float:
        """Return the cost of the net with these pins."""
        return self._cost[pins]

    def add(self, supernodes: Iterable[int], cost: float) -> None:
        """Add a net; one of a single pin, or without cost, does not count."""
        pins = frozenset(supernodes)
        if len(pins) > 1 and cost > 0:
            self._cost[pins] += cost
            for supernode in pins:
                self._at[supernode].add(pins)

    def drop(self, pins: Pins) -> float:
        """Remove the net with these pins and return its cost."""
        for supernode in pins:
            self._at[supernode].discard(pins)
        return self._cost.pop(pins)
