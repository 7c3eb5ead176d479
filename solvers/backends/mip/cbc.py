"""CBC, as Debian ships it."""

from __future__ import annotations

import re
from collections.abc import Callable
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

RESERVED = frozenset(
    {"mips", "mipstart", "randomCbcSeed", "randomSeed", "ratioGap", "ratio", "sec", "seconds", "solu", "solve"}
    | {"threads", "timeMode"}
)
POSSIBLE = re.compile(r"After \d+ nodes, .*? (\S+) best solution, best possible (\S+) \(")
LOWER = re.compile(r"^Lower bound:\s+(\S+)")
FOUND = re.compile(r"Integer solution of (\S+) found")
VERSION = re.compile(r"^Version: (\S+)")
DIGITS = 6  # what CBC prints of a bound, at least
NONE_YET = 1e49
HAND_OVER = 0.2
"""Of the time, in seconds, what CBC has to write its solution, and we to read it."""


class Cbc:
    """Solve with the program ``cbc``."""

    name = "cbc"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {"time_limit", "gap", "threads", "seed", "log", "warm_start", "bound_at_limit", "incumbents"}
    )

    def available(self) -> Availability:
        """Return whether there is a ``cbc``; Debian's comes first, another may print other words."""
        return Availability(ok=_program() is not None, install="apt-get install coinor-cbc")

    def solve(
        self, model: Any, limits: Limits, progress: Progress, on_bound: Callable[[float | None, float | None], None]
    ) -> Outcome:
        """Solve *model* in place; see :class:`mtpp_dsl.core.contracts.protocols.Backend`."""
        check(self, limits)
        refuse_reserved(self.name, limits, RESERVED)
        watch = _Watch("cbc", on_bound)
        with model_file(model) as file:
            command = [_program() or "cbc", file.path.name, *_settings(limits), *_start(file)]
            command += ["-solve", "-solu", "solution.txt"]
            done = run(command, file.path.parent, limits.remaining - HAND_OVER / 2, progress, watch.hear, can_stop=True)
            unknown = next((line for line in done.lines if line.startswith("No match for")), None)
            if unknown is not None:
                raise UsageError(f"cbc has no option {unknown.split()[3]!r} (see: cbc '-?')")
            return _outcome(file, done, watch, limits, progress)


class _Watch(LogWatch):
    """Reads incumbent, bound and version from the log."""

    def hear(self, line: str) -> None:
        """Read one line."""
        if (match := VERSION.search(line)) is not None:
            self.by = f"cbc {match[1]}"
        elif (match := POSSIBLE.search(line)) is not None:
            self.told(_number(float(match[1])), _number(not_above(match[2], DIGITS)))
        elif (match := LOWER.search(line)) is not None:
            self.told(None, _number(not_above(match[1], DIGITS)))
        elif (match := FOUND.search(line)) is not None:
            self.told(float(match[1]), None)


def _number(value: float) -> float | None:
    """Return None for what CBC prints where it has no incumbent or bound."""
    return value if abs(value) < NONE_YET else None


def _program() -> str | None:
    return which("cbc", path="/usr/bin") or which("cbc")


def _settings(limits: Limits) -> list[str]:
    seed = str(1 + limits.seed % (2**31 - 1))  # to CBC 0 means the time of day
    settings = ["-ratioGap", repr(limits.gap), "-randomSeed", seed, "-randomCbcSeed", seed]
    if limits.time is not None:
        settings += ["-timeMode", "elapsed", "-seconds", f"{max(HAND_OVER, limits.remaining - HAND_OVER):.2f}"]
    if limits.threads is not None and limits.threads > 1:
        settings += ["-threads", str(limits.threads)]
    return settings + as_arguments(limits.solver_options, "-")


def _start(file: ModelFile) -> list[str]:
    values = file.start()
    if not values:
        return []
    rows = "".join(f"{number} {name} {value:g}\n" for number, (name, value) in enumerate(values.items()))
    (file.path.parent / "start.txt").write_text(f"Stopped on iterations - objective value 0\n{rows}")
    return ["-mipstart", "start.txt"]


def _outcome(file: ModelFile, done: Finished, watch: _Watch, limits: Limits, progress: Progress) -> Outcome:
    path = file.path.parent / "solution.txt"
    stopped: Termination = "interrupted" if progress.stopped else "time_limit"
    if not path.exists():
        if done.killed or progress.stopped:
            return Outcome(stopped, None, watch.bound, by=watch.by)
        raise SolverError(f"cbc failed: {done.last_words}")
    status, objective, values = _read(path)
    if status.startswith(("Infeasible", "Integer infeasible")):
        return Outcome("infeasible", None, None, by=watch.by)
    has_plan = "no integer solution" not in status and objective is not None
    if has_plan:
        file.load(values)
    if status.startswith("Optimal") and objective is not None:
        return Outcome("gap", objective, at_optimum(objective, limits.gap), by=watch.by)
    termination = stopped if progress.stopped or status.startswith("Stopped on time") else "limit"
    return Outcome(termination, objective if has_plan else None, watch.bound, by=watch.by)


def _read(path: Path) -> tuple[str, float | None, dict[str, float]]:
    """Return status, objective and values by name from a solution file."""
    first, *rest = path.read_text().splitlines()
    status, _, number = first.rpartition(" - objective value ")
    values = {}
    for line in rest:
        _, name, value, _ = line.removeprefix("**").split()
        values[name] = float(value)
    return status, float(number) if number else None, values
