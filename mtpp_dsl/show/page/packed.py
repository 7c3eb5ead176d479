"""Columns of numbers for scripts, written so that pages stay small: values that come again are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["packed"]

DIGITS = 6
"""Of numbers that hardly come twice."""


def packed(values: Sequence[float | str]) -> dict[str, Any]:
    """Return values as ``v``, or, where few differ, these as ``v`` and the number of each as ``i``; nan is None.

    >>> packed([3.0, 3.0, 0.5, 3.0]), packed([0.123456789, float("nan")])
    ({'v': [3, 0.5], 'i': [0, 0, 1, 0]}, {'v': [0.123457, None]})
    """
    number: dict[float | str | None, int] = {}
    plain = [value if isinstance(value, str) or value == value else None for value in values]
    index = [number.setdefault(value, len(number)) for value in plain]
    if 2 * len(number) <= len(plain) or any(isinstance(value, str) for value in plain):
        return {"v": [_shortest(value) for value in number], "i": index}
    return {"v": [_shortest(value, DIGITS) for value in plain]}


def _shortest(value: float | str | None, digits: int = 12) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    rounded = float(f"{value:.{digits}g}")
    if rounded in (float("inf"), float("-inf")):
        return None
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded
