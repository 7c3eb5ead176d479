"""Methods as a sweep names them: their options, solvers and fusion rules are checked as the file is read."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.base.amounts import seconds_of
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import MtppError, UsageError, did_you_mean
from mtpp_dsl.solving.api import find_method, method_names
from mtpp_dsl.solving.plugins.honoured import DEFAULT_SOLVER, check_solver, refuse_solver
from mtpp_dsl.sweeps.file.run import Run, Scalar


def options_of(name: str) -> tuple[str, ...]:
    """Return the names of the options that a method takes in a sweep: the arguments of its class.

    A formulation has none. Only those count whose default is a number, a text, a switch or None.
    """
    if method_names().get(name) != "method":
        return ()
    arguments = inspect.signature(registry.load(registry.METHODS, name)).parameters.values()
    return tuple(
        argument.name for argument in arguments if isinstance(argument.default, (bool, int, float, str, type(None)))
    )


def file_options(name: str, options: Mapping[str, Scalar]) -> list[str]:
    """Return which of these options of a method are paths of files: their contents count in the key of a run."""
    if not options or method_names().get(name) != "method":
        return []
    arguments = inspect.signature(registry.load(registry.METHODS, name)).parameters
    return [option for option in options if option in arguments and "Path" in str(arguments[option].annotation)]


def build_method(
    name: str, options: Mapping[str, Scalar], solver: str = "", coarsen: str = "", folder: Path = Path()
) -> Method:
    """Return a method with its options, on a coarsened graph where fusion rules are given.

    Args:
        name: of the method or the formulation.
        options: arguments of its class; a duration may be a text such as "10s", a file a path from *folder*.
        solver: "" for the one it uses anyway.
        coarsen: fusion rules, by name or as a path from *folder*; "" for none.
        folder: where paths start from.

    Raises:
        PluginError: there is no such method or solver.
        Refused: the engine has no model for that formulation.
        UsageError: there is no such option, or no such rules, or the method does not take its value.
    """
    method = find_method(name, solver or DEFAULT_SOLVER)
    if options:
        known = options_of(name)
        for option in options:
            if option not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise UsageError(f"method {name!r} has no option {option!r}{did_you_mean(option, known)} ({has})")
        files = {option: str(folder / str(options[option])) for option in file_options(name, options)}
        method = _made(type(method), {**options, **files})
    if not coarsen:
        return method
    path = folder / coarsen
    coarse: Method = registry.built_in(f"{_COARSENED}:coarsened")(method, path if path.is_file() else coarsen)
    return coarse


_COARSENED = "mtpp_dsl.solvers.reductions.coarsened"


def _made(kind: type[Any], options: Mapping[str, Scalar]) -> Method:
    given: dict[str, Any] = dict(options)
    for name, value in options.items():
        if name.endswith("time_limit"):
            limit = seconds_of(name, value)
            given[name] = inf if limit is None else limit
    try:
        method: Method = kind(**given)
    except (TypeError, ValueError) as error:
        if isinstance(error, MtppError):
            raise
        raise UsageError(f"method {kind.__name__!r} does not take these options: {error}") from None
    return method


def method_of(run: Run) -> Method:
    """Return the method of a run, with its options, for its solver, on a coarsened graph where the run says so."""
    return build_method(run.method, run.options, run.solver, run.coarsen, Path(run.folder))


def own_solver(method: Method) -> str:
    """Return the solver that a method uses by default; "" where it uses none, or one of its own."""
    traits = method_traits(method)
    return DEFAULT_SOLVER if traits.uses_solver and (traits.backends or not traits.engines) else ""


def solvers_for(name: str, asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which of the solvers *asked* for a method can use, and why it cannot use the others.

    Raises:
        PluginError: there is no such solver.
    """
    can, why = [], []
    for solver in asked:
        check_solver(solver)
        try:
            method = find_method(name, solver)
            refuse_solver(method, solver)
        except UsageError as error:
            why.append(str(error))
            continue
        traits = method_traits(method)
        if traits.uses_solver and (solver != DEFAULT_SOLVER or traits.backends or not traits.engines):
            can.append(solver)
        else:
            why.append(f"method {name!r} uses {' and '.join(traits.engines) or 'no solver'}, not {solver}")
    return can, why
