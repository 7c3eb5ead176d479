"""Units and dimensions: a static table, checked when a spec is read.

A dimension is a vector of exponents (time, size, operations, energy, dollars, euros); the base units are s, B, FLOP, J,
USD and EUR. There is no rate of exchange: USD and EUR are two dimensions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import NamedTuple

from mtpp_dsl.core.base.exact_numbers import Exact, exact_number, plain_number
from mtpp_dsl.core.errors import did_you_mean


class Dimension(NamedTuple):
    """Exponents of the base units."""

    time: int = 0
    size: int = 0
    operations: int = 0
    energy: int = 0
    dollars: int = 0
    euros: int = 0

    def __mul__(self, other: object) -> Dimension:
        """Return the dimension of a product."""
        assert isinstance(other, Dimension)
        return Dimension(*(one + two for one, two in zip(self, other, strict=True)))

    def __truediv__(self, other: Dimension) -> Dimension:
        """Return the dimension of a quotient."""
        return Dimension(*(one - two for one, two in zip(self, other, strict=True)))

    def __str__(self) -> str:
        """Return it in words, for messages."""
        return _WORDS.get(self) or f"a quantity in {self.unit}"

    @property
    def unit(self) -> str:
        """Return the base units, such as ``B/s``; "" for a number without a unit.

        >>> Dimension(time=-1, size=1).unit, Dimension(time=-1).unit, Dimension(time=1, dollars=1).unit
        ('B/s', '1/s', 's USD')
        """
        powers = [(name, power) for name, power in zip(_BASE, self, strict=True) if power]
        above = " ".join(_power(name, power) for name, power in powers if power > 0)
        below = " ".join(_power(name, -power) for name, power in powers if power < 0)
        if self == POWER:
            return "W"
        return f"{above or 1}/{below if ' ' not in below else f'({below})'}" if below else above


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"


_SIZES = {False: ("TiB", "GiB", "MiB", "KiB"), True: ("TB", "GB", "MB", "kB")}
_BASE = ("s", "B", "FLOP", "J", "USD", "EUR")
NONE = Dimension()
TIME = Dimension(time=1)
SIZE = Dimension(size=1)
WORK = Dimension(operations=1)
ENERGY = Dimension(energy=1)
DOLLARS = Dimension(dollars=1)
EUROS = Dimension(euros=1)
RATE = Dimension(time=-1, size=1)
COMPUTE = Dimension(time=-1, operations=1)
POWER = Dimension(time=-1, energy=1)

_ROUNDING, _LEAST_GAP = 1e-12, 1e-6
"""A relative gap that rounding alone may leave, and the smallest that is told by its size."""

_WORDS = {
    NONE: "a number without a unit",
    TIME: "a time",
    SIZE: "a size",
    WORK: "a number of operations",
    RATE: "a bandwidth",
    COMPUTE: "a speed in FLOP/s",
    ENERGY: "an energy",
    POWER: "a power in W",
    DOLLARS: "an amount in USD",
    EUROS: "an amount in EUR",
    DOLLARS / TIME: "a price per time, in USD",
    EUROS / TIME: "a price per time, in EUR",
}


def _table() -> dict[str, tuple[Exact, Dimension]]:
    milli, micro, nano = (Fraction(1, 10**power) for power in (3, 6, 9))
    times: dict[str, Exact] = {"ns": nano, "us": micro, "µs": micro, "ms": milli, "s": 1, "min": 60, "h": 3600}
    table: dict[str, tuple[Exact, Dimension]] = {name: (factor, TIME) for name, factor in times.items()}
    table["%"] = (Fraction(1, 100), NONE)
    decimal = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
    binary = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
    for prefix, factor in {**decimal, **binary}.items():
        table[f"{prefix}B"] = (factor, SIZE)
        table[f"{prefix}bit"] = (Fraction(factor, 8) if factor % 8 else factor // 8, SIZE)
    for prefix, factor in {**decimal, "E": 10**18}.items():
        table[f"{prefix}FLOP"] = (factor, WORK)
    rates = {f"{name}/s": (factor, dim / TIME) for name, (factor, dim) in table.items() if dim in (SIZE, WORK)}
    return {**table, **rates, **_energies({**decimal, "m": milli, "u": micro}), **_prices()}


def _energies(prefixes: dict[str, Exact]) -> dict[str, tuple[Exact, Dimension]]:
    """Return the units of energy and power: J, Wh and W with their prefixes."""
    units: dict[str, tuple[Exact, Dimension]] = {}
    for prefix, factor in prefixes.items():
        units[f"{prefix}J"] = (factor, ENERGY)
        units[f"{prefix}W"] = (factor, POWER)
        if factor >= 1:
            units[f"{prefix}Wh"] = (3600 * factor, ENERGY)
    return units


def _prices() -> dict[str, tuple[Exact, Dimension]]:
    """Return the units of money, by themselves, per time and per energy."""
    units: dict[str, tuple[Exact, Dimension]] = {}
    for name, money in (("USD", DOLLARS), ("EUR", EUROS)):
        units[name] = (1, money)
        units[f"{name}/s"] = (1, money / TIME)
        units[f"{name}/h"] = (Fraction(1, 3600), money / TIME)
        units[f"{name}/kWh"] = (Fraction(1, 3_600_000), money / ENERGY)
    return units


UNITS = _table()
"""Exact factor to the base unit, and dimension, by unit as written."""


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
    >>> format_quantity(27.186, ""), format_quantity(2500, "J"), format_quantity(0.01, "USD/s")
    ('27.186', '2.5 kJ', '36 USD/h')
    """
    if unit == "s":
        for name, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
            if abs(value) >= factor or name == "ns":
                return f"{format_value(value / factor)} {name}" if value else "0 s"
    if unit in ("J", "W"):
        for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
            if abs(value) >= factor:
                return f"{format_value(value / factor)} {prefix}{unit}"
    if unit in ("USD/s", "EUR/s"):
        return f"{format_value(value * 3600)} {unit[:3]}/h"
    if unit == "B":
        for name in (*_SIZES[decimal], "B"):
            factor = float(UNITS[name][0])
            if abs(value) >= factor or name == "B":
                return f"{format_value(value / factor)} {name}"
    return f"{format_value(value)} {unit}".rstrip()


