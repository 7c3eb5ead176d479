"""Tell whether ortools is installed, refuse what CP-SAT cannot do, and translate limits into its parameters."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from math import inf

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.protocols import Availability
from mtpp_dsl.core.errors import Refused, SolverError, UsageError
from mtpp_dsl.solvers.backends.cpsat.request import Effort

INSTALL = "pip install ortools"


def availability() -> Availability:
    """Return whether ortools is installed, without importing it or anything of its engine."""
    try:
        return Availability(ok=True, version=version("ortools"), install=INSTALL)
    except PackageNotFoundError:
        return Availability(ok=False, install=INSTALL)


DECIDED = {
    "absolute_gap_limit",
    "log_search_progress",
    "log_to_stdout",
    "max_time_in_seconds",
    "num_search_workers",
    "num_workers",
    "presolve_inclusion_work_limit",
    "random_seed",
    "relative_gap_limit",
}


def check(limits: Limits) -> None:
    """Refuse what CP-SAT cannot do.

    Raises:
        SolverError: it is not installed; the message says how to install it.
        Refused: a model is to be written: there is no mixed-integer programme.
        UsageError: an option that one of the limits already sets.
    """
    here = availability()
    if not here.ok:
        raise SolverError(f"solver 'cp-sat' is not installed; install it with: {here.install}")
    if limits.write_model is not None:
        raise Refused("solver 'cp-sat' solves no mixed-integer programme that could be written; use --solver highs")
    for name in limits.solver_options:
        if name in DECIDED:
            raise UsageError(
                f"option {name!r} of solver 'cp-sat' is decided here (time limit, gap, threads, seed, log, and what "
                "makes its answers wrong)"
            )


def effort(limits: Limits, seconds: float = inf, threads: int | None = None) -> Effort:
    """Return the effort that *limits* allow, for at most *seconds*; on all cores unless threads are given."""
    asked = limits.threads if threads is None else threads
    return Effort(
        seconds=min(limits.remaining, seconds),
        threads=asked or 0,
        seed=limits.seed,
        gap=limits.gap,
        options=dict(limits.solver_options),
    )
