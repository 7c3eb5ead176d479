"""Check what every back end checks before it starts, so that no option is silently ignored."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.protocols import Availability, Backend
from mtpp_dsl.core.errors import Refused, SolverError, UsageError


def check(backend: Backend, limits: Limits) -> None:
    """Refuse what *backend* cannot do.

    A start that it cannot take is no error: the plan is known and kept anyway.

    Raises:
        SolverError: it is not installed; the message says how to install it.
        Refused: threads or a seed for a solver that takes none.
    """
    here = backend.available()
    if not here.ok:
        note = f" ({here.note})" if here.note else ""
        raise SolverError(f"solver {backend.name!r} is not installed{note}; install it with: {here.install}")
    if limits.threads not in (None, 1) and "threads" not in backend.features:
        raise Refused(f"solver {backend.name!r} runs on one thread; drop --threads, or use highs")
    if limits.seed and "seed" not in backend.features:
        raise Refused(f"solver {backend.name!r} takes no seed; drop --seed, or use highs")
    if limits.time is not None and "time_limit" not in backend.features:
        raise Refused(f"solver {backend.name!r} takes no time limit; drop --time-limit, or use highs")


def refuse_reserved(solver: str, limits: Limits, reserved: frozenset[str]) -> None:
    """Refuse options that one of the limits already sets.

    Raises:
        UsageError: one of *reserved* is among the solver options.
    """
    for name in limits.solver_options:
        if name in reserved:
            raise UsageError(
                f"option {name!r} of solver {solver!r} is decided here (time limit, gap, threads, seed, files); "
                "use mtpp's own options for it"
            )


def package(name: str, install: str, note: str = "") -> Availability:
    """Return whether the Python package *name* is installed, without importing it."""
    try:
        return Availability(ok=True, version=version(name), install=install, note=note)
    except PackageNotFoundError:
        return Availability(ok=False, install=install, note=note)
