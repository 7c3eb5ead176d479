"""The running time of a part's nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.graph import Floats
from mtpp_dsl.models.blocks.assignment import On

__all__ = ["Work", "work"]

Work: TypeAlias = Callable[[Any], Any]


def work(model: Any, on: On, time: Floats) -> Work:
    """Add the running times; returned as ``work(d)``, an expression in the model's unit.

    Formula: ``sum_v time[v,d] on(v,d)``.
    Source -> target: devices of any speeds -> data, one number per node where all parts agree.
    Exact. Reference: archer2024, eq. 7.

    Args:
        model: with ``V`` and ``D``.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        time: [n, parts], finite, in the model's unit.
    """
    if np.ptp(time, axis=1).any():
        table = {(v, d): t for v, row in enumerate(time.tolist()) for d, t in enumerate(row)}
        model.time = pyo.Param(model.V, model.D, initialize=table)
        return lambda d: sum(model.time[v, d] * on(v, d) for v in model.V)
    model.time = pyo.Param(model.V, initialize=dict(enumerate(time[:, 0].tolist())))
    return lambda d: sum(model.time[v] * on(v, d) for v in model.V)
