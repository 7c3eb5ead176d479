"""Numbers of graphs with or without units: all of one sort carry one unit, or none of them does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan
from numbers import Real
from typing import Any

from mtpp_dsl.core.base.exact import exact_number
from mtpp_dsl.core.base.units import NONE, SIZE, TIME, UNITS, WORK, Dimension, unit_hint
from mtpp_dsl.core.errors import UsageError

__all__ = ["WeightsReader"]

_BASE = {TIME: "s", WORK: "FLOP", SIZE: "B"}
_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.]*)\s*")


class WeightsReader:
    """Reads weights of one sort, all with one unit or all with none."""

    def __init__(self, dimensions: tuple[Dimension, ...], unit: str | None, what: str) -> None:
        self.dimensions, self.what, self.asked = dimensions, what, unit
        self.first: tuple[str, str] | None = None  # whose weight was the first that is not 0, and its unit

    @property
    def unit(self) -> str:
        """Of the numbers read."""
        return self.asked if self.asked is not None else self.first[1] if self.first else ""

    def read(self, name: str, owners: Sequence[str], values: Sequence[Any]) -> list[Any]:
        """Return numbers; None stays None."""
        pairs = zip(owners, values, strict=True)
        return [None if value is None else self._number(f"{name} of {owner}", value) for owner, value in pairs]

    def declare(self, what: str, unit: str) -> None:
        """Hold that all weights are in units as *unit* is.

        Raises:
            UsageError: it is no such unit, or others are not.
        """
        dimension = UNITS.get(unit, (1, NONE))[1]
        if dimension not in self.dimensions:
            units = [each for each, (_, of) in UNITS.items() if of in self.dimensions]
            raise UsageError(
                f"{what} cannot be in {unit[:20]!r}, but in {', '.join(units[:8])}{unit_hint(unit, self.dimensions)}"
            )
        self._agree(what, _BASE[dimension])

    def _number(self, what: str, value: Any) -> float:
        if isinstance(value, str):
            return self._quantity(what, value)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise UsageError(f"{what} is {value!r:.60}, not a number")
        number = float(value)
        if number and not isnan(number):
            self._agree(what, "" if self.asked is None else self.asked)
        return number

    def _quantity(self, what: str, text: str) -> float:
        match = _QUANTITY.fullmatch(text)
        if match is not None and not match[2]:
            return self._number(what, float(match[1].replace("_", "")))
        if match is not None and _BASE.get(UNITS.get(match[2], (0, NONE))[1]) == match[2]:
            self._agree(what, match[2])
            return float(match[1].replace("_", ""))
        factor, dimension = UNITS.get(match[2], (1, NONE)) if match else (1, NONE)
        if match is None or dimension not in self.dimensions:
            units = [unit for unit, (_, of) in UNITS.items() if of in self.dimensions]
            hint = unit_hint(match[2], self.dimensions) if match else ""
            raise UsageError(f"{what} is {text!r:.60}, which is no number with a unit such as {units[0]}{hint}")
        self._agree(what, _BASE[dimension])
        return float(exact_number(match[1]) * factor)

    def _agree(self, what: str, unit: str) -> None:
        """Hold that all weights have one unit, or none has."""
        if self.asked is not None and unit != self.asked:
            raise UsageError(f"{what} is in {unit}, and the unit of {self.what} is to be {self.asked or 'none'}")
        self.first = self.first or (what, unit)
        if self.first[1] != unit:
            words = [f"{owner} is {f'in {of}' if of else 'without a unit'}" for owner, of in ((what, unit), self.first)]
            raise UsageError(f"{', but '.join(words)}: all {self.what} of a problem carry one unit, or none do")
