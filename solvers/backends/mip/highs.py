"""HiGHS, the default back end: from pip, without size limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mtpp_dsl.core.base.interpreter import stop_at_exit
from mtpp_dsl.core.base.lazy import MODELLING
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Feature, Outcome
from mtpp_dsl.core.errors import SolverError, UsageError, did_you_mean
from mtpp_dsl.core.plans.result import Termination
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.backends.mip.unsupported import check, package, refuse_reserved
from mtpp_dsl.solvers.runtime.lazy_highs import highs_version, highspy, silent_highs

if TYPE_CHECKING:
    from mtpp_dsl.solvers.backends.mip.bridge import Bridge

RESERVED = frozenset(
    {"log_to_console", "mip_rel_gap", "objective_bound", "output_flag", "random_seed", "threads", "time_limit"}
)
GRACE, STOP_GRACE = 0.1, 1.0
"""Seconds after the time limit, or after an interrupt, before a run that does not answer, as in presolve, is left."""

TERMINATION: dict[str, Termination] = {
    "kOptimal": "gap",
    "kTimeLimit": "time_limit",
    "kInterrupt": "interrupted",
    "kInfeasible": "infeasible",
    "kIterationLimit": "limit",
    "kSolutionLimit": "limit",
    "kObjectiveTarget": "limit",
    "kMemoryLimit": "limit",
}

_lock = Lock()
_active = 0


def enter_run() -> None:
    """Count a run that is about to begin."""
    global _active
    with _lock:
        if not _active:  # else the number of threads of the first run would be that of all
            highspy.Highs.resetGlobalScheduler(True)
        _active += 1


def leave_run() -> None:
    """Count a run that has ended."""
    global _active
    with _lock:
        _active -= 1


class Highs:
    """Solve with HiGHS through ``highspy``."""

    name = "highs"
    slack = 2.5e-7
    """Of a bound: so near to its incumbent HiGHS has called it optimal, whatever gap was asked for."""
    features: ClassVar[frozenset[Feature]] = frozenset(
        {"time_limit", "gap", "threads", "seed", "log", "warm_start", "bound_at_limit", "incumbents"}
    )

    def available(self) -> Availability:
        """Return whether highspy is installed."""
        return package("highspy", "pip install highspy")

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Complain of options that HiGHS does not have; see :class:`mtpp_dsl.core.contracts.traits.BackendBase`."""
        set_options(silent_highs(), options)

    def solve(
        self, model: Any, limits: Limits, progress: Progress, on_bound: Callable[[float | None, float | None], None]
    ) -> Outcome:
        """Solve *model* in place; see :class:`mtpp_dsl.core.contracts.protocols.Backend`."""
        check(self, limits)
        refuse_reserved(self.name, limits, RESERVED)
        from mtpp_dsl.solvers.backends.mip.bridge import Bridge, TriviallyInfeasible  # Pyomo takes long to import

        by = f"highs {highs_version()}"
        try:
            with MODELLING:
                bridge = Bridge(model)
        except TriviallyInfeasible:
            return Outcome("infeasible", None, None, by=by)
        _configure(bridge.highs, limits)
        partial = bridge.set_start()
        run = _Run(bridge, progress, on_bound, hear_bounds=not partial)
        if not run.finish(limits):
            solution = run.solution
            if solution is None:
                return Outcome(run.stopped_by, None, run.bound, by=by)
            bridge.load(solution[1])
            return Outcome(run.stopped_by, solution[0], run.bound, by=by)
        return _outcome(bridge, by)


