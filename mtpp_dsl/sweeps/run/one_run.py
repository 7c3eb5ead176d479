"""Solve one run in this process, and return what came of it, whatever comes of it."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from time import monotonic, process_time
from traceback import extract_tb
from typing import Any

from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import MtppError, Refused, SpecError, VerificationError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.machine import processor_name
from mtpp_dsl.solving.answers.json import result_to_json, versions
from mtpp_dsl.solving.api import solve
from mtpp_dsl.solving.plugins.honoured import DEFAULT_SOLVER
from mtpp_dsl.sweeps.file.keys import check_unchanged
from mtpp_dsl.sweeps.file.methods import method_of
from mtpp_dsl.sweeps.file.problem_files import Changed, problem_of, substituted
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.run.watch import now
from mtpp_dsl.sweeps.store.outcome import WRONG_ANSWER, RunOutcome


def attempt(run: Run, solving: Callable[[], None] = lambda: None) -> RunOutcome:
    """Solve a run as ``mtpp solve`` would, and return its outcome.

    Nothing is raised. Limits of time are those that methods keep to by themselves; one of memory is not held here.

    Args:
        run: what to solve, by what.
        solving: called when the spec is read and the method begins.
    """
    clock = _Clock()
    folder = Path.cwd()
    try:
        return clock.stamped(_attempted(run, clock, solving))
    except Changed as error:
        return clock.stamped(RunOutcome("changed", error=str(error)))
    except Refused as error:
        return clock.stamped(RunOutcome("refused", error=str(error)))
    except MemoryError as error:
        return clock.stamped(
            RunOutcome("memory", error=f"there was no memory left{f': {error}' if str(error) else ''}")
        )
    except BaseException as error:  # a plug-in may raise anything, or exit
        return clock.stamped(RunOutcome("error", error=failure(error)))
    finally:
        with suppress(OSError):
            os.chdir(folder)


@dataclass
class _Clock:
    """What is known of a run apart from its answer, for all outcomes alike."""

    started: str = field(default_factory=now)
    began: float = field(default_factory=monotonic)
    cpu: float = field(default_factory=lambda: _cpu())
    solving: float | None = None
    problem: Problem | None = None

    def stamped(self, outcome: RunOutcome) -> RunOutcome:
        """Return an outcome with times, the size of the problem, the machine and versions."""
        ended, problem = monotonic(), self.problem
        return replace(
            outcome,
            started=self.started,
            ended=now(),
            total=ended - self.began,
            seconds=None if self.solving is None else outcome.seconds or ended - self.solving,
            cpu=_cpu() - self.cpu,
            nodes=None if problem is None else problem.graph.n,
            edges=None if problem is None else problem.graph.m,
            devices=None if problem is None else len(problem.devices),
            machine=machine_class(),
            versions=versions(),
        )


def _cpu() -> float:
    """Return the seconds of processors that this process has used, with those of processes that it has waited for."""
    return process_time() + sum(os.times()[2:4])


def _attempted(run: Run, clock: _Clock, solving: Callable[[], None]) -> RunOutcome:
    _same_chances(run.seed or 0)
    problem = problem_of(run)
    clock.problem = problem
    check_unchanged(run)
    method = method_of(run)
    start = _start(run, problem)
    clock.solving = monotonic()
    solving()
    result = solve(
        problem,
        method,
        solver=run.solver or DEFAULT_SOLVER,
        time_limit=run.time_limit,
        gap=max(run.gap, 1e-6),
        threads=run.threads if method_traits(method).uses_solver else None,
        seed=run.seed or 0,
        start=start,
        solver_options=run.solver_options,
    )
    seconds = monotonic() - clock.solving
    check_unchanged(run)
    data = result_to_json(problem, result)
    data["time"] = {"read": clock.solving - clock.began, **data["time"]}
    return _outcome(data, seconds)


def _same_chances(seed: int) -> None:
    """Set the generators that plug-ins may share, so that no run depends on what ran in this process before it."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def _start(run: Run, problem: Problem) -> Plan | None:
    """Return the plan that a run starts from, if any."""
    if not run.start:
        return None
    return Plan.from_json(problem, read_json(Path(run.folder, substituted(run.start, run.data))))


def _outcome(data: dict[str, Any], seconds: float) -> RunOutcome:
    """Return the outcome that an answer is."""
    bound = data["bound"] or {}
    return RunOutcome(
        data["status"],
        termination=data["termination"],
        objective=data["objective"]["name"],
        sense=data["objective"]["sense"],
        unit=data["objective"]["unit"],
        value=data["objective"]["value"],
        bound=bound.get("value"),
        gap=data["gap"],
        bound_method=bound.get("method", ""),
        proof=bound.get("proof", ""),
        seconds=seconds,
        log=tuple((entry["time"], entry["incumbent"], entry["bound"]) for entry in data["log"]),
        answer=json.dumps(data, allow_nan=False),
        error=" ".join(data["notes"][-1:]) if data["termination"] == "error" else "",
    )


def failure(error: BaseException) -> str:
    """Return in words why a run failed: the message of an error of ours, else the kind of error and where it was."""
    if isinstance(error, SpecError):
        return "; ".join(" ".join(str(diagnostic).splitlines()[:1]) for diagnostic in error.diagnostics)
    if isinstance(error, VerificationError):
        return f"{WRONG_ANSWER}, which is a bug of mtpp or of the method: {error}"
    if isinstance(error, MtppError):
        return str(error)
    if isinstance(error, SystemExit):
        return f"the method ended the process: sys.exit({error.code!r})"
    place = extract_tb(error.__traceback__)[-1:]
    where = f" ({Path(place[0].filename).name}, line {place[0].lineno})" if place else ""
    return f"{type(error).__name__}: {error}{where}"


@cache
def machine_class() -> str:
    """Return the class of this machine: "2 x Name of processor, 23 GB"; without the memory where it is not known."""
    cores = f"{os.cpu_count() or 1} x {processor_name()}"
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return cores
    return f"{cores}, {size / 2**30:.0f} GB"