def display_unit(values: Iterable[float], unit: str, *, decimal: bool = False) -> tuple[str, float]:
    """Return the unit for people that fits the largest of *values*, and how many base units it is.

    Args:
        values: in the base unit.
        unit: the base unit.
        decimal: whether sizes are said in kB, MB and GB in place of KiB, MiB and GiB.

    >>> display_unit([0.0152, 0.2], "s"), display_unit([0.001, 0.003], "USD/s"), display_unit([3.0], "")
    (('ms', 0.001), ('USD/h', 0.0002777777777777778), ('', 1.0))
    >>> display_unit([3e9], "B"), display_unit([3e9], "B", decimal=True)
    (('GiB', 1073741824.0), ('GB', 1000000000.0))
    """
    largest = max(map(abs, values), default=0.0)
    steps: dict[str, list[tuple[str, float]]] = {
        "s": [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)],
        "J": [("GJ", 1e9), ("MJ", 1e6), ("kJ", 1e3)],
        "W": [("GW", 1e9), ("MW", 1e6), ("kW", 1e3)],
        "B": [(name, float(UNITS[name][0])) for name in _SIZES[decimal]],
        "USD/s": [("USD/h", 1 / 3600)],
        "EUR/s": [("EUR/h", 1 / 3600)],
    }
    fitting = [(name, factor) for name, factor in steps.get(unit, []) if largest >= factor or unit.endswith("/s")]
    return fitting[0] if fitting else (unit, 1.0)


