"""The largest deviations on every device, which its load counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.overflow import NOTHING


def deviations(model: Any, problem: Problem, home: Sequence[int], on: On, unit: float) -> Callable[[Any], Any]:
    """Add what nodes may take longer; returned as ``late(d)``, an expression in the model's *unit*.

    Formula: ``late(d) = g z[d] + sum_v p[v,d]``, ``p[v,d] >= dev[v,d] on(v,d) - z[d]``, ``z, p >= 0``: the least of it
    is the sum of the g largest deviations of the nodes on d, by duality.
    Source -> target: ``constraint robust up to g`` -> rows.
    Exact where loads are pushed down, else from above. Reference: Bertsimas and Sim (2003).

    Args:
        model: with ``D``.
        problem: what is asked.
        home: [n] which node of the model stands for each node: merged nodes keep their own deviations.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        unit: of times in the model.
    """
    if problem.robust is None:
        return lambda _: 0.0
    most, late = problem.robust.most, problem.deviation / unit
    part = model.late = pyo.Block(concrete=True)
    part.z = pyo.Var(model.D, bounds=(0, None))
    pairs = [(v, d) for v, d in np.argwhere(late > NOTHING).tolist() if problem.allowed[v, d]]
    part.p = pyo.Var(pairs, bounds=(0, None))
    part.rows = pyo.ConstraintList()
    for v, d in pairs:
        part.rows.add(part.p[v, d] >= float(late[v, d]) * on(home[v], d) - part.z[d])
    own: dict[int, list[Any]] = {}
    for v, d in pairs:
        own.setdefault(d, []).append(part.p[v, d])
    return lambda d: most * part.z[d] + sum(own.get(d, []))
