"""Units and dimensions: a static table, checked when a spec is read.

A dimension is a vector of exponents (time, size, operations); the base units are s, B and FLOP.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "COMPUTE",
    "NONE",
    "RATE",
    "SIZE",
    "TIME",
    "UNITS",
    "WORK",
    "Dimension",
    "counted",
    "format_exact",
    "format_gap",
    "format_quantity",
    "format_value",
]


class Dimension(NamedTuple):
    """Exponents of the base units."""

    time: int = 0
    size: int = 0
    operations: int = 0

    def __mul__(self, other: object) -> Dimension:
        """Return the dimension of a product."""
        assert isinstance(other, Dimension)
        return Dimension(self.time + other.time, self.size + other.size, self.operations + other.operations)

    def __truediv__(self, other: Dimension) -> Dimension:
        """Return the dimension of a quotient."""
        return Dimension(self.time - other.time, self.size - other.size, self.operations - other.operations)

    def __str__(self) -> str:
        """Return it in words, for messages."""
        if self in _WORDS:
            return _WORDS[self]
        powers = [(name, power) for name, power in zip(("s", "B", "FLOP"), self, strict=True) if power]
        return "a quantity in " + " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers)


NONE = Dimension()
TIME = Dimension(time=1)
SIZE = Dimension(size=1)
WORK = Dimension(operations=1)
RATE = Dimension(time=-1, size=1)
COMPUTE = Dimension(time=-1, operations=1)

_ROUNDING, _LEAST_GAP = 1e-12, 1e-6
"""A relative gap that rounding alone may leave, and the smallest that is told by its size."""

_WORDS = {
    NONE: "a number without a unit",
    TIME: "a time",
    SIZE: "a size",
    WORK: "a number of operations",
    RATE: "a bandwidth",
    COMPUTE: "a speed in FLOP/s",
}


def _table() -> dict[str, tuple[float, Dimension]]:
    times = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    table: dict[str, tuple[float, Dimension]] = {name: (factor, TIME) for name, factor in times.items()}
    table["%"] = (0.01, NONE)
    decimal = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    binary = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
    for prefix, factor in {**decimal, **binary}.items():
        table[f"{prefix}B"] = (factor, SIZE)
        table[f"{prefix}bit"] = (factor / 8, SIZE)
    for prefix, factor in {**decimal, "E": 1e18}.items():
        table[f"{prefix}FLOP"] = (factor, WORK)
    rates = {f"{name}/s": (factor, dim / TIME) for name, (factor, dim) in table.items() if dim in (SIZE, WORK)}
    return {**table, **rates}


UNITS = _table()
"""Factor to the base unit and dimension, by unit as written."""


def format_quantity(value: float, unit: str, *, decimal: bool = False) -> str:
    """Return a value in base units for people: the unit that fits, five digits.

    Args:
        value: in the base unit.
        unit: its base unit, such as "s", "B" or "" for none.
        decimal: whether sizes are said in kB, MB and GB in place of KiB, MiB and GiB.

    >>> format_quantity(0.0152, "s")
    '15.2 ms'
    >>> format_quantity(268435456, "B"), format_quantity(3e8, "B", decimal=True)
    ('256 MiB', '300 MB')
    >>> format_quantity(27.186, "")
    '27.186'
    """
    if unit == "s":
        for name, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
            if abs(value) >= factor or name == "ns":
                return f"{format_value(value / factor)} {name}" if value else "0 s"
    if unit == "B":
        for name in ("TB", "GB", "MB", "kB", "B") if decimal else ("TiB", "GiB", "MiB", "KiB", "B"):
            factor = UNITS[name][0]
            if abs(value) >= factor or name == "B":
                return f"{format_value(value / factor)} {name}"
    return f"{format_value(value)} {unit}".rstrip()


def format_exact(value: float, dimension: Dimension) -> str:
    """Return a quantity in the unit that makes it shortest, and reads back as the same number.

    >>> format_exact(2**33, RATE), format_exact(1.25e9, RATE), format_exact(5e-6, TIME), format_exact(3, NONE)
    ('8 GiB/s', '1.25 GB/s', '5 us', '3')
    """
    if dimension == NONE or not value:
        return str(value)
    written = []
    for name, (factor, of) in sorted(UNITS.items(), key=lambda unit: -unit[1][0]):
        if of == dimension and name.isascii() and "bit" not in name and factor <= abs(value):
            number = value * round(1 / factor) if factor < 1 else value / factor
            text = f"{number:.12g}"
            if (float(text) / round(1 / factor) if factor < 1 else float(text) * factor) == value:
                written.append(f"{text} {name}")
    base = next((name for name, (factor, of) in UNITS.items() if of == dimension and factor == 1), "")
    return min(written, key=len, default=f"{value!r} {base}".rstrip())


def format_value(value: float) -> str:
    """Return a number with five significant digits and no trailing zeros.

    >>> format_value(27.18600001), format_value(1234567.0)
    ('27.186', '1.2346e+06')
    """
    return f"{value:.5g}"


def format_gap(gap: float) -> str:
    """Return the relative gap between a plan and a bound for people, as a percentage.

    >>> format_gap(0.0125), format_gap(3.3e-16), format_gap(2e-8)
    ('1.2 %', '0 %', 'below 0.0001 %')
    """
    if gap <= _ROUNDING:
        return "0 %"
    return "below 0.0001 %" if gap < _LEAST_GAP else f"{100 * gap:.2g} %"


def counted(number: int, what: str) -> str:
    """Return a number of things, in the singular for one.

    >>> counted(1, "edge"), counted(1200, "batch")
    ('1 edge', '1,200 batches')
    """
    plural = "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{plural if number != 1 else ''}"
