"""The innermost loops of the programmes over ideals and sets of devices."""

from __future__ import annotations

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

__all__ = ["ALONG"]

STEPS_WORTH_COMPILING = 20_000


def _along(
    first: Ints, low: Ints, load: Floats, may: Bools, best: Floats, origin: Ints, device: Ints, largest: bool,
) -> None:  # fmt: skip
    """Find the least sum, or largest, of the loads of chains of stages, by the last ideal and the devices used.

    Args:
        first: [ideals + 1] the first stage that ends at each ideal; ideals come after those inside them.
        low: [stages] the ideal at which each stage begins.
        load: [stages, k] what a device pays for a stage.
        may: [stages, k] whether it may have the stage.
        best: [ideals, sets] to be filled with infinity but for the empty ideal and no device.
        origin: [ideals, sets] stage of the last step.
        device: [ideals, sets] its device.
        largest: whether the largest load counts, not the sum.
    """
    ideals, sets = best.shape
    k = load.shape[1]
    inf = float("inf")
    for end in range(1, ideals):
        for s in range(first[end], first[end + 1]):
            begin = low[s]
            for d in range(k):
                if not may[s, d]:
                    continue
                bit = 1 << d
                cost = load[s, d]
                for used in range(sets):
                    before = best[begin, used]
                    if before == inf or used & bit:
                        continue
                    value = max(before, cost) if largest else before + cost
                    if value < best[end, used | bit]:
                        best[end, used | bit] = value
                        origin[end, used | bit] = s
                        device[end, used | bit] = d


ALONG = Kernel(_along, STEPS_WORTH_COMPILING)
