"""Tell whether paired differences have a direction that chance does not explain.

The test is Wilcoxon's signed-rank test (1945): it asks for no distribution of the differences, uses their sizes as well
as their signs, and is exact here for up to 50 of them, with ties. Several tests at once are corrected by Holm (1979),
so that the level is the chance of a single false report among all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["greater", "holm"]

EXACT = 50
"""For more differences than this the normal distribution stands in, which is then right to three digits."""

Name = TypeVar("Name")


def greater(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the chance that differences as much above zero as these come up where there is no direction.

    It is the one-sided p-value of Wilcoxon's signed-rank test. Zeros are left out before ranking; equal sizes share
    their mean rank; infinite differences rank highest. Without any difference it is 1.

    >>> greater([1.0, 2.0, 3.0, 4.0, 5.0])
    0.03125
    >>> greater([0.0, 0.0])
    1.0
    """
    given = np.asarray(differences, dtype=float)
    given = given[given != 0]
    if not len(given):
        return 1.0
    from scipy.stats import norm, rankdata

    doubled = np.rint(2 * rankdata(np.abs(given))).astype(np.int64)  # mean ranks are whole or half
    reached = int(doubled[given > 0].sum())
    if len(given) <= EXACT:
        return _exact(doubled, reached)
    mean, deviation = doubled.sum() / 2, np.sqrt((doubled.astype(float) ** 2).sum() / 4)
    return float(norm.sf((reached - 1 - mean) / deviation))  # corrected for continuity: ranks go by whole steps


def _exact(doubled: NDArray[np.int64], reached: int) -> float:
    """Return the share of all ways to give these ranks signs whose positive ranks sum to *reached* or more."""
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] += ways[:-rank].copy()
        ways /= 2
    return float(min(1.0, ways[reached:].sum()))


def holm(chances: Mapping[Name, float]) -> dict[Name, float]:
    """Return the chances of several tests, corrected: at each level, one false report is as likely as the level says.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    corrected: dict[Name, float] = {}
    least = 0.0
    for i, (name, chance) in enumerate(sorted(chances.items(), key=lambda entry: entry[1])):
        least = max(least, min(1.0, chance * (len(chances) - i)))
        corrected[name] = least
    return corrected
