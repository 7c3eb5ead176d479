"""A row of results: what was run, and its result, as the database holds it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from math import inf
from typing import Any

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import STATUSES, RunOutcome


@dataclass(frozen=True)
class RunRow:
    """One row of the table ``runs``. The columns are described in docs/sweeps.md.

    Attributes up to *threads* are those of :class:`mtpp_dsl.sweeps.file.run.Run`: *grp* is its group, *gap_limit* its
    gap.
    *attempts* counts how often it was begun. The others are those of :class:`mtpp_dsl.sweeps.store.outcome.RunOutcome`.
    """

    key: str
    sweep: str
    problem: str
    grp: str
    spec: str
    spec_sha256: str
    params: Mapping[str, Any]
    scenario: str
    method: str
    label: str
    options: Mapping[str, Any]
    solver: str
    solver_options: Mapping[str, Any]
    coarsen: str
    start: str
    seed: int | None
    time_limit: float | None
    memory_limit: int | None
    gap_limit: float | None
    threads: int | None
    status: str
    termination: str
    objective: str
    sense: str
    unit: str
    value: float | None
    bound: float | None
    gap: float | None
    bound_method: str
    proof: str
    seconds: float | None
    cpu: float | None
    total: float | None
    memory: int | None
    nodes: int | None
    edges: int | None
    devices: int | None
    attempts: int
    started: str
    ended: str
    machine: str
    versions: Mapping[str, str]
    worker: str
    error: str
    log: Sequence[Sequence[float | None]]


COLUMNS: Mapping[str, str] = {column.name: str(column.type) for column in fields(RunRow)}
"""The columns of the table, in its order, with their types in Python."""

_RENAMED = {"grp": "group", "gap_limit": "gap"}
"""What a column of a run is called there, where the word is another."""
_OF_OUTCOME = {column.name for column in fields(RunOutcome)} - {"answer"}
MAX_NAME = 4_000
"""Characters of the name of a problem, a group or a method; no more are shown by a table or a picture."""
_NAMES = frozenset(("sweep", "problem", "grp", "scenario", "method", "label", "solver", "status", "objective", "unit"))
_SQL: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "int | None": (int, type(None)),
    "float | None": (float, int, type(None)),
}
_EXPECTED = {
    "str": "a text",
    "int": "a whole number",
    "int | None": "a whole number or nothing",
    "float | None": "a number or nothing",
}


def row_of(run: Run, outcome: RunOutcome, before: int = 0) -> tuple[Any, ...]:
    """Return the values of the row of *run*, in the order of the columns, as SQLite takes them.

    Args:
        run: what was run.
        outcome: its result.
        before: how often it had been begun before.
    """
    values = []
    for name, kind in COLUMNS.items():
        if name == "attempts":
            value: Any = before + outcome.attempts
        elif name in _OF_OUTCOME:
            value = getattr(outcome, name)
        else:
            value = getattr(run, _RENAMED.get(name, name))
        values.append(_encoded(kind, value))
    return tuple(values)


def sql_of(row: RunRow) -> tuple[Any, ...]:
    """Return the values of a row, in the order of the columns, as SQLite takes them."""
    return tuple(_encoded(kind, getattr(row, name)) for name, kind in COLUMNS.items())


def _encoded(kind: str, value: Any) -> Any:
    if kind in _SQL:
        value = "" if value is None and kind == "str" else value
        if kind.startswith("int") and value is not None:
            return int(value)
        return float(value) if kind.startswith("float") and value is not None else value
    return json.dumps(value if isinstance(value, (list, tuple)) else dict(value or {}), sort_keys=True)


def checked_columns(names: Sequence[str]) -> list[str]:
    """Return *names*, each a column.

    Raises:
        UsageError: one is invalid.
    """
    for name in names:
        if name not in COLUMNS:
            raise UsageError(f"there is no column {name!r}{did_you_mean(name, COLUMNS)}")
    return [*names]


def decoded(name: str, values: Sequence[Any], refuse: Callable[[str], Exception]) -> list[Any]:
    """Return the values of a column as Python has them, JSON read.

    Args:
        name: of the column.
        values: as SQLite gives them.
        refuse: makes the error that is raised where a value is of another type than the column's.
    """
    kind = COLUMNS[name]
    allowed = _SQL.get(kind, (str,))
    if not {type(value) for value in values} <= {*allowed}:
        wrong = next(value for value in values if type(value) not in allowed)
        raise refuse(f"column {name}: expected {_EXPECTED.get(kind, 'a text of JSON')}, found {wrong!r:.60}")
    if name in _NAMES and any(len(value) > MAX_NAME for value in values):
        raise refuse(f"column {name}: expected at most {MAX_NAME:,} characters")
    if name == "status" and not {*values} <= STATUSES:
        raise refuse(f"column status: {next(value for value in values if value not in STATUSES)!r:.60} is no status")
    if kind.startswith("float") and (inf in values or -inf in values):
        raise refuse(f"column {name}: expected a finite number, found an infinite one")
    if kind in _SQL:
        return [*values]
    return _read(name, list if name == "log" else dict, values, refuse)


def _read(name: str, kind: type, values: Sequence[str], refuse: Callable[[str], Exception]) -> list[Any]:
    """Return what texts of JSON say; equal texts are read once."""
    known: dict[str, Any] = {}
    for text in values:
        if text in known:
            continue
        try:
            known[text] = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise refuse(f"column {name}: not JSON: {error}") from None
        if not isinstance(known[text], kind):
            raise refuse(f"column {name}: expected {'a list' if kind is list else 'an object'}, found {text:.60}")
        if name == "log" and not _is_log(known[text]):
            raise refuse(f"column log: expected times with incumbents and bounds, found {text:.60}")
        if name == "versions" and not all(isinstance(version, str) for version in known[text].values()):
            raise refuse(f"column versions: expected texts, found {text:.60}")
    return [known[text] for text in values]


def _is_log(entries: list[Any]) -> bool:
    """Return whether a list has nothing but triples of a time, an incumbent and a bound, of which two may be absent."""
    if not all(type(entry) is list and len(entry) == 3 and entry[0] is not None for entry in entries):
        return False
    numbers = [*chain.from_iterable(entries)]
    if not {*map(type, numbers)} <= {float, int, type(None)} or inf in numbers or -inf in numbers:
        return False
    return all(number == number for number in numbers)  # no NaN
