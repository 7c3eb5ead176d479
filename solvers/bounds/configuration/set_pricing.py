"""The heaviest set of supernodes that a device can hold below a target, exactly: an integer programme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.mip.matrix import MatrixRows, maximise
from mtpp_dsl.solvers.bounds.partition.bound_instance import BITS, BoundInstance, WholeLoads

__all__ = ["Pricing"]

HALF = 0.5
"""Weights are whole numbers: half of one on either side of a limit changes nothing, and is far above any tolerance."""
FINE_BITS, DIGIT = 33, 2**11
"""Loads that are counted more finely than a solver's tolerance allows in one row have a row for each digit."""
LARGEST_FREE = 2 ** (BITS + 3)
"""Units of parameters that are not streamed; with more, they are counted in coarser units."""


@dataclass(frozen=True, eq=False)
class HeaviestSet:
    """What is known of the sets of one device type below the target.

    Attributes:
        most: no set is heavier; ``inf`` if nothing is known.
        heavier: a set heavier than was asked for, or None.
    """

    most: float
    heavier: Bools | None = None


class Pricing:
    """The sets that one device type can hold below a target, for weights that change.

    Args:
        instance: what there is to hold.
        sizes: the loads of the kind, in whole units.
        kind: the kind.
        closed: [supernodes] no such set has them.
        fine: whether the units are finer than one row can tell apart; of kinds that stream nothing.
    """

    def __init__(
        self, instance: BoundInstance, sizes: WholeLoads, kind: int, closed: Bools, *, fine: bool = False
    ) -> None:
        self._instance, self._sizes, self._kind = instance, sizes, kind
        self._rows = MatrixRows()
        self._carries: list[int] = []
        self._upper: list[float] = np.where(closed | (sizes.work > sizes.capacity), 0.0, 1.0).tolist()
        load: dict[int, float] = {g: float(w) for g, w in enumerate(sizes.work.tolist()) if w and self._upper[g]}
        for (pins, _), cost in zip(instance.nets, sizes.nets.tolist(), strict=True):
            if cost:
                load.update(self._cut(pins, float(cost)))
        if instance.overflows(kind):
            load.update(self._overflow())
        if fine:
            self._by_digits({column: int(units) for column, units in load.items()}, sizes.capacity)
        else:
            self._rows.add(list(load), list(load.values()), high=sizes.capacity + HALF)
        if instance.memory_binds(kind):
            self._fits()
        for part, arcs in enumerate(instance.parts):
            if instance.convex[kind, part]:
                self._convex(arcs)

    def heavier(
        self, weights: Ints, than: int, *, seconds: float, stopped: Callable[[], bool], enough: float = inf
    ) -> HeaviestSet:
        """Look for a set heavier than *than*; stop at one of weight *enough*."""
        n = self._instance.n
        rows = self._with(weights, than)
        objective, integer = np.zeros(len(self._upper)), np.arange(len(self._upper)) < n
        objective[:n] = weights
        integer[self._carries] = True
        answer = maximise(
            objective,
            np.array(self._upper),
            integer,
            rows,
            seconds=seconds,
            stopped=stopped,
            enough=enough,
        )
        if answer.infeasible:
            return HeaviestSet(float(than))
        most = max(float(than), floor(answer.bound + HALF)) if answer.bound < inf else inf
        heavy_set = None if answer.values is None else answer.values[:n] > HALF
        return HeaviestSet(most, heavy_set)

    def _with(self, weights: Ints, than: int) -> MatrixRows:
        """Return the rows and the one that asks for more weight."""
        rows, base = MatrixRows(), self._rows
        heavy = np.flatnonzero(weights).tolist()
        rows.starts, rows.columns, rows.values = [*base.starts], [*base.columns], [*base.values]
        rows.low, rows.high = [*base.low], [*base.high]
        rows.add(heavy, weights[heavy].astype(float).tolist(), low=than + HALF)
        return rows

    def _column(self, upper: float = 1.0) -> int:
        self._upper.append(upper)
        return len(self._upper) - 1

    def _by_digits(self, load: dict[int, int], capacity: int) -> None:
        """Keep a load to a capacity, with no number above :data:`DIGIT` in a row.

        Each row adds up one digit, the lowest first. What exceeds the capacity's digit is carried to the next row, in
        whole numbers, so that the rows together say the same as the sum, as far as everything else is whole.
        """
        carried: dict[int, int] = {}
        while capacity >= DIGIT:
            digit = carried | {column: units % DIGIT for column, units in load.items() if units % DIGIT}
            carry = self._column(float(sum(digit.values()) // DIGIT + len(carried) * len(load) + 1))
            self._carries.append(carry)
            self._rows.add([*digit, carry], [*map(float, digit.values()), -float(DIGIT)], high=capacity % DIGIT + HALF)
            load, capacity = {column: units // DIGIT for column, units in load.items()}, capacity // DIGIT
            carried = {carry: 1}
        last = carried | {column: units for column, units in load.items() if units}
        self._rows.add([*last], [*map(float, last.values())], high=capacity + HALF)

    def _cut(self, pins: Sequence[int], cost: float) -> dict[int, float]:
        """Return the terms of a tensor that is paid when some pins are in the set and some are not."""
        if len(pins) == 2:
            cut = self._column()
            for a, b in (pins, pins[::-1]):
                self._rows.add([cut, a, b], [1.0, -1.0, 1.0], low=0.0)
            return {cut: cost}
        cut, every = self._column(), self._column()
        for pin in pins:
            self._rows.add([cut, every, pin], [1.0, 1.0, -1.0], low=0.0)
            self._rows.add([pin, every], [1.0, -1.0], low=0.0)
        return {cut: cost}

    def _overflow(self) -> dict[int, float]:
        """Return the term of what is paid for parameters that do not fit (archer2024, eq. 2), in units of 1 or more."""
        instance, capacity = self._instance, self._sizes.capacity
        rate = self._sizes.scale / instance.types.bandwidth
        free = ceil(instance.types.overflow[self._kind] * rate)
        unit = -(-free // LARGEST_FREE) or 1
        free = -(-free // unit)
        most = free + 2 * (capacity // unit) + 2
        params = [-float(min(floor(size * rate) // unit, most)) for size in instance.params.tolist()]
        if unit > capacity:  # not one of these units may be streamed
            self._rows.add(list(range(instance.n)), params, low=-free - HALF)
            return {}
        excess = self._column(inf)
        self._rows.add([excess, *range(instance.n)], [1.0, *params], low=-float(free))
        return {excess: float(unit)}

    def _fits(self) -> None:
        """Keep to the memory, in shares of it."""
        memory, limit = self._instance.memory, float(self._instance.types.memory[self._kind])
        if limit > 0:
            self._rows.add(list(range(len(memory))), (memory / limit).tolist(), high=1.0 + 1e-6)
        else:
            self._rows.add(list(range(len(memory))), (memory > 0).astype(float).tolist(), high=HALF)

    def _convex(self, arcs: Sequence[tuple[int, int]]) -> None:
        """Make the set convex in a part: the difference of two ideals of it.

        ``x = p - q`` with p and q falling along every arc: a matrix that is totally unimodular without the load.
        """
        of = self._instance.of.tolist()
        ideal: dict[int, tuple[int, int]] = {}
        for v in sorted({v for arc in arcs for v in arc}):
            ideal[v] = (self._column(), self._column())
            p, q = ideal[v]
            self._rows.add([p, q, of[v]], [1.0, -1.0, -1.0], low=0.0, high=0.0)
        for u, v in arcs:
            for which in range(2):
                self._rows.add([ideal[u][which], ideal[v][which]], [1.0, -1.0], low=0.0)
