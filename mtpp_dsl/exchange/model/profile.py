"""Measured times of operators: the data of ``profile.json``, which ``mtpp profile`` writes and ``times from`` reads.

Operators that are the same (the same call with the same shapes and types) share one signature, which is measured once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.errors import UsageError

__all__ = ["Profile", "Timing", "profile_of", "read_profile", "text_of", "timing_of"]

FORMAT, VERSION = "mtpp-profile", 1
MAX_NAME = 4_000
"""A longer name is refused."""


@dataclass(frozen=True)
class Timing:
    """What one call of an operator took, in seconds.

    Attributes:
        median: of all runs.
        low, high: a quarter of the runs were faster than *low*, a quarter slower than *high*.
        runs: how many there were; of times that somebody else measured, as many as are known of.
        op: what ran, such as ``aten.linear.default``; "" where it is not given.
        processor: the median of what the calling thread spent on the processor meanwhile; None where unknown.
    """

    median: float
    low: float
    high: float
    runs: int = 1
    op: str = ""
    processor: float | None = None

    def row(self) -> dict[str, Any]:
        """Return it as JSON has it; :func:`timing_of` reads it."""
        row = {"op": self.op, "median": self.median, "low": self.low, "high": self.high, "runs": self.runs}
        return row if self.processor is None else row | {"processor": self.processor}


@dataclass(frozen=True)
class Profile:
    """Times of the operators of a model on one device.

    Attributes:
        device: the type of device (or a device, or a family) that the times are of, as specs call it.
        signatures: the times, by what was called.
        operators: the signature of each operator, by its name in the model.
        machine: facts about the machine: the name of the processor, threads, versions.
        model: ``name`` and ``sha256`` of what was measured.
        symbols: the sizes that were taken, such as ``batch`` and ``seq``.
        source: how the times came about: ``"run"``, ``"trace"`` or ``"csv"``.
    """

    device: str
    signatures: Mapping[str, Timing]
    operators: Mapping[str, str]
    machine: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    model: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    symbols: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    source: str = "run"

    @property
    def times(self) -> Mapping[str, Timing]:
        """The time of each operator that has been measured, by its name."""
        return {name: self.signatures[key] for name, key in self.operators.items() if key in self.signatures}

    @property
    def slower(self) -> float:
        """The time of all operators by the time that they spent on the processor; 1 where that was not measured."""
        seen = [(one.median, one.processor) for one in self.times.values() if one.processor is not None]
        taken, spent = sum(median for median, _ in seen), sum(processor for _, processor in seen)
        return taken / max(spent, 1e-12) if taken > 0 else 1.0


def is_profile(data: object) -> bool:
    """Return whether JSON data says that it is a profile."""
    return isinstance(data, Mapping) and data.get("format") == FORMAT


def read_profile(path: Path) -> Profile:
    """Read ``profile.json``.

    Raises:
        UsageError: it cannot be read, or is no profile; says where.
    """
    return profile_of(read_json(path), str(path))


def profile_of(data: Any, name: str) -> Profile:
    """Return the profile that JSON data holds; messages call it *name*.

    Raises:
        UsageError: it is no profile; says where.
    """
    if not is_profile(data):
        raise UsageError(f'{name} is no profile: it has no "format": "{FORMAT}"; mtpp profile writes one')
    if data.get("version") != VERSION:
        raise UsageError(f"{name} is a profile of version {data.get('version')!r}; version {VERSION} is read")
    device = data.get("device")
    if not isinstance(device, str) or not 0 < len(device) <= MAX_NAME:
        raise UsageError(f"{name}: device must be the name of a type of device")
    signatures = {key: timing_of(row, f"{name}: signatures[{key!r}]") for key, row in _object(data, "signatures", name)}
    operators = dict(_object(data, "operators", name))
    for operator, key in operators.items():
        if not isinstance(key, str) or len(operator) > MAX_NAME:
            raise UsageError(f"{name}: operators[{operator[:80]!r}] must be a signature")
    symbols = dict(_object(data, "symbols", name))
    for symbol, value in symbols.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise UsageError(f"{name}: symbols[{symbol!r}] must be a number")
    return Profile(
        device=device,
        signatures=signatures,
        operators=operators,
        machine=dict(_object(data, "machine", name)),
        model={key: str(value) for key, value in _object(data, "model", name)},
        symbols=symbols,
        source=str(data.get("source", "run")),
    )


def _object(data: Mapping[str, Any], key: str, name: str) -> list[tuple[str, Any]]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(f"{name}: {key} must be an object")
    return list(value.items())


def timing_of(row: Any, place: str) -> Timing:
    """Return the time that JSON data hold, read from *place*.

    Raises:
        UsageError: it is invalid.
    """
    if not isinstance(row, dict):
        raise UsageError(f"{place} must be an object with the median time in s")
    median, low, high = (_seconds(row.get(key, row.get("median")), key, place) for key in ("median", "low", "high"))
    runs = row.get("runs", 1)
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise UsageError(f"{place}: runs must be a whole number, 1 or more; it is {runs!r}")
    processor = None if row.get("processor") is None else _seconds(row["processor"], "processor", place)
    return Timing(median, low, high, runs, str(row.get("op", "")), processor)


def _seconds(value: Any, key: str, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (isfinite(value) and value >= 0):
        raise UsageError(f"{place}: {key} must be a time in s, zero or more; it is {value!r}")
    return float(value)


def text_of(profile: Profile) -> str:
    """Return the text of ``profile.json``: one line for each signature and operator."""
    signatures = {key: timing.row() for key, timing in profile.signatures.items()}
    head = {
        "format": FORMAT,
        "version": VERSION,
        "device": profile.device,
        "source": profile.source,
        "machine": dict(profile.machine),
        "model": dict(profile.model),
        "symbols": dict(profile.symbols),
    }
    tables: dict[str, Mapping[str, Any]] = {"signatures": signatures, "operators": dict(profile.operators)}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines += [f"{json.dumps(key)}: {_table(rows)}" for key, rows in tables.items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}\n"


def _table(rows: Mapping[str, Any]) -> str:
    entries = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items())
    return f"{{\n{entries}\n  }}" if entries else "{}"
