"""Method ``milp-split``: modules along few channels, and a dynamic programme over where the channels are."""

from __future__ import annotations

from typing import Any

from mtpp_dsl import registry
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.constraints import BreakSymmetry, PinChunks
from mtpp_dsl.contracts import Formulation, Gives, Limits, Method, MethodBase, Progress, method_traits
from mtpp_dsl.errors import PluginError, Refused, UsageError, did_you_mean
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.engine import availability
from mtpp_dsl.solvers.backends.cpsat.engine import by as cpsat
from mtpp_dsl.solvers.backends.cpsat.unsupported import check
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.schedule.splitting.module_engines import ByCpSat, ByMethod, Engine
from mtpp_dsl.views.batch_tasks import HONOURS as BATCHED
from mtpp_dsl.views.batch_tasks import why_not as why_no_batch
from mtpp_dsl.views.tasks import HONOURS, why_not

__all__ = ["MilpSplit"]

SECONDS = 10.0
"""For a module between given ends, where nobody says how many."""


class MilpSplit(MethodBase):
    """Method ``milp-split``: the graph in modules, which are solved one by one (ghannane2023, 3.3).

    See :mod:`mtpp_dsl.solvers.algorithms.module_rows` for the modules and
    :mod:`mtpp_dsl.solvers.schedule.splitting.boundary_states` for the
    dynamic programme. Between cut nodes its value is exact when all modules are solved to the end; else modules that
    wait for all of those before are a restriction, from which the plan is freed afterwards: everything starts as early
    as its order allows, and the time that is left goes into a search that knows of no modules.

    Args:
        channels: tensors across a boundary, at most; None for the fewest that give useful modules.
        module_time_limit: seconds of solving a module between given ends; None for 10.
        module_method: what solves modules; None for CP-SAT, or without it a mixed-integer programme.
    """

    name = "milp-split"
    summary = "cuts the graph into modules where few tensors cross, solves and combines them (ghannane2023, 3.3)"
    gives: Gives = "plan and bound"
    uses_solver = True
    backends = True
    engines = ("cp-sat",)
    options = ("channels", "module_time_limit", "module_method")

    def __init__(
        self, channels: int | None = None, module_time_limit: float | None = None, module_method: str | None = None
    ) -> None:
        if channels is not None and channels < 1:
            raise UsageError(f"modules are joined by one channel or more, not by {channels}")
        self.channels, self.module_time_limit, self.module_method = channels, module_time_limit, module_method

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be split, or None."""
        if problem.objective.batch is not None:
            honours = tuple(kind for kind in BATCHED if kind is not PinChunks)
            return why_no_batch(problem, self.name, honours)
        return why_not(problem, self.name, (*HONOURS, BreakSymmetry))

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and the best bound found.

        Raises:
            Refused: the method, or what solves modules, cannot honour the problem; a file for a model is asked for.
            SolverError: a solver is missing or failed.
            UsageError: an option that the solver does not have.
            PluginError: there is no such method for modules.
        """
        from mtpp_dsl.solvers.schedule.splitting.split_run import Run

        reason = self.accepts(problem)
        if reason is not None:
            raise Refused(reason)
        if limits.write_model is not None:
            raise Refused(f"{self.name} solves a model for each module: there is no one file to write")
        impossible = quick(problem)
        if impossible is not None:
            return Result("infeasible", method=self.name, infeasibility=impossible, seed=limits.seed)
        engine, words = self._engine(problem, limits, progress)
        seconds = SECONDS if self.module_time_limit is None else self.module_time_limit
        with engine:
            return Run(self.name, problem, limits, progress, engine, words, self.channels, seconds).solve()

    def _engine(self, problem: Problem, limits: Limits, progress: Progress) -> tuple[Engine, str]:
        """Return what solves modules, and what it is called."""
        formulation = "moirai" if problem.objective.batch is None else "batched"
        name = self.module_method or formulation
        size = cores(limits)

        def stopped() -> bool:
            return progress.stopped

        chosen = limits.solver == "cp-sat" or (self.module_method is None and limits.solver == "highs")
        if name == formulation and chosen and (availability().ok or limits.solver == "cp-sat"):
            check(limits)
            return ByCpSat(limits, size, stopped), cpsat()
        method, words = _method(name, limits)
        reason = method.accepts(problem)
        if reason is not None:
            raise Refused(f"the modules cannot be solved by {name}: {reason}")
        return ByMethod(method, limits, size, stopped), words


def _method(name: str, limits: Limits) -> tuple[Method, str]:
    """Return the method *name* for modules, and what it is called in a result.

    Raises:
        PluginError: there is none.
        Refused: it gives no plans, is this method, or a solver is asked for that it would not use.
    """
    known = {**registry.available(registry.METHODS), **registry.available(registry.FORMULATIONS)}
    if name not in known:
        raise PluginError(f"there is no method {name!r} for modules{did_you_mean(name, known)}")
    if name in registry.available(registry.FORMULATIONS):
        if limits.solver in registry.available(registry.ENGINES):
            engine: Any = registry.load(registry.ENGINES, limits.solver)()
            return engine.method(name), limits.solver
        formulation: Formulation = registry.load(registry.FORMULATIONS, name)()
        mip: Method = registry.built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, limits.solver)
        if method_traits(mip).own_rows:
            raise Refused(f"{name} solves no modules: what rows of its own ask of a graph may not hold of its parts")
        return mip, f"{name} with {limits.solver}"
    method: Method = registry.load(registry.METHODS, name)()
    if "plan" not in method.gives or name == MilpSplit.name:
        raise Refused(f"{name} solves no modules")
    if not method_traits(method).uses_solver and (limits.solver != "highs" or limits.solver_options):
        raise Refused(f"{name}, which solves the modules, uses no solver")
    return method, name
