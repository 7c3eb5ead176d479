"""The biased (1+1) evolutionary algorithm on one sample: method ``ea``."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.list_rules import met, upward_ranks
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import in_order
from mtpp_dsl.solvers.schedule.search.evolution import MIN_PATIENCE, evolve
from mtpp_dsl.solvers.schedule.search.sample_starts import incumbent_of
from mtpp_dsl.solvers.schedule.search.sample_state import SampleField, field_of, plan_of

__all__ = ["evolve_sample"]


def evolve_sample(problem: Problem, limits: Limits, progress: Progress, patience: int) -> Result:
    """Mutate a schedule of one sample until done or stopped, and return the best plan.

    Args:
        problem: a makespan on links.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: children in a row, per supernode and device, without a shorter schedule, after which it ends.
    """
    instance = ScheduleInstance.of(problem)
    incumbent = incumbent_of("ea", instance, limits, progress)
    field = field_of(instance)
    first = _first(incumbent, instance, limits)
    if first is None or not instance.n:
        return incumbent.result()
    order = in_order(instance.graph, upward_ranks(instance))
    home = np.zeros(len(field.need), np.int64)
    home[field.group] = first
    patience = max(MIN_PATIENCE, patience * len(home) * problem.k)
    run = EVOLVE.pick(patience * (instance.n + instance.m), progress.say)
    draws, cost = np.empty(max(1 << 16, 8 * len(home))), np.full(1, np.inf)

    def children(count: int) -> int:
        return run(draws, count, field, order, home, cost)

    def plan() -> Plan:
        return plan_of(instance, order, home[field.group])

    evolve(incumbent, patience, np.random.default_rng(limits.seed), draws, children, cost, plan)
    return incumbent.result()


def _first(incumbent: Incumbent, instance: ScheduleInstance, limits: Limits) -> Ints | None:
    """Return the devices of the plan to start from, if it is feasible, else of what ``met`` makes; None without one."""
    start = limits.start
    if start is not None and incumbent.take(start):
        return np.array(start.assignment)
    lister = Lister.of(instance)
    if lister is None:
        incumbent.note("no way was found to give every node a device within memory, links and the constraints")
        return None
    plan = met(lister)
    return np.array(plan.assignment) if incumbent.take(plan) else None


# The (1+1) evolutionary algorithm's loop, compiled.

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
