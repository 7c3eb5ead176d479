"""Fusion rules: which operators, one after the other, a back end runs as one (zhang2023, Table I)."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.errors import UsageError, did_you_mean

MAX_RULES_BYTES = 2**20
MAX_DOTS = 1_000

Rules: TypeAlias = tuple[tuple[str, ...], ...]
"""Each rule is a tuple of kinds of operators in the order in which they run, in lower case."""


def shipped() -> list[str]:
    """Return the names of the rules that come with this package."""
    folder = resources.files("mtpp_dsl.solvers.reductions")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read_rules(source: str | Path) -> Rules:
    """Return the fusion rules in a file, or those that come with this package under a name.

    A file is TOML with one key, ``rules``: a list of lists of two kinds or more.

    Raises:
        UsageError: no such file or name; not TOML, another key, or a rule that is none.

    >>> read_rules("gcof")[0]
    ('conv', 'bn')
    """
    known = shipped()
    if isinstance(source, str) and source in known:
        text = (resources.files("mtpp_dsl.solvers.reductions") / f"{source}.toml").read_text(encoding="utf-8")
    else:
        try:
            text = read_text(source, MAX_RULES_BYTES)
        except UsageError as error:
            hint = did_you_mean(str(source), known)
            raise UsageError(f"no fusion rules{hint}: {error} (shipped: {', '.join(known)})") from None
    if any(line.count(".") > MAX_DOTS for line in text.splitlines()):  # keys in keys take quadratic time to read
        raise UsageError(f"{source}: not TOML that can be read: a line has more than {MAX_DOTS:,} dots")
    try:
        return _rules(tomllib.loads(text))
    except RecursionError:
        raise UsageError(f"{source}: not TOML that can be read: nested too deeply") from None
    except (ValueError, UsageError) as error:  # ValueError: no TOML, or a number of too many digits
        raise UsageError(f"{source}: {error}") from error


def _rules(content: dict[str, Any]) -> Rules:
    rules = content.get("rules")
    unknown = sorted(set(content) - {"rules"})
    if unknown:
        raise UsageError(f"a file of fusion rules has the key 'rules' alone, not {unknown[0]!r}")
    if not isinstance(rules, list) or not rules:
        raise UsageError("expected rules = [[kind, kind, …], …], with one rule or more")
    for number, rule in enumerate(rules):
        if not isinstance(rule, list) or len(rule) < 2 or not all(isinstance(kind, str) and kind for kind in rule):
            raise UsageError(f"rules[{number}]: expected a list of two kinds or more, found {rule!r:.60}")
    return tuple(tuple(kind.casefold() for kind in rule) for rule in rules)
