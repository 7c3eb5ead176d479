"""Which unit is meant by a word that is none, such as ``gb``, ``GFLOPs`` or ``msec``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from mtpp_dsl.core.base.units import COMPUTE, RATE, SIZE, TIME, UNITS, WORK, Dimension
from mtpp_dsl.core.errors import did_you_mean

__all__ = ["unit_hint"]

_SAID = {TIME: "a time", SIZE: "a size", WORK: "an amount of work", RATE: "a bandwidth", COMPUTE: "a speed"}
_WORDS = {
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
_MEANT = {word: unit for unit, words in _WORDS.items() for word in words}
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
    told = len(set(kinds)) == len(kinds) > 1
    shown = [f"{unit!r}, {_SAID[kind]}" if told else repr(unit) for unit, kind in zip(meant, kinds, strict=True)]
    return f"; did you mean {(', or ' if told else ' or ').join(shown)}?"


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
