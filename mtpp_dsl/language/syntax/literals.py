"""Compute what numbers and strings are worth as they are written."""

from __future__ import annotations

import re
import sys
from fractions import Fraction

__all__ = ["MAX_DIGITS", "exact", "unquote"]

MAX_DIGITS = 400
"""Digits of a number, before and after the point."""
_LARGEST = Fraction(sys.float_info.max)

_ESCAPES = {"n": "\n", "t": "\t"}


def unquote(text: str) -> str:
    r"""Return the value of a string literal, quotes and escapes resolved.

    >>> unquote(r'"a\"b"')
    'a"b'
    """
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])


def exact(text: str) -> int | Fraction:
    """Return the number that *text* writes, exactly.

    Raises:
        OverflowError: it is larger than floats are, or has more than :data:`MAX_DIGITS` digits.

    >>> exact("1_000"), exact("0.25"), exact("5e-1")
    (1000, Fraction(1, 4), Fraction(1, 2))
    """
    plain = text.replace("_", "")
    if plain.isdigit() and len(plain) <= 308:
        return int(plain)
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, places = mantissa.partition(".")
    power = int(exponent or 0) if len(exponent) < 10 else MAX_DIGITS * (-1 if exponent[0] == "-" else 1)
    if len(whole) + abs(power) > MAX_DIGITS or len(places) > MAX_DIGITS:
        raise OverflowError
    power -= len(places)
    value = Fraction(int(whole + places) * 10 ** max(power, 0), 10 ** max(-power, 0))
    if value > _LARGEST:
        raise OverflowError
    return value if power < 0 and value.denominator > 1 else int(value)
