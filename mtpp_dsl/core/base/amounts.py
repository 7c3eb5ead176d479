"""Durations and shares as users give them: on the command line as text, in Python also as numbers."""

from __future__ import annotations

import re
from datetime import timedelta
from numbers import Integral, Real
from typing import SupportsIndex, TypeAlias, cast

from mtpp_dsl.core.errors import UsageError

Duration: TypeAlias = float | str | timedelta
"""Seconds, a text such as ``"10s"``, or a ``timedelta``."""
Share: TypeAlias = float | str
"""A number such as 0.01, or a text such as ``"1%"``."""

_SECONDS = {"": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(text: str, name: str = "") -> float | None:
    """Return a duration: ``60``, ``60s``, ``1.5min``, ``2h``; ``none`` is no limit. Messages say its option, *name*.

    >>> seconds("1.5min"), seconds("none")
    (90.0, None)
    """
    if text == "none":
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _SECONDS:
        raise UsageError(f"{_of(name)}{text!r} is not a duration: write 60s, 500ms, 2min, 1h, or none")
    return float(match[1]) * _SECONDS[match[2]]


def fraction(text: str, name: str = "") -> float:
    """Return a share: ``1%`` or ``0.01``. Messages say the *name* of its option.

    >>> fraction("1%")
    0.01
    """
    percent = text.strip().endswith("%")
    try:
        value = float(text.strip().rstrip("%")) / (100 if percent else 1)
    except ValueError:
        raise UsageError(f"{_of(name)}{text!r} is not a share: write 1% or 0.01") from None
    if not 0 <= value < 1:
        hint = f"; for {text.strip()} per cent write {text.strip()}%" if not percent and 1 <= value < 100 else ""
        raise UsageError(f"{_of(name)}{text!r} is not a gap: write a share between 0 and 100 %{hint}")
    return value


def _of(name: str) -> str:
    return f"{name}: " if name else ""


def seconds_of(name: str, value: object) -> float | None:
    """Return the argument *name* in seconds: a number, a text as :func:`seconds` takes it, a timedelta, or None.

    >>> seconds_of("time_limit", "2min"), seconds_of("time_limit", 3), seconds_of("time_limit", timedelta(hours=1))
    (120.0, 3.0, 3600.0)

    Raises:
        UsageError: it is something else, or negative.
    """
    if value is None:
        return None
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str):
        return seconds(value, name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f'{name} is {value!r}; it must be a number of seconds, or a text such as "10s"')
    if not float(value) >= 0:
        raise UsageError(f"{name} is {float(value):g} s; it must not be negative")
    return float(value)


def share_of(name: str, value: object) -> float:
    """Return the argument *name* as a share of one: a number, or a text such as ``"1%"``.

    Raises:
        UsageError: it is something else, or not between 0 and 1.
    """
    if isinstance(value, str):
        return fraction(value, name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f'{name} is {value!r}; it must be a number, or a text such as "1%"')
    if not 0 <= float(value) < 1:
        raise UsageError(f"the {name} is {float(value):g}; it must be zero or more and less than one")
    return float(value)


def whole(name: str, value: object, least: int) -> int:
    """Return the argument *name* as a whole number, *least* or more.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UsageError(f"{name} is {value!r}; it must be a whole number")
    number = int(cast("SupportsIndex", value))
    if number < least:
        raise UsageError(f"{name} is {number}; it must be {'zero' if least == 0 else 'one'} or more")
    return number
