"""The moves of the search for schedules of batches, and their acceptance: one loop, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.state.batch_state import STRIDE, BatchField, BatchState
from mtpp_dsl.solvers.schedule.state.batch_timing import Trial, clashes, keep, meet, move_row, shared, timing
from mtpp_dsl.solvers.schedule.state.chunk_moves import (
    ALIKE,
    ROWS,
    SWAPPED,
    ChunkShares,
    Draws,
    below,
    draw,
    fits,
    neighbour,
    uniform,
)

__all__ = ["BATCH_SEARCH", "BatchMoves", "BestBatch", "most_draws"]

STEPS_A_SECOND = 2.5e5
LARGEST = 64
"""Classes in a block, at most."""
PATIENCE = 32
"""Changes after which the critical path is looked for again."""


class BatchMoves(NamedTuple):
    """Shares of kinds of moves, and their sizes.

    Attributes:
        orders: share of moves of one batch to another place in the order of its device.
        near: share of these that pass few others.
        critical: share of moves that begin at a batch of the critical path.
        blocks: share of new rows that several supernodes get.
        grown: how many, more or less: exponentially distributed below it.
        swaps: share of moves in which two supernodes exchange their rows.
        rows: how new rows are drawn.
    """

    orders: float
    near: float
    critical: float
    blocks: float
    grown: float
    swaps: float
    rows: ChunkShares


class BestBatch(NamedTuple):
    """The best state met: [supernodes, chunks] devices, [n k] places of batches in their order, [1] makespan."""

    home: Ints
    place: Ints
    cost: Floats


def most_draws(k: int) -> int:
    """Return how many numbers one move may take."""
    return 32 + k + 16 * LARGEST


def window(field: BatchField, state: BatchState, x: int) -> tuple[int, int]:
    """Return the last place of a batch that *x* needs (-1 without one), and the first of one that needs it (length)."""
    k = field.time.shape[1]
    v, f = x // k, x % k
    c = field.group[v]
    low, high = -1, int(state.length[0])
    for j in range(field.offsets_in[v], field.offsets_in[v + 1]):
        u = field.tails[field.entering[j]]
        a = field.group[u]
        for t in range(state.actives[a]):
            d = state.active[a, t]
            if state.place[u * k + d] > low and meet(state, a, d, c, f):
                low = int(state.place[u * k + d])
    for e in range(field.offsets[v], field.offsets[v + 1]):
        w = field.heads[e]
        a = field.group[w]
        for t in range(state.actives[a]):
            d = state.active[a, t]
            if 0 <= state.place[w * k + d] < high and meet(state, c, f, a, d):
                high = int(state.place[w * k + d])
    return low, high


def shift(field: BatchField, state: BatchState, trial: Trial, x: int, span: int, forth: bool) -> int:
    """Write an order in which *x* passes up to *span* others of its device; return its first change, -1 for none."""
    k = field.time.shape[1]
    low, high = window(field, state, x)
    source = int(state.place[x])
    target, i, passed = source, source, 0
    step = 1 if forth else -1
    while passed < span and low < i + step < high:
        i += step
        y = state.order[i]
        if y % k == x % k and field.time[y // k, y % k, state.size[field.group[y // k], y % k]] > 0:
            target = i
            passed += 1
    if passed == 0:
        return -1
    first = min(source, target) // STRIDE * STRIDE
    for i in range(first, state.length[0]):
        trial.source[i] = state.order[i]
    i = source
    while i != target:
        trial.source[i] = state.order[i + step]
        i += step
    trial.source[target] = x
    return first


def listed(
    field: BatchField, state: BatchState, trial: Trial, moved: Ints, m: int, head: Ints, link: Ints
) -> tuple[int, int]:
    """Write the order after supernodes have got new rows; return its first change, and how many batches there are now.

    A new batch stands where the first one of its node stood, but behind what it needs, and before what needs it.
    """
    k = field.time.shape[1]
    length = state.length[0]
    first = length
    for i in range(m):
        c = moved[i]
        for j in range(field.members_at[c], field.members_at[c + 1]):
            v = field.members[j]
            anchor = length
            for d in range(k):
                if 0 <= state.place[v * k + d] < anchor:
                    anchor = state.place[v * k + d]
            first = min(first, anchor)
            for t in range(state.actives[c]):
                x = v * k + state.active[c, t]
                low, high = window(field, state, x)
                first = min(first, high)
                if state.place[x] < 0:
                    spot = max(low + 1, min(anchor, high))
                    first = min(first, spot)
                    link[x] = head[spot]
                    head[spot] = x
    first = first // STRIDE * STRIDE
    done = first
    for i in range(first, length + 1):
        x = head[i]
        head[i] = -1
        while x >= 0:
            trial.source[done] = x
            done += 1
            x = link[x]
        if i < length:
            x = state.order[i]
            if state.size[field.group[x // k], x % k] > 0:
                trial.source[done] = x
                done += 1
    return first, done


def critical(field: BatchField, state: BatchState, path: Ints, behind: Ints) -> int:
    """Write batches of which each starts when the next one's end lets it, from the last on; return how many."""
    k = field.time.shape[1]
    on = np.full(k, -1)
    last = state.order[0]
    for i in range(state.length[0]):
        x = state.order[i]
        behind[x] = -1
        if field.time[x // k, x % k, state.size[field.group[x // k], x % k]] > 0:
            behind[x] = on[x % k]
            on[x % k] = x
        if state.end[x] > state.end[last]:
            last = x
    count = 0
    x = last
    while x >= 0:
        path[count] = x
        count += 1
        v, f = x // k, x % k
        c = field.group[v]
        latest, cause = -1.0, -1
        for j in range(field.offsets_in[v], field.offsets_in[v + 1]):
            e = field.entering[j]
            u = field.tails[e]
            a = field.group[u]
            for t in range(state.actives[a]):
                d = state.active[a, t]
                if not meet(state, a, d, c, f):
                    continue
                at = state.end[u * k + d]
                if d != f:
                    at += field.fixed[field.row[e], d, f]
                    if field.per_input:
                        at += shared(state, a, d, c, f) * field.growing[field.row[e], d, f]
                if at > latest:
                    latest, cause = at, u * k + d
        if behind[x] >= 0 and state.end[behind[x]] > latest:
            cause = behind[x]
        x = cause
    return count


def grow(
    field: BatchField,
    state: BatchState,
    how: int,
    size: int,
    pair: Ints,
    moved: Ints,
    saved: Ints,
    mark: Ints,
    draws: Draws,
    row: Ints,
    sizes: Ints,
) -> int:
    """Give supernodes around the first of *moved* what it got; return how many have a new row now.

    Those with the same row as it had get the same one; with a batch moved or two devices exchanged, any others too.
    """
    m, tries = 1, 4 * (size - 1)
    first = moved[0]
    fresh = state.home[first].copy()
    while m < size and tries > 0:
        tries -= 1
        from_last = uniform(draws) < 0.4
        which = below(draws, m)
        x = neighbour(field, moved[m - 1] if from_last else moved[which], draws)
        if x < 0 or mark[x] == mark[first] or field.pinned[x]:
            continue
        same = True
        for i in range(len(row)):
            same = same and state.home[x, i] == saved[0, i]
        if same:
            row[:] = fresh
        elif how == ALIKE:
            continue
        else:
            changed = False
            for i in range(len(row)):
                row[i] = state.home[x, i]
                if row[i] == pair[0]:
                    row[i] = pair[1]
                    changed = True
                elif how == SWAPPED and row[i] == pair[1]:
                    row[i] = pair[0]
                    changed = True
            if not changed:
                continue
        if not fits(field, x, row, sizes):
            continue
        mark[x] = mark[first]
        moved[m] = x
        saved[m] = state.home[x]
        move_row(field, state, x, row)
        m += 1
    return m


def _search(
    values: Floats,
    steps: int,
    temperature: float,
    penalty: float,
    moves: BatchMoves,
    field: BatchField,
    state: BatchState,
    trial: Trial,
    best: BestBatch,
) -> int:
    """Try up to *steps* moves while there are *values* (uniform in [0, 1)) left; return how many were tried.

    A move takes a batch to another place of the order, or chunks of supernodes to other devices. One that makes
    the schedule longer by x is kept with probability ``exp(-x / temperature)``. A device over its limit counts as a
    time: *penalty* times the excess, as a share of the limit, and a tenth; a batch that gets inputs without a link, and
    a chunk of two supernodes in conflict on one device, count as a tenth of *penalty*.

    A state whose cost is ``inf`` is timed first, as it is.
    """
    supernodes, chunks = state.home.shape
    k = field.time.shape[1]
    draws = Draws(values, np.zeros(1, np.int64))
    most = 32 + k + 16 * LARGEST
    moved = np.empty(LARGEST, np.int64)
    saved = np.empty((LARGEST, chunks), np.int64)
    mark = np.zeros(supernodes, np.int64)
    row, sizes, pair = np.empty(chunks, np.int64), np.empty(k, np.int64), np.empty(2, np.int64)
    head, link = np.full(len(state.order) + 1, -1), np.full(len(state.place), -1)
    path, behind = np.empty(len(state.order), np.int64), np.empty(len(state.place), np.int64)
    count, age, step = 0, PATIENCE, 0
    while step < steps and draws.at[0] + most <= len(values):
        step += 1
        m, begin, length = 0, 0, state.length[0]
        fresh = state.cost[0] == np.inf
        # A state that has not been timed is timed as it is.
        if fresh:
            trial.source[:length] = state.order[:length]
        else:
            # Choose the batch at which the move begins: any, or one of the critical path, which is looked for again
            # from time to time.
            if age >= PATIENCE and uniform(draws) < moves.critical:
                age = 0
                count = critical(field, state, path, behind)
            x = state.order[below(draws, length)]
            if count > 0 and uniform(draws) < moves.critical:
                x = path[below(draws, count)]
                if state.place[x] < 0:
                    continue
            c = field.group[x // k]
            # A move in the order of a device.
            if uniform(draws) < moves.orders:
                mean = 2.0 if uniform(draws) < moves.near else 16.0
                span = 1 + int(-np.log(1.0 - uniform(draws)) * mean)
                begin = shift(field, state, trial, x, span, uniform(draws) < 0.5)
                if begin < 0:
                    continue
            else:
                if field.pinned[c]:
                    continue
                # Another row for its supernode: two supernodes exchange theirs, or one gets a new one, and others
                # around it with it.
                mark[c] = step
                moved[0] = c
                saved[0] = state.home[c]
                if uniform(draws) < moves.swaps:
                    other = below(draws, supernodes)
                    if field.pinned[other] or other == c:
                        continue
                    row[:] = state.home[other]
                    if not fits(field, other, saved[0], sizes) or not fits(field, c, row, sizes):
                        continue
                    moved[1] = other
                    saved[1] = row
                    move_row(field, state, other, saved[0])
                    move_row(field, state, c, row)
                    m = 2
                else:
                    how = draw(field, state, c, draws, moves.rows, row, sizes, pair)
                    if how < 0:
                        continue
                    move_row(field, state, c, row)
                    m = 1
                    if uniform(draws) < moves.blocks:
                        size = int(-np.log(1.0 - uniform(draws)) * moves.grown * uniform(draws))
                        size = min(LARGEST, 1 + size)
                        m = grow(field, state, how, size, pair, moved, saved, mark, draws, row, sizes)
                # The rows are changed now. Without a difference there is nothing to time; else the order gets the new
                # batches.
                changed = False
                for i in range(m):
                    for j in range(chunks):
                        changed = changed or saved[i, j] != state.home[moved[i], j]
                if not changed:
                    continue
                begin, length = listed(field, state, trial, moved, m, head, link)
        # Charge conflicts and devices over their limits.
        over, broken = 0.1 * state.clash[0], state.clash[0] > 0
        for d in range(k):
            if state.used[d] > field.limit[d]:
                over += 0.1 + (state.used[d] - field.limit[d]) / max(field.limit[d], 1e-300)
                broken = True
        excess = penalty * over if broken else 0.0
        # Metropolis: the largest cost that will be accepted is known before the schedule is timed.
        allowed = np.inf if fresh else state.cost[0] - temperature * np.log(1.0 - uniform(draws)) - excess
        if allowed >= 0 and timing(field, state, trial, begin, length, allowed, 0.1 * penalty):
            # Accepted: batches that are gone lose their places, the trial becomes the state, and the best one if
            # nothing is broken.
            for i in range(m):
                c = moved[i]
                for j in range(field.members_at[c], field.members_at[c + 1]):
                    for d in range(k):
                        if state.size[c, d] == 0:
                            state.place[field.members[j] * k + d] = -1
            keep(state, trial, begin, length)
            state.cost[0] = trial.cost[0] + 0.1 * penalty * trial.wanting[0] + excess
            age += 1
            if not broken and trial.wanting[0] == 0 and trial.cost[0] < best.cost[0]:
                best.cost[0] = trial.cost[0]
                best.home[:] = state.home
                best.place[:] = state.place
            continue
        # Refused: put the rows back, the last first.
        for i in range(m - 1, -1, -1):
            move_row(field, state, moved[i], saved[i])
    return step


PARTS = (shared, meet, timing, keep, clashes, move_row, *ROWS, window, shift, listed, critical, grow)

BATCH_SEARCH = Kernel(_search, STEPS_A_SECOND, *PARTS)
