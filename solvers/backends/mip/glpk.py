"""GLPK, for small models: an independent check."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import floor
from pathlib import Path
from shutil import which
from typing import Any, ClassVar

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Feature, Outcome
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.core.plans.result import Termination
from mtpp_dsl.solvers.backends.mip.model_files import ModelFile, at_optimum, model_file, not_above
from mtpp_dsl.solvers.backends.mip.programs import Finished, LogWatch, as_arguments, run
from mtpp_dsl.solvers.backends.mip.unsupported import check, refuse_reserved

RESERVED = frozenset({"lp", "max", "min", "mipgap", "output", "seed", "tmlim", "write"})
TREE = re.compile(r"(?:mip =|>>>>>)\s+(not found yet|\S+) >=\s+(\S+)")
COLUMN = re.compile(r"^\s*\d+ (\S+)\s+(?:\*|B|NL|NU|NF|NS)?\s+(\S+)")
"""Name and value; between them an integer's star or, where the model is an LP, a variable's status."""

VERSION = re.compile(r"^GLPSOL.*?(\d+\.\d+)")
RANGE = re.compile(r"^ A: min\|aij\|.*ratio =\s+(\S+)")
WIDEST = 1e12
"""Largest over smallest coefficient of a model whose infeasibility is GLPK's to say; beyond, it has been wrong."""

INFEASIBLE = ("HAS NO PRIMAL FEASIBLE SOLUTION", "HAS NO INTEGER FEASIBLE SOLUTION")
DIGITS = 10


class Glpk:
    """Solve with the program ``glpsol``; it takes no start and, stopped, loses its incumbent."""

    name = "glpk"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {"time_limit", "gap", "seed", "log", "bound_at_limit", "incumbents"}
    )

    def available(self) -> Availability:
        """Return whether there is a ``glpsol``."""
        return Availability(
            ok=which("glpsol") is not None, install="apt-get install glpk-utils", note="for small models only"
        )

    def solve(
        self, model: Any, limits: Limits, progress: Progress, on_bound: Callable[[float | None, float | None], None]
    ) -> Outcome:
        """Solve *model* in place; see :class:`mtpp_dsl.core.contracts.protocols.Backend`."""
        check(self, limits)
        refuse_reserved(self.name, limits, RESERVED)
        watch = _Watch("glpk", on_bound)
        with model_file(model) as file:
            command = ["glpsol", "--lp", file.path.name, *_settings(limits), "--output", "solution.txt"]
            done = run(command, file.path.parent, limits.remaining, progress, watch.hear, can_stop=False)
            unknown = next((line for line in done.lines if line.startswith("Invalid option")), None)
            if unknown is not None:
                raise UsageError(f"glpk: {unknown[0].lower()}{unknown[1:]}")
            return _outcome(file, done, watch, limits, progress)


class _Watch(LogWatch):
    """Reads incumbent, bound, version and the range of the coefficients from the log."""

    range = 1.0

    def hear(self, line: str) -> None:
        """Read one line."""
        if (version := VERSION.search(line)) is not None:
            self.by = f"glpk {version[1]}"
        if (match := RANGE.search(line)) is not None:
            self.range = max(self.range, float(match[1]))
        if (match := TREE.search(line)) is not None:
            incumbent = None if match[1] == "not found yet" else float(match[1])
            self.told(incumbent, None if match[2] in ("tree", "-inf") else not_above(match[2], DIGITS))


def _settings(limits: Limits) -> list[str]:
    settings = ["--mipgap", repr(limits.gap), "--seed", str(limits.seed % 2**31)]
    if limits.time is not None:
        settings += ["--tmlim", str(max(1, floor(limits.remaining)))]  # whole seconds
    return settings + as_arguments(limits.solver_options, "--")


def _outcome(file: ModelFile, done: Finished, watch: _Watch, limits: Limits, progress: Progress) -> Outcome:
    stopped: Termination = "interrupted" if progress.stopped else "time_limit"
    path = file.path.parent / "solution.txt"
    if progress.stopped or done.killed:
        return Outcome(stopped, None, watch.bound, by=watch.by)
    if any(done.has(text) for text in INFEASIBLE):
        if watch.range > WIDEST:
            raise SolverError(
                f"glpk calls a model infeasible whose coefficients span a factor of {watch.range:.1g}: it has been "
                "wrong about such; try another --solver"
            )
        return Outcome("infeasible", None, None, by=watch.by)
    if not path.exists():
        raise SolverError(f"glpk failed: {done.last_words}")
    status, objective, values = _read(path)
    if status not in ("INTEGER OPTIMAL", "OPTIMAL", "INTEGER NON-OPTIMAL"):
        return Outcome("time_limit", None, watch.bound, by=watch.by)
    file.load(values)
    if status == "INTEGER NON-OPTIMAL":
        return Outcome("time_limit", objective, watch.bound, by=watch.by)
    return Outcome("gap", objective, at_optimum(objective, limits.gap), by=watch.by)


def _read(path: Path) -> tuple[str, float, dict[str, float]]:
    """Return status, objective and values by name from a printable solution."""
    head, _, tail = path.read_text().partition("Column name")
    fields = dict(line.split(":", 1) for line in head.splitlines() if ":" in line)
    objective = float(fields["Objective"].split("=")[1].split()[0])
    values = {}
    for line in tail.splitlines()[2:]:
        match = COLUMN.match(line)
        if match is None:
            break
        values[match[1]] = float(match[2])
    return fields["Status"].strip(), objective, values
