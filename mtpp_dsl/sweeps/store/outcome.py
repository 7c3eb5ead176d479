"""Hold what came of one run: the answer's figures, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, SupportsFloat, SupportsIndex

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.text.visible import visible

STATUS_MEANINGS: Mapping[str, str] = {
    "optimal": "a plan that is proven to be the best",
    "feasible": "a plan",
    "bound": "a bound, and no plan",
    "infeasible": "proven: there is no plan",
    "unknown": "nothing was found within the limit",
    "refused": "the method does not take this problem",
    "error": "an error in the spec, the method or the solver",
    "crashed": "the process ended by itself",
    "killed": "the process went on past its time limit and was ended",
    "memory": "the process was ended at its memory limit",
    "changed": "the spec is not the one that the sweep was read with",
    "lost": "the worker was lost too often",
}
"""What each status of a run means."""
STATUSES = frozenset(STATUS_MEANINGS)
ANSWERED = frozenset({"optimal", "feasible", "bound", "infeasible", "unknown"})
"""The method ran to its end and gave an answer; "unknown" is one."""
FAILED = frozenset({"error", "crashed", "killed", "memory", "changed", "lost"})
"""What ``--retry failed`` runs again. A refusal is an answer about the method, and no failure."""

PROVED = "proved"
"""In the column ``proof`` of a run whose bound was proved again, by ``mtpp bench prove``."""

WRONG_ANSWER = "the independent check failed"
"""How the error of a run begins whose answer was found to be wrong: a bug of mtpp, or of the method."""

MAX_TEXT = 20_000
MAX_LOG = 2_000
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class RunOutcome:
    """What came of one run, as a worker reports it and the store keeps it.

    Numbers are finite or None, texts hold no control characters, and the log is no longer than 2,000 entries: an
    outcome may come from a process that went wrong, so all of this is checked when it is made.

    Attributes:
        status: one of :data:`STATUS_MEANINGS`.
        termination: why the search stopped, as in the JSON answer; "" where there is no answer.
        objective: name of the first objective.
        sense: "minimize" or "maximize".
        unit: of *value* and *bound*: "s", "1/s", "" and so on.
        value: of the plan; None without one.
        bound: what no plan can beat; None without one.
        gap: between them, relative.
        bound_method: which method found the bound.
        proof: of the bound: "checked" or "trusted" as the answer says, "proved" where it was proved again.
        seconds: wall time of the solve.
        cpu: processor time of the solve, its children with it, in seconds.
        total: wall time with reading the spec, and with starting the process where one was started, in seconds.
        memory: largest resident memory, in bytes.
        nodes, edges, devices: size of the problem.
        started, ended: UTC, ISO 8601.
        machine: class of the machine, such as "2 x Name of processor, 23 GB"; never its name.
        versions: of what took part, by package.
        worker: which worker ran it.
        error: why there is no answer, for people.
        log: times with the incumbent and the bound that were known then.
        attempts: how often the run was begun for this outcome; more than one where workers were lost.
        answer: the whole JSON answer as text; None where there is none.
    """

    status: str
    termination: str = ""
    objective: str = ""
    sense: str = ""
    unit: str = ""
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    bound_method: str = ""
    proof: str = ""
    seconds: float | None = None
    cpu: float | None = None
    total: float | None = None
    memory: int | None = None
    nodes: int | None = None
    edges: int | None = None
    devices: int | None = None
    started: str = ""
    ended: str = ""
    machine: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    worker: str = ""
    error: str = ""
    log: tuple[tuple[float, float | None, float | None], ...] = ()
    attempts: int = 1
    answer: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise UsageError(f"an outcome's status is one of {', '.join(sorted(STATUSES))}; found {self.status!r:.60}")
        checks = {"str": _text, "float | None": _number, "int | None": _count}
        for column in fields(self):
            check = checks.get(str(column.type))
            if check is not None:
                object.__setattr__(self, column.name, check(column.name, getattr(self, column.name)))
        object.__setattr__(self, "attempts", _count("attempts", self.attempts) or 1)
        object.__setattr__(self, "versions", _versions(self.versions))
        object.__setattr__(self, "log", _log(self.log))
        if self.answer is not None and not isinstance(self.answer, str):
            raise _wrong("answer", self.answer, "a text of JSON")

    @property
    def failed(self) -> bool:
        """Whether ``--retry failed`` would run it again."""
        return self.status in FAILED

    def to_json(self) -> dict[str, Any]:
        """Return it as an object of JSON, which :meth:`from_json` reads."""
        return {column.name: getattr(self, column.name) for column in fields(self)}

    @classmethod
    def from_json(cls, data: object) -> RunOutcome:
        """Return what :meth:`to_json` wrote.

        Raises:
            UsageError: it is something else.
        """
        known = {column.name for column in fields(cls)}
        if not isinstance(data, dict) or "status" not in data or not known >= set(data):
            raise UsageError("an outcome is an object with the fields of a run's result")
        return cls(**data)


def _wrong(name: str, value: object, expected: str) -> UsageError:
    return UsageError(f"an outcome's {name} is {expected}; found {value!r:.60}")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value, "a text")
    return visible(value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…")


def _number(name: str, value: object) -> float | None:
    """Return a finite number, or None: for None, and for what is infinite, which says that there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise _wrong(name, value, "a number")
    try:
        number = float(value)
    except OverflowError:
        raise _wrong(name, value, "a number") from None
    if math.isnan(number):
        raise _wrong(name, value, "a number")
    return number if math.isfinite(number) else None


def _count(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise _wrong(name, value, "a whole number")
    number = int(value)
    if not 0 <= number <= LARGEST:
        raise _wrong(name, value, "a whole number, zero or more")
    return number


def _versions(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > 100:
        raise _wrong("versions", value, "an object of at most 100 texts")
    return {_text("versions", key): _text("versions", version) for key, version in value.items()}


def _log(value: object) -> tuple[tuple[float, float | None, float | None], ...]:
    """Return a log of at most 2,000 entries, evenly thinned out; the first and the last always stay."""
    if not isinstance(value, (list, tuple)):
        raise _wrong("log", value, "a list of times with incumbents and bounds")
    if len(value) > MAX_LOG:
        last = len(value) - 1
        value = [value[round(i * last / (MAX_LOG - 1))] for i in range(MAX_LOG)]
    entries = []
    for entry in value:
        if not isinstance(entry, (list, tuple)) or len(entry) != 3:
            raise _wrong("log", entry, "a list of times with incumbents and bounds")
        time, incumbent, bound = (_number("log", part) for part in entry)
        if time is None:
            raise _wrong("log", entry, "a list of times with incumbents and bounds")
        entries.append((time, incumbent, bound))
    return tuple(entries)
