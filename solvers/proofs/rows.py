"""Rows of whole numbers over variables with bounds: what a proof by boxes is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import floor, frexp, inf, ldexp

from mtpp_dsl.core.errors import Refused

__all__ = ["Row", "Rows", "Sum", "Units"]

MAX_TERMS = 500_000
"""Numbers other than zero in all rows."""
BITS = 45
"""A limit is about this power of two of the units that a row is counted in."""
LEAST, MOST = 1e-250, 1e250
"""Limits between which units are numbers."""

Sum = Mapping[int, int]
"""A sum of variables: how often each counts."""


@dataclass(frozen=True)
class Row:
    """``sum of terms <= most``.

    Attributes:
        name: what the row says.
        terms: variables, and how often each counts.
        most: the limit.
        costs: of the limit, what grows with the target: a plan that costs a share of the target uses no more than the
            limit less the rest of this.
    """

    name: str
    terms: tuple[tuple[int, int], ...]
    most: int
    costs: int = 0


@dataclass
class Rows:
    """Variables between whole bounds, and rows; every variable may be taken to be whole.

    Attributes:
        names: of the variables.
        low, high: their bounds.
        rows: in the order in which certificates number them.
        size: how many numbers they have.
    """

    names: list[str] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    size: int = 0

    def variable(self, name: str, high: int = 1) -> int:
        """Add a variable from zero to *high*, and return its number."""
        self.names.append(name)
        self.low.append(0)
        self.high.append(high)
        return len(self.names) - 1

    def add(self, name: str, sums: Iterable[tuple[int, Sum]], most: int, *, costs: int = 0) -> None:
        """Add the row that some sums, each counted so often, are together no more than *most*.

        Raises:
            Refused: there are too many rows.
        """
        terms: dict[int, int] = {}
        for often, part in sums:
            for variable, count in part.items():
                terms[variable] = terms.get(variable, 0) + often * count
        kept = tuple((variable, count) for variable, count in sorted(terms.items()) if count)
        self.size += len(kept) + 1
        if self.size > MAX_TERMS:
            raise Refused(f"the rows have more than {MAX_TERMS:,} numbers")
        self.rows.append(Row(name, kept, most, costs))

    def equal(self, name: str, sums: Sequence[tuple[int, Sum]], value: int) -> None:
        """Add two rows that say that some sums are together *value*."""
        self.add(f"{name}, at most", sums, value)
        self.add(f"{name}, at least", [(-often, part) for often, part in sums], -value)

    @property
    def digest(self) -> str:
        """A hash of all bounds and rows: a certificate names those that it is about."""
        text = repr((self.low, self.high, [(row.terms, row.most) for row in self.rows]))
        return sha256(text.encode()).hexdigest()[:16]


class Units:
    """Counts in units of which a limit is some 2**45: what is used is rounded down, the limit up.

    So what keeps to the limit keeps to the row.

    Attributes:
        limit: in units.
        size: of a unit, a power of two.

    Args:
        limit: more than zero.

    Raises:
        Refused: the limit is too small or too large for such units.
    """

    def __init__(self, limit: float) -> None:
        if not LEAST <= limit <= MOST:
            raise Refused(f"{limit!r} cannot be counted in units")
        self._shift = BITS - frexp(limit)[1]
        self.limit = -floor(-ldexp(limit, self._shift))
        self.size = Fraction(2) ** -self._shift
        self._limit = limit

    def used(self, value: float) -> int:
        """Return *value*, zero or more, in units; more than the limit is the limit and one."""
        if value > self._limit or value == inf:
            return self.limit + 1
        return floor(ldexp(value, self._shift))

    def allowed(self, value: float) -> int:
        """Return *value* in units, rounded up.

        Raises:
            Refused: it is not finite in units.
        """
        try:
            return -floor(-ldexp(value, self._shift))
        except OverflowError:
            raise Refused(f"{value!r} cannot be counted in units of {self._limit!r}") from None
