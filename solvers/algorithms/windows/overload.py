"""Intervals in which more has to run than the devices can (Fernandez and Bussell 1973), on devices that differ."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats

__all__ = ["OVERLOAD"]

STEPS_WORTH_COMPILING = 2e4


def overload(
    head: Floats, time: Floats, tail: Floats, target: float, since: Floats, until: Floats, tunings: int, found: Floats
) -> float:
    """Look for an interval [s, u] and weights y of devices that show that no schedule ends by *target*.

    Node v on device d runs within [head, target - tail]; of its time at least
    ``m[v, d] = min(time, u - s, head + time - s, u - (target - tail - time))`` lies in [s, u], if that is positive.
    No schedule ends by the target if ``sum over v of min over d of y[d] m[v, d] > (u - s) sum y``.

    Args:
        head: [n, k] before which no node starts.
        time: [n, k]; ``inf`` where a node may not be, and where it would be too late.
        tail: [n, k] how long before the end every node ends.
        target: the makespan to be refuted.
        since: where intervals begin.
        until: where they end; all pairs with s < u are looked at.
        tunings: how often weights are changed for each interval, after every device alone and all of them.
        found: [2 + k] written: s, u and y of the interval that is fullest.

    Returns:
        The largest ``sum over v / ((u - s) sum y)`` met; more than 1 refutes the target.
    """
    n, k = time.shape
    part = np.empty((n, k))
    load = np.empty(k)
    y = np.empty(k)
    best = 0.0
    for s in since:
        for u in until:
            if not s < u:
                continue
            for v in range(n):
                for d in range(k):
                    part[v, d] = np.inf
                    if time[v, d] < np.inf:
                        early = head[v, d] + time[v, d] - s
                        late = u - (target - tail[v, d] - time[v, d])
                        part[v, d] = max(0.0, min(min(time[v, d], u - s), min(early, late)))
            for trial in range(k + tunings):
                if trial < k:
                    y[:] = 0.0
                    y[trial] = 1.0
                elif trial == k:
                    y[:] = 1.0 / k
                else:
                    total = 0.0
                    for d in range(k):
                        y[d] *= np.exp(min(max(load[d] / (u - s) - 1.0, -1.0), 1.0) / (1.0 + 0.2 * (trial - k)))
                        total += y[d]
                    for d in range(k):
                        y[d] /= total
                load[:] = 0.0
                work = 0.0
                for v in range(n):
                    lowest, chosen = np.inf, -1
                    for d in range(k):
                        if part[v, d] < np.inf:
                            value = y[d] * part[v, d]
                            if value < lowest:
                                lowest, chosen = value, d
                    if chosen >= 0:
                        load[chosen] += part[v, chosen]
                        work += lowest
                total = 0.0
                for d in range(k):
                    total += y[d]
                share = work / ((u - s) * total)
                if share > best:
                    best = share
                    found[0] = s
                    found[1] = u
                    found[2:] = y
    return best


OVERLOAD = Kernel(overload, STEPS_WORTH_COMPILING)
