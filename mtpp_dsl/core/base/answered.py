"""The values that the JSON of an answer says."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any


def value_of(entry: Mapping[str, Any]) -> float | None:
    """Return the value that an objective or a bound of an answer has; None without one.

    >>> value_of({"value": None, "infinite": True})
    inf
    """
    value: float | None = entry["value"]
    return inf if value is None and entry.get("infinite") else value
