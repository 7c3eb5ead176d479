"""The marks of an axis: round numbers, with as many digits as tell them apart."""

from __future__ import annotations

from math import floor, log10

TICKS = 8
"""Marks of an axis, about."""
LARGE = 1e6
"""Numbers from here on are written with a power of ten."""


def ticks(begin: float, end: float, factor: float = 1.0, most: int = TICKS) -> list[float]:
    """Return values for the marks of an axis: round numbers in a unit of *factor*, *most* of them or so.

    >>> ticks(0.0, 10.0), ticks(14.465, 14.5, most=4)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [14.47, 14.48, 14.49, 14.5])
    """
    length = (end - begin) / factor
    if not length > 0:
        return [begin]
    step = _step(length / most)
    first = -floor(1e-9 - begin / factor / step)
    count = floor((end / factor) / step + 1e-9) - first + 1
    return [(first + i) * step * factor for i in range(int(count))]


def marks(begin: float, end: float, factor: float = 1.0, most: int = TICKS) -> list[tuple[float, str]]:
    """Return values for the marks of an axis, each with its text in a unit of *factor*.

    >>> marks(0.0021, 0.0042, 1e-3, 5)
    [(0.0025, '2.5'), (0.003, '3'), (0.0035, '3.5'), (0.004, '4')]
    """
    values = ticks(begin, end, factor, most)
    low, high = begin / factor, end / factor
    if not high > low:
        return [(value, f"{value / factor:.5g}") for value in values]
    finest = floor(log10(_step((high - low) / most)) + 1e-9)
    large = max(abs(low), abs(high)) >= LARGE
    return [(value, _text(value / factor, finest, large=large)) for value in values]


def _step(least: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten that is not below *least*."""
    power = 10.0 ** floor(log10(least))
    return next(power * size for size in (1, 2, 5, 10) if power * size >= least * (1 - 1e-9))


def _text(value: float, finest: int, *, large: bool) -> str:
    """Return a number with no digits behind that of 10^*finest*; a *large* one with a power of ten."""
    if not large or value == 0:
        return f"{round(value, max(0, -finest)) + 0.0:.15g}"
    digits = floor(log10(abs(value)) + 1e-12) - finest + 1
    return f"{value:.{max(digits, 1)}g}"
