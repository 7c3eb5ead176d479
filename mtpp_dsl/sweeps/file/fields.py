"""Tables of a sweep file, read key by key: values of a wrong kind and unknown keys are errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from math import inf, isfinite
from typing import Any, TypeVar

from mtpp_dsl.core.base.amounts import fraction, seconds
from mtpp_dsl.core.base.units import SIZE, UNITS
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.sweeps.file.run import Scalar
from mtpp_dsl.sweeps.file.sweep import Settings
from mtpp_dsl.sweeps.file.toml_text import Key, TomlText

MAX_RANGE = 100_000
MAX_WORD = 1_000
_RANGE = re.compile(r"\s*(-?[0-9]{1,18})\s*\.\.\s*(-?[0-9]{1,18})\s*")
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")
_T = TypeVar("_T")


class Fields:
    """One table of a TOML text.

    Args:
        text: that it is in.
        data: what it says.
        at: where each of its keys stands, for those that do not stand in the table itself.
        key: where it stands.
        what: what messages call it, such as "a problem".
    """

    def __init__(
        self, text: TomlText, data: Mapping[str, Any], key: Key, what: str, at: Mapping[str, Key] | None = None
    ) -> None:
        self.text, self.data, self.key, self.what = text, data, key, what
        self.at = at or {}
        self.asked: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def place(self, name: str) -> Key:
        """Return where a key of the table stands."""
        return self.at.get(name, (*self.key, name))

    def complain(self, name: str, message: str, *notes: str) -> None:
        """Complain about the value of a key."""
        self.text.complain(self.place(name), f"{name}: {message}", *notes)

    def raw(self, name: str) -> Any:
        """Return the value of a key as TOML has it; None where it is not there."""
        self.asked.append(name)
        return self.data.get(name)

    def finish(self) -> None:
        """Complain about every key that was not read."""
        for name in self.data:
            if name not in self.asked:
                hint = did_you_mean(name, self.asked)
                known = "" if hint else f" (it has: {', '.join(self.asked)})"
                self.text.complain(self.place(name), f"{self.what} has no key {name!r}{hint}{known}")

    def read(self, name: str, of: Callable[[Any], _T]) -> _T | None:
        """Return what *of* makes of the value of a key; None where it is not there or is complained of."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            return of(value)
        except UsageError as error:
            self.complain(name, str(error))
            return None

    def read_or(self, name: str, of: Callable[[Any], _T], default: _T) -> _T:
        """Return what :meth:`read` does, or *default* in place of None."""
        value = self.read(name, of)
        return default if value is None else value

    def word(self, name: str, default: str = "") -> str:
        """Return a line of text."""
        return self.read_or(name, _line, default)

    def words(self, name: str) -> tuple[str, ...] | None:
        """Return a text or a list of texts; None where the key is not there."""
        return self.read(name, _lines)

    def scalars(self, name: str) -> Mapping[str, Scalar]:
        """Return a table of numbers, texts and switches."""
        return self.read_or(name, _scalars, {})

    def settings(self) -> Settings:
        """Return the limits and seeds that the table gives."""
        return Settings(
            seeds=self.read("seeds", _seeds),
            time_limit=self.read("time_limit", _duration),
            memory_limit=self.read("memory_limit", bytes_of),
            gap=self.read("gap", _share),
            threads=self.read("threads", lambda value: _whole(value, 1, 4096)),
        )

    def table(self, name: str) -> Mapping[str, Any]:
        """Return a table as TOML has it."""
        return self.read_or(name, _table, {})

    def tables(self, name: str) -> list[Mapping[str, Any]]:
        """Return a list of tables as TOML has them."""
        return self.read_or(name, _tables, [])

    def one_of(self, name: str, known: Collection[str]) -> str:
        """Return a word that is among *known*; "" where the key is not there or its value is complained of."""
        word = self.word(name)
        if word and word not in known:
            self.complain(name, f"there is no {word!r}{did_you_mean(word, known)}")
            return ""
        return word


