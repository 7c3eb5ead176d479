"""The user's own rows over a schedule: ``on``, ``start``, ``finish``, ``makespan``, ``load`` and ``bottleneck``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import (
    Bottleneck,
    Decision,
    Finish,
    Latency,
    Linear,
    Load,
    Makespan,
    On,
    Penalties,
    Start,
    Used,
)
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.bottleneck import exactly
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.linear import add_rows, most_paid, pushed_up
from mtpp_dsl.models.facts.linear_cost import named_decisions
from mtpp_dsl.models.facts.times import carries
from mtpp_dsl.models.facts.user_rows import UserRow, rows_of

Value = Callable[[Decision], Any]
"""What gives the expression of a decision."""


def limits_of(problem: Problem, most: float, unit: float) -> Callable[[Decision], float]:
    """Return what no decision exceeds in schedules no longer than *most* (in the unit of a model, *unit*)."""
    work = np.where(problem.allowed, problem.time, 0.0).sum(axis=0) / unit * (1 + 1e-9)
    carry = carries(problem, np.arange(problem.graph.n)) / unit
    carried = float(np.where(np.isfinite(carry), carry, 0.0).max(axis=(1, 2), initial=0.0).sum()) * (1 + 1e-9)

    def limit(decision: Decision) -> float:
        match decision:
            case On(node, device):
                return float(problem.allowed[node, device])
            case Used():
                return 1.0
            case Load(device):
                return float(work[device])
            case Bottleneck():
                return float(work.max())
            case Latency():
                return float(work.sum()) + carried
            case Penalties():
                return most_paid(problem, limit, unit)
            case _:
                return most

    return limit


def timed_values(model: Any, problem: Problem, on: Callable[[Any, Any], Any], most: float, unit: float) -> Value:
    """Return what gives the expression of a decision; adds ``l`` and ``T`` where loads and the bottleneck are named.

    Formula: ``load(d)`` is the work on d, ``bottleneck`` the largest; ``latency`` all work and all transfers.

    Args:
        model: with ``s``, ``f``, ``C`` and ``D``, and ``transfer`` and ``times`` where the latency is named.
        problem: whose objective and rows.
        on: of nodes.
        most: no schedule is longer, in the model's unit.
        unit: of the model.
    """
    limit = limits_of(problem, most, unit)
    named = {type(decision) for decision in named_decisions(problem)}
    if named & {Load, Bottleneck, Latency}:
        time = np.where(problem.allowed, problem.time, 0.0) / unit
        model.l = pyo.Var(model.D, domain=pyo.NonNegativeReals)
        nodes = range(problem.graph.n)
        constrain(model, "loads", model.D, rule=lambda m, d: m.l[d] == sum(float(time[v, d]) * on(v, d) for v in nodes))
    if Bottleneck in named:
        model.T = pyo.Var(domain=pyo.NonNegativeReals)
        constrain(model, "largest", model.D, rule=lambda m, d: m.l[d] <= m.T)
        if pushed_up(problem).bottleneck:
            exactly(model, lambda d: model.l[d], limit(Bottleneck()))

    def value(decision: Decision) -> Any:
        match decision:
            case On(node, device):
                return on(node, device)
            case Used(device):
                return model.used.u[device]
            case Load(device):
                return model.l[device]
            case Latency():
                return sum(model.l[d] for d in model.D) + model.transfer.total
            case Penalties():
                return model.paid
            case Start(node):
                return model.s[node]
            case Finish(node):
                return model.f[node]
            case Makespan():
                return model.C
            case _:
                return model.T

    return value


def timed_rows(model: Any, problem: Problem, value: Value, most: float, unit: float) -> None:
    """Add the user's rows, each side by itself.

    Formula: as :func:`mtpp_dsl.models.blocks.linear.linear`.
    Source -> target: labelled constraints -> rows.
    Exact if no row pushes the makespan up.

    Args:
        model: to add to.
        problem: whose constraints.
        value: of :func:`timed_values`.
        most: no schedule is longer, in the model's unit.
        unit: of the model.
    """
    limit = limits_of(problem, most, unit)
    add_rows(model, [_rows(row, limit, unit) for row in problem.hard_rows], value)


def unreadable_times(problem: Problem, most: float, unit: float) -> str | None:
    """Return why some row of the user's cannot be told to a solver, or None."""
    limit = limits_of(problem, most, unit)
    for constraint in problem.hard_rows:
        if not all(row.readable for row in _rows(constraint, limit, unit)):
            return (
                f"constraint {constraint} mixes numbers too far apart for a MIP solver, which would lose the small "
                "ones; write it with smaller constants"
            )
    return None


def _rows(constraint: Linear, limit: Callable[[Decision], float], unit: float) -> list[UserRow]:
    sides = rows_of(constraint, unit, {decision: limit(decision) for decision, _ in constraint.terms})
    for row in sides:
        row.tighten()
        row.scale()
    return sides
