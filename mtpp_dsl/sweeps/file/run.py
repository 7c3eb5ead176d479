"""One run of a sweep: a problem, a method, and the limits; and the key by which its result is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import UsageError

Scalar: TypeAlias = bool | int | float | str
"""A value of a param or of an option."""


@dataclass(frozen=True)
class Run:
    """One run of a sweep.

    Attributes:
        key: hash of all that can change the answer: what the files hold, not where they lie; neither versions nor the
            name of the sweep or of the problem.
        sweep: name of the sweep.
        problem: name of the problem, unique in the sweep.
        group: of problems, for tables; "" for none.
        spec: path of the spec, seen from *folder*, with slashes; or the text itself (which has a newline).
        spec_sha256: of all that is read of the problem: the spec, what it includes, and its data files.
        params: values of its params, as the sweep file has them.
        scenario: the one that counts; "" for none.
        method: name of the method or formulation.
        label: what tables call it with its options.
        options: arguments of the method's class.
        solver: "" for a method that takes none.
        solver_options: options passed through to it.
        coarsen: fusion rules, by name or as a path from *folder*; "" for none.
        start: path of a plan to start from, seen from *folder*; "" for none.
        seed: of everything random; 0 for a method that takes none.
        time_limit: seconds; None for none.
        memory_limit: bytes; None for none.
        gap: the share at which the method may stop.
        threads: of the solver, and processes of ``auto``.
        folder: where the sweep file lies, from the root. No part of the key.
        data: the folder that ``${MTPP_DATA}`` stands for; "" where there is none. No part of the key.
    """

    key: str
    sweep: str
    problem: str
    spec: str
    spec_sha256: str
    method: str
    label: str
    group: str = ""
    params: Mapping[str, Scalar] = field(default_factory=dict)
    scenario: str = ""
    options: Mapping[str, Scalar] = field(default_factory=dict)
    solver: str = ""
    solver_options: Mapping[str, Scalar] = field(default_factory=dict)
    coarsen: str = ""
    start: str = ""
    seed: int = 0
    time_limit: float | None = 60.0
    memory_limit: int | None = None
    gap: float = 1e-6
    threads: int = 1
    folder: str = "."
    data: str = ""

    @property
    def in_place(self) -> bool:
        """Whether the spec is a text in the sweep file."""
        return "\n" in self.spec

    def __hash__(self) -> int:
        return hash(self.key)

    def to_json(self) -> dict[str, Any]:
        """Return the run as a JSON object."""
        maps = {"params": dict(self.params), "options": dict(self.options), "solver_options": dict(self.solver_options)}
        return {column.name: getattr(self, column.name) for column in fields(self)} | maps

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Run:
        """Return the run that a JSON object of :meth:`to_json` is.

        Raises:
            UsageError: a field is missing, unknown or of another type.
        """
        try:
            run = cls(**data)
        except TypeError as error:
            raise UsageError(f"this is no run of a sweep: {error}") from None
        for name, kinds in _KINDS.items():
            value = getattr(run, name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise UsageError(f"this is no run of a sweep: {name} is {value!r:.60}")
        return run


_NUMBER = (int, float)
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("key", "sweep", "problem", "group", "spec", "spec_sha256", "scenario", "method", "label"), (str,)),
    **dict.fromkeys(("solver", "coarsen", "start", "folder", "data"), (str,)),
    **dict.fromkeys(("params", "options", "solver_options"), (Mapping,)),
    **dict.fromkeys(("seed", "threads"), (int,)),
    "time_limit": (*_NUMBER, type(None)),
    "memory_limit": (int, type(None)),
    "gap": _NUMBER,
}


def digest(content: object) -> str:
    """Return the SHA-256 of a JSON value, in hexadecimal: the order of names in objects does not matter.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
