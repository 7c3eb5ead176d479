"""The user's own rows over placements and loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import (
    Bottleneck,
    Constraint,
    Decision,
    Largest,
    Latency,
    Linear,
    Load,
    On,
    Penalties,
    Used,
    decisions_in,
    of_phase,
)
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.bottleneck import Loads
from mtpp_dsl.models.blocks.components import impossible
from mtpp_dsl.models.facts.linear_cost import LOADS, unit_of
from mtpp_dsl.models.facts.scaling import Scale
from mtpp_dsl.models.facts.user_rows import PASSED, UserRow, rows_of

__all__ = [
    "Pushed",
    "add_rows",
    "greatest",
    "limited",
    "limits_of",
    "linear",
    "most_paid",
    "names_loads",
    "pushed_up",
    "unreadable",
    "values_of",
]

LARGEST_LIMIT = 1e6
"""In the model's unit: a larger one says nothing of whether a device is used, within a solver's tolerance."""
WIDEST = 1e5
"""The largest load that rows may name, over the least bottleneck: beyond, solvers call feasible models infeasible."""


@dataclass(frozen=True)
class Pushed:
    """What some row of the user's gains from making larger: ``loads`` by device, and the ``bottleneck``.

    ``phases``: whether it is the bottleneck of one phase.
    """

    loads: frozenset[int]
    bottleneck: bool
    phases: bool = False


def names_loads(problem: Problem) -> bool:
    """Return whether some row of the user's, or of a plug-in's constraint, names a load or the bottleneck."""
    return any(map(_names_loads, problem.constraints))


def _names_loads(constraint: Constraint) -> bool:
    """Return whether rows of *constraint* name a load or the bottleneck."""
    if isinstance(constraint, Linear):
        return any(isinstance(decision, LOADS) for decision in decisions_in(constraint.terms))
    return isinstance(constraint, CustomConstraint) and "load" in constraint.uses


def pushed_up(problem: Problem) -> Pushed:
    """Return which costs rows, or a linear objective, may push up: those must be exact in a model."""
    custom = any("load" in custom.uses for custom in problem.of(CustomConstraint))
    loads: set[int] = set(range(problem.k)) if custom else set()
    largest = phases = False
    for decision in _pushed_up(problem):
        largest |= isinstance(decision, Bottleneck)
        phases |= isinstance(decision, Bottleneck) and decision.phase is not None
        loads |= set(range(problem.k)) if isinstance(decision, Latency) else set()
        loads |= {decision.device} if isinstance(decision, Load) else set()
    return Pushed(frozenset(range(problem.k)) if largest else frozenset(loads), largest, phases)


def _pushed_up(problem: Problem) -> Iterator[Decision]:
    """Yield the decisions that a row, hard or soft, or the objective gains from making larger."""
    for row in problem.of(Linear):
        for sign in {"<=": (1.0,), ">=": (-1.0,), "==": (1.0, -1.0)}[row.sense]:
            yield from _raised(row.terms, sign)
    if problem.objective.is_linear:
        yield from _raised(problem.objective.terms, -1.0 if problem.objective.maximized else 1.0)


def _raised(terms: Iterable[tuple[Decision, float]], sign: float) -> Iterator[Decision]:
    """Yield the decisions that become larger where *terms*, times *sign*, become smaller."""
    for decision, a in terms:
        if isinstance(decision, Largest):  # which is pushed down
            for inner, _ in decision.sums:
                yield from _raised(inner, 1.0)
        elif sign * a < 0:
            yield decision


def greatest(problem: Problem, tensor_costs: Floats, unit: float) -> Floats:
    """Return [devices] what no load exceeds, in the model's *unit*, as *tensor_costs* are."""
    graph, paying = problem.graph, [isinstance(problem.interconnect, Shared) or d.pays_io for d in problem.devices]
    time = np.where(problem.allowed, problem.time, 0.0).sum(axis=0) / unit
    params = np.where(problem.allowed, graph.params[:, None], 0.0).sum(axis=0)
    streamed = np.maximum(params - problem.overflow_limit, 0.0) / problem.channel.bandwidth / unit
    return np.asarray(
        (time + np.where(paying, tensor_costs.sum(), 0.0) + streamed + _latest(problem) / unit) * (1 + 1e-9), np.float64
    )


def _latest(problem: Problem) -> Floats:
    """Return [devices] the most that nodes can take longer on each."""
    most = 0 if problem.robust is None else problem.robust.most
    late: Floats = np.sort(np.where(problem.allowed, problem.deviation, 0.0), axis=0)[::-1][:most].sum(axis=0)
    return late


def rows(problem: Problem, constraint: Linear, unit: float, most: Floats) -> list[UserRow]:
    """Return what *constraint* becomes in a model, ready for a solver; *most* is :func:`greatest`."""
    limit = limits_of(problem, unit, most)
    limits = {decision: limit(decision) for decision, _ in constraint.terms}
    sides = rows_of(constraint, unit, limits)
    for row in sides:
        row.tighten()
        row.scale()
    return sides