def format_exact(value: Exact, dimension: Dimension) -> str:
    """Return a quantity in the unit that makes it shortest, and reads back as the same number.

    >>> format_exact(2**33, RATE), format_exact(1.25e9, RATE), format_exact(5e-6, TIME), format_exact(3, NONE)
    ('8 GiB/s', '1.25 GB/s', '5 us', '3')
    """
    if dimension == NONE or not value:
        return str(plain_number(value))
    value = float(value)
    written = []
    for name, (factor, of) in sorted(UNITS.items(), key=lambda unit: -unit[1][0]):
        if of == dimension and name.isascii() and "bit" not in name and factor <= abs(value):
            text = f"{float(value / factor) if factor >= 1 else value * round(1 / factor):.12g}"
            if float(exact_number(text) * factor) == value:
                written.append(f"{text} {name}")
    base = next((name for name, (factor, of) in UNITS.items() if of == dimension and factor == 1), dimension.unit)
    return min(written, key=len, default=f"{value!r} {base}".rstrip())


def format_value(value: float) -> str:
    """Return a number with five significant digits and no trailing zeros.

    >>> format_value(27.18600001), format_value(1234567.0)
    ('27.186', '1.2346e+06')
    """
    return f"{value:.5g}"


def format_gap(gap: float) -> str:
    """Return the relative gap between a plan and a bound for people, as a percentage.

    >>> format_gap(0.0125), format_gap(3.3e-16), format_gap(2e-8), format_gap(2.5)
    ('1.2 %', '0 %', 'below 0.0001 %', '250 %')
    """
    if gap <= _ROUNDING:
        return "0 %"
    if gap < _LEAST_GAP:
        return "below 0.0001 %"
    return f"{100 * gap:.2g} %" if gap < 0.995 else f"{100 * gap:,.0f} %"


def format_share(share: float, digits: int = 0) -> str:
    """Return a share of something for people, as a percentage: how full a memory is, how busy a device.

    Args:
        share: 1 is all of it.
        digits: behind the point.

    >>> format_share(0.876), format_share(1 / 3, 1), format_share(1.0)
    ('88 %', '33.3 %', '100 %')
    """
    return f"{100 * share:.{digits}f} %"


def times(texts: Iterable[str]) -> list[str]:
    """Return each text once, in the order of their first places, with how many times it is there.

    >>> times(["stages", "colocate", "colocate"])
    ['stages', 'colocate, 2 times']
    """
    return [text if many == 1 else f"{text}, {many:,} times" for text, many in Counter(texts).items()]


def counted(number: int, what: str) -> str:
    """Return a number of things, in the singular for one.

    >>> counted(1, "edge"), counted(1200, "batch")
    ('1 edge', '1,200 batches')
    """
    plural = "es" if what.endswith(("ch", "ss")) else "s"
    return f"{number:,} {what}{plural if number != 1 else ''}"


_SAID = {TIME: "a time", SIZE: "a size", WORK: "an amount of work", RATE: "a bandwidth", COMPUTE: "a speed"}
_SPELLINGS = {
    "s": ("sec", "second"),
    "ms": ("msec", "milli", "millisecond"),
    "us": ("usec", "micro", "microsecond", "mcs", "μs", "μsec"),
    "ns": ("nsec", "nano", "nanosecond"),
    "min": ("minute",),
    "h": ("hr", "hour", "d", "day"),
    "%": ("percent", "pct"),
    "W": ("watt",),
    "kW": ("kilowatt",),
    "J": ("joule",),
    "Wh": ("watthour",),
    "kWh": ("kilowatthour",),
    "USD": ("dollar", "$"),
    "EUR": ("euro", "€"),
    "USD/h": ("usd/hour", "usd/hr", "dollar/h", "$/h"),
    "EUR/h": ("eur/hour", "eur/hr", "euro/h", "€/h"),
}
_MEANT = {word: unit for unit, words in _SPELLINGS.items() for word in words}
_SIZED = re.compile(
    r"(?P<prefix>kibi|mebi|gibi|tebi|pebi|kilo|mega|giga|tera|peta|exa|[kmgtpe]?)(?P<binary>i?)"
    r"(?P<stem>bytes?|bits?|bs?|flops?|ops?)(?P<rate>ps|/s|/sec)?",
    re.IGNORECASE,
)
_BARE = re.compile(r"[kmgtp]i?", re.IGNORECASE)


