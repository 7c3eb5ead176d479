"""The (1+1) evolutionary algorithm's loop, compiled."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.search.sample_state import SampleField

__all__ = ["EVOLVE"]

STEPS_WORTH_COMPILING = 2e4


def _evolve(draws: Floats, steps: int, field: SampleField, order: Ints, home: Ints, cost: Floats) -> int:
    """Try up to *steps* children while there are *draws* (uniform in [0, 1)) left; return how many were tried.

    In a child every supernode goes to another of the k devices, each as likely, with probability 1 / supernodes. It
    takes the place of its parent if it breaks no rule and its schedule, in a fixed *order*, is no longer. The cost of
    the parent is ``cost[0]``, ``inf`` if it has not been timed; then the first step times it.
    """
    arrays = field.arrays
    n, k = arrays.time.shape
    supernodes = len(home)
    child = np.empty(supernodes, np.int64)
    used = np.empty(k)
    end = np.empty(n)
    free = np.empty(3 * k)
    rare = np.log(1.0 - 1.0 / supernodes) if supernodes > 1 else -1e300
    at = 0
    step = 0
    while step < steps and at + 3 + 2 * supernodes <= len(draws):
        step += 1
        child[:] = home
        changed = cost[0] == np.inf
        c = supernodes if changed or k == 1 else int(np.log(1.0 - draws[at]) / rare)
        while c < supernodes:
            d = int(draws[at + 1] * (k - 1))
            child[c] = d if d < home[c] else d + 1
            changed = True
            at += 2
            c += 1 + int(np.log(1.0 - draws[at]) / rare)
        at += 1
        if not changed:
            continue
        possible = True
        used[:] = 0.0
        for c in range(supernodes):
            used[child[c]] += field.need[c]
            possible = possible and field.may[c, child[c]]
            for j in range(field.apart_at[c], field.apart_at[c + 1]):
                possible = possible and child[field.apart[j]] != child[c]
        for d in range(k):
            possible = possible and used[d] <= field.limit[d]
        if not possible:
            continue
        free[:] = 0.0
        makespan = 0.0
        for i in range(n):
            v = order[i]
            f = child[field.group[v]]
            ready = 0.0
            for j in range(arrays.offsets_in[v], arrays.offsets_in[v + 1]):
                e = arrays.entering[j]
                u = arrays.tails[e]
                d = child[field.group[u]]
                sent = end[u]
                if d != f:
                    carry = (
                        arrays.latency[d, f] + arrays.size[e] * arrays.inverse[d, f] + arrays.table[arrays.row[e], d, f]
                    )
                    if arrays.exclusive and carry > 0:
                        sent = max(sent, free[k + d], free[2 * k + f])
                        free[k + d] = free[2 * k + f] = sent + carry
                    sent += carry
                ready = max(ready, sent)
            if arrays.time[v, f] > 0:
                ready = max(ready, free[f]) + arrays.time[v, f]
                free[f] = ready
            end[v] = ready
            makespan = max(makespan, ready)
            if makespan > cost[0]:
                break
        if makespan <= cost[0]:
            cost[0] = makespan
            home[:] = child
    return step


EVOLVE = Kernel(_evolve, STEPS_WORTH_COMPILING)
