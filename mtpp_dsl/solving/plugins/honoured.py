"""Refuse what a method would ignore, before the work, and name a method that honours it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.protocols import Formulation, FormulationFamily, Method, refusal
from mtpp_dsl.core.contracts.traits import formulation_traits, method_traits
from mtpp_dsl.core.errors import PluginError, Refused, UsageError, did_you_mean
from mtpp_dsl.core.problem.problem import Problem

DEFAULT_SOLVER = "highs"
MODEL_FILES = (".lp", ".mps")


def check_solver(solver: str) -> None:
    """Say what there is, if *solver* is not."""
    names = [*registry.available(registry.BACKENDS), *registry.available(registry.ENGINES)]
    if solver not in names:
        raise PluginError(f"there is no solver {solver!r}{did_you_mean(solver, names)} (there are: {', '.join(names)})")


def refuse_solver(method: Method, solver: str) -> None:
    """Refuse a solver that the method would not use: the default one stands for none."""
    traits = method_traits(method)
    engines = traits.engines
    if engines and not traits.backends and solver not in (*engines, DEFAULT_SOLVER):
        raise Refused(f"method {method.name!r} uses {' and '.join(engines)}, not {solver}")
    known = registry.available(registry.ENGINES)
    if solver in known and solver not in engines:
        models = ", ".join(registry.load(registry.ENGINES, solver).formulations)
        raise Refused(f"method {method.name!r} does not use {solver}, which has models for {models}")


def refuse_options(
    problem: Problem,
    method: Method,
    solver: str,
    options: Mapping[str, Any] | None,
    write_model: Path | str | None,
    threads: int | None,
) -> None:
    """Refuse what the method would ignore, or might.

    Raises:
        UsageError: it uses no solver, or may end without one, and something is asked of that; says which do. Or the
            model cannot be written where it shall be.
    """
    traits = method_traits(method)
    asked = {
        "a solver": solver != DEFAULT_SOLVER and not traits.uses_solver,
        "solver options": options and not traits.uses_solver,
        "threads": threads and not traits.uses_solver,
        "a model": write_model is not None and not traits.uses_solver,
    }
    for what, given in asked.items():
        if given:
            instead = "" if what == "threads" else _instead(problem)
            raise UsageError(f"method {method.name!r} uses no MIP solver, and so has no use for {what}{instead}")
    if options and traits.may_need_none:
        raise UsageError(
            f"method {method.name!r} may use several solvers, or none, so it takes no solver options such as "
            f"{', '.join(options)}{_instead(problem)}"
        )
    if options and solver in registry.available(registry.BACKENDS):
        backend = registry.load(registry.BACKENDS, solver)()
        if backend.available().ok and hasattr(backend, "check_options"):
            backend.check_options(options)
    if write_model is None:
        return
    if solver in registry.available(registry.ENGINES) and not traits.may_need_none:
        raise Refused(
            f"solver {solver!r} solves no MIP: {write_model} would not be written; use --solver {DEFAULT_SOLVER}"
        )
    if not traits.writes_model:
        why = "may end without a model" if traits.may_need_none else "solves no MIP that could be written as one file"
        raise UsageError(f"method {method.name!r} {why}: {write_model} would not be written{_instead(problem)}")
    _check_file(Path(write_model))


def refuse_scheduler(problem: Problem, method: Method, write_model: Path | str | None) -> None:
    """Refuse a cluster for what runs in one process, or writes a file.

    Raises:
        UsageError: with methods that spread.
    """
    if not method_traits(method).spreads:
        raise UsageError(
            f"method {method.name!r} runs in one process, and so has no use for a scheduler{_that_spread(problem)}"
        )
    if write_model is not None:
        raise UsageError(f"{write_model} would be written on another machine: leave out the scheduler to write a model")


def _that_spread(problem: Problem) -> str:
    """Return which methods for *problem* spread over a cluster, in words."""
    names = []
    for name in registry.available(registry.METHODS):
        try:
            method: Method = registry.load(registry.METHODS, name)()
        except (PluginError, TypeError):  # a broken one is no help
            continue
        if method_traits(method).spreads and refusal(method, problem) is None:
            names.append(name)
    for name in registry.available(registry.FORMULATIONS):
        formulation = _formulation(name)
        if isinstance(formulation, FormulationFamily) and formulation.accepts(problem) is None:
            names.append(name)
    return f"; choose --method {' or '.join(names)}" if names else ""


def _formulation(name: str) -> Formulation | FormulationFamily | None:
    """Return a formulation by its name, or None where it is a plug-in that cannot be imported, which is no help."""
    try:
        formulation: Formulation | FormulationFamily = registry.load(registry.FORMULATIONS, name)()
    except PluginError:
        return None
    return formulation


def _check_file(path: Path) -> None:
    if path.suffix.lower() not in MODEL_FILES:
        raise UsageError(f"cannot write a model as {path.name!r}: use the suffix .lp or .mps")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write the model to {path}: there is no folder {path.parent}")


def _instead(problem: Problem) -> str:
    """Return which formulations of *problem* a MIP solver can be asked for, in words; those that give a plan first."""
    fitting: list[tuple[bool, str]] = []
    for name in registry.available(registry.FORMULATIONS):
        formulation = _formulation(name)
        if formulation is None:
            continue
        if not formulation_traits(formulation).baseline and formulation.accepts(problem) is None:
            fitting.append((formulation.role == "relaxation", name))
    names = [name for _, name in sorted(fitting, key=lambda entry: entry[0])]
    if not names:
        return "; no method that solves one MIP accepts this problem"
    return f"; choose --method {' or '.join([*filter(None, [', '.join(names[:-1])]), names[-1]])}"
