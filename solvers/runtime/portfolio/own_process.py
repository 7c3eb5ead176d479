"""Run a method in a process of its own, where libraries of this process keep its solver from being loaded.

OR-tools brings a HiGHS of its own, of another version. Where it is imported before ``highspy``, the system takes its
library for that of ``highspy``, which then lacks what it needs: ``undefined symbol``. A new process has neither.
"""

from __future__ import annotations

import sys

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import MtppError, Refused, SolverError, UsageError
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import run_together

_RIVAL, _OURS = "ortools", "highspy"


def highs_is_hidden() -> bool:
    """Return whether HiGHS cannot be loaded into this process, as another library of its name is loaded."""
    if _RIVAL not in sys.modules or _OURS in sys.modules:
        return False
    try:
        __import__(_OURS)
    except ImportError as error:
        return "undefined symbol" in str(error) or "Symbol not found" in str(error)
    return False


def solve_apart(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Solve by *method* in a process of its own, and report what it finds on the way.

    Raises:
        UsageError: the call is wrong.
        SolverError: the method failed there.
    """
    results, notes = run_together(
        problem,
        [[LaneTask(method)]],
        limits,
        progress,
        threads=limits.threads,
        to_the_end=True,
        write_model=limits.write_model,
    )
    if not results:
        ended: Termination = "interrupted" if progress.stopped else "time_limit" if limits.remaining <= 0 else "gap"
        return Result(ended, method=method.name, seed=limits.seed, notes=notes)
    if results[-1].termination == "error":
        raise _error(" ".join(results[-1].notes).removeprefix(f"{method.name!r} failed: "))
    return results[-1]


def _error(message: str) -> MtppError:
    """Return the error that a process ended with: one of the call where it names one, else one of the solver."""
    for kind in (Refused, UsageError):
        _, named, text = message.partition(f"{kind.__module__}.{kind.__name__}: ")
        if named:
            return kind(text)
    return SolverError(message)
