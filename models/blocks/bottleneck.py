"""The largest load, which the objective pushes down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.models.blocks.components import constrain

Loads: TypeAlias = Callable[[Any], Any]


def load_variables(model: Any, load: Loads) -> Loads:
    """Give every load a variable of its own, for rows that name loads: ``l[d] = load(d)``; returns ``l``."""
    model.l = pyo.Var(model.D, domain=pyo.NonNegativeReals)
    constrain(model, "loads", model.D, rule=lambda m, d: m.l[d] == load(d))
    return lambda d: model.l[d]


def bottleneck(model: Any, load: Loads, floor: float, *, shares: Sequence[float] | None = None) -> Any:
    """Add the bottleneck T, its rows and the objective; returns T.

    Formula: minimise T; ``shares[d] T >= load(d)``; ``T >= floor``.
    Source -> target: ``minimize bottleneck`` -> a variable and one row per part.
    Exact while nothing but the objective moves T (else add :func:`exactly`).
    Reference: archer2024, eq. 5 and 6; with *shares*, 3.3. T has no upper bound, whatever is known: between two bounds
    HiGHS has called models infeasible that are not, and has called a T at the upper one optimal.

    Args:
        model: with ``D``.
        load: the load of a part.
        floor: a lower bound, all in the model's unit.
        shares: how many blocks a part stands for; 1 each unless given, a part of 0 is left out.
    """
    largest_load(model, load, floor, shares=shares)
    model.objective = pyo.Objective(expr=model.T)
    return model.T


def largest_load(model: Any, load: Loads, floor: float, *, shares: Sequence[float] | None = None) -> None:
    """Add the bottleneck T and its rows; arguments as for :func:`bottleneck`, which minimises it."""
    model.T = pyo.Var(bounds=(floor, None))
    counts = [1.0] * len(model.D) if shares is None else list(shares)
    model.counted = pyo.Set(initialize=[d for d, share in enumerate(counts) if share])
    model.share = pyo.Param(model.counted, initialize={d: counts[d] for d in model.counted})
    constrain(model, "largest", model.counted, rule=lambda m, d: m.share[d] * m.T >= load(d))


def bottlenecks(model: Any, forward: Loads, backward: Loads, floors: tuple[float, float]) -> None:
    """Add a bottleneck for each part of a training graph, their rows and the objective, which is their sum.

    Formula: minimise ``F + B``; ``F >= forward(d)``; ``B >= backward(d)``; each at least its floor.
    Source -> target: ``minimize bottleneck (parts = separate)`` -> two variables and two rows per device.
    Exact while nothing but the objective moves them. Reference: tarnawski2020, 5.3.
    """
    part = model.largest = pyo.Block(concrete=True)
    part.F, part.B = (pyo.Var(bounds=(floor, None)) for floor in floors)
    constrain(part, "forward", model.D, rule=lambda b, d: forward(d) <= b.F)
    constrain(part, "backward", model.D, rule=lambda b, d: backward(d) <= b.B)
    model.objective = pyo.Objective(expr=part.F + part.B)


def exactly(model: Any, load: Loads, most: float) -> None:
    """Hold T down to some device's load, for rows that push it up.

    Formula: ``T <= load(d) + most (1 - a[d])``, ``sum_d a[d] = 1``.
    Source -> target: T is the largest load -> binaries ``a`` that name a device whose load it is.
    Exact, given that T is at least every load. *most* bounds every load from above.
    """
    part = model.argmax = pyo.Block(concrete=True)
    part.a = pyo.Var(model.D, domain=pyo.Binary)
    part.one = pyo.Constraint(expr=sum(part.a[d] for d in model.D) == 1)
    constrain(part, "at_most", model.D, rule=lambda b, d: load(d) + most * (1 - b.a[d]) >= model.T)
