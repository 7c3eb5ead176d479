"""Which node is on which device; both forms return ``on(v, d)``, a linear expression that is 1 or 0.

``on`` is what every other block is written in: it accepts numbers and the indices of a rule alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.models.blocks.components import constrain, impossible

On: TypeAlias = Callable[[Any, Any], Any]


def assigned(model: Any, allowed: Bools) -> On:
    """Add one binary per node and device.

    Formula: ``sum_d x[v,d] = 1``; ``x[v,d] = 0`` where not *allowed*.
    Source -> target: where a node runs -> binaries ``x`` on ``V × D``.
    Exact. Reference: archer2024, eq. 12.
    """
    model.x = pyo.Var(model.V, model.D, domain=pyo.Binary)
    constrain(model, "once", model.V, rule=lambda m, v: sum(m.x[v, d] for d in m.D) == 1)
    for v, row in enumerate(allowed.tolist()):
        if not any(row):
            impossible(model, f"nowhere_{v}")
            continue
        for d, may in enumerate(row):
            if not may:
                model.x[v, d].fix(0)
    return lambda v, d: model.x[v, d]


def prefixes(model: Any) -> On:
    """Add one binary per node and proper prefix of the parts; ``y[v,b]``: v is in one of the first b.

    Formula: ``y[v,0] = 0``, ``y[v,b] <= y[v,b+1]``, ``y[v,last] = 1``; ``x[v,d] = y[v,d+1] - y[v,d]``, eliminated.
    Source -> target: where a node runs -> binaries ``y`` on ``V × 0..|D|``.
    Exact. Reference: archer2024, eq. 11 and the two rows above it.
    """
    last = len(model.D)
    model.y = pyo.Var(model.V, pyo.RangeSet(0, last), domain=pyo.Binary)
    for v in model.V:
        model.y[v, 0].fix(0)
        model.y[v, last].fix(1)
    model.borders = pyo.RangeSet(1, last - 1)
    constrain(model, "monotone", model.V, pyo.RangeSet(1, last - 2), rule=lambda m, v, b: m.y[v, b] <= m.y[v, b + 1])
    return lambda v, d: model.y[v, d + 1] - model.y[v, d]
