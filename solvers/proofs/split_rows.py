"""The rows of plans whose devices all have less load than a target: splits on one channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum, inf

from mtpp_dsl.core.constraints import Separate
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import DeviceKind, ProofReading
from mtpp_dsl.solvers.proofs.rows import Rows, Sum, Units

__all__ = ["split_rows"]

ROUNDING = 1e-12
"""Relative: by so much sums of parameters may be rounded."""
FIRST = 4
"""Groups, for each device, that tell which of equal devices comes first."""


def split_rows(problem: Problem, target: float) -> Rows:
    """Return rows that every plan below the target keeps to, with one numbering of equal devices at least.

    ``on(g, d)``: group g of nodes is on device d. Where all devices are equal and the quotient graph is acyclic, they
    are numbered in its order, and variables say whether a group is on one of the first devices (archer2024, 3.1).
    A device pays a tensor of which it has some pins and not all: the largest ``on`` of its pins less the least.

    Raises:
        Refused: loads are not the sums that are counted here, or there are too many rows.
    """
    return _SplitRows(ProofReading(problem), target).rows


class _SplitRows:
    """Adds the rows one constraint after another.

    Attributes:
        rows: added so far.
        kind: of every device; the devices of a kind have numbers in a row.
    """

    def __init__(self, reading: ProofReading, target: float) -> None:
        self.rows, self._reading = Rows(), reading
        self._units = Units(target)
        self._target = target
        self._groups = range(len(reading.members))
        self.kind = [kind for kind in reading.kinds for _ in kind.devices]
        self._devices = range(len(self.kind))
        self._on = self._prefixes() if self._in_order else self._assigned()
        for d in self._devices:
            self._closed(d)
            self._memory(d)
            self._load(d)
        for constraint in reading.problem.of(Separate):
            self._apart(sorted({reading.group[v] for v in constraint.nodes}))
        if not self._in_order or reading.problem.graph.backward.any():
            for d in self._devices:
                self._convex(d, reading.arcs(self.kind[d]))

    @property
    def _in_order(self) -> bool:
        return self._reading.problem.acyclic and len(self._reading.kinds) == 1

    def _prefixes(self) -> list[list[Sum]]:
        """Add whether a group is on device d or one before it; return [groups][devices] ``on``."""
        rows, last = self.rows, len(self.kind) - 1
        before = [[rows.variable(f"group {g} up to {d}") for d in range(last)] for g in self._groups]
        for g in self._groups:
            for d in range(last - 1):
                rows.add(f"group {g} up to {d}", [(1, {before[g][d]: 1}), (-1, {before[g][d + 1]: 1})], 0)
        ends = {(self._reading.group[u], self._reading.group[v]) for u, v in self._reading.edges(backward=False)}
        for a, b in sorted(ends):
            for d in range(last if a != b else 0):
                rows.add(f"group {a} before {b} up to {d}", [(1, {before[b][d]: 1}), (-1, {before[a][d]: 1})], 0)
        self._one = rows.variable("one")
        rows.low[self._one] = 1
        steps = [[*({x: 1} for x in before[g]), {self._one: 1}] for g in self._groups]
        return [
            [{**step[d], **({before[g][d - 1]: -1} if d else {})} for d in self._devices]
            for g, step in enumerate(steps)
        ]

    def _assigned(self) -> list[list[Sum]]:
        """Add where each group is; of equal devices, one that has an earlier group comes first; return ``on``."""
        rows = self.rows
        on: list[list[Sum]]
        on = [[{rows.variable(f"group {g} on {d}"): 1} for d in self._devices] for g in self._groups]
        for g in self._groups:
            rows.equal(f"group {g} on one device", [(1, part) for part in on[g]], 1)
        least = [min(kind.time[g] for kind in self._reading.kinds) for g in self._groups]
        order = sorted(self._groups, key=lambda g: (-least[g], g))
        for d in self._devices[1:]:
            if self.kind[d] is self.kind[d - 1]:
                for i, g in enumerate(order[: FIRST * len(self.kind)]):
                    earlier = [(-1, on[h][d - 1]) for h in order[:i]]
                    rows.add(f"group {g} on {d} after {d - 1}", [(1, on[g][d]), *earlier], 0)
        return on

    def _closed(self, d: int) -> None:
        for g in self._groups:
            if self.kind[d].time[g] >= self._target:
                self.rows.add(f"group {g} not on {d}", [(1, self._on[g][d])], 0)

    def _memory(self, d: int) -> None:
        kind, memory = self.kind[d], self._reading.memory
        if kind.memory < inf and fsum(memory) > kind.memory > 0:
            units = Units(kind.memory)
            needs = [(units.used(memory[g]), self._on[g][d]) for g in self._groups]
            self.rows.add(f"memory of {d}", needs, units.limit)

    def _load(self, d: int) -> None:
        """Add that work, tensors and streaming of a device are less than the target."""
        kind, units = self.kind[d], self._units
        parts = [(units.used(kind.time[g]), self._on[g][d]) for g in self._groups if kind.time[g] < inf]
        if kind.pays:
            for number, (pins, cost) in enumerate(self._reading.tensors.items()):
                price = units.used(cost)
                if price:
                    cut = self._cut(number, sorted(pins), d)
                    parts += [(price if often > 0 else -price, part) for often, part in cut]
        if kind.free < inf:
            parts.append((1, self._streamed(kind, d)))
        self.rows.add(f"load of {d}", parts, units.limit - 1, costs=True)

    def _cut(self, number: int, pins: Sequence[int], d: int) -> list[tuple[int, Sum]]:
        """Add whether a device has some of the pins and not all; return the sum that says so."""
        rows, on = self.rows, [self._on[g][d] for g in pins]
        if len(pins) == 2:
            cut = {rows.variable(f"tensor {number} cut at {d}"): 1}
            for some, other in (on, on[::-1]):
                rows.add(f"tensor {number} cut at {d}", [(1, some), (-1, other), (-1, cut)], 0)
            return [(1, cut)]
        some, every = ({rows.variable(f"tensor {number}, {what} pins on {d}"): 1} for what in ("some", "all"))
        for g, part in zip(pins, on, strict=True):
            rows.add(f"tensor {number}, some pins on {d}: {g}", [(1, part), (-1, some)], 0)
            rows.add(f"tensor {number}, all pins on {d}: {g}", [(1, every), (-1, part)], 0)
        return [(1, some), (-1, every)]

    def _streamed(self, kind: DeviceKind, d: int) -> Sum:
        """Add the time that parameters are streamed for: that of all of them less what fits."""
        reading, units = self._reading, self._units
        takes = [(units.used(reading.params[g] / reading.bandwidth), self._on[g][d]) for g in self._groups]
        free = kind.free + ROUNDING * abs(kind.free)
        streamed = {self.rows.variable(f"streamed to {d}", sum(often for often, _ in takes)): 1}
        self.rows.add(f"streamed to {d}", [*takes, (-1, streamed)], units.allowed(free / reading.bandwidth))
        return streamed

    def _apart(self, groups: Sequence[int]) -> None:
        for d in self._devices:
            self.rows.add(f"apart on {d}", [(1, self._on[g][d]) for g in groups], 1)

    def _convex(self, d: int, arcs: Iterable[tuple[int, int]]) -> None:
        """Add that a group after one of the device's and before one is on it, too."""
        arcs = list(arcs)
        if not arcs:
            return
        rows = self.rows
        after, before = (
            {g: {rows.variable(f"group {g} {what} {d}"): 1} for g in sorted({g for arc in arcs for g in arc})}
            for what in ("after", "before")
        )
        for g in after:
            for side in (after, before):
                rows.add(f"group {g} beside {d}", [(1, self._on[g][d]), (-1, side[g])], 0)
            rows.add(f"group {g} between on {d}", [(1, after[g]), (1, before[g]), (-1, self._on[g][d])], 1)
        for a, b in arcs:
            rows.add(f"group {b} after {a} on {d}", [(1, after[a]), (-1, after[b])], 0)
            rows.add(f"group {a} before {b} on {d}", [(1, before[b]), (-1, before[a])], 0)
