"""Copies of what cannot be changed: pickling and copying of objects with read-only arrays and mappings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["Picklable"]


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
