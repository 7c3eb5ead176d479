"""The (1+1) evolutionary algorithm's loop over batches, compiled."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.state.batch_state import BatchField, BatchState
from mtpp_dsl.solvers.schedule.state.batch_timing import Trial, clashes, meet, move_row, shared, timing
from mtpp_dsl.solvers.schedule.state.chunk_moves import Draws, aligned, below, neighbour, spread_of, uniform

__all__ = ["EVOLVE", "draws_of"]

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
