"""The biased (1+1) evolutionary algorithm on batches: method ``ea``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.batch_run import BatchLister, mean_carry, mean_time
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward
from mtpp_dsl.solvers.schedule.search.batch_starts import incumbent_of, result_of, somewhere
from mtpp_dsl.solvers.schedule.search.evolution import MIN_PATIENCE, evolve
from mtpp_dsl.solvers.schedule.state.batch_state import (
    BatchField,
    BatchState,
    field_of,
    is_plan,
    order_of,
    recount,
    state_of,
)
from mtpp_dsl.solvers.schedule.state.batch_timing import Trial, clashes, meet, move_row, shared, timing, trial_of
from mtpp_dsl.solvers.schedule.state.chunk_moves import Draws, aligned, below, neighbour, spread_of, uniform

__all__ = ["evolve_batches"]

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
    incumbent = incumbent_of("ea", instance, limits, progress)
    field = field_of(instance)
    incumbent.take_start()
    if field is None or instance.n == 0 or incumbent.done:
        return result_of(incumbent)
    order = in_order(instance.graph, upward(instance.graph, mean_time(instance), mean_carry(instance)))
    state = state_of(field, _first(incumbent, instance, field, progress.say), np.zeros((instance.n, instance.k)))
    trial = trial_of(field, state)
    draws = np.empty(max(1 << 16, 4 * draws_of(instance.k, instance.chunks)))
    patience = max(MIN_PATIENCE, patience * len(field.may) * problem.k)
    run = EVOLVE.pick(patience * (instance.n + instance.m), progress.say)
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


def _first(incumbent: Incumbent, instance: BatchInstance, field: BatchField, say: Callable[[str], None]) -> Ints:
    """Return the devices of the plan to start from, if it is feasible, else as ``met`` places nodes, else any."""
    if incumbent.plan is None:
        lister = BatchLister.of(instance, lambda: None, say)
        plan = lister if isinstance(lister, str) else lister.schedule("met")
        if isinstance(plan, str) or not incumbent.take(plan):
            return somewhere(field, instance)
    assert incumbent.plan is not None
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    home[field.group] = order_of(instance, incumbent.plan)[0]
    return home


# The (1+1) evolutionary algorithm's loop over batches, compiled.

STEPS_WORTH_COMPILING = 2e4
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


def _evolve(
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
        excess = 0.1 * penalty * state.clash[0]
        for d in range(k):
            if state.used[d] > field.limit[d]:
                excess += penalty * (0.1 + (state.used[d] - field.limit[d]) / max(field.limit[d], 1e-300))
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
        for i in range(m - 1, -1, -1):
            move_row(field, state, moved[i], saved[i])
    return step


EVOLVE = Kernel(
    _evolve,
    STEPS_WORTH_COMPILING,
    *(shared, meet, timing, clashes, move_row, uniform, below, neighbour, aligned, spread_of, mutate),
)
