"""Durations for people: two units at most."""

from __future__ import annotations

__all__ = ["said"]


def said(seconds: float) -> str:
    """Return a duration in words that fit a line.

    >>> said(4.2), said(95), said(7400), said(200_000)
    ('4 s', '1 min 35 s', '2 h 3 min', '2 d 7 h')
    """
    whole = round(seconds)
    if whole < 1:
        return f"{seconds * 1000:.0f} ms"
    for size, unit, below, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"
