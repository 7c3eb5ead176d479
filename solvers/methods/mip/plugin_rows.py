"""Formulations that are not built in: their rows may take plans away that the problem allows.

A plan from elsewhere counts as a plan of such a formulation only as its own model has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.lazy import MODELLING, pyo
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Backend, Formulation, FormulationFamily, Outcome, Strengthened
from mtpp_dsl.core.contracts.traits import formulation_traits
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import derives_from, is_built_in
from mtpp_dsl.solvers.runtime.reduced import Aside

SHARE, SECONDS = 0.1, 10.0
"""How long to look whether a model has a plan: all that says where nodes run is fixed in it."""
OFF = 1e-5
"""A bound above the cost of a plan by no more than this share is one of tolerances."""


def has_own_rows(formulation: Formulation | FormulationFamily) -> bool:
    """Return whether rows of *formulation* may take plans away that the problem allows.

    A built-in one has none. A relaxation has some if it says so; of another one, it is unknown.
    """
    if is_built_in(formulation):
        return False
    return formulation.role != "relaxation" or bool(formulation_traits(formulation).adds)


@dataclass(frozen=True)
class ReadPlan:
    """A plan from elsewhere, as a formulation has it.

    Attributes:
        plan: where swapped devices or other times tell the two apart, the formulation's own; None if it has none.
        excluded: whether the model has no solution with it.
        garbled: whether the model has one, and what ``extract`` reads from it is no plan, or not one of its own.
        reason: why there is none, in words.
    """

    plan: Plan | None = None
    excluded: bool = False
    garbled: bool = False
    reason: str = ""


def read_through(
    formulation: Formulation, backend: Backend, problem: Problem, plan: Plan, limits: Limits, progress: Progress
) -> ReadPlan:
    """Return *plan* as *formulation* has it: what ``start`` sets is fixed, the rest solved, the plan read back.

    A plan that is read back as another one, as where devices are swapped, is looked for in the model itself.
    """
    if formulation.role == "relaxation":
        return ReadPlan(reason=f"{formulation.name!r} is a relaxation, which cannot tell whether its rows allow it")

    def fixed(known: Plan) -> tuple[object, Outcome | None]:
        with MODELLING:
            model = formulation.build(problem)
            formulation.start(problem, model, known)
            if not _fix(model):
                return model, None
        seconds = min(SECONDS, SHARE * limits.remaining)
        within = limits.within(seconds, start=None, write_model=None, solver_options={})
        return model, backend.solve(model, within, Aside(progress), lambda *_: None)

    model, outcome = fixed(plan)
    if outcome is None:
        return ReadPlan(reason=f"start() of formulation {formulation.name!r} sets nothing by which to tell")
    if outcome.termination == "infeasible":
        reason = f"it keeps every constraint of the problem, and rows of formulation {formulation.name!r} exclude it"
        return ReadPlan(excluded=True, reason=reason)
    if outcome.objective is None:
        return ReadPlan(reason=f"the time was too short to tell whether rows of {formulation.name!r} allow it")
    with MODELLING:
        extracted = formulation.extract(problem, model)
    broken = verify(problem, extracted)
    if broken:
        reason = f"extract() of formulation {formulation.name!r} makes of it what is no plan: {broken[0]}"
        return ReadPlan(garbled=True, reason=reason)
    if (extracted.assignment != plan.assignment).any():
        again = fixed(extracted)[1]
        if again is not None and again.termination == "infeasible":
            lost = "a plan that rows of it exclude"
            return ReadPlan(garbled=True, reason=f"extract() of formulation {formulation.name!r} makes of it {lost}")
    return ReadPlan(extracted)


def _fix(model: object) -> int:
    """Fix the integer variables that have a value; return how many."""
    fixed = 0
    for variable in model.component_data_objects(pyo.Var, active=True, descend_into=True):  # type: ignore[attr-defined]
        if variable.is_integer() and not variable.fixed and variable.value is not None:
            variable.fix(round(variable.value))
            fixed += 1
    return fixed


def stronger(formulation: Strengthened, cost: float) -> Strengthened:
    """Return *formulation* for plans that cost at most *cost*: the same formulation still.

    Raises:
        PluginError: ``below`` returns another one, in which what this one adds would be lost.
    """
    narrowed = formulation.below(cost)
    one, other = (f"{type(form).__name__} named {form.name!r}, {form.role}" for form in (formulation, narrowed))  # type: ignore[attr-defined]
    if type(narrowed) is not type(formulation) or one != other:
        raise PluginError(
            f"below() of a {one}, returns a {other}: what the first adds would be lost; return a copy of self that "
            "remembers the cost, or self"
        )
    return narrowed


def scope(formulation: Formulation | FormulationFamily, *, excluded: bool) -> str:
    """Return of which plans alone the answer of *formulation* speaks, in words; "" if of all of the problem.

    Args:
        formulation: whose answer.
        excluded: whether its rows are known to take a plan away.
    """
    if not has_own_rows(formulation):
        return ""
    adds, base = formulation_traits(formulation).adds, derives_from(formulation)
    if not (adds or base or excluded):
        return ""
    rows = f"keep what formulation {formulation.name!r} adds: {adds}" if adds else f"rows of {formulation.name!r} allow"
    unsaid = "" if adds else " (it does not say what they add)"
    return f"of the plans that {rows}{unsaid}"


def too_high(formulation: Formulation | FormulationFamily, bound: float, cost: float) -> None:
    """Raise PluginError where a formulation that is not built in proves more than a plan of its own costs."""
    if is_built_in(formulation) or bound <= cost + OFF * abs(cost):
        return
    if formulation.role == "relaxation":
        blame = "it is no relaxation; if rows of its own take plans away, it has to say so, in its attribute adds"
    else:
        blame = "its objective is not the cost of its plans, or extract() loses what its rows ask for"
    raise PluginError(
        f"formulation {formulation.name!r} proves that nothing costs less than {bound:.9g}, and there is a plan "
        f"of cost {cost:.9g}: {blame}"
    )
