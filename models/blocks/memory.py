"""What a device's nodes take fits into its memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.graph import Floats
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.rows import PASSED
from mtpp_dsl.models.components import constrain
from mtpp_dsl.problem import Problem

__all__ = ["memory"]

PARTS = 1e3
"""A solver's tolerance of 1e-6 is then 1e-9 of the limit."""


def memory(model: Any, problem: Problem, need: Floats, on: On) -> None:
    """Add the hard memory limits, in thousandths of each device's limit.

    Formula: ``sum_v (memory(v) / limit(d)) on(v,d) <= 1``; ``on(v,d) = 0`` where ``memory(v) > limit(d)``; both with
    the share of the limit that the check of plans lets pass.
    Source -> target: ``constraint memory`` -> a row per limited device.
    Exact, as the check counts. Reference: tarnawski2020, section 3; the reserve is taken off the limit.

    Args:
        model: with ``V``.
        problem: whose devices.
        need: [nodes] the memory of each.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
    """
    limits = problem.memory_limit
    limited = np.flatnonzero(np.isfinite(limits)).tolist()
    if not limited:
        return
    part = model.memory = pyo.Block(concrete=True)
    too_large = [(v, d) for d in limited for v in np.flatnonzero(need > limits[d] * (1 + PASSED)).tolist()]
    part.never = pyo.Set(initialize=too_large, dimen=2)
    constrain(part, "too_large", part.never, rule=lambda _, v, d: on(v, d) == 0)
    roomy = [d for d in limited if limits[d] > 0]
    part.D = pyo.Set(initialize=roomy)
    part.share = pyo.Param(
        model.V,
        part.D,
        initialize={(v, d): PARTS * float(min(need[v] / limits[d], 2.0)) for d in roomy for v in range(len(need))},
    )
    constrain(
        part, "fits", part.D, rule=lambda b, d: sum(b.share[v, d] * on(v, d) for v in model.V) <= PARTS * (1 + PASSED)
    )
