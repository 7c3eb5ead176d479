"""Gurobi, where there is a licence; the one that pip installs is limited to 2000 variables and rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Feature, Outcome
from mtpp_dsl.core.errors import SolverError, UsageError, did_you_mean
from mtpp_dsl.core.plans.result import Termination
from mtpp_dsl.solvers.backends.mip.model_files import ModelFile, model_file
from mtpp_dsl.solvers.backends.mip.unsupported import check, package, refuse_reserved

RESERVED = frozenset({"MIPGap", "OutputFlag", "Seed", "Threads", "TimeLimit"})
INFINITE = 1e100


class Gurobi:
    """Solve with Gurobi through ``gurobipy``."""

    name = "gurobi"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {"time_limit", "gap", "threads", "seed", "log", "warm_start", "bound_at_limit", "incumbents"}
    )

    def available(self) -> Availability:
        """Return whether gurobipy is installed; whether there is a licence shows when a model is too large."""
        return package("gurobipy", "pip install 'mtpp-dsl[gurobi]'", "without a licence: 2000 variables and rows")

    def solve(
        self, model: Any, limits: Limits, progress: Progress, on_bound: Callable[[float | None, float | None], None]
    ) -> Outcome:
        """Solve *model* in place; see :class:`mtpp_dsl.core.contracts.protocols.Backend`."""
        check(self, limits)
        refuse_reserved(self.name, limits, RESERVED)
        import gurobipy

        by = f"gurobi {'.'.join(map(str, gurobipy.gurobi.version()))}"
        try:
            with (
                model_file(model) as file,
                gurobipy.Env(params={"OutputFlag": int(progress.wants_solver_log), "LogToConsole": 0}) as env,
                gurobipy.read(str(file.path), env) as gurobi,
            ):
                _configure(gurobi, limits)
                start = file.start()
                for variable in gurobi.getVars():
                    variable.Start = start.get(variable.VarName, gurobipy.GRB.UNDEFINED)
                gurobi.optimize(_listener(progress, on_bound))
                return _outcome(gurobi, file, by)
        except gurobipy.GurobiError as error:
            raise SolverError(f"Gurobi failed: {error}{_remedy(str(error))}") from error


def _remedy(error: str) -> str:
    """Return what to do about an error that is one of the licence; "" of another.

    >>> _remedy("License expired 2026-11-23"), _remedy("Out of memory")
    ('; a licence of pip ends with its version: pip install --upgrade gurobipy, or use --solver highs', '')
    """
    said = error.lower()
    if "expired" in said:
        return "; a licence of pip ends with its version: pip install --upgrade gurobipy, or use --solver highs"
    if "licen" in said:
        return "; the licence that pip installs is for 2000 variables and rows: use --solver highs"
    return ""


def _configure(gurobi: Any, limits: Limits) -> None:
    import gurobipy

    known = [name for name in dir(gurobipy.GRB.Param) if not name.startswith("_")]
    for name, value in limits.solver_options.items():
        if name not in known:
            raise UsageError(f"Gurobi has no parameter {name!r}{did_you_mean(name, known)}")
        try:
            gurobi.setParam(name, value)
        except (gurobipy.GurobiError, TypeError, ValueError) as error:
            raise UsageError(f"Gurobi refuses {value!r} for parameter {name!r}: {error}") from error
    gurobi.setParam("MIPGap", limits.gap)
    gurobi.setParam("Seed", limits.seed % 2**31)
    if limits.time is not None:
        gurobi.setParam("TimeLimit", limits.remaining)
    if limits.threads is not None:
        gurobi.setParam("Threads", limits.threads)


def _listener(progress: Progress, on_bound: Callable[[float | None, float | None], None]) -> Callable[[Any, int], None]:
    import gurobipy

    places = gurobipy.GRB.Callback

    def listen(gurobi: Any, where: int) -> None:
        if where == places.MIP:
            on_bound(_real(gurobi.cbGet(places.MIP_OBJBST)), _real(gurobi.cbGet(places.MIP_OBJBND)))
        elif where == places.MESSAGE:
            progress.solver_says(gurobi.cbGet(places.MSG_STRING).rstrip("\n"))
        if progress.stopped:
            gurobi.terminate()

    return listen


def _real(value: float) -> float | None:
    return float(value) if abs(value) < INFINITE else None


def _outcome(gurobi: Any, file: ModelFile, by: str) -> Outcome:
    import gurobipy

    codes = gurobipy.GRB.Status
    terminations: dict[int, Termination] = {
        codes.OPTIMAL: "gap",
        codes.TIME_LIMIT: "time_limit",
        codes.INTERRUPTED: "interrupted",
        codes.INFEASIBLE: "infeasible",
        codes.INF_OR_UNBD: "infeasible",  # costs are bounded below
        codes.NODE_LIMIT: "limit",
        codes.ITERATION_LIMIT: "limit",
        codes.SOLUTION_LIMIT: "limit",
        codes.WORK_LIMIT: "limit",
        codes.MEM_LIMIT: "limit",
    }
    termination = terminations.get(gurobi.Status)
    if termination is None:
        raise SolverError(f"Gurobi stopped with status {gurobi.Status}; try another --solver or --seed")
    if termination == "infeasible":
        return Outcome(termination, None, None, by=by)
    objective = float(gurobi.ObjVal) if gurobi.SolCount else None
    if objective is not None:
        file.load({variable.VarName: float(variable.X) for variable in gurobi.getVars()})
    bound = _real(gurobi.ObjBound) if gurobi.IsMIP else (objective if termination == "gap" else None)
    return Outcome(termination, objective, bound, nodes=int(gurobi.NodeCount), by=by)
