"""Runs as columns: what tables and pictures ask of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.sweeps.store.outcome import FAILED
from mtpp_dsl.sweeps.tables.statistics import Floats, codes

MISSING = "missing"
"""State of a run of a sweep that a database does not have."""
WITHOUT = FAILED | {"unknown", "refused", MISSING}
"""States of runs that have no figure: neither plan nor bound nor proof."""
NEEDED = (
    *("key", "sweep", "problem", "grp", "spec_sha256", "params", "scenario", "method", "label", "options", "solver"),
    *("seed", "time_limit", "threads", "coarsen", "status", "termination", "objective", "sense", "unit", "value"),
    *("bound", "gap", "seconds", "cpu", "total", "memory", "nodes", "edges", "devices", "started", "machine"),
    *("versions", "error", "proof"),
)
"""Columns of the store that tables read."""
_SHORT = {"group": "grp"}
_INSIDE = re.compile(r"\{([^{}]*)\}")


class Runs:
    """Columns of equal length, one entry a run; reads fields such as ``params.k`` and ``{problem}, {params.k}``.

    Args:
        columns: names as in the store; ``params``, ``options`` and ``versions`` are dicts or their JSON.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise UsageError("columns of different lengths are no runs")
        self.columns = dict(columns)
        self.length = lengths.pop() if lengths else 0
        self._numbers: dict[str, Floats] = {}
        self._inside: dict[str, list[dict[str, Any]]] = {}
        self._fields: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return self.length

    def field(self, name: str) -> list[Any]:
        """Return a field of every run: a column, ``params.NAME``, ``options.NAME``, or text with such in braces.

        A run without it has "". ``NAME`` alone is a parameter if no column is called so.

        Raises:
            UsageError: there is no such column, or no run has such a parameter.
        """
        if name not in self._fields:
            self._fields[name] = self._read(name)
        return self._fields[name]

    def _read(self, name: str) -> list[Any]:
        if "{" in name:
            parts = {inside: self.field(inside) for inside in _INSIDE.findall(name)}
            return [
                _INSIDE.sub(lambda match, i=i: plain(parts[match[1]][i]), name)  # type: ignore[misc]
                for i in range(self.length)
            ]
        of, _, key = name.partition(".")
        if key and of in ("params", "options", "versions"):
            dicts = self._dicts(of)
            if self.length and not any(key in params for params in dicts):
                known = sorted({other for params in dicts for other in params})
                raise UsageError(f"no run has {name}{hint(key, known)}")
            return [params.get(key, "") for params in dicts]
        column = self.columns.get(_SHORT.get(name, name))
        if column is None and any(name in params for params in self._dicts("params")):
            return self._read(f"params.{name}")
        if column is None:
            raise UsageError(f"runs have no field {name!r}{hint(name, self.names())}")
        return ["" if value is None else value for value in column]

    def names(self) -> list[str]:
        """Return the names of all fields."""
        plain = [name for name in self.columns if name not in ("params", "options", "versions", "grp", "log")]
        inside = [
            f"{of}.{key}" for of in ("params", "options") for key in sorted({k for d in self._dicts(of) for k in d})
        ]
        return sorted([*plain, *(["group"] if "grp" in self.columns else [])]) + inside

    def numbers(self, name: str) -> Floats:
        """Return a column as floats, NaN where a run has none."""
        if name not in self._numbers:
            self._numbers[name] = np.array(
                [float("nan") if value == "" or isinstance(value, str) else float(value) for value in self.field(name)],
                dtype=float,
            )
        return self._numbers[name]

    def places(self, where: Mapping[str, Any]) -> list[int]:
        """Return where the runs are whose fields have the given values; a list of values allows each of them."""
        kept = np.ones(self.length, dtype=bool)
        for name, wanted in where.items():
            allowed = {plain(value) for value in (wanted if isinstance(wanted, (list, tuple, set)) else [wanted])}
            kept &= np.array([plain(value) in allowed for value in self.field(name)], dtype=bool)
        return [int(i) for i in np.flatnonzero(kept)]

    def take(self, places: Iterable[int]) -> Runs:
        """Return the runs at *places*."""
        places = [int(place) for place in places]
        return Runs({name: [column[i] for i in places] for name, column in self.columns.items()})

    @cached_property
    def maximize(self) -> npt.NDArray[np.bool_]:
        """Whether larger values are better, of each run: as any run of its problem says."""
        numbers, problems = self.problems
        up = np.zeros(len(problems), dtype=bool)
        for number, sense in zip(numbers, self.field("sense"), strict=True):
            up[number] |= sense == "maximize"
        return up[numbers]

    def units(self, places: Iterable[int]) -> list[str]:
        """Return the units of the values and bounds of the runs at *places*; "" is one of those without."""
        units, values, bounds = self.field("unit"), self.field("value"), self.field("bound")
        return sorted({str(units[i]) for i in places if values[i] != "" or bounds[i] != ""})

    @cached_property
    def problems(self) -> tuple[npt.NDArray[np.int64], list[Any]]:
        """The number of each run's problem, and the problems.

        Two runs are of one problem if its name, its text, its parameters and the scenario are the same.
        """
        asked = ("problem", "spec_sha256", "params", "scenario")
        known = [self.columns[name] for name in asked if name in self.columns]
        return codes(zip(*([_frozen(value) for value in column] for column in known), strict=True))

    def _dicts(self, of: str) -> list[dict[str, Any]]:
        if of not in self._inside:
            read: dict[str, dict[str, Any]] = {}
            dicts = []
            for entry in self.columns.get(of, [{}] * self.length):
                if isinstance(entry, str):
                    entry = read.setdefault(entry, json.loads(entry) if entry else {})
                dicts.append(dict(entry or {}))
            self._inside[of] = dicts
        return self._inside[of]


def sorted_values(values: Iterable[Any]) -> list[Any]:
    """Return the different values: numbers by size if all are, else in the order in which they come.

    >>> sorted_values([8, 2, 2]), sorted_values(["b", "a"])
    ([2, 8], ['b', 'a'])
    """
    different = list(dict.fromkeys(values))
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in different):
        return sorted(different)
    return different


def plain(value: Any) -> str:
    """Return a value as users write it: 2.0 as 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _frozen(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, (dict, list)) else value


def hint(word: str, known: Iterable[str]) -> str:
    """Return what a message says behind a word that is not known: the word that was meant, else all that there are.

    >>> hint("valu", ["value", "gap"]), hint("x", ["value", "gap"])
    ("; did you mean 'value'?", '; there are value, gap')
    """
    words = list(known)
    return did_you_mean(word, words) or (f"; there are {', '.join(words)}" if words else "; there are none")