class _Run:
    """One run on a thread of its own, so that the caller's thread can watch and interrupt it.

    HiGHS calls back on its own thread; this class keeps what it reports until the caller's thread passes it on. Without
    *hear_bounds* only the final bound counts: earlier ones may belong to a sub-problem.
    """

    def __init__(
        self,
        bridge: Bridge,
        progress: Progress,
        on_bound: Callable[[float | None, float | None], None],
        *,
        hear_bounds: bool,
    ) -> None:
        self.highs = bridge.highs
        self.columns = len(bridge.columns)
        self.hear_bounds = hear_bounds
        self.progress = progress
        self.on_bound = on_bound
        self.incumbent: float | None = None
        self.bound: float | None = None
        self.solution: tuple[float, Floats] | None = None
        self.lines = SimpleQueue[str]()
        self.interrupt = False
        self.stopped_by: Termination = "interrupted"

    def finish(self, limits: Limits) -> bool:
        """Wait for the end; return False if HiGHS did not stop and had to be left running."""
        enter_run()
        self._listen()
        thread = Thread(target=self._run, name="highs", daemon=True)
        thread.start()
        stop_at_exit(thread, partial(setattr, self, "interrupt", True))
        deadline = monotonic() + limits.remaining + GRACE
        try:
            return self._wait(thread, deadline)
        finally:
            self.interrupt = True  # should an exception leave the thread behind

    def _wait(self, thread: Thread, deadline: float) -> bool:
        reported: tuple[float | None, float | None] = (None, None)
        while thread.is_alive():
            thread.join(0.05)
            self._pass_on_log()
            known = (self.incumbent, self.bound)
            if known != reported:
                reported = known
                self.on_bound(*known)
            if self.progress.stopped and not self.interrupt:
                self.interrupt = True
                deadline = min(deadline, monotonic() + STOP_GRACE)
            if monotonic() > deadline:
                self.stopped_by = "interrupted" if self.progress.stopped else "time_limit"
                return False
        self._pass_on_log()
        return True

    def _pass_on_log(self) -> None:
        while not self.lines.empty():
            for line in self.lines.get().rstrip("\n").split("\n"):
                self.progress.solver_says(line)

    def _run(self) -> None:
        try:
            self.highs.run()
        finally:
            leave_run()

    def _listen(self) -> None:
        def improved(event: Any) -> None:
            values = np.array(event.data_out.mip_solution, np.float64)  # a copy: it is HiGHS's own
            if len(values) == self.columns:
                self.solution = float(event.data_out.objective_function_value), values
            self._note(event.data_out.objective_function_value, event.data_out.mip_dual_bound)

        def poll(event: Any) -> None:
            self._note(event.data_out.mip_primal_bound, event.data_out.mip_dual_bound)
            if self.interrupt:
                event.data_in.user_interrupt = True

        def stop(event: Any) -> None:
            if self.interrupt:
                event.data_in.user_interrupt = True

        if self.progress.wants_solver_log:
            set_options(self.highs, {"output_flag": True, "log_to_console": False})
            self.highs.cbLogging += lambda event: self.lines.put(event.message)
        self.highs.cbMipImprovingSolution += improved
        self.highs.cbMipInterrupt += poll
        self.highs.cbSimplexInterrupt += stop
        self.highs.cbIpmInterrupt += stop

    def _note(self, incumbent: float, bound: float) -> None:
        if _real(incumbent) and (self.incumbent is None or incumbent < self.incumbent):
            self.incumbent = incumbent
        if self.hear_bounds and _real(bound) and (self.bound is None or bound > self.bound):
            self.bound = bound


def _real(value: float) -> bool:
    return isfinite(value) and abs(value) < highspy.kHighsInf


def _configure(highs: Any, limits: Limits) -> None:
    set_options(highs, limits.solver_options)
    ours: dict[str, Any] = {"mip_rel_gap": limits.gap, "random_seed": limits.seed % 2**31}
    if limits.time is not None:
        ours["time_limit"] = max(limits.remaining, 0.01)
    if limits.threads is not None:
        ours["threads"] = limits.threads
    if "mip_abs_gap" not in limits.solver_options:
        ours["mip_abs_gap"] = 0.0
    set_options(highs, ours)


def _outcome(bridge: Bridge, by: str) -> Outcome:
    highs, info = bridge.highs, bridge.highs.getInfo()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kUnboundedOrInfeasible and bridge.bounded:
        status = highspy.HighsModelStatus.kInfeasible
    if status == highspy.HighsModelStatus.kModelEmpty:
        status = highspy.HighsModelStatus.kOptimal
    termination = TERMINATION.get(status.name)
    if termination is None:
        raise SolverError(f"HiGHS stopped with {highs.modelStatusToString(status)!r}; try another --solver or --seed")
    if termination == "infeasible":
        return Outcome(termination, None, None, by=by)
    has_solution = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    objective = info.objective_function_value if has_solution else None
    if bridge.integer.any():
        bound = info.mip_dual_bound if _real(info.mip_dual_bound) else None
    else:
        bound = objective if termination == "gap" else None
    if has_solution:
        bridge.load()
    return Outcome(termination, objective, bound, nodes=info.mip_node_count, by=by)


# Set options of HiGHS from values or from the text of a command line.


def set_options(highs: Any, options: Mapping[str, Any]) -> None:
    """Set options, given as values or as the text of a command line.

    Raises:
        UsageError: an option HiGHS does not have, or a value it refuses.
    """
    for name, given in options.items():
        status, kind = highs.getOptionType(name)
        if status != highspy.HighsStatus.kOk:
            known = [word for word in dir(highspy.HighsOptions) if not word.startswith("_")]
            raise UsageError(f"HiGHS has no option {name!r}{did_you_mean(name, known)}")
        value = _typed(name, given, kind)
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise UsageError(f"HiGHS refuses {given!r} for option {name!r}")


def _typed(name: str, given: Any, kind: Any) -> Any:
    kinds = highspy.HighsOptionType
    try:
        if kind == kinds.kBool:
            words = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
            return words[str(given).lower()]
        if kind == kinds.kInt:
            return int(given)
        return float(given) if kind == kinds.kDouble else str(given)
    except (KeyError, ValueError):
        what = {kinds.kBool: "true or false", kinds.kInt: "a whole number", kinds.kDouble: "a number"}[kind]
        raise UsageError(f"HiGHS option {name!r} takes {what}, not {given!r}") from None
