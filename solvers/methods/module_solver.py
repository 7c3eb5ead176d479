"""Choose what solves the modules of ``milp-split``: CP-SAT, a formulation with a MIP solver, or another method."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation, Method
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import PluginError, Refused, did_you_mean
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.effort import availability, check
from mtpp_dsl.solvers.backends.cpsat.engine import by as cpsat
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.schedule.splitting.module_engines import ByCpSat, ByMethod, ModuleEngine


def module_solver(
    problem: Problem, limits: Limits, progress: Progress, module_method: str | None
) -> tuple[ModuleEngine, str]:
    """Return what solves modules, and what it is called."""
    formulation = "moirai" if problem.objective.batch is None else "batched"
    name = module_method or formulation
    size = cores(limits)

    def stopped() -> bool:
        return progress.stopped

    chosen = limits.solver == "cp-sat" or (module_method is None and limits.solver == "highs")
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
    if "plan" not in method.gives or name == "milp-split":
        raise Refused(f"{name} solves no modules")
    if not method_traits(method).uses_solver and (limits.solver != "highs" or limits.solver_options):
        raise Refused(f"{name}, which solves the modules, uses no solver")
    return method, name
