"""One formulation, built, written, started, solved and read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, isfinite
from time import monotonic
from typing import Any

from mtpp_dsl.core.base.lazy import MODELLING, pyo
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Backend, Formulation, Outcome
from mtpp_dsl.core.contracts.traits import backend_traits, model_traits
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.mip.model_files import write_model

FEASIBILITY = 1e-6
"""Absolute feasibility tolerance of the solvers, in a model's unit; taken off their bounds."""
PRUNED = 1e-6
"""In the unit of the model's objective: HiGHS leaves solutions out that are better than its incumbent by less."""
STEP_ROUNDING = 1e-9
"""Of a step: what rounding may have made of a bound that is a multiple of it."""


@dataclass(frozen=True)
class Proven:
    """A lower bound on a problem's cost.

    Attributes:
        cost: in the problem's unit.
        by_solver: False if it is the objective's own lower bound, known before solving.
        margin: what was taken off the solver's word, in the model's unit.
        step: all costs are multiples of it, so that the bound is the next one; 0.0 where nothing is known.
    """

    cost: float
    by_solver: bool
    margin: float = FEASIBILITY
    step: float = 0.0


@dataclass(frozen=True)
class SolvedModel:
    """What became of a formulation.

    Attributes:
        outcome: of the solver.
        plan: the incumbent, of an exact formulation or a restriction; None without one.
        proven: the bound; its cost is ``inf`` if the model has no solution, None if nothing is known.
        scale: the model's ``cost_scale``.
        build, solve: seconds.
        margin: what is taken off the solver's word, in the problem's unit.
    """

    outcome: Outcome
    plan: Plan | None
    proven: Proven | None
    scale: float
    build: float
    solve: float
    margin: float


def solve_one(
    formulation: Formulation,
    backend: Backend,
    problem: Problem,
    limits: Limits,
    progress: Progress,
    tell: Callable[[float | None, Proven | None], None],
    known: float | None = None,
) -> SolvedModel:
    """Build and solve *formulation*; *tell* hears the incumbent's cost and the bound as they improve.

    A bound that is *known*, in the problem's unit, becomes a row of the model that is solved, not of the one that is
    written.
    """
    began = monotonic()
    with MODELLING:
        model = formulation.build(problem)
        traits = model_traits(model)
        scale, margin = traits.cost_scale, PRUNED + max(FEASIBILITY, traits.cost_margin)
        step = traits.cost_step
        if limits.start is not None:
            formulation.start(problem, model, limits.start)
        if limits.write_model is not None:
            write_model(model, limits.write_model)
            progress.report_model(limits.write_model)
        slack = backend_traits(backend).slack
        floor = _floor(model, scale, -inf if problem.objective.is_linear else 0.0)
        if known is not None:
            _above(model, scale, margin, known)
    tell(None, floor)
    built = monotonic()

    def taken(bound: float | None) -> float:
        return max(margin, slack * abs(bound or 0.0))

    def on_bound(incumbent: float | None, bound: float | None) -> None:
        tell(None if incumbent is None else incumbent * scale, _proven(bound, scale, taken(bound), floor, step))

    if progress.stopped:
        outcome = Outcome("interrupted", None, None, by=backend.name)
    elif limits.remaining <= 0:  # a large model takes its time to be told, too
        outcome = Outcome("time_limit", None, None, by=backend.name)
    else:
        outcome = backend.solve(model, limits, progress, on_bound)
    solved = monotonic()
    proven = (
        Proven(inf, True)
        if outcome.termination == "infeasible"
        else _proven(outcome.bound, scale, taken(outcome.bound), floor, step)
    )
    plan = None
    if outcome.objective is not None and formulation.role != "relaxation":
        with MODELLING:
            plan = formulation.extract(problem, model)
    return SolvedModel(outcome, plan, proven, scale, built - began, solved - built, margin * scale)


def _above(model: Any, scale: float, margin: float, known: float) -> None:
    """Add what is known of the optimum.

    Formula: ``objective >= bound - margin``, in the model's unit.
    Source -> target: a proven bound -> one row.
    Exact where the model's optimum is the problem's. The cost of a plan is no row beside it: of an objective held
    between two bounds HiGHS has called feasible models infeasible.
    """
    objective = next(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    model.known = pyo.Block(concrete=True)
    model.known.least = pyo.Constraint(expr=objective.expr >= known / scale - margin)


def _proven(bound: float | None, scale: float, margin: float, floor: Proven | None, step: float) -> Proven | None:
    """Return the better of a dual bound, less the margin and up to the next multiple of *step*, and *floor*."""
    if bound is None:
        return floor
    cost = (bound - margin) * scale
    if step:
        cost = max(cost, step * ceil(cost / step - STEP_ROUNDING))
    return Proven(cost, True, margin, step) if floor is None or cost > floor.cost else floor


def _floor(model: Any, scale: float, least: float) -> Proven | None:
    """Return what the bounds of the variables say of the objective, and no less than what no cost is below."""
    from pyomo.contrib.fbbt.expression_bounds_walker import ExpressionBoundsVisitor

    objective = next(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    low, _ = ExpressionBoundsVisitor().walk_expression(objective.expr)
    return Proven(max(float(low) * scale, least), False) if isfinite(low) else None
