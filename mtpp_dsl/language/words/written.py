"""Words of a spec: names, strings, numbers and options as the language writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import inf, isnan
from numbers import Integral, Real
from typing import Any, SupportsFloat, SupportsIndex, cast

from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.core.errors import SpecError, UsageError

LEAST = 1e-300
"""Smaller numbers, which floating point holds with fewer digits, are not read."""
MAX_ZEROS = 6
"""More zeros before the first digit, or after the last one, are written as a power of ten."""
_UNITS = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_SIMPLE = re.compile(rf"\s*[0-9][0-9_]*(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*({_UNITS})?\s*|[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = re.compile(r"[0-9]+(\.[0-9]+)?")


def name(text: str) -> str:
    """Return a declared name.

    Raises:
        UsageError: it is invalid, and would be read as something else.
    """
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise UsageError(f"{text!r} is no name: letters, digits and '_', not starting with a digit")
    return text


def quoted(text: str) -> str:
    r"""Return a string of the language.

    >>> print(quoted('say "x"\n'))
    "say \"x\"\n"
    """
    if not isinstance(text, str):
        raise UsageError(f"{text!r} is no string")
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{text}"'


def named(who: str | Iterable[str]) -> str:
    """Return the members of a statement: one name of a node, a device or a family, or several."""
    names = [who] if isinstance(who, str) else [*who]
    if not names:
        raise UsageError("there is nothing to speak of: the list of names is empty")
    return ", ".join(map(quoted, names))


def exact(given: object) -> Fraction | float | None:
    """Return a number of Python or numpy exactly, as its shortest decimals say it; inf as it is; None for no number."""
    if isinstance(given, bool) or type(given).__name__ == "bool_":
        return None
    if isinstance(given, Integral):
        return Fraction(int(cast("SupportsIndex", given)))
    if isinstance(given, (Fraction, Decimal)):
        return Fraction(given)
    if isinstance(given, Real):
        number = float(cast("SupportsFloat", given))
        if isnan(number):
            raise UsageError("nan is no number")
        return number if abs(number) == inf else Fraction(repr(number))
    return None


def number(given: Fraction | float) -> str:
    """Return a number as text that reads back as the same: decimals, or a quotient.

    >>> number(Fraction(1, 8)), number(Fraction(-2)), number(Fraction(1, 3)), number(Fraction(10) ** 30), number(inf)
    ('0.125', '-2', '1 / 3', '1e30', 'inf')
    """
    if not isinstance(given, Fraction):
        return "inf" if given > 0 else "-inf"
    sign, given = "-" if given < 0 else "", abs(given)
    rest = given.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return f"{sign}{given.numerator} / {given.denominator}"
    digits = max(given.denominator.bit_length(), 1)  # at most so many decimals
    mantissa = given * 10**digits
    text = str(mantissa.numerator)
    stripped = text.rstrip("0") or "0"
    power = len(text) - len(stripped) - digits
    if stripped == "0":
        return "0"
    if 0 <= power <= MAX_ZEROS:
        return f"{sign}{stripped}{'0' * power}"
    if -len(stripped) - MAX_ZEROS <= power < 0:
        padded = stripped.rjust(1 - power, "0")
        return f"{sign}{padded[:power]}.{padded[power:]}"
    part = f".{stripped[1:]}" if stripped[1:] else ""
    return f"{sign}{stripped[0]}{part}e{power + len(stripped) - 1}"


@lru_cache(maxsize=1 << 16)
def percent(share: float) -> str:
    """Return a share as text in per cent that reads back as the same float.

    >>> percent(0.07), percent(1 / 3)
    ('7%', '33.33333333333333%')
    """
    return f"{number(Fraction(repr(share)) * 100)}%"


def quantity(given: float, unit: str) -> str:
    """Return a float in base units as text that reads back as the same float, in the unit that makes it shortest.

    >>> quantity(2.0**33, "B/s"), quantity(1.25e9, "B"), quantity(5e-6, "s"), quantity(0.1, "s"), quantity(3.0, "")
    ('8 GiB/s', '1.25 GB', '5 us', '0.1 s', '3')

    Args:
        given: the float.
        unit: its base unit, such as "s" or "B"; "" for none.
    """
    known = exact(given)
    assert known is not None
    if 0 < abs(given) < LEAST:
        raise UsageError(f"{given!r} is too small for a spec")
    if not unit or not isinstance(known, Fraction):
        return number(known)
    if not known:
        return f"0 {unit}"
    best = ""
    for name, factor in _larger(unit):
        text = f"{number(known / factor)} {name}"
        best = text if not best or len(text) < len(best) else best
    return best


@lru_cache
def _larger(unit: str) -> tuple[tuple[str, Fraction], ...]:
    """Return the units that *unit* is the base of, largest first, with their exact factors."""
    if unit not in UNITS:
        raise UsageError(f"a spec has no unit {unit!r}")
    dimension = UNITS[unit][1]
    larger = [
        (name, Fraction(repr(factor)) if isinstance(factor, float) else Fraction(factor))
        for name, (factor, of) in UNITS.items()
        if of == dimension and name.isascii() and "bit" not in name and name not in ("min", "h")
    ]
    return tuple(sorted(larger, key=lambda pair: -pair[1]))


def value(given: object, what: str = "a value") -> str:
    """Return what an option is given: a number, an expression as text or as an object, or a list of them.

    Raises:
        UsageError: it is something else, or text that is no expression.
    """
    if hasattr(given, "__mtpp__"):
        text: str = given.__mtpp__()
        return text
    if isinstance(given, (bool,)) or type(given).__name__ == "bool_":
        return "true" if given else "false"
    known = exact(given)
    if known is not None:
        return number(known)
    if isinstance(given, str):
        return expression(given, what)
    if isinstance(given, os.PathLike):
        return quoted(str(os.fspath(given)))
    if isinstance(given, Mapping):
        return f"{{{', '.join(f'{quoted(str(key))}: {value(member, what)}' for key, member in given.items())}}}"
    if isinstance(given, (set, frozenset)):
        return f"{{{', '.join(sorted(value(member, what) for member in given))}}}"
    if isinstance(given, Iterable):
        return f"[{', '.join(value(member, what) for member in given)}]"
    raise UsageError(f"{what} cannot be {given!r:.60}: give a number, or text in the language's notation")


@lru_cache(maxsize=4096)
def expression(text: str, what: str = "a value") -> str:
    """Return text that is one expression of the language, so that no more than that is written.

    Raises:
        UsageError: it is invalid.
    """
    if _SIMPLE.fullmatch(text):
        return text.strip()
    from mtpp_dsl.core.text.source import Source
    from mtpp_dsl.language.syntax.parser import parse_expression

    try:
        parse_expression(Source("", text))
    except SpecError as error:
        message = error.diagnostics[0].message
        raise UsageError(f"{what} is {text!r:.80}, which is no expression of the language: {message}") from None
    return text.strip()


def option_list(options: Mapping[str, Any], texts: Iterable[str] = (), words: Iterable[str] = ()) -> str:
    """Return options between parentheses, or nothing.

    Args:
        options: by name; those that are None are left out.
        texts: the names of those that are strings, or lists of strings.
        words: the names of those that are one of several words, or a string.
    """
    parts = []
    for key, given in options.items():
        if given is None:
            continue
        if key in texts or key in words:
            parts.append(f"{name(key)} = {_texts(given)}")
        else:
            parts.append(f"{name(key)} = {value(given, key)}")
    return f" ({', '.join(parts)})" if parts else ""


def _texts(given: object) -> str:
    if hasattr(given, "__mtpp__"):
        return value(given)
    if isinstance(given, (list, tuple, set, frozenset)):
        return f"[{', '.join(quoted(text) for text in sorted(given))}]"
    return quoted(cast("str", given))
