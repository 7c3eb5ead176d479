"""The user's own rows over ``on``, ``load`` and ``bottleneck``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from mtpp_dsl.constraints import Bottleneck, Linear, Load, On
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.bottleneck import Loads
from mtpp_dsl.models.blocks.rows import INF, Row, row_of
from mtpp_dsl.models.components import impossible
from mtpp_dsl.problem import Problem

__all__ = ["Pushed", "linear", "names_loads", "pushed_up"]


@dataclass(frozen=True)
class Pushed:
    """What some row of the user's gains from making larger: ``loads`` by device, and the ``bottleneck``."""

    loads: frozenset[int]
    bottleneck: bool


def names_loads(problem: Problem) -> bool:
    """Return whether some row of the user's names a load or the bottleneck."""
    return any(not isinstance(decision, On) for row in problem.of(Linear) for decision, _ in row.terms)


def pushed_up(problem: Problem) -> Pushed:
    """Return which costs rows push up, against the objective: those must be exact in a model."""
    loads: set[int] = set()
    largest = False
    for row in problem.of(Linear):
        for decision, a in row.terms:
            if row.sense == "==" or (a > 0) == (row.sense == ">="):
                largest |= isinstance(decision, Bottleneck)
                loads |= {decision.device} if isinstance(decision, Load) else set()
    return Pushed(frozenset(range(problem.k)) if largest else frozenset(loads), largest)


def linear(model: Any, problem: Problem, on: assignment.On, load: Loads, unit: float) -> None:
    """Add the user's rows, each divided by its largest coefficient.

    Formula: ``sum a on(v,d) + sum b load(d) + c bottleneck <=, =, >= rhs``.
    Source -> target: labelled constraints -> rows.
    Exact if what :func:`pushed_up` names is exact in the model, up to the solver's tolerance of 1e-6 of the
    largest coefficient: coefficients below 1e-9 of it only ever widen the row.
    """
    part = model.linear = pyo.Block(concrete=True)
    part.rows = pyo.ConstraintList()
    for number, constraint in enumerate(problem.of(Linear)):
        row = row_of(constraint, unit)
        row.tighten()
        for (v, d), value in row.fixed.items():
            part.rows.add(on(v, d) == value)
        if row.largest:
            row.normalise()
            _add(part.rows, row, on, load, model.T)
        elif row.low > row.slack or row.high < -row.slack:
            impossible(part, f"never_{number}")


def _add(rows: Any, row: Row, on: assignment.On, load: Loads, largest: Any) -> None:
    body = sum(a * on(v, d) for (v, d), a in row.on.items()) + sum(a * load(d) for d, a in row.load.items())
    if row.bottleneck:
        body += row.bottleneck * largest
    if row.low == row.high:
        rows.add(body == row.low)
        return
    if row.low > -INF:
        rows.add(body >= row.low)
    if row.high < INF:
        rows.add(body <= row.high)
