"""The rows of plans that cost less than a target: splits on one channel."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, inf

from mtpp_dsl.core.constraints import Separate
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.convex_rows import add_convex
from mtpp_dsl.solvers.proofs.labelled_rows import LabelledRows
from mtpp_dsl.solvers.proofs.places import Place, Placement
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading
from mtpp_dsl.solvers.proofs.rows import Rows, Sum, Units

__all__ = ["split_rows"]

ROUNDING = 1e-12
"""Relative: by so much sums may be rounded."""


def split_rows(problem: Problem, target: float) -> Rows:
    """Return rows that every plan below the target keeps to, with one numbering of equal devices at least.

    Where groups of colocated nodes are is said by :class:`mtpp_dsl.solvers.proofs.places.Placement`. A device pays a
    tensor of which it has some pins and not all: the largest ``on`` of its pins less the least. Labelled rows are those
    of :class:`mtpp_dsl.solvers.proofs.labelled_rows.LabelledRows`.

    Raises:
        Refused: loads are not the sums that are counted here, or there are too many rows.
    """
    if not problem.objective.is_linear:
        return _SplitRows(problem, ProofReading(problem), target, below=True).rows
    reading = ProofReading(problem.asking(Objective("bottleneck")))
    split = _SplitRows(problem, reading, _total(reading), below=False)
    split.labelled.cost_below(problem.objective, target)
    return split.rows


def _total(reading: ProofReading) -> float:
    """Return what no load exceeds."""
    most = [
        max((kind.time[g] for kind in reading.kinds if kind.time[g] < inf), default=0.0)
        for g in range(len(reading.members))
    ]
    streams = any(kind.free < inf for kind in reading.kinds)
    streamed = fsum(map(abs, reading.params)) / reading.bandwidth if streams else 0.0
    return (fsum(most) + fsum(reading.tensors.values()) + streamed) * (1 + ROUNDING)


class _SplitRows:
    """Adds the rows of one device, or seat, after another.

    Args:
        problem: what is asked.
        reading: of its loads.
        most: no load is more than this.
        below: whether all loads have to be less.
    """

    def __init__(self, problem: Problem, reading: ProofReading, most: float, *, below: bool) -> None:
        self.rows, self._reading, self._below = Rows(), reading, below
        self._units, self._most = Units(most), most
        placement = Placement(self.rows, problem, reading)
        loads = []
        for number, place in enumerate(placement.places):
            self._closed(number, place)
            self._memory(number, place)
            loads.append(self._load(number, place))
            for constraint in problem.of(Separate):
                self._apart(number, place, sorted({reading.group[v] for v in constraint.nodes}))
            if not placement.ordered or problem.graph.backward.any():
                add_convex(self.rows, f"place {number}", place.on, reading.arcs(place.kind))
        self.labelled = LabelledRows(self.rows, problem, reading, placement.places, loads, self._units)
        self.labelled.add()

    def _closed(self, number: int, place: Place) -> None:
        for g, time in enumerate(place.kind.time):
            if time == inf or (self._below and time >= self._most):
                self.rows.add(f"group {g} not on {number}", [(1, place.on[g])], 0)

    def _memory(self, number: int, place: Place) -> None:
        limit, memory = place.kind.memory, self._reading.memory
        if limit < inf and fsum(memory) > limit > 0:
            units = Units(limit)
            needs = [(units.used(need), place.on[g]) for g, need in enumerate(memory)]
            self.rows.add(f"memory of {number}", [*needs, (-units.limit, place.used)], 0)

    def _load(self, number: int, place: Place) -> list[tuple[int, Sum]]:
        """Add that work, tensors and streaming of a device are less than the target; return their sum in units.

        Each part is rounded down.
        """
        kind, units = place.kind, self._units
        parts = [(units.used(time), place.on[g]) for g, time in enumerate(kind.time) if time < inf]
        if kind.pays:
            for tensor, (pins, cost) in enumerate(self._reading.tensors.items()):
                price = units.used(cost)
                if price:
                    cut = self._cut(f"tensor {tensor} at {number}", [place.on[g] for g in sorted(pins)])
                    parts += [(price * sign, part) for sign, part in cut]
        if kind.free < inf:
            parts.append((1, self._streamed(number, place)))
        if self._below:
            less = units.limit - 1
            self.rows.add(f"load of {number}", parts, less, costs=units.limit)
            if not place.certain:
                self.rows.add(f"load of {number}, if it is of a kind", [*parts, (-less, place.used)], 0)
        return parts

    def _cut(self, name: str, on: Sequence[Sum]) -> list[tuple[int, Sum]]:
        """Add whether a device has some of the pins and not all; return the sum that says so."""
        rows = self.rows
        if len(on) == 2:
            cut = {rows.variable(f"{name}, cut"): 1}
            for some, other in (on, on[::-1]):
                rows.add(f"{name}, cut", [(1, some), (-1, other), (-1, cut)], 0)
            return [(1, cut)]
        some, every = ({rows.variable(f"{name}, {what} pins"): 1} for what in ("some", "all"))
        for part in on:
            rows.add(f"{name}, some pins", [(1, part), (-1, some)], 0)
            rows.add(f"{name}, all pins", [(1, every), (-1, part)], 0)
        return [(1, some), (-1, every)]

    def _streamed(self, number: int, place: Place) -> Sum:
        """Add the time that parameters are streamed for: that of all of them less what fits."""
        reading, units, free = self._reading, self._units, place.kind.free
        takes = [(-units.allowed(-params / reading.bandwidth), place.on[g]) for g, params in enumerate(reading.params)]
        streamed = {self.rows.variable(f"streamed to {number}", sum(often for often, _ in takes)): 1}
        kept = units.allowed((free + ROUNDING * abs(free)) / reading.bandwidth)
        self.rows.add(f"streamed to {number}", [*takes, (-1, streamed), (-kept, place.used)], 0)
        return streamed

    def _apart(self, number: int, place: Place, groups: Sequence[int]) -> None:
        self.rows.add(f"apart on {number}", [*((1, place.on[g]) for g in groups), (-1, place.used)], 0)
