"""Exact numbers: whole numbers and fractions, as the language computes with them.

Floating-point numbers are made only where a problem is: so 0.1 + 0.2 is 0.3, and 10 % of 3 s are 300 ms.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

Exact: TypeAlias = int | Fraction | float
"""A whole number, a fraction that is none, or ``inf`` or ``-inf`` (the only floating-point numbers among them)."""

_SMALL = 10**18
_MAX_BITS = 1_024
"""A fraction whose parts have more bits than this, together, is rounded to :data:`_KEPT_BITS`."""

_KEPT_BITS = 256
LONG = 1 << 128
"""Arithmetic with fractions of larger denominators takes several times as long, and counts as several steps."""

_MAX_DIGITS = 4_000
_MAX_EXPONENT = 5_000
_LARGEST, _LEAST = 1_020, -1_020
"""Powers of two between which a number certainly has a floating-point number near it, with all its digits."""

_WHOLE, _PLACES, _DIGITS = 2**53, 10**9, 10**15
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


def exact_number(text: str) -> Exact:
    """Return the number that decimal digits stand for, such as ``1_000``, ``2.5`` or ``-1e-3``.

    A number too large for floating point becomes ``inf``. One that is too small becomes a fraction below all of
    them, which :func:`settled` refuses.

    >>> exact_number("1_000"), exact_number("0.1"), exact_number("2.50e1"), exact_number("1e999")
    (1000, Fraction(1, 10), 25, inf)
    """
    plain = text.replace("_", "")
    if plain.isdigit() and len(plain) < 300:
        return int(plain)
    match = _DECIMAL.fullmatch(plain)
    if match is None:
        raise ValueError(f"not a number: {text!r:.60}")
    sign, whole, behind, power = -1 if match[1] == "-" else 1, match[2], match[3] or "", match[4] or "0"
    digits = (whole + behind).lstrip("0")
    if not digits:
        return 0
    exponent = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(power[:9]))) - len(behind)
    if len(digits) + exponent > 310:
        return sign * math.inf
    if len(digits) + exponent < -330:
        return Fraction(sign, 10**400)
    if len(digits) > _MAX_DIGITS:  # more than matter, and than Python reads
        exponent += len(digits) - _MAX_DIGITS
        digits = digits[:_MAX_DIGITS]
    return _reduced(Fraction(sign * int(digits)) * Fraction(10) ** exponent)


def from_float(value: float) -> Exact:
    """Return the shortest decimal that reads back as a floating-point number; whole numbers and inf as they are.

    >>> from_float(0.1), from_float(3.0), from_float(float("inf"))
    (Fraction(1, 10), 3, inf)
    """
    if -_SMALL < value < _SMALL and value == int(value):
        return int(value)
    return value if math.isinf(value) else _decimal(float(value))


@lru_cache(maxsize=1 << 14)
def _decimal(value: float) -> Exact:
    return _reduced(Fraction(repr(value)))


def survives(value: Exact) -> bool:
    """Return whether :func:`from_float` gives a number back that was made a floating-point one.

    >>> survives(Fraction(1, 10)), survives(Fraction(1, 3))
    (True, False)
    """
    if isinstance(value, int):
        return -_WHOLE < value < _WHOLE or from_float(float(value)) == value
    if isinstance(value, float):
        return True
    decimal = _PLACES % value.denominator == 0  # then few digits behind the point, of which 15 survive
    return (decimal and abs(value.numerator) * (_PLACES // value.denominator) < _DIGITS) or from_float(
        float(value)
    ) == value


def plain_number(value: Exact) -> int | float:
    """Return a number as Python, JSON and problems hold it: a whole number, or else the nearest in floating point.

    >>> plain_number(Fraction(1, 8)), plain_number(4)
    (0.125, 4)
    """
    return value if isinstance(value, int) else float(value)


def settled(value: Exact) -> Exact:
    """Return a result in its simplest form: whole where it is whole, and rounded where it has become very long.

    Raises:
        OverflowError: it is too large for floating point, too small, or a difference of infinities.
    """
    if isinstance(value, int):
        if not -_SMALL < value < _SMALL:
            _check_size(value)
        return value
    if isinstance(value, float):
        if math.isnan(value):
            raise OverflowError("infinite numbers cancel out, or are multiplied by 0")
        return value
    over, under = value.numerator, value.denominator
    if under == 1:
        return settled(over)
    above, below = over.bit_length(), under.bit_length()
    if above - below > _LARGEST:
        _check_size(value)
    elif above - below < _LEAST:
        raise OverflowError("the number is too small")
    return value if above + below <= _MAX_BITS else _rounded(value, above - below)


def _check_size(value: int | Fraction) -> None:
    try:
        float(value)
    except OverflowError:
        raise OverflowError("the number is too large") from None


def _reduced(value: Fraction) -> Exact:
    return value.numerator if value.denominator == 1 else value


def _rounded(value: Fraction, power: int) -> Exact:
    """Return a fraction to :data:`_KEPT_BITS` bits; *power* is that of two near to it."""
    shift = _KEPT_BITS - power
    return _reduced(Fraction(round(value * Fraction(2) ** shift)) / Fraction(2) ** shift)