def limits_of(problem: Problem, unit: float, most: Floats) -> Callable[[Decision], float]:
    """Return what no decision exceeds, times in the model's *unit*; *most* is :func:`greatest`."""

    def limit(decision: Decision) -> float:
        match decision:
            case Load() | Bottleneck() | Latency() if decision.phase is not None:
                phase = problem.phase(decision.phase)
                of_it = limits_of(phase, unit, greatest(phase, phase.tensor_time / unit, unit))
                return of_it(of_phase(decision, None))
            case Largest(sums):
                own = unit_of(decision, unit)
                ends = (c + sum(abs(a) * unit_of(x, unit) * limit(x) for x, a in terms) for terms, c in sums)
                return max(0.0, *ends) / own
            case On(node, device):
                return float(problem.allowed[node, device])
            case Used():
                return 1.0
            case Load(device):
                return float(most[device])
            case Latency():
                return float(most.sum())
            case Penalties():
                return most_paid(problem, limit, unit)
            case _:
                return float(most.max())

    return limit


def limited(problem: Problem, load: Loads, unit: float) -> dict[int, list[tuple[Any, float]]]:
    """Return the load of each device that rows limit, with its limit, both in the model's *unit*.

    A limit is widened by what the check of plans lets pass. One that is very large is left out.
    """
    limits: dict[int, float] = {}
    for row in problem.hard_rows:
        if getattr(row.terms[0][0] if row.terms else None, "phase", None) is not None:
            continue  # what one phase may take is no share of what all phases take
        if len(row.terms) != 1 or row.terms[0][1] * (1 if row.sense == "<=" else -1) <= 0 or row.sense == "==":
            continue
        ((decision, a),) = row.terms
        limit = row.rhs / a
        if limit > 0 and isinstance(decision, (Bottleneck, Load)):
            for d in range(problem.k) if isinstance(decision, Bottleneck) else [decision.device]:
                limits[d] = min(limits.get(d, limit), limit)
    most = {d: limit * (1 + 2 * PASSED) / unit for d, limit in limits.items()}
    return {d: [(load(d), limit)] for d, limit in most.items() if limit <= LARGEST_LIMIT}


def most_paid(problem: Problem, limit: Callable[[Decision], float], unit: float) -> float:
    """Return what soft rows cost at most; *limit* is what no decision exceeds, times in the model's *unit*."""
    paid = 0.0
    for row in problem.soft_rows:
        assert row.penalty is not None
        paid += row.penalty * (abs(row.rhs) + sum(abs(a) * unit_of(x, unit) * limit(x) for x, a in row.terms))
    return paid


def unreadable(problem: Problem, scale: Scale, most: Floats) -> str | None:
    """Return why some row of the user's cannot be told to a solver, or None."""
    if names_loads(problem) and 0 < scale.floor * WIDEST < most.max() * scale.unit:
        constraint = next(filter(_names_loads, problem.constraints))
        return (
            f"constraint {constraint} names loads, which may be anything from {scale.floor:.3g} to "
            f"{most.max() * scale.unit:.3g}: too far apart for a MIP solver; pin or forbid what is too slow to be used"
        )
    for constraint in problem.hard_rows:
        if not all(row.readable for row in rows(problem, constraint, scale.unit, most)):
            return (
                f"constraint {constraint} mixes numbers too far apart for a MIP solver, which would lose the small "
                "ones; write it with smaller constants"
            )
    return None


def linear(model: Any, problem: Problem, value: Callable[[Decision], Any], unit: float, most: Floats) -> None:
    """Add the user's rows, each side by itself.

    Formula: ``sum a on(v,d) + sum b load(d) + ... <=, =, >= rhs``, widened by what the check lets pass.
    Source -> target: labelled constraints -> rows.
    Exact if what :func:`pushed_up` names is exact in the model, :func:`unreadable` finds nothing, and plans count
    as the check counts them, up to the solver's tolerance.
    """
    sides = [rows(problem, constraint, unit, most) for constraint in problem.hard_rows]
    add_rows(model, sides, value)


def add_rows(model: Any, sides: Sequence[Sequence[UserRow]], value: Callable[[Decision], Any]) -> None:
    """Add rows, and the values that they leave no choice; *value* gives the variable of a decision."""
    part = model.linear = pyo.Block(concrete=True)
    part.rows = pyo.ConstraintList()
    for number, both in enumerate(sides):
        for side, row in enumerate(both):
            for x, fixed in row.fixed.items():
                part.rows.add(value(x) == fixed)
            if row.never:
                impossible(part, f"never_{number}_{side}")
            elif row.terms:
                part.rows.add(sum(a * value(x) for x, a in row.terms.items()) <= row.high)


def values_of(
    model: Any, on: assignment.On, load: Loads, phased: Callable[[Decision], Any] | None = None
) -> Callable[[Decision], Any]:
    """Return what gives the expression of a decision; what soft rows cost is ``model.paid``.

    *phased* gives that of decisions about single phases, and of the largest of several sums.
    """

    def value(decision: Decision) -> Any:
        if phased is not None and (isinstance(decision, Largest) or getattr(decision, "phase", None) is not None):
            return phased(decision)
        match decision:
            case On(node, device):
                return on(node, device)
            case Used(device):
                return model.used.u[device]
            case Load(device):
                return load(device)
            case Latency():
                return sum(load(d) for d in model.D)
            case Penalties():
                return model.paid
            case _:
                return model.T

    return value
