"""A unit in which numbers are whole or nearly so, and not too large: the columns of a table of loads."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats

DECIMALS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.5, 8.0)
BELOW = 1 - 1e-9
"""Units are so much smaller: what was written as a decimal fraction is then never rounded down to the number below."""


def fitting_unit(times: Floats, target: float, most: int) -> float:
    """Return the unit of which a target above zero is at most *most* and that *times*, rounded down, lose the least in.

    Published times have a few decimals, others are powers of two times whole numbers: such units are tried, from
    *most* to half of it, besides the target divided by *most*.
    """
    least = target / most
    tens = 10.0 ** np.floor(np.log10(least))
    units = np.array(
        [least, *(tens * d for d in DECIMALS), *(10 * tens * d for d in DECIMALS), 2.0 ** np.ceil(np.log2(least))]
    )
    units = units[(units >= least) & (units < 2 * least)] * BELOW
    units = units if len(units) else np.array([least])
    counted = times[(times > 0) & np.isfinite(times)]
    lost = [float((counted - np.floor(counted / unit) * unit).sum()) for unit in units]
    return float(units[int(np.argmin(lost))])