def several(value: Any) -> tuple[Scalar, ...]:
    """Return what a value stands for: a list its entries, a text such as "2..8" whole numbers, else itself.

    >>> several("2..5"), several([1, "4 GB"]), several("8 GB/s")
    ((2, 3, 4, 5), (1, '4 GB'), ('8 GB/s',))

    Raises:
        UsageError: it is empty, too long, or neither a number, a text nor a switch.
    """
    if isinstance(value, list):
        if not value:
            raise UsageError("the list is empty: give one value or more")
        if any(isinstance(entry, list) for entry in value):
            raise UsageError("a list in a list says nothing here")
        return tuple(one for entry in value for one in several(entry))
    whole = whole_range(value) if isinstance(value, str) else None
    return (_scalar(value),) if whole is None else whole


def whole_range(text: str) -> tuple[int, ...] | None:
    """Return the whole numbers of a range such as "2..8", both ends among them; None where *text* is no range.

    Raises:
        UsageError: it is empty, or has more than 100,000 numbers.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2])
    if last < first:
        raise UsageError(f"the range {text} is empty: write {last}..{first}")
    if last - first >= MAX_RANGE:
        raise UsageError(f"the range {text} has {last - first + 1:,} numbers; at most {MAX_RANGE:,} are read")
    return tuple(range(first, last + 1))


def bytes_of(value: Any) -> float:
    """Return a size in bytes: ``"4 GB"``, ``"512 MiB"``, a number of bytes, or ``"none"``, which is ``inf``.

    >>> bytes_of("4 GB"), bytes_of("none")
    (4000000000, inf)

    Raises:
        UsageError: it is something else.
    """
    if value == "none":
        return inf
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    factor, dimension = UNITS.get(match[2], (0, None)) if match is not None else (0, None)
    if match is None or dimension != SIZE or float(match[1]) <= 0:
        raise UsageError(f'{_shown(value)} is not a size: write "4 GB", "512 MiB", or "none"')
    return int(float(match[1]) * factor)


def _shown(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, (str, int, float, bool)) else f"a {type(value).__name__}"


def _scalar(value: Any) -> Scalar:
    if isinstance(value, str):
        return _line(value)
    if not isinstance(value, (bool, int, float)) or not isfinite(value) or abs(value) > 2**63:
        raise UsageError(f"{_shown(value)} is neither a number, a text nor true or false")
    return value


def _line(value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{_shown(value)} is not a text")
    if not value.isprintable() or len(value) > MAX_WORD:
        raise UsageError(f"expected one line of at most {MAX_WORD:,} characters that can be printed")
    return value


def _lines(value: Any) -> tuple[str, ...]:
    entries = tuple(_line(entry) for entry in (value if isinstance(value, list) else [value]))
    if not entries:
        raise UsageError("the list is empty: give one or more")
    return entries


def _scalars(value: Any) -> Mapping[str, Scalar]:
    return {_line(name): _scalar(entry) for name, entry in _table(value).items()}


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{_shown(value)} is not a table: write {{name = value, …}}")
    return value


def _tables(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise UsageError("expected a list of tables")
    return value


def _seeds(value: Any) -> tuple[int, ...]:
    seeds = several(value)
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
            raise UsageError(f'{_shown(seed)} is not a seed: write 0, [0, 1] or "0..4"')
    return tuple(dict.fromkeys(seed for seed in seeds if isinstance(seed, int)))


def _duration(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    limit = seconds(_line(value))
    if limit is not None and not 0 < limit < inf:
        raise UsageError(f"{value} is no time that a run may take")
    return inf if limit is None else limit


def _share(value: Any) -> float:
    return fraction(str(value) if isinstance(value, float) or value == 0 else _line(value))


def _whole(value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{_shown(value)} is not a whole number from {least} to {most:,}")
    return value
