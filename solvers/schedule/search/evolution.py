"""Search by the biased (1+1) evolutionary algorithm, on one sample or on batches: method ``ea``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance, ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.batch_run import BatchLister, mean_carry, mean_time
from mtpp_dsl.solvers.schedule.list.list_rules import met
from mtpp_dsl.solvers.schedule.list.list_run import NO_WAY, Lister
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward, upward_ranks
from mtpp_dsl.solvers.schedule.search.sample_state import SampleField, sample_field_of, sample_plan_of
from mtpp_dsl.solvers.schedule.search.schedule_starts import batch_incumbent, result_of, sample_incumbent, somewhere
from mtpp_dsl.solvers.schedule.state.batch_state import (
    BatchField,
    BatchState,
    batch_field_of,
    batch_order_of,
    batch_state_of,
    is_plan,
    recount,
)
from mtpp_dsl.solvers.schedule.state.batch_timing import Trial, clashes, meet, move_row, shared, timing, trial_of
from mtpp_dsl.solvers.schedule.state.chunk_moves import Draws, aligned, below, neighbour, spread_of, uniform

__all__ = ["evolve_batches", "evolve_sample"]

MIN_PATIENCE = 2_000
CHUNK = 1_000
"""Children between two looks at the clock, at most."""


def evolve(
    incumbent: Incumbent,
    patience: int,
    random: np.random.Generator,
    draws: Floats,
    children: Callable[[int], int],
    cost: Floats,
    plan: Callable[[], Plan | None],
) -> None:
    """Mutate the parent until the patience is used up, or there is no more to do.

    Args:
        incumbent: takes plans, and says when to stop.
        patience: children in a row without a better one after which it ends.
        random: where random numbers come from.
        draws: filled with random numbers in [0, 1) before each call of *children*.
        children: tries at most so many, the better of each and its parent staying; returns how many were tried.
        cost: [1] of the parent.
        plan: returns the plan of the parent, or None if it is not feasible.
    """
    known, quiet = np.inf, 0
    while quiet < patience and not incumbent.done:
        random.random(out=draws)
        quiet += children(CHUNK)
        if cost[0] < known:
            known, quiet = float(cost[0]), 0
            better = plan()
            if better is not None:
                incumbent.take(better)


# One sample.


def evolve_sample(problem: Problem, limits: Limits, progress: Progress, patience: int) -> Result:
    """Mutate a schedule of one sample until done or stopped, and return the best plan.

    Args:
        problem: a makespan on links.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: children in a row, per supernode and device, without a shorter schedule, after which it ends.
    """
    instance = ScheduleInstance.of(problem)
    incumbent = sample_incumbent("ea", instance, limits, progress)
    field = sample_field_of(instance)
    first = _first_sample(incumbent, instance, limits)
    if first is None or not instance.n:
        return incumbent.result()
    order = in_order(instance.graph, upward_ranks(instance))
    home = np.zeros(len(field.need), np.int64)
    home[field.group] = first
    patience = max(MIN_PATIENCE, patience * len(home) * problem.k)
    run = SAMPLE_CHILDREN.pick(patience * (instance.n + instance.m), progress.say)
    draws, cost = np.empty(max(1 << 16, 8 * len(home))), np.full(1, np.inf)

    def children(count: int) -> int:
        return run(draws, count, field, order, home, cost)

    def plan() -> Plan:
        return sample_plan_of(instance, order, home[field.group])

    evolve(incumbent, patience, np.random.default_rng(limits.seed), draws, children, cost, plan)
    return incumbent.result()


def _first_sample(incumbent: Incumbent, instance: ScheduleInstance, limits: Limits) -> Ints | None:
    """Return the devices of the plan to start from, if it is feasible, else of what ``met`` makes; None without one."""
    start = limits.start
    if start is not None and incumbent.take(start):
        return np.array(start.assignment)
    lister = Lister.of(instance)
    if lister is None:
        incumbent.note(NO_WAY)
        return None
    plan = met(lister)
    return np.array(plan.assignment) if incumbent.take(plan) else None


# The (1+1) evolutionary algorithm's loop, compiled.

STEPS_A_SECOND = 2e5


def _evolve_sample(draws: Floats, steps: int, field: SampleField, order: Ints, home: Ints, cost: Floats) -> int:
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
        # Mutate: the distance to the next supernode that changes is geometric, so that few numbers are drawn.
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
        # Refuse a child that breaks a limit, support or a conflict set.
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
        # Time it in the fixed order, until it is longer than its parent.
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
        # A child that is no longer takes the place of its parent: sideways steps are taken, too.
        if makespan <= cost[0]:
            cost[0] = makespan
            home[:] = child
    return step


SAMPLE_CHILDREN = Kernel(_evolve_sample, STEPS_A_SECOND)


# Batches.

PENALTY = 0.2
"""Of a device twice over its limit, as a share of the first makespan, nearly."""


def evolve_batches(problem: Problem, limits: Limits, progress: Progress, patience: int) -> Result:
    """Mutate a schedule of a batch until done or stopped, and return the best plan.

    The parent is at first what ``met`` makes, or any spreads of supported sizes.

    Args:
        problem: a batched throughput.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: children in a row, per supernode and device, without a shorter schedule, after which it ends.
    """
    instance = BatchInstance.of(problem)
    incumbent = batch_incumbent("ea", instance, limits, progress)
    field = batch_field_of(instance)
    incumbent.take_start()
    if field is None or instance.n == 0 or incumbent.done:
        return result_of(incumbent)
    order = in_order(instance.graph, upward(instance.graph, mean_time(instance), mean_carry(instance)))
    state = batch_state_of(
        field, _first_batches(incumbent, instance, field, progress.say), np.zeros((instance.n, instance.k))
    )
    trial = trial_of(field, state)
    draws = np.empty(max(1 << 16, 4 * draws_of(instance.k, instance.chunks)))
    patience = max(MIN_PATIENCE, patience * len(field.may) * problem.k)
    run = BATCH_CHILDREN.pick(patience * (instance.n + instance.m), progress.say)
    run(draws, 1, 1.0, field, state, trial, order)
    penalty = PENALTY * float(trial.cost[0]) or 1.0
    state.cost[0] = np.inf  # to be timed anew, with the penalty that follows from the first makespan
    place = np.empty(instance.n)
    place[order] = np.arange(instance.n)
    priority = np.repeat(place[:, None], instance.k, axis=1)

    def children(count: int) -> int:
        tried = run(draws, count, penalty, field, state, trial, order)
        recount(field, state)
        return tried

    def plan() -> Plan | None:
        return instance.plan(state.home[field.group], priority) if is_plan(field, state) else None

    evolve(incumbent, patience, np.random.default_rng(limits.seed), draws, children, state.cost, plan)
    return result_of(incumbent)


def _first_batches(
    incumbent: Incumbent, instance: BatchInstance, field: BatchField, say: Callable[[str], None]
) -> Ints:
    """Return the devices of the plan to start from, if it is feasible, else as ``met`` places nodes, else any."""
    if incumbent.plan is None:
        lister = BatchLister.of(instance, lambda: None, say)
        plan = lister if isinstance(lister, str) else lister.schedule("met")
        if isinstance(plan, str) or not incumbent.take(plan):
            return somewhere(field, instance)
    assert incumbent.plan is not None
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    home[field.group] = batch_order_of(instance, incumbent.plan)[0]
    return home


# The (1+1) evolutionary algorithm's loop over batches, compiled.

BATCH_STEPS = 2e4
MUTATED = 64
"""Classes that change in one child, at most; with one expected, more do not happen."""


def draws_of(k: int, chunks: int) -> int:
    """Return how many numbers a child may take."""
    return 4 + MUTATED * (8 + k + chunks)


def mutate(field: BatchField, state: BatchState, c: int, draws: Draws, row: Ints, size: Ints) -> None:
    """Write a split for supernode *c*: any sizes, and chunks as a neighbour has them or, half the time, at random."""
    spread_of(field, c, draws, size)
    near = neighbour(field, c, draws)
    aligned(size, state.home[near if near >= 0 else c], row)
    if uniform(draws) < 0.5:
        for i in range(len(row) - 1, 0, -1):
            j = below(draws, i + 1)
            d = row[i]
            row[i] = row[j]
            row[j] = d


def _evolve_batches(
    values: Floats, steps: int, penalty: float, field: BatchField, state: BatchState, trial: Trial, order: Ints
) -> int:
    """Try up to *steps* children while there are *values* left; return how many were tried.

    In a child every supernode gets, with probability 1 / supernodes, another split at random. It takes the place of its
    parent if its schedule, with nodes along a fixed *order*, is no longer; what may not be is penalised as in
    :mod:`mtpp_dsl.solvers.schedule.search.batch_moves`. ``state.cost[0]`` is that of the parent, ``inf`` if it has not
    been timed; then the first step times it.
    """
    supernodes, chunks = state.home.shape
    k = field.time.shape[1]
    draws = Draws(values, np.zeros(1, np.int64))
    row, size = np.empty(chunks, np.int64), np.empty(k, np.int64)
    moved, saved = np.empty(MUTATED, np.int64), np.empty((MUTATED, chunks), np.int64)
    rare = np.log(1.0 - 1.0 / supernodes) if supernodes > 1 else -1e300
    step = 0
    while step < steps and draws.at[0] + 4 + MUTATED * (8 + k + chunks) <= len(values):
        step += 1
        fresh = state.cost[0] == np.inf
        # Mutate: the distance to the next supernode that changes is geometric. What it had is saved.
        m = 0
        c = supernodes if fresh else int(np.log(1.0 - uniform(draws)) / rare)
        while c < supernodes and m < MUTATED:
            if not field.pinned[c]:
                mutate(field, state, c, draws, row, size)
                moved[m] = c
                saved[m] = state.home[c]
                move_row(field, state, c, row)
                m += 1
            c += 1 + int(np.log(1.0 - uniform(draws)) / rare)
        if m == 0 and not fresh:
            continue
        # Charge conflicts and devices over their limits.
        excess = 0.1 * penalty * state.clash[0]
        for d in range(k):
            if state.used[d] > field.limit[d]:
                excess += penalty * (0.1 + (state.used[d] - field.limit[d]) / max(field.limit[d], 1e-300))
        # List the batches along the fixed order of nodes, and time them until they cost more than the parent.
        length = 0
        for v in order:
            a = field.group[v]
            for t in range(state.actives[a]):
                trial.source[length] = v * k + state.active[a, t]
                length += 1
        allowed = state.cost[0] - excess
        if allowed >= 0 and timing(field, state, trial, 0, length, allowed, 0.1 * penalty):
            state.cost[0] = trial.cost[0] + 0.1 * penalty * trial.wanting[0] + excess
            continue
        # The child costs more: put the rows back, the last first.
        for i in range(m - 1, -1, -1):
            move_row(field, state, moved[i], saved[i])
    return step


BATCH_CHILDREN = Kernel(
    _evolve_batches,
    BATCH_STEPS,
    *(shared, meet, timing, clashes, move_row, uniform, below, neighbour, aligned, spread_of, mutate),
)
