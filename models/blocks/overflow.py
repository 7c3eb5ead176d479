"""Parameters that do not fit into a device's memory are streamed, at a cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.components import constrain
from mtpp_dsl.problem import Problem

__all__ = ["Overflow", "overflow"]

Overflow: TypeAlias = Callable[[Any], Any]


def overflow(model: Any, problem: Problem, on: On, unit: float, exact: Sequence[int] = ()) -> Overflow:
    """Add what each device pays to stream parameters; returned as ``over(d)``, an expression in the model's unit.

    Formula: ``s[d] >= (params(d) - limit(d)) / B``, ``s[d] >= 0``.
    Source -> target: ``overflow = stream`` -> continuous ``s`` on the devices that can overflow.
    Exact while nothing but the objective moves s. For the devices in *exact* a binary z adds
    ``s[d] <= (params(d) - limit(d)) / B + (1 - z[d]) limit(d) / B`` and ``s[d] <= z[d] (params(V) - limit(d)) / B``.
    Reference: archer2024, eq. 2, with the peak replaced by a reserve.
    """
    graph = problem.graph
    per_size = 1.0 / (problem.interconnect.bandwidth * unit)
    excess = (graph.params.sum() - problem.overflow_limit) * per_size
    over = np.flatnonzero(excess > 0).tolist()
    if not over:
        return lambda _: 0
    part = model.overflow = pyo.Block(concrete=True)
    part.params = pyo.Param(model.V, initialize=dict(enumerate((graph.params * per_size).tolist())))
    part.limit = pyo.Param(over, initialize={d: float(problem.overflow_limit[d]) * per_size for d in over})
    part.most = pyo.Param(over, initialize={d: float(excess[d]) for d in over})
    part.s = pyo.Var(model.D, bounds=lambda _, d: (0, max(0.0, float(excess[d]))))
    part.D = pyo.Set(initialize=over)

    def stored(b: Any, d: Any) -> Any:
        return sum(b.params[v] * on(v, d) for v in model.V)

    constrain(part, "least", part.D, rule=lambda b, d: b.s[d] >= stored(b, d) - b.limit[d])
    part.exact = pyo.Set(initialize=[d for d in over if d in exact])
    part.z = pyo.Var(part.exact, domain=pyo.Binary)
    constrain(part, "most_over", part.exact, rule=lambda b, d: b.s[d] <= stored(b, d) - b.limit[d] * b.z[d])
    constrain(part, "most_under", part.exact, rule=lambda b, d: b.s[d] <= b.most[d] * b.z[d])
    return lambda d: part.s[d]
