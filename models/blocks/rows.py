"""A row of the user's, brought into scale with what a solver can tell apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from mtpp_dsl.constraints import Bottleneck, Linear, Load, On

__all__ = ["INF", "Row", "row_of"]

INF = float("inf")

DROPPED = 1e-9
"""Coefficients below this share of a row's largest are dropped, by solvers if not by us."""


@dataclass
class Row:
    """``low <= sum(a * variable) <= high``, loads in a model's unit.

    Attributes:
        low, high: the sides; infinite where there is none.
        on: coefficients by (node, device).
        load: coefficients by device.
        bottleneck: its coefficient.
        fixed: values of the ``on`` that :meth:`tighten` found to have no choice.
    """

    low: float
    high: float
    on: dict[tuple[int, int], float] = field(default_factory=dict)
    load: dict[int, float] = field(default_factory=dict)
    bottleneck: float = 0.0
    fixed: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def largest(self) -> float:
        """The largest coefficient; 0 for a row without any."""
        return max((abs(a) for a in (*self.on.values(), *self.load.values(), self.bottleneck)), default=0.0)

    @property
    def slack(self) -> float:
        """What rounding may have done to the sides."""
        return 1e-9 * max((abs(side) for side in (self.low, self.high) if abs(side) < INF), default=0.0)

    def tighten(self) -> None:
        """Fix and clip the terms that hide the others from a solver's tolerance; the same plans remain.

        In ``1e9 on(a,d) + on(b,d) <= 1`` the first term is fixed at 0, in ``1e9 on(a,d) + on(b,d) >= 1`` its
        coefficient becomes 1. Rows with loads stay as they are.
        """
        if self.load or self.bottleneck:
            return
        while self._fix_forced():
            pass
        least = sum(a for a in self.on.values() if a < 0)
        most = sum(a for a in self.on.values() if a > 0)
        if self.high == INF and self.low > least:
            self.on = {key: min(a, self.low - least) for key, a in self.on.items()}
        elif self.low == -INF and self.high < most:
            self.on = {key: max(a, self.high - most) for key, a in self.on.items()}

    def _fix_forced(self) -> bool:
        least = sum(a for a in self.on.values() if a < 0) - self.slack
        most = sum(a for a in self.on.values() if a > 0) + self.slack
        forced = {}
        for key, a in self.on.items():
            if least + abs(a) > self.high:
                forced[key] = int(a < 0)
            elif most - abs(a) < self.low:
                forced[key] = int(a > 0)
        for key, value in forced.items():
            shift = self.on.pop(key) * value
            self.low, self.high = self.low - shift, self.high - shift
        self.fixed.update(forced)
        return bool(forced)

    def normalise(self) -> None:
        """Drop coefficients too small to count, widening the sides by their sum, and make the largest 1."""
        scale = self.largest
        if not scale:
            return
        small = {key: a for key, a in self.on.items() if abs(a) < DROPPED * scale}
        self.low -= sum(a for a in small.values() if a > 0)
        self.high -= sum(a for a in small.values() if a < 0)
        self.on = {key: a / scale for key, a in self.on.items() if key not in small}
        self.load = {d: a / scale for d, a in self.load.items()}
        self.bottleneck /= scale
        self.low, self.high = self.low / scale, self.high / scale


def row_of(constraint: Linear, unit: float) -> Row:
    """Return *constraint* with its loads in a model's unit.

    Raises:
        TypeError: a decision that is no ``on``, ``load`` or ``bottleneck``.
    """
    row = Row(
        low=-INF if constraint.sense == "<=" else constraint.rhs,
        high=INF if constraint.sense == ">=" else constraint.rhs,
    )
    for decision, a in constraint.terms:
        match decision:
            case On(node, device):
                row.on[node, device] = row.on.get((node, device), 0.0) + a
            case Load(device):
                row.load[device] = row.load.get(device, 0.0) + a * unit
            case Bottleneck():
                row.bottleneck += a * unit
            case _:
                raise TypeError(f"{constraint} is not over on, load and bottleneck")
    row.on = {key: a for key, a in row.on.items() if a}
    row.load = {d: a for d, a in row.load.items() if a}
    return row
