"""Arguments of the command line as values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtpp_dsl.errors import UsageError

if TYPE_CHECKING:
    from mtpp_dsl.problem import Problem

__all__ = ["fraction", "key_values", "read_problem", "seconds", "solver_values"]

_SECONDS = {"": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(text: str) -> float | None:
    """Return a duration: ``60``, ``60s``, ``1.5min``, ``2h``; ``none`` is no limit.

    >>> seconds("1.5min"), seconds("none")
    (90.0, None)
    """
    if text == "none":
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _SECONDS:
        raise UsageError(f"{text!r} is not a duration: write 60s, 500ms, 2min, 1h, or none")
    return float(match[1]) * _SECONDS[match[2]]


def fraction(text: str) -> float:
    """Return a share: ``1%`` or ``0.01``.

    >>> fraction("1%")
    0.01
    """
    percent = text.strip().endswith("%")
    try:
        value = float(text.strip().rstrip("%")) / (100 if percent else 1)
    except ValueError:
        raise UsageError(f"{text!r} is not a share: write 1% or 0.01") from None
    if not 0 <= value < 1:
        raise UsageError(f"{text!r}: a gap is between 0 and 100 %")
    return value


def key_values(pairs: Sequence[str], flag: str) -> dict[str, str]:
    """Return ``name=value`` pairs; the last of a name counts."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {pair}: write {flag} name=value")
        found[name.strip()] = value.strip()
    return found


def solver_values(pairs: Sequence[str]) -> dict[str, Any]:
    """Return solver options with numbers and booleans read as such, the rest as text."""

    def value(text: str) -> Any:
        try:
            loaded = json.loads(text)
        except ValueError:
            return text
        return loaded if isinstance(loaded, (bool, int, float)) else text

    return {name: value(text) for name, text in key_values(pairs, "--solver-option").items()}


def read_problem(
    spec: Path, define: Sequence[str], include: Sequence[Path], recorded: Mapping[str, object] | None = None
) -> Problem:
    """Read a spec with its ``-D`` values, and below them those that an answer has *recorded*."""
    from mtpp_dsl.language.lower import load

    return load(spec, {**(recorded or {}), **key_values(define, "-D")}, include)
