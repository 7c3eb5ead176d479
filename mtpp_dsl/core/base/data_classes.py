"""Show data classes in a few words, and pickle and copy those that cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

MAX_ITEMS = 6
"""Longer collections are shown by their size."""
MAX_TEXT = 60
"""Longer strings are cut."""


class Short:
    """Shows a dataclass that is declared with ``repr=False``: the fields that differ from their defaults.

    Fields that are declared with ``repr=False`` are left out.
    """

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={short(getattr(self, field.name))}"
            for field in fields(self)  # type: ignore[arg-type]
            if field.repr and not _is_default(getattr(self, field.name), field)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def short(value: object) -> str:
    """Return a value in a few words.

    >>> short((1, 2)), short(tuple(range(500))), short(np.zeros((3, 4))), short({}), short("x" * 200)
    ('(1, 2)', '<500 items>', '<3 x 4 array>', '{}', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'")
    """
    if isinstance(value, np.ndarray):
        return f"<{' x '.join(map(str, value.shape))} array>"
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 3]}…")
    if isinstance(value, Mapping):
        return f"<{len(value)} items>" if value else "{}"
    if isinstance(value, (tuple, list, set, frozenset)):
        if len(value) > MAX_ITEMS:
            return f"<{len(value)} items>"
        inside = ", ".join(map(short, sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value))
        if isinstance(value, tuple):
            return f"({inside}{',' * (len(value) == 1)})"
        return f"[{inside}]" if isinstance(value, list) else f"{{{inside}}}"
    return repr(value)


def in_full(value: object) -> str:
    """Return all fields of a dataclass, for evidence rather than for a screen."""
    shown = [f"{field.name}={getattr(value, field.name)!r}" for field in fields(value)]  # type: ignore[arg-type]
    return f"{type(value).__name__}({', '.join(shown)})"


def _is_default(value: Any, field: Field[Any]) -> bool:
    if field.default_factory is not MISSING:
        return isinstance(value, Mapping) and not value
    if field.default is MISSING or isinstance(value, np.ndarray):
        return False
    return bool(value is field.default or (type(value) is type(field.default) and value == field.default))


class Picklable:
    """Lets a frozen dataclass be pickled and copied.

    Read-only views of dictionaries, which cannot be pickled, are views again in the copy; arrays, which lose their
    read-only flag on the way, get it back.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: _thawed(value) for name, value in vars(self).items()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, _frozen(value))


class _View(dict[Any, Any]):
    """What a read-only view of a dictionary is on the way."""


def _thawed(value: Any) -> Any:
    if isinstance(value, MappingProxyType):
        return _View({name: _thawed(item) for name, item in value.items()})
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, _View):
        return MappingProxyType({name: _frozen(item) for name, item in value.items()})
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    return value
