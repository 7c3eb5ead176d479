"""Arguments of the command line as values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.base.amounts import fraction, seconds
from mtpp_dsl.core.errors import UsageError

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.problem import Problem

__all__ = ["fraction", "key_values", "read_problem", "seconds", "solver_values"]


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
    spec: Path,
    define: Sequence[str],
    include: Sequence[Path],
    recorded: Mapping[str, object] | None = None,
    scenario: str | None = None,
) -> Problem:
    """Read a spec with its ``-D`` values, and below them those that an answer has *recorded*; *scenario* counts."""
    from mtpp_dsl.language.lowering.lower import load

    return load(spec, {**(recorded or {}), **key_values(define, "-D")}, include, scenario=scenario)
