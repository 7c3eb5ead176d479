"""Parameters that do not fit into a device's memory are streamed, at a cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum
from typing import Any, TypeAlias

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain

Overflow: TypeAlias = Callable[[Any], Any]

NOTHING = 2e-9
"""Costs in a model below this are dropped: solvers do so too, or fail."""

LOOSE = 1 + 1e-6
"""Of upper bounds: rounding must not close what the rows leave open."""


def overflow(model: Any, problem: Problem, params: Floats, on: On, unit: float, exact: Sequence[int] = ()) -> Overflow:
    """Add what each device pays to stream parameters; returned as ``over(d)``, an expression in the model's unit.

    Formula: ``s[d] >= e[d] - sum_v p[v,d] (1 - on(v,d))``, ``s[d] >= 0``, with the excess ``e[d]`` of all parameters
    over the limit and ``p[v,d] = min(params(v), e[d])``: that is ``(params(d) - limit(d)) / B`` wherever it is not
    negative, and no coefficient is larger than what can be streamed.
    Source -> target: ``overflow = stream`` -> continuous ``s`` on the devices that can overflow.
    Exact while nothing but the objective moves s. For the devices in *exact* a binary z adds
    ``s[d] <= e[d] - sum_v p[v,d] (1 - on(v,d)) + (1 - z[d]) (sum_v p[v,d] - e[d])`` and ``s[d] <= z[d] e[d]``.
    Reference: archer2024, eq. 2, with the peak replaced by a reserve.

    Args:
        model: with ``V`` and ``D``.
        problem: whose devices.
        params: [nodes] the size of the parameters of each.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        unit: the model's unit of cost.
        exact: devices whose overflow something pushes up.
    """
    per_size = 1.0 / (problem.channel.bandwidth * unit)
    excess = np.array([fsum([*params.tolist(), -limit]) for limit in problem.overflow_limit.tolist()]) * per_size
    over = np.flatnonzero(excess > 0).tolist()
    if not over:
        return lambda _: 0
    streamed = np.minimum((params * per_size)[:, None], excess[over])
    spare = _spare(streamed, excess[over])
    streamed[streamed < NOTHING] = 0.0
    part = model.overflow = pyo.Block(concrete=True)
    part.D = pyo.Set(initialize=over)
    part.params = pyo.Param(
        model.V,
        part.D,
        initialize={(v, d): p for v, row in enumerate(streamed.tolist()) for d, p in zip(over, row, strict=True)},
    )
    part.spare = pyo.Param(part.D, initialize=dict(zip(over, spare, strict=True)))
    part.most = pyo.Param(part.D, initialize={d: float(excess[d]) * LOOSE for d in over})
    part.s = pyo.Var(model.D, bounds=lambda _, d: (0, max(0.0, float(excess[d]) * LOOSE)))

    def stored(b: Any, d: Any) -> Any:
        return sum(b.params[v, d] * on(v, d) for v in model.V)

    constrain(part, "least", part.D, rule=lambda b, d: b.s[d] >= stored(b, d) - b.spare[d])
    part.exact = pyo.Set(initialize=[d for d in over if d in exact])
    part.z = pyo.Var(part.exact, domain=pyo.Binary)
    constrain(part, "most_over", part.exact, rule=lambda b, d: b.s[d] <= stored(b, d) - b.spare[d] * b.z[d])
    constrain(part, "most_under", part.exact, rule=lambda b, d: b.s[d] <= b.most[d] * b.z[d])
    return lambda d: part.s[d]


def hidden(model: Any, compute: Overflow, over: Overflow, name: str = "hidden") -> Overflow:
    """Add how long each device works or streams, whichever is longer; returned as a function of the device.

    Formula: ``h[d] >= work(d)``, ``h[d] >= s[d]`` on the devices that can overflow; elsewhere ``work(d)`` itself.
    Source -> target: ``overflow = prefetch`` -> a continuous ``h``.
    Exact while nothing pushes a load up.

    Args:
        model: with the block of :func:`overflow`, if any device can overflow.
        compute: the work of a device.
        over: what :func:`overflow` returned.
        name: of the block to add.
    """
    part = pyo.Block(concrete=True)
    model.add_component(name, part)
    part.D = pyo.Set(initialize=list(model.overflow.D) if hasattr(model, "overflow") else [])
    part.h = pyo.Var(part.D, domain=pyo.NonNegativeReals)
    constrain(part, "works", part.D, rule=lambda b, d: b.h[d] >= compute(d))
    constrain(part, "streams", part.D, rule=lambda b, d: b.h[d] >= over(d))
    return lambda d: part.h[d] if d in part.D else compute(d)


def _spare(streamed: Floats, excess: Floats) -> list[float]:
    """Return [devices] how much of the clipped parameters must be elsewhere for none to be streamed."""
    spare = [fsum([*column, -e]) for column, e in zip(streamed.T.tolist(), excess.tolist(), strict=True)]
    return [value if value > NOTHING else 0.0 for value in spare]
