"""Methods by their names, and which of them can solve a problem."""

from __future__ import annotations

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.protocols import Engine, Formulation, FormulationFamily, Method, refusal
from mtpp_dsl.core.contracts.traits import MethodBase, method_traits
from mtpp_dsl.core.errors import PluginError, nearest
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.plugins.honoured import DEFAULT_SOLVER


def method_names() -> dict[str, str]:
    """Return every name that ``--method`` takes, and whether it is a "method" or a "formulation"."""
    names = dict.fromkeys(registry.available(registry.METHODS), "method")
    for name in registry.available(registry.FORMULATIONS):
        if name in names:
            raise PluginError(f"{name!r} is both a method and a formulation; uninstall or rename one")
        names[name] = "formulation"
    return names


def find_method(name: str, solver: str = DEFAULT_SOLVER) -> Method:
    """Return the method *name*: an algorithm, or a formulation with the MIP back end or the engine *solver*.

    Raises:
        PluginError: there is no such method or solver, or it cannot be imported.
        Refused: the engine has no model for that formulation.
    """
    names = method_names()
    if name not in names:
        raise PluginError(f"there is no method {name!r}{nearest(name, names)} (mtpp methods lists all {len(names)})")
    if names[name] == "method":
        method: Method = registry.load(registry.METHODS, name)()
        return method
    if solver in registry.available(registry.ENGINES):
        engine: Engine = registry.load(registry.ENGINES, solver)()
        return engine.method(name)
    formulation: Formulation | FormulationFamily = registry.load(registry.FORMULATIONS, name)()
    mip: Method = registry.built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(
        formulation, solver, apart=True
    )
    return mip


def instead(problem: Problem, refused: Method) -> str:
    """Return which methods can solve *problem*, and no narrower one, in place of the one that refused."""
    others = [
        method for name in method_names() if name != refused.name and (method := _method_or_none(name)) is not None
    ]
    others = [other for other in others if "plan" in other.gives and not _narrow(method_traits(other))]
    can = [other.name for other in others if refusal(other, problem) is None]
    return f"; {' and '.join([', '.join(can[:-1]), *can[-1:]] if can[1:] else can)} can" if can else ""


def _narrow(traits: MethodBase) -> bool:
    """Return whether a method is there only to be compared with, or keeps rows that the problem does not have."""
    return traits.baseline or traits.own_rows


def _method_or_none(name: str) -> Method | None:
    """Return the method *name*, or None where it is a plug-in that cannot be imported, which is no help."""
    try:
        return find_method(name)
    except PluginError:
        return None
