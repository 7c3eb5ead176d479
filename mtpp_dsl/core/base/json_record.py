"""JSON objects whose fields are checked as they are read, with messages that name file and field."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mtpp_dsl.core.base.files import called, read_json
from mtpp_dsl.core.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ABSENT: Any = object()
LARGEST = 2**63 - 1


def load(path: Path) -> JsonRecord:
    """Return the object that the JSON file *path* holds.

    Raises:
        UsageError: see :func:`mtpp_dsl.core.base.files.read_json`; or no object.
    """
    return JsonRecord(f"{path}", read_json(path))


@contextmanager
def located(place: str) -> Iterator[None]:
    """Put *place* before the message of an error raised inside, where it is not there yet."""
    try:
        yield
    except UsageError as error:
        if str(error).startswith(place):
            raise
        raise UsageError(f"{place}: {error}") from error


def repeated_edges(place: str, names: Sequence[str], edges: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return a warning of edges that a file gives more than once, if it does; each counts once."""
    twice = [edge for edge, count in Counter(edges).items() if count > 1]
    if not twice:
        return ()
    (u, v), more = twice[0], f", and {len(twice) - 1} more edges" if len(twice) > 1 else ""
    return (f"{place}: edge {names[u]} -> {names[v]}{more}: given more than once; counted once",)


class JsonRecord:
    """A JSON object and its place, such as ``file.json: nodes[3]``."""

    def __init__(self, place: str, data: object) -> None:
        if not isinstance(data, dict):
            raise UsageError(f"{place}: expected an object, found {_shown(data)}")
        self.place = place
        self.data: dict[str, Any] = data

    def error(self, field: str, problem: str) -> UsageError:
        """Return an error about a field of this object."""
        return UsageError(f"{self.place}: {field}: {problem}")

    def __contains__(self, field: str) -> bool:
        return self.data.get(field) is not None

    def number(self, field: str, default: float = ABSENT) -> float:
        """Return a finite number, zero or more."""
        return self._number(field, self._get(field, default))

    def integer(self, field: str, default: int = ABSENT) -> int:
        """Return a whole number, zero or more."""
        value = self._number(field, self._get(field, default))
        if value != int(value) or value > LARGEST:
            raise self.error(field, f"expected a whole number, found {value!r}")
        return int(value)

    def flag(self, field: str, default: bool = ABSENT) -> bool:
        """Return true or false, also written 1 or 0."""
        value = self._get(field, default)
        if value not in (0, 1) or not isinstance(value, (bool, int)):
            raise self.error(field, f"expected true or false, found {_shown(value)}")
        return bool(value)

    def text(self, field: str, default: str = ABSENT) -> str:
        """Return a string."""
        value = self._get(field, default)
        if not isinstance(value, str):
            raise self.error(field, f"expected a string, found {_shown(value)}")
        return self._unicode(field, value)

    def identifier(self, field: str) -> str:
        """Return a whole number or a string, as a string."""
        return self._identifier(field, self._get(field, ABSENT))

    def identifiers(self, field: str) -> list[str]:
        """Return a list of whole numbers or strings, as strings."""
        return [self._identifier(f"{field}[{i}]", value) for i, value in enumerate(self._list(field))]

    def records(self, field: str, most: int | None = None) -> list[JsonRecord]:
        """Return a list of objects; the place of each has its position, and its id or the ends that it joins.

        Raises:
            UsageError: it is no list of objects, or has more than *most*.
        """
        number = len(self._list(field))
        if most is not None and number > most:
            raise self.error(field, f"there are {number:,}; at most {most:,} are read")
        return [
            JsonRecord(f"{self.place}: {field}[{i}]{called(value)}", value) for i, value in enumerate(self._list(field))
        ]

    def index(self, field: str, key: str) -> dict[str, int]:
        """Return the positions of a list of objects by their identifiers, of which no two may be equal."""
        index: dict[str, int] = {}
        for i, record in enumerate(self.records(field)):
            name = record.identifier(key)
            if index.setdefault(name, i) != i:
                raise record.error(key, f"a second {name!r}")
        return index

    def array(self, field: str, shape: Sequence[int]) -> NDArray[np.float64]:
        """Return nested lists of finite numbers, zero or more, as an array of *shape*."""
        array = np.empty(shape)
        self._fill(field, self._get(field, ABSENT), array)
        return array

    def _fill(self, field: str, value: object, array: NDArray[np.float64]) -> None:
        if not isinstance(value, list) or len(value) != len(array):
            given = f"{len(value)}" if isinstance(value, list) else _shown(value)
            raise self.error(field, f"expected a list of {len(array)} entries, found {given}")
        for i, entry in enumerate(value):
            if array.ndim == 1:
                array[i] = self._number(f"{field}[{i}]", entry)
            else:
                self._fill(f"{field}[{i}]", entry, array[i])

    def _get(self, field: str, default: object) -> Any:
        value = self.data.get(field)
        if value is not None:
            return value
        if default is ABSENT:
            raise self.error(field, "missing" if field not in self.data else "must not be null")
        return default

    def _list(self, field: str) -> list[Any]:
        value = self._get(field, ABSENT)
        if not isinstance(value, list):
            raise self.error(field, f"expected a list, found {_shown(value)}")
        return value

    def _number(self, field: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(field, f"expected a number, found {_shown(value)}")
        if not 0 <= value <= 1e300 or not math.isfinite(value):
            raise self.error(field, f"expected a number, zero or more, found {_shown(value)}")
        return value

    def _identifier(self, field: str, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise self.error(field, f"expected a whole number or a string, found {_shown(value)}")
        return self._unicode(field, str(value))

    def _unicode(self, field: str, value: str) -> str:
        """Return *value*, a name: it is printed and written, which half of a pair of surrogates cannot be."""
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.error(field, f"expected text, found half of a pair of surrogates in {json.dumps(value)}")
        return value


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}…"
