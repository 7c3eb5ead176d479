"""Figures as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from mtpp_dsl.core.base.units import display_unit
from mtpp_dsl.sweeps.tables.figures import Figure

_DIGITS = {"value": 5, "time": 3, "bytes": 3, "number": 4}
_LARGE = 1e7
"""From here on numbers are written with an exponent."""


@dataclass(frozen=True)
class Numeral:
    """How the figures of a column are written.

    Attributes:
        kind: as in :class:`mtpp_dsl.sweeps.tables.measures.Measure`.
        unit: of the text.
        per: how many base units it is.
        summed: whether the figure is a number of problems.
        digits: significant digits; None for as many as suit the kind.
        decimals: digits behind the point, instead.
        penalised: whether failed runs count in the figure.
        mixed: whether each figure has a unit of its own, which is written behind it.
    """

    kind: str
    unit: str = ""
    per: float = 1.0
    summed: bool = False
    digits: int | None = None
    decimals: int | None = None
    penalised: bool = False
    mixed: bool = False


def number(value: float, numeral: Numeral) -> str:
    """Return one number as text, without its unit.

    >>> number(0.0123456, Numeral("value", "ms", 1e-3)), number(0.0123, Numeral("share")), number(1.5, Numeral("ratio"))
    ('12.346', '1.23 %', '1.500')
    """
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if numeral.kind == "share":
        return f"{100 * value:.{2 if numeral.decimals is None else numeral.decimals}f} %"
    value /= numeral.per
    if numeral.decimals is not None:
        return f"{value:.{numeral.decimals}f}"
    if numeral.kind == "ratio" and numeral.digits is None:
        return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"
    if numeral.kind == "count" or (float(value).is_integer() and abs(value) < _LARGE and numeral.digits is None):
        return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
    return _significant(value, numeral.digits or _DIGITS.get(numeral.kind, 5))


def _significant(value: float, digits: int) -> str:
    """Return a number with so many significant digits.

    >>> _significant(27.9185, 5), _significant(1e9, 3), _significant(123456.0, 5)
    ('27.919', '1e+09', '123456')
    """
    if value == 0:
        return "0"
    if abs(value) >= _LARGE or abs(value) < 1e-5:
        return f"{value:.{digits}g}"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def written(figure: Figure, numeral: Numeral, spread: bool = False) -> str:
    """Return the text of a cell: the figure, its spread, how many runs it is of; or why there is none."""
    if numeral.kind == "text":
        return ", ".join(f"{reason} {count}" if count > 1 else reason for reason, count in figure.reasons)
    if math.isnan(figure.value):
        if len(figure.reasons) == 1:
            return figure.reasons[0][0]
        return ", ".join(f"{reason} {count}" for reason, count in figure.reasons)
    if numeral.mixed and figure.unit:
        unit, per = display_unit([figure.value], figure.unit)
        numeral = replace(numeral, per=per)
        text = f"{number(figure.value, numeral)} {unit}"
    else:
        text = number(figure.value, numeral)
    if numeral.kind == "count" and numeral.summed:
        text += f" of {figure.problems}"
    elif figure.counted < figure.runs:
        failed = f"{figure.runs - figure.counted} failed"
        text += f" ({failed})" if numeral.penalised else f" ({figure.counted} of {figure.runs})"
    if spread and not math.isnan(figure.low):
        text += f" [{number(figure.low, numeral)}, {number(figure.high, numeral)}]"
    return text
