"""Costs and sizes as whole numbers of a unit, whose sums are exact in any order.

Who rounds chooses the direction. What a plan costs is rounded down for a bound, so that no load is overstated, and
the limit that it must keep is rounded up, so that no feasible plan is lost.
"""

from __future__ import annotations

from math import frexp, ldexp

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints


def floored(values: Floats, unit: float, most: int | None = None) -> Ints:
    """Return *values* in whole numbers of *unit*, rounded down.

    Args:
        values: zero or more; ``inf`` only together with *most*.
        unit: of one.
        most: in units; anything above counts as this much.
    """
    if most is None:
        return np.floor(values / unit).astype(np.int64)
    return np.minimum(np.floor(np.minimum(values, most * unit) / unit), most).astype(np.int64)


def binary_unit(total: float, bits: int) -> float:
    """Return the power of two of which *total* is about ``2 ** bits``; dividing by it rounds nothing.

    Args:
        total: more than zero.
        bits: how finely values are told apart.
    """
    return ldexp(1.0, frexp(total)[1] - bits)
