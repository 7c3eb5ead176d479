"""State that what a device's nodes take fits into its memory, with the largest of their workspaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.user_rows import PASSED

PARTS = 1e3
"""A solver's tolerance of 1e-6 is then 1e-9 of the limit."""


def memory(
    model: Any, problem: Problem, need: Floats, on: On, limits: Floats | None = None, name: str = "memory"
) -> None:
    """Add the hard memory limits, in thousandths of each device's limit.

    Formula: ``sum_v (memory(v) / limit(d)) on(v,d) <= 1``; ``on(v,d) = 0`` where ``memory(v) > limit(d)``; both with
    the share of the limit that the check of plans lets pass.
    Source -> target: ``constraint memory`` -> a row per limited device.
    Exact, as the check counts. Reference: tarnawski2020, section 3; the reserve is taken off the limit.

    Args:
        model: to add to.
        problem: whose devices.
        need: [nodes] the memory of each, or [nodes, devices]; where that is 0 *on* is not asked.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        limits: [devices] in place of those of ``constraint memory``.
        name: of the block to add.
    """
    limits = problem.memory_limit if limits is None else limits
    limited = np.flatnonzero(np.isfinite(limits)).tolist()
    if not limited:
        return
    part = pyo.Block(concrete=True)
    model.add_component(name, part)
    need = need if need.ndim == 2 else np.repeat(need[:, None], problem.k, axis=1)
    too_large = [(v, d) for d in limited for v in np.flatnonzero(need[:, d] > limits[d] * (1 + PASSED)).tolist()]
    part.never = pyo.Set(initialize=too_large, dimen=2)
    constrain(part, "too_large", part.never, rule=lambda _, v, d: on(v, d) == 0)
    part.D = pyo.Set(initialize=[d for d in limited if limits[d] > 0 and need[:, d].any()])
    users = {d: np.flatnonzero(need[:, d]).tolist() for d in part.D}
    part.users = pyo.Set(part.D, initialize=users)
    part.share = pyo.Param(
        [(v, d) for d in part.D for v in users[d]],
        initialize={(v, d): PARTS * float(min(need[v, d] / limits[d], 2.0)) for d in part.D for v in users[d]},
    )
    constrain(
        part,
        "fits",
        part.D,
        rule=lambda b, d: sum(b.share[v, d] * on(v, d) for v in b.users[d]) <= PARTS * (1 + PASSED),
    )


def workspace(model: Any, problem: Problem, working: Floats, on: On) -> None:
    """Add to the rows of :func:`memory` the largest workspace of a device's nodes, where these differ.

    Formula: with ``e(v,d)`` the workspace of v beyond the least of those that may be on d, which the limit is without,
    ``w[d] >= (e(v,d) / limit(d)) on(v,d)`` and ``sum_v (memory(v) / limit(d)) on(v,d) + w[d] <= 1``.
    Source -> target: ``workspace`` under ``constraint memory`` -> a continuous ``w``, and a row per device and node.
    Exact, as the check counts.

    Args:
        model: with the block ``memory``, if a device is limited.
        problem: whose devices.
        working: [nodes] the workspace of each.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
    """
    if not problem.uneven_workspace:
        return
    limit, beyond = problem.memory_limit, working[:, None] - problem.least_workspace
    least = np.isfinite(limit) & (limit > 0)
    pairs = [(v, d) for v, d in np.argwhere((beyond > 0) & least).tolist() if beyond[v, d] <= limit[d]]
    part = model.workspace = pyo.Block(concrete=True)
    part.P = pyo.Set(initialize=pairs, dimen=2)
    part.D = pyo.Set(initialize=sorted({d for _, d in pairs}))
    part.share = pyo.Param(part.P, initialize={(v, d): PARTS * float(beyond[v, d] / limit[d]) for v, d in pairs})
    part.w = pyo.Var(part.D, bounds=(0, PARTS))
    constrain(part, "largest", part.P, rule=lambda b, v, d: b.w[d] >= b.share[v, d] * on(v, d))
    fitting = set(model.memory.D) if hasattr(model, "memory") else set()

    def taken(d: int) -> Any:
        rows = model.memory
        return sum(rows.share[v, d] * on(v, d) for v in rows.users[d]) if d in fitting else 0

    constrain(part, "fits", part.D, rule=lambda b, d: taken(d) + b.w[d] <= PARTS * (1 + PASSED))
