"""Choosing among the runs or rows of a sweep: what ``--only`` and ``--retry`` mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import FAILED, STATUSES
from mtpp_dsl.sweeps.store.rows import RunRow

Chosen = TypeVar("Chosen", bound=Run | RunRow)

_OF_BOTH = ("sweep", "problem", "group", "scenario", "method", "label", "solver", "coarsen", "seed", "key")
_OF_ROWS = ("status", "termination", "objective", "machine", "worker", "spec_sha256", "started")
_SHOWN = 8
_ALL = "all"


def statuses(retry: str) -> frozenset[str]:
    """Return which statuses ``--retry`` names: ``failed``, ``all``, or statuses with commas between them.

    >>> sorted(statuses("killed,memory"))
    ['killed', 'memory']

    Raises:
        UsageError: there is no such status.
    """
    chosen_statuses: set[str] = set()
    for word in (part.strip() for part in retry.split(",")):
        if word not in STATUSES | {"failed", _ALL}:
            known = ("failed", _ALL, *sorted(STATUSES))
            raise UsageError(f"--retry {word}: there is no such status, only {_and(known)}{did_you_mean(word, known)}")
        chosen_statuses |= FAILED if word == "failed" else STATUSES if word == _ALL else {word}
    return frozenset(chosen_statuses)


def chosen(items: Sequence[Chosen], only: Iterable[str]) -> list[Chosen]:
    """Return those of *items* that every one of *only* is true of.

    Each is ``FIELD=PATTERN``, or a PATTERN of the problem's name. A field is one of a run, such as ``method`` or
    ``seed``, of a row, such as ``status``, or the name of a param. Patterns are those of file names (``*``, ``?``,
    ``[ab]``); several have commas between them, and one of them has to fit.

    Raises:
        UsageError: there is no such field; or nothing fits, with what there is.
    """
    left = [*items]
    for text in only:
        name, equals, pattern = text.partition("=")
        name = name.strip()
        if equals and _known(name, left):
            field, pattern = name, pattern.strip()
        else:
            field, pattern = "problem", text.strip()
        kept = [item for item in left if _fits(_shown(item, field), pattern)]
        if not kept and items:
            if equals and field == "problem" and name != "problem":
                known = (*_fields(items), *sorted({name for item in items for name in item.params}))
                raise UsageError(f"--only {text}: there is no field {name!r}{did_you_mean(name, known)}; {_are(known)}")
            there = sorted({_shown(item, field) for item in left})
            raise UsageError(f"--only {text}: no run is left; {_are(there)}{did_you_mean(pattern, there)}")
        left = kept
    return left


def _known(name: str, items: Sequence[Run | RunRow]) -> bool:
    return name in _fields(items) or any(name in item.params for item in items)


def _fields(items: Sequence[Any]) -> tuple[str, ...]:
    return _OF_BOTH + (_OF_ROWS if items and isinstance(items[0], RunRow) else ())


def _shown(item: Run | RunRow, field: str) -> str:
    """Return a field of a run or row as the user would write it; a param of the same name as a field yields to it."""
    if field in _fields([item]):
        column = "grp" if field == "group" and isinstance(item, RunRow) else field
        return str(getattr(item, column))
    value = item.params.get(field, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fits(value: str, pattern: str) -> bool:
    """Return whether a value is the pattern itself, or fits one of its parts between commas."""
    return value == pattern or any(fnmatchcase(value, part.strip()) for part in pattern.split(","))


def _are(there: Sequence[str]) -> str:
    """Return what there is, for a message."""
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return f"there are {', '.join(name or '(none)' for name in there[:_SHOWN])}{more}"


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
