"""SCIP, from pip: the second engine without a size limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, ClassVar

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Feature, Outcome
from mtpp_dsl.core.errors import SolverError, UsageError, did_you_mean
from mtpp_dsl.core.plans.result import Termination
from mtpp_dsl.solvers.backends.mip.model_files import ModelFile, model_file
from mtpp_dsl.solvers.backends.mip.unsupported import check, package, refuse_reserved

RESERVED = frozenset({"limits/gap", "limits/time", "misc/catchctrlc", "randomization/randomseedshift"})
INFINITE = 1e20

TERMINATION: dict[str, Termination] = {
    "optimal": "gap",
    "gaplimit": "gap",
    "timelimit": "time_limit",
    "userinterrupt": "interrupted",
    "infeasible": "infeasible",
    "nodelimit": "limit",
    "totalnodelimit": "limit",
    "stallnodelimit": "limit",
    "sollimit": "limit",
    "bestsollimit": "limit",
    "memlimit": "limit",
    "restartlimit": "limit",
    "dualimit": "limit",
    "primallimit": "limit",
}


class Scip:
    """Solve with SCIP through ``pyscipopt``, on one thread."""

    name = "scip"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {"time_limit", "gap", "seed", "log", "warm_start", "bound_at_limit", "incumbents"}
    )

    def available(self) -> Availability:
        """Return whether pyscipopt is installed."""
        return package("pyscipopt", "pip install 'mtpp-dsl[scip]'")

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Complain of parameters that SCIP does not have; see :class:`mtpp_dsl.core.contracts.traits.BackendBase`."""
        import pyscipopt

        _set_parameters(pyscipopt.Model(), options)

    def solve(
        self, model: Any, limits: Limits, progress: Progress, on_bound: Callable[[float | None, float | None], None]
    ) -> Outcome:
        """Solve *model* in place; see :class:`mtpp_dsl.core.contracts.protocols.Backend`."""
        check(self, limits)
        refuse_reserved(self.name, limits, RESERVED)
        import pyscipopt

        with model_file(model) as file:
            scip = pyscipopt.Model()
            scip.hideOutput()
            scip.readProblem(str(file.path))
            _configure(scip, limits)
            _start(scip, file)
            _listen(scip, progress, on_bound)
            log = file.path.with_suffix(".log")
            if progress.wants_solver_log:
                scip.setLogfile(str(log))
            if not progress.stopped:
                scip.optimize()
            if log.exists():
                for line in log.read_text().splitlines():
                    progress.solver_says(line)
            by = f"scip {scip.version()} (pyscipopt {version('pyscipopt')})"
            return _outcome(scip, file, progress, by)


def _set_parameters(scip: Any, options: Mapping[str, Any]) -> None:
    known = scip.getParams()
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"SCIP has no parameter {name!r}{did_you_mean(name, known)}")
        kind = type(known[name])
        try:
            typed = str(value).lower() in ("true", "1") if kind is bool else kind(value)
            scip.setParam(name, typed)
        except (KeyError, ValueError) as error:
            raise UsageError(f"SCIP refuses {value!r} for parameter {name!r}") from error


def _configure(scip: Any, limits: Limits) -> None:
    _set_parameters(scip, limits.solver_options)
    scip.setParam("limits/gap", limits.gap)
    scip.setParam("randomization/randomseedshift", limits.seed % 2**31)
    scip.setParam("misc/catchctrlc", False)
    if limits.time is not None:
        scip.setParam("limits/time", max(limits.remaining, 0.01))


def _start(scip: Any, file: ModelFile) -> None:
    values = file.start()
    if not values:
        return
    by_name = {variable.name: variable for variable in scip.getVars()}
    solution = scip.createPartialSol()
    for name, value in values.items():
        if name in by_name:
            scip.setSolVal(solution, by_name[name], value)
    scip.addSol(solution)


def _listen(scip: Any, progress: Progress, on_bound: Callable[[float | None, float | None], None]) -> None:
    import pyscipopt

    kinds = pyscipopt.SCIP_EVENTTYPE
    heard = (kinds.BESTSOLFOUND, kinds.NODESOLVED, kinds.FIRSTLPSOLVED, kinds.LPSOLVED)

    class Listener(pyscipopt.Eventhdlr):  # type: ignore[misc]
        """Passes on incumbents and bounds, and interrupts SCIP when asked to stop."""

        def eventinit(self) -> None:
            for kind in heard:
                self.model.catchEvent(kind, self)

        def eventexit(self) -> None:
            for kind in heard:
                self.model.dropEvent(kind, self)

        def eventexec(self, _: Any) -> None:
            on_bound(_real(self.model.getPrimalbound()), _real(self.model.getDualbound()))
            if progress.stopped:
                self.model.interruptSolve()

    scip.includeEventhdlr(Listener(), "mtpp", "incumbents, bounds and interrupts")


def _real(value: float) -> float | None:
    return float(value) if abs(value) < INFINITE else None


def _outcome(scip: Any, file: ModelFile, progress: Progress, by: str) -> Outcome:
    status = scip.getStatus()
    if status == "unknown" and progress.stopped:
        return Outcome("interrupted", None, None, by=by)
    if status == "inforunbd":
        status = "infeasible"  # costs are bounded below
    if status not in TERMINATION:
        raise SolverError(f"SCIP stopped with {status!r}; try another --solver or --seed")
    if status == "infeasible":
        return Outcome("infeasible", None, None, by=by)
    objective = None
    if scip.getNSols():
        best = scip.getBestSol()
        objective = float(scip.getSolObjVal(best))
        file.load({variable.name: float(scip.getSolVal(best, variable)) for variable in scip.getVars()})
    return Outcome(TERMINATION[status], objective, _real(scip.getDualbound()), nodes=int(scip.getNTotalNodes()), by=by)
