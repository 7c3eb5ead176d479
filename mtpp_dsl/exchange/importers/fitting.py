"""Shapes as polynomials of the symbols, fitted exactly to the shapes at a few choices of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.polynomials import Amount, Polynomial

__all__ = ["MAX_SYMBOLS", "Fit"]

MAX_SYMBOLS = 4
_FIRST = (5, 11, 17, 23)
_STEPS = (6, 8, 14, 20)
_CHECKS = ((9, 14, 33, 40), (13, 31, 20, 57))
"""Values of the symbols: where shapes are computed to find the coefficients, and where the result is tested."""


class Fit:
    """Finds numbers as sums of 1, each symbol, and each product of two, with whole coefficients.

    Attributes:
        samples: the values of the symbols at which the numbers are needed, in the order in which they are given.

    >>> fit = Fit(["batch", "seq"])
    >>> fit([s["batch"] * s["seq"] + 3 * s["seq"] for s in fit.samples])
    Polynomial('batch*seq + 3*seq')
    >>> fit([s["seq"] // 2 for s in fit.samples])
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        if len(symbols) > MAX_SYMBOLS:
            raise UsageError(
                f"the model has {len(symbols)} sizes without a value: {', '.join(symbols[:12])}; at most {MAX_SYMBOLS} "
                "can stay symbols: give values to the others"
            )
        k = len(symbols)
        single = [(a,) for a in range(k)]
        self._symbols = tuple(symbols)
        self._basis: list[tuple[int, ...]] = [(), *single, *combinations(range(k), 2)]
        points = [[_FIRST[a] + _STEPS[a] * (a in chosen) for a in range(k)] for chosen in self._basis]
        self._inverse = _inverted([[_at(powers, point) for powers in self._basis] for point in points])
        points += [list(values[:k]) for values in _CHECKS] if k else []
        self._points = points
        self.samples: tuple[Mapping[str, int], ...] = tuple(
            dict(zip(self._symbols, point, strict=True)) for point in points
        )

    def __call__(self, numbers: Sequence[int]) -> Amount | None:
        """Return what has these values at the samples, or None where it is no such sum."""
        if all(number == numbers[0] for number in numbers):
            return numbers[0]
        known = numbers[: len(self._basis)]
        found = [sum((a * b for a, b in zip(row, known, strict=True)), Fraction(0)) for row in self._inverse]
        if any(number.denominator != 1 for number in found):
            return None
        for point, number in zip(self._points, numbers, strict=True):
            if sum(a * _at(powers, point) for a, powers in zip(found, self._basis, strict=True)) != number:
                return None
        named = [tuple(sorted((self._symbols[a], 1) for a in powers)) for powers in self._basis]
        return Polynomial({powers: int(number) for powers, number in zip(named, found, strict=True)})


def _at(powers: tuple[int, ...], point: Sequence[int]) -> int:
    found = 1
    for a in powers:
        found *= point[a]
    return found


def _inverted(matrix: list[list[int]]) -> list[list[Fraction]]:
    """Return the inverse of a matrix that has one, exactly."""
    n = len(matrix)
    rows = [[Fraction(x) for x in row] + [Fraction(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = next(j for j in range(i, n) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(n):
            if j != i and rows[j][i]:
                factor = rows[j][i]
                rows[j] = [x - factor * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[n:] for row in rows]