def unit_hint(word: str, dimensions: Collection[Dimension] | None = None) -> str:
    """Return ``"; did you mean …?"`` with the units that *word* may stand for, else ``""``.

    Args:
        word: no unit.
        dimensions: what is wanted there; None for any.

    >>> unit_hint("GFLOPs")
    "; did you mean 'GFLOP', an amount of work, or 'GFLOP/s', a speed?"
    >>> unit_hint("gb"), unit_hint("Mbps"), unit_hint("msecs", [TIME])
    ("; did you mean 'GB' or 'GiB'?", "; did you mean 'Mbit/s'?", "; did you mean 'ms'?")
    """
    meant = [unit for unit in _meant(word) if dimensions is None or UNITS[unit][1] in dimensions]
    if not meant:
        known = [unit for unit, (_, dimension) in UNITS.items() if dimensions is None or dimension in dimensions]
        meant = [unit for unit in known if unit.lower() == word.lower() and unit != word]
        if not meant:
            return did_you_mean(word, known)
    kinds = [UNITS[unit][1] for unit in meant]
    dimensions_differ = len(set(kinds)) == len(kinds) > 1
    shown = [
        f"{unit!r}, {_SAID[kind]}" if dimensions_differ else repr(unit) for unit, kind in zip(meant, kinds, strict=True)
    ]
    return f"; did you mean {(', or ' if dimensions_differ else ' or ').join(shown)}?"


def _meant(word: str) -> Iterable[str]:
    """Return the units that are written in another way: a plural, other letters large, a word in full."""
    low = word.lower()
    if word == "m":
        return ("ms", "min")
    for form in (low, low.removesuffix("s")):
        if form in _MEANT:
            return (_MEANT[form],)
    if _BARE.fullmatch(word):
        return (f"{_prefix(word)}{word[1:].lower()}B",)
    match = _SIZED.fullmatch(word)
    return [unit for unit in dict.fromkeys(_sized(match)) if unit in UNITS] if match else ()


def _sized(match: re.Match[str]) -> Iterable[str]:
    """Return the sizes, operations and their rates that are meant, where they are units at all."""
    stem, per_second = match["stem"], "/s" * bool(match["rate"])
    binary = "i" * (bool(match["binary"]) or match["prefix"].lower().endswith("bi"))
    prefix = _prefix(match["prefix"] + binary)
    if stem[0] in "fFoO":
        both = not per_second and stem[-1] in "sS"
        return [f"{prefix}FLOP{rate}" for rate in (("", "/s") if both else (per_second,))]
    bits = stem.lower().startswith("bit") or (stem[0] == "b" and (match["rate"] or "").lower() == "ps")
    if bits:
        return [f"{prefix}{binary}bit{per_second}"]
    if stem in ("b", "bs") and match["prefix"].isupper() and not binary:  # Gb may be either
        return [f"{prefix}{binary}bit{per_second}", f"{prefix}{binary}B{per_second}"]
    if binary or not prefix or per_second:
        return [f"{prefix}{binary}B{per_second}"]
    return [f"{prefix}B{per_second}", f"{prefix.upper()}iB{per_second}"]


def _prefix(written: str) -> str:
    """Return the letter of a prefix, as it is written in units: kB, and KiB."""
    letter = written[:1].upper()
    return "k" if letter == "K" and not written.endswith("i") else letter
