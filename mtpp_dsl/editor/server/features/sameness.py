"""Tell whether two problems are the same but for one name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.problem import Problem

__all__ = ["same"]

_APART = ("origin", "warnings", "law")
"""Fields that say where a problem comes from."""


def same(one: Problem, two: Problem, old: str, new: str) -> str:
    """Return the name of a part in which two problems differ, where the name *old* became *new*; "" where they do not.

    Both names are taken for one wherever they stand as words: in names of nodes, of devices and of rows.
    """
    word = re.compile(rf"(?<![A-Za-z0-9_])(?:{re.escape(old)}|{re.escape(new)})(?![A-Za-z0-9_])")
    return _differs(one, two, word, "the problem")


def _differs(one: Any, two: Any, word: re.Pattern[str], what: str) -> str:
    if one is two:
        return ""
    if isinstance(one, str) and isinstance(two, str):
        return "" if one == two or word.sub("\0", one) == word.sub("\0", two) else what
    if type(one) is not type(two):
        return what
    if isinstance(one, np.ndarray):
        return "" if np.array_equal(one, two, equal_nan=one.dtype.kind == "f") else what
    if is_dataclass(one):
        for each in fields(one):
            if each.name not in _APART and not each.name.startswith("_"):
                part = _differs(getattr(one, each.name), getattr(two, each.name), word, each.name.replace("_", " "))
                if part:
                    return part
        return ""
    if isinstance(one, Mapping):
        left = {_plain(key, word): value for key, value in one.items()}
        right = {_plain(key, word): value for key, value in two.items()}
        if left.keys() != right.keys():
            return what
        return next((part for key in left if (part := _differs(left[key], right[key], word, what))), "")
    if isinstance(one, (tuple, list)):
        if len(one) != len(two):
            return what
        return next((part for a, b in zip(one, two, strict=True) if (part := _differs(a, b, word, what))), "")
    if isinstance(one, (frozenset, set)):
        return "" if {_plain(each, word) for each in one} == {_plain(each, word) for each in two} else what
    return "" if one == two or one != one else what


def _plain(key: Any, word: re.Pattern[str]) -> Any:
    return word.sub("\0", key) if isinstance(key, str) else key
