"""Turn memory into whole numbers."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF
from mtpp_dsl.solvers.backends.cpsat.whole_times import EXACT, quantum

__all__ = ["memory"]

BITS = 40
"""Of the largest limit, where sizes have no common measure."""


def memory(sizes: Floats, limits: Floats, *, strict: bool, times: Ints | None = None) -> tuple[Ints, Ints]:
    """Return [n] sizes and [k] capacities as whole numbers; ``INF`` for no limit, or one that cannot be reached.

    Strict capacities let no device hold more than its limit. The others exclude no plan that the independent check
    accepts: it allows a limit to be passed by its tolerance, so a proof over them holds for all plans.

    Args:
        sizes: [n]; a device holds each of them at most once, or as often as *times* says.
        limits: [k]; ``inf`` for none.
        strict: True for plans, False for bounds.
        times: [n].
    """
    total = float(sizes.sum() if times is None else (sizes * times).sum())
    binding = limits < total
    if not binding.any():
        return np.zeros(len(sizes), np.int64), np.full(len(limits), INF)
    room = limits if strict else limits * (1 + TOLERANCE * (1 + 1e-6))
    unit = quantum(np.unique(sizes[sizes > 0]))
    if unit is not None and total / unit < INF:
        units, capacity = np.rint(sizes / unit), np.floor(room[binding] / unit * (1 + len(sizes) * EXACT))
    else:
        unit = total / 2**BITS
        units = np.ceil(sizes / unit) if strict else np.floor(sizes / unit)
        capacity = np.floor(room[binding] / unit) if strict else np.ceil(room[binding] / unit)
    capacities = np.full(len(limits), INF)
    capacities[binding] = np.maximum(capacity, 0).astype(np.int64)
    return units.astype(np.int64), capacities
