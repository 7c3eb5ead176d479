"""Find what a formulation's own rows leave of a small problem's plans: the optimum that answers are held against."""

from __future__ import annotations

from functools import cache
from typing import Any

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation, FormulationFamily, Strengthened
from mtpp_dsl.core.contracts.traits import formulation_traits
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.plugins.samples import optimum, sample

MAX_PLANS = 200
"""So many of the cheapest plans are tried: rows that exclude them all are held against none."""


@cache
def _cheapest(name: str) -> list[tuple[float, Plan]]:
    """Return the plans of the small problem *name* with their costs, the cheapest first."""
    problem = sample(name)
    return sorted(((cost_of(problem, plan), plan) for plan in plans(problem)), key=lambda entry: entry[0])


def _own_rows(formulation: Formulation | FormulationFamily) -> bool:
    own: bool = registry.built_in("mtpp_dsl.solvers.methods.mip.plugin_rows:has_own_rows")(formulation)
    return own


def _read(formulation: Any, solver: str, problem: Problem, plan: Plan) -> Any:
    """Return *plan* as the model of *formulation* has it: see :mod:`mtpp_dsl.solvers.methods.mip.plugin_rows`."""
    read = registry.built_in("mtpp_dsl.solvers.methods.mip.plugin_rows:read_through")
    backend = registry.load(registry.BACKENDS, solver)()
    return read(formulation, backend, problem, plan, Limits(threads=1), Progress())


def own_optimum(formulation: Formulation | FormulationFamily, solver: str, name: str) -> tuple[float | None, bool]:
    """Return the least cost of a plan of the small problem *name* that *formulation* allows, and whether that is known.

    None where there is no such plan. An exact one that says in ``adds`` nothing of rows of its own allows all plans.
    Not known: it is a relaxation with rows of its own, ``start`` sets nothing, or the cheapest plans are all excluded
    and there are more.
    """
    if not _own_rows(formulation) or (formulation.role == "exact" and not formulation_traits(formulation).adds):
        return optimum(name), True
    return _allowed(formulation, solver, name)


def _allowed(formulation: Formulation | FormulationFamily, solver: str, name: str) -> tuple[float | None, bool]:
    """Return the least cost of a plan that the rows of *formulation* allow, and whether that is known."""
    cheapest = _cheapest(name)
    for cost, plan in cheapest[:MAX_PLANS]:
        reading = _read(formulation, solver, sample(name), plan)
        if not reading.excluded:
            return cost, reading.plan is not None
    return None, len(cheapest) <= MAX_PLANS


def complaint(formulation: Formulation | FormulationFamily, solver: str, name: str) -> str:
    """Return what is wrong with how *formulation* has the cheapest plan of a small problem, in words; "" if nothing.

    What it makes of the plan is none, or an exact one excludes it and does not say what its rows ask for.
    """
    if formulation.role == "relaxation" or not _own_rows(formulation):
        return ""
    cheapest = _cheapest(name)
    if not cheapest:
        return ""
    reading = _read(formulation, solver, sample(name), cheapest[0][1])
    if reading.garbled:
        return str(reading.reason)
    if formulation.role != "exact" or formulation_traits(formulation).adds:
        return ""
    best, known = _allowed(formulation, solver, name)
    if not known or (best is not None and best <= cheapest[0][0]):
        return ""
    cost, plan = cheapest[0]
    return (
        f"rows of its own exclude a plan of cost {cost:.9g} that keeps every constraint, devices "
        f"{plan.assignment.tolist()}: if that is what they are for, say so in words, in its attribute adds"
    )


def broken_rows(formulation: Formulation | FormulationFamily, solver: str, problem: Problem, plan: Plan) -> bool:
    """Return whether rows of *formulation* exclude the *plan* that it gave."""
    return _own_rows(formulation) and bool(_read(formulation, solver, problem, plan).excluded)


def lost_by_below(formulation: Formulation | FormulationFamily, cost: float) -> str:
    """Return what ``below`` makes of *formulation*, if that is another one, in words; else ""."""
    if not isinstance(formulation, Strengthened):
        return ""
    below: Any = formulation.below(cost)
    one, other = (f"{type(form).__name__} named {form.name!r}, {form.role}" for form in (formulation, below))
    if type(below) is type(formulation) and one == other:
        return ""
    return f"below({cost:.9g}) of a {one}, returns a {other}: what the first adds would be lost"
