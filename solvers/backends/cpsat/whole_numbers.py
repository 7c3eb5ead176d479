"""Turn times and memory into whole numbers such that bounds on the whole numbers are bounds on the plans."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, frexp, gcd, inf, log2
from typing import Protocol, TypeVar

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.request import INF, CpSatRequest

LONGEST = 30
"""Bits of the time by which everything has ended: beyond 32 the presolve of ortools 9.15 loses optima."""
EXACT = 1e-13
"""Times that differ by this share of themselves are taken for equal: they are results of a few divisions."""


@dataclass(frozen=True)
class WholeScale:
    """The unit of a model's time.

    If times are exact, every duration is a whole number of units, but for its own rounding. Otherwise durations are
    rounded down. If every time of a schedule is rounded down to whole units, the result is a schedule for the rounded
    durations, since the whole part of a sum is at least the sum of the whole parts. So some schedule in whole numbers
    ends no later than the best exact one, and a bound on the whole numbers is a bound on the times.

    Attributes:
        unit: of time.
        exact: whether all times that are small enough to count are multiples of the unit.
        rounding: relative error of sums of times.
    """

    unit: float
    exact: bool
    rounding: float

    def down(self, times: Floats) -> Ints:
        """Return durations or transfers in units; ``INF`` for ``inf`` and for what is as long."""
        with np.errstate(over="ignore"):
            units = np.minimum(np.asarray(times, np.float64) / self.unit, INF)
        nearest = np.rint(units)
        same = self.exact & (np.abs(nearest - units) <= EXACT * units)
        return np.where(same, nearest, np.floor(units)).astype(np.int64)

    def by(self, cost: float) -> int:
        """Return a number of units within which every schedule of at most *cost* ends."""
        return floor(min(cost / self.unit, INF) * (1 + 2 * self.rounding))

    def cost(self, units: float) -> float:
        """Return a lower bound on the cost of schedules, given that none in whole numbers is below *units*."""
        return max(0.0, units * self.unit * (1 - self.rounding))

    def __str__(self) -> str:
        if self.exact:
            return (
                f"times are whole numbers of {self.unit:.12g}, {self.rounding:.2g} of them taken off for their rounding"
            )
        return f"times are rounded down to whole numbers of {self.unit:.12g}, so that the bound is one of the times too"


def scale(times: Floats, longest: float, terms: int, *, fine: bool = False) -> WholeScale:
    """Choose a scale for *times*.

    Args:
        times: all durations that are added up; zeros and ``inf`` are ignored.
        longest: only schedules that end by then are of interest.
        terms: at most so many times are added up.
        fine: use the smallest unit that fits, even where a larger one is exact.
    """
    rounding = 4 * terms * float(np.finfo(np.float64).eps)
    values = np.unique(times[(times > 0) & (times <= longest)])
    if not len(values):
        return WholeScale(1.0, True, 0.0)
    unit = quantum(values)
    if unit is not None and longest / unit <= 2**LONGEST:
        whole = frexp(unit)[0] == 0.5 or unit.is_integer()
        whole = whole and bool((values == np.rint(values / unit) * unit).all())
        spare = max(0, LONGEST - ceil(log2(max(longest / unit, 1.0)))) if fine else 0
        return WholeScale(unit / 2**spare, True, 0.0 if whole else rounding + 2 * EXACT)
    return WholeScale(2.0 ** (ceil(log2(longest)) - LONGEST), False, rounding)


def shorter(times: Floats, longest: float) -> Floats:
    """Return *times*, with ``inf`` for those that no schedule that ends by *longest* can contain."""
    return np.where(times <= longest * (1 + 1e-9), times, inf)


def quantum(values: Floats) -> float | None:
    """Return the largest time of which all *values* are multiples, but for rounding; None if there is none.

    Decimal fractions are tried first, then the greatest common divisor by Euclid's algorithm.
    """
    for unit in (*(10.0**-digits for digits in range(16)), _common(values)):
        if unit > 0 and (counts := _counts(values, unit)) is not None:
            return unit * gcd(*counts)
    return None


def _counts(values: Floats, unit: float) -> list[int] | None:
    """Return how many times *unit* goes into each value, or None if it does not divide all of them."""
    if values[0] < unit / 2 or float(values[-1]) / 2**LONGEST > unit:
        return None
    counts = np.rint(values / unit)
    if (np.abs(counts * unit - values) > EXACT * values).any():
        return None
    return [int(count) for count in counts]


def _common(values: Floats) -> float:
    """Return the greatest common divisor of all values, as far as their digits tell; 0 if there is none."""
    unit, least = inf, EXACT * float(values[-1])
    for value in values.tolist():
        one, other = value, unit if unit < inf else 0.0
        while other > least:
            one, other = other, abs(one - round(one / other) * other)
        unit = one
        if unit <= float(values[-1]) / 2**LONGEST:
            return 0.0
    return unit


BITS = 40
"""Of the largest limit, where sizes have no common measure."""


def memory(sizes: Floats, limits: Floats, *, strict: bool, times: Ints | None = None) -> tuple[Ints, Ints]:
    """Return [n] sizes and [k] capacities as whole numbers; ``INF`` for no limit, or one that cannot be reached.

    Strict capacities let no device hold more than its limit. The others exclude no plan that the independent check
    accepts: it allows a limit to be passed by its tolerance, so a proof over them holds for all plans.

    Args:
        sizes: [n]; a device holds each of them at most once, or as often as *times* says.
        limits: [k]; ``inf`` for none.
        strict: True for plans, False for bounds.
        times: [n].
    """
    total = float(sizes.sum() if times is None else (sizes * times).sum())
    binding = limits < total
    if not binding.any():
        return np.zeros(len(sizes), np.int64), np.full(len(limits), INF)
    room = limits if strict else limits * (1 + TOLERANCE * (1 + 1e-6))
    unit = quantum(np.unique(sizes[sizes > 0]))
    if unit is not None and total / unit < INF:
        units, capacity = np.rint(sizes / unit), np.floor(room[binding] / unit * (1 + len(sizes) * EXACT))
    else:
        unit = total / 2**BITS
        units = np.ceil(sizes / unit) if strict else np.floor(sizes / unit)
        capacity = np.floor(room[binding] / unit) if strict else np.ceil(room[binding] / unit)
    capacities = np.full(len(limits), INF)
    capacities[binding] = np.maximum(capacity, 0).astype(np.int64)
    return units.astype(np.int64), capacities


S = TypeVar("S")


class Whole(Protocol[S]):
    """The protocol of a problem in whole numbers, such as a ``WholeSample`` (:mod:`.sample_problem`)."""

    @property
    def scale(self) -> WholeScale:
        """Return how times become whole numbers."""

    @property
    def request(self) -> CpSatRequest[S]:
        """Return what CP-SAT is asked."""

    @property
    def complete(self) -> bool:
        """Return whether a problem that has any plan has one by the cutoff of the request."""

    def plans(self, solution: S) -> list[Plan]:
        """Return the plans that a solution stands for."""

    def over(self, plan: Plan) -> bool:
        """Return whether a plan needs the tolerance of a memory limit."""


class Lower(Protocol[S]):
    """The protocol of what turns a problem into whole numbers: see :func:`.sample_problem.lower`."""

    def __call__(
        self, problem: Problem, plan: Plan | None = None, *, strict: bool = False, at_least: float = 0.0
    ) -> Whole[S]: ...
