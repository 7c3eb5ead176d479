"""A row of the user's, as every plan that passes the check satisfies it and as a solver can read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum, isfinite

from mtpp_dsl.core.constraints import Decision, Linear, On, Used
from mtpp_dsl.models.facts.linear_cost import BINARY, unit_of

PASSED = 1e-6 * (1 + 1e-6)
"""What the check of plans lets pass (``mtpp_dsl.checks.verification.TOLERANCE``), and its own rounding."""

LARGEST = 1e3
"""The largest coefficient of an ``on`` or ``used``: a solver's tolerance of 1e-6 is then 1e-9 of it."""

DROPPED = 2e-9
"""Coefficients below this are dropped by solvers, so by us, who widen the row."""


@dataclass
class UserRow:
    """One side of a row: ``sum(a * decision) <= high``, every decision between 0 and its *most*.

    Attributes:
        high: the side.
        terms: coefficients, none 0; loads and bottleneck in a model's unit.
        most: upper bounds of the decisions.
        fixed: values of the ``on`` and ``used`` that :meth:`tighten` found to have no choice.
        passed: by how much the check lets any plan miss the row, at least.
        lost: by how much :meth:`scale` has widened it.
        never: whether nothing satisfies it.
    """

    high: float
    terms: dict[Decision, float]
    most: Mapping[Decision, float]
    fixed: dict[On | Used, int] = field(default_factory=dict)
    passed: float = 0.0
    lost: float = 0.0
    never: bool = False

    def tighten(self) -> None:
        """Fix the ``on`` that have no choice and clip the others; the same plans remain.

        With ``excess`` what the greatest left side is above *high*, an ``on`` of a larger coefficient makes the
        row hold by one of its values alone: ``excess`` in its place does the same. ``1e4 on - load <= 9999``
        becomes ``on - load <= 0``. Without excess the row says nothing and loses its terms.
        """
        while self._fix_forced():
            pass
        self.never = self._least() > self.high
        excess = fsum([*(max(a, 0.0) * self.most[x] for x, a in self.terms.items()), -self.high])
        if self.never or excess <= 0:
            self.terms, self.high = {}, 0.0
            return
        clipped = {x for x, a in self.terms.items() if isinstance(x, BINARY) and abs(a) > excess}
        if clipped:
            self.terms.update((x, excess if self.terms[x] > 0 else -excess) for x in clipped)
            self.high = fsum([*(max(a, 0.0) * self.most[x] for x, a in self.terms.items()), -excess])

    def _least(self) -> float:
        return fsum(min(a, 0.0) * self.most[x] for x, a in self.terms.items())

    def _fix_forced(self) -> bool:
        least = self._least()
        forced = [x for x, a in self.terms.items() if isinstance(x, BINARY) and least + abs(a) > self.high]
        for x in forced:
            a = self.terms.pop(x)
            self.fixed[x] = int(a < 0)
            self.high -= min(a, 0.0)
        return bool(forced)

    def scale(self) -> None:
        """Bring the coefficients within a solver's range; drop what is then too small, widening the row by it."""
        ons = max((abs(a) for x, a in self.terms.items() if isinstance(x, BINARY)), default=0.0)
        loads = max((abs(a) for x, a in self.terms.items() if not isinstance(x, BINARY)), default=0.0)
        if not self.terms:
            return
        factor = 1 / max(ons / LARGEST, loads)
        small = {x: a for x, a in self.terms.items() if abs(a) * factor < DROPPED}
        self.lost = fsum(abs(a) * self.most[x] for x, a in small.items()) * factor
        self.high -= fsum(min(a, 0.0) * self.most[x] for x, a in small.items())
        self.terms = {x: a * factor for x, a in self.terms.items() if x not in small}
        self.high *= factor
        self.passed *= factor

    @property
    def readable(self) -> bool:
        """Whether nothing was lost that the check of plans would miss."""
        return isfinite(self.high) and self.lost <= self.passed


def rows_of(constraint: Linear, unit: float, most: Mapping[Decision, float]) -> list[UserRow]:
    """Return the sides of *constraint*, each wide enough for whatever the check of plans lets pass.

    The check allows ``1e-6 max(|rhs|, |a decision|...)``. That is convex in the decisions, and the row is widened by a
    linear function above it: ``1e-6 (|rhs| + sum_i max(0, |a_i| most_i - |rhs|) decision_i / most_i)``.

    Args:
        constraint: over decisions of one sample.
        unit: loads times this are the problem's.
        most: the greatest value of each decision in it, loads in the model's unit; those of 0 are left out.
    """
    total: dict[Decision, float] = {}
    size: dict[Decision, float] = {}
    for decision, a in constraint.terms:
        a *= unit_of(decision, unit)
        if a and most[decision]:
            total[decision] = total.get(decision, 0.0) + a
            size[decision] = size.get(decision, 0.0) + abs(a)
    rhs = abs(constraint.rhs)
    largest = max([rhs, *(s * most[x] for x, s in size.items())]) or 1.0
    extra = {x: PASSED * max(0.0, s - rhs / most[x]) for x, s in size.items()}
    rows = []
    for sign, other in ((1.0, ">="), (-1.0, "<=")):
        if constraint.sense == other:
            continue
        terms = {x: (sign * a - extra[x]) / largest for x, a in total.items()}
        rows.append(
            UserRow(
                high=(sign * constraint.rhs + PASSED * rhs) / largest,
                terms={x: a for x, a in terms.items() if a},
                most=most,
                passed=PASSED * rhs / largest,
            )
        )
    return rows
