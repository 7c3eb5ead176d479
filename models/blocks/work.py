"""The running time of a part's nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.models.blocks.assignment import On

Work: TypeAlias = Callable[[Any], Any]


def work(model: Any, on: On, time: Floats, name: str = "time") -> Work:
    """Add the running times; returned as ``work(d)``, an expression in the model's unit.

    Formula: ``sum_v time[v,d] on(v,d)``.
    Source -> target: devices of any speeds -> data, one number per node where all parts agree.
    Exact. Reference: archer2024, eq. 7.

    Args:
        model: with ``V`` and ``D``.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        time: [nodes, parts], finite, in the model's unit.
        name: of the data in the model.
    """
    if np.ptp(time, axis=1).any():
        table = {(v, d): t for v, row in enumerate(time.tolist()) for d, t in enumerate(row)}
        times = pyo.Param(model.V, model.D, initialize=table)
        model.add_component(name, times)
        return lambda d: sum(times[v, d] * on(v, d) for v in model.V)
    cost = pyo.Param(model.V, initialize=dict(enumerate(time[:, 0].tolist())))
    model.add_component(name, cost)
    return lambda d: sum(cost[v] * on(v, d) for v in model.V)
