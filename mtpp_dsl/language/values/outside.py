"""Values of Python as values of the language: what ``load(spec, k=4)`` is given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isnan
from numbers import Integral, Real
from typing import Any, SupportsFloat, SupportsIndex, cast

import numpy as np

from mtpp_dsl.core.base.exact_numbers import from_float, settled
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.values import Key, MapValue, Quantity, Sequence, Value


def from_python(value: object) -> Value:
    """Return a Python value as one of the language.

    Numbers of Python and numpy are numbers without a unit, strings stay text, paths become text, and lists, tuples,
    ranges, sets, arrays and dictionaries hold the values of their items.

    Raises:
        Complaint: the language has nothing like it.
    """
    if isinstance(value, (bool, str, Sequence, MapValue, Quantity)):
        return value
    if isinstance(value, np.generic):
        return from_python(value.item())
    if isinstance(value, Integral):
        return Quantity(int(cast("SupportsIndex", value)))
    if isinstance(value, Fraction):
        return Quantity(settled(value))
    if isinstance(value, Real) or type(value).__name__ == "Decimal":
        number = float(cast("SupportsFloat", value))
        if isnan(number):
            raise Complaint("nan is not a number that the language has", None, code="MTPP-E215")
        return Quantity(from_float(number))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, (set, frozenset)):
        return Sequence(tuple(from_python(item) for item in value), "set")
    if isinstance(value, Mapping):
        keys = [from_python(key) for key in value]
        if not all(isinstance(key, (str, Quantity)) for key in keys):
            raise Complaint("the keys of a map are strings and numbers", None, code="MTPP-E203")
        return MapValue({cast("Key", key): from_python(item) for key, item in zip(keys, value.values(), strict=True)})
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return Sequence(tuple(from_python(item) for item in cast("Iterable[object]", value)))
    raise Complaint(f"cannot use a {type(value).__name__} as a value", None, code="MTPP-E705")


def records_of(value: object) -> list[Mapping[str, object]]:
    """Return the rows of a table that Python gives: a list of mappings, or a data frame of pandas.

    Raises:
        Complaint: it is neither.
    """
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        frame = cast("Any", value)
        return [dict(zip(map(str, frame.columns), row, strict=True)) for row in frame.itertuples(index=False)]
    if isinstance(value, (list, tuple)) and all(isinstance(row, Mapping) for row in value):
        return list(value)
    raise Complaint(
        f"a table is a file, a list of mappings or a data frame, not a {type(value).__name__}", None, code="MTPP-E705"
    )
