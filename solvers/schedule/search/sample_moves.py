"""The moves of the search for schedules, and their acceptance: one loop, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.labelled_rows import LabelledRows
from mtpp_dsl.solvers.schedule.search.sample_state import STRIDE, SampleField, SampleState

STEPS_A_SECOND = 2.5e5
LARGEST = 64
"""Classes in a block, at most."""
SAMPLE_DRAWS = 24 + 20 * LARGEST
"""Numbers that one move may take, at most."""
ROW = 0.5
"""Of the penalty: what a row is charged that is missed by however little."""
PATIENCE = 32
"""Changes after which the critical path is looked for again."""


class SampleMoves(NamedTuple):
    """Shares of kinds of moves, and their sizes.

    Attributes:
        orders: share of moves of one node to another place in the order.
        near: share of these that go to a place near by.
        critical: share of moves that begin at a node of the critical path.
        blocks: share of moves of several supernodes to another device.
        grown: how many, more or less: exponentially distributed below it.
        swaps: share of moves to another device in which a supernode comes back from there.
        along: share of moves to the device of a neighbour.
    """

    orders: float
    near: float
    critical: float
    blocks: float
    grown: float
    swaps: float
    along: float


class BestSample(NamedTuple):
    """The best state met: [n] order, [n] devices, [1] makespan."""

    order: Ints
    device: Ints
    cost: Floats


def _search(
    draws: Floats,
    steps: int,
    temperature: float,
    penalty: float,
    moves: SampleMoves,
    field: SampleField,
    state: SampleState,
    best: BestSample,
    rows: LabelledRows | None,
) -> int:
    """Try up to *steps* moves while there are *draws* (uniform in [0, 1)) left; return how many were tried.

    A move takes a node to another place of the order, or supernodes to another device; nodes then start, in the order,
    as soon as what they read has arrived and their device is free (the rule of
    :func:`mtpp_dsl.solvers.algorithms.timing.sweep`). One that makes the schedule longer by x is kept with
    probability ``exp(-x / temperature)``. A device over its limit counts as a time: *penalty* times the excess, as a
    share of the limit, and a tenth. Timing ends as soon as the least time from a node to the end says that the move
    will not be kept.

    Each of the *rows* that does not hold counts as a time, too; those that speak of times are looked at when the nodes
    have theirs. Without rows, numba compiles nothing of what is for them.

    A state whose cost is ``inf`` is timed first, as it is.
    """
    arrays = field.arrays
    n, k = arrays.time.shape
    order, place, device, home, end = state.order, state.place, state.device, state.home, state.end
    trial = np.empty(n)
    trial_free = np.empty(state.free.shape)
    trial_peak = np.empty(len(state.peak))
    free = np.empty(3 * k)
    moved = np.empty(2 * LARGEST, np.int64)
    origin = np.empty(2 * LARGEST, np.int64)
    mark = np.zeros(len(home), np.int64)
    stamp = 0
    path = np.empty(n, np.int64)
    behind = np.empty(n, np.int64)
    on = np.empty(k, np.int64)
    length, age = 0, PATIENCE
    at = 0
    step = 0
    while step < steps and at + SAMPLE_DRAWS <= len(draws):
        step += 1
        shifted, target_place, m = -1, 0, 0
        source, target = 0, 0
        first = 0
        fresh = state.cost[0] == np.inf
        # Choose a move; a state that has not been timed is timed as it is.
        if not fresh:
            # Find a critical path anew, from the node that ends last backwards: before each node comes the input or the
            # node on its device that it waited for.
            if age >= PATIENCE and draws[at] < moves.critical:
                age = 0
                for d in range(k):
                    on[d] = -1
                last = 0
                for i in range(n):
                    v = order[i]
                    behind[v] = -1
                    if arrays.time[v, device[v]] > 0:
                        behind[v] = on[device[v]]
                        on[device[v]] = v
                    if end[v] > end[last]:
                        last = v
                length = 0
                v = last
                while v >= 0:
                    path[length] = v
                    length += 1
                    latest, cause = -1.0, -1
                    for i in range(arrays.offsets_in[v], arrays.offsets_in[v + 1]):
                        e = arrays.entering[i]
                        u = arrays.tails[e]
                        arrival = end[u]
                        if device[u] != device[v]:
                            d, f = device[u], device[v]
                            arrival += (
                                arrays.latency[d, f]
                                + arrays.size[e] * arrays.inverse[d, f]
                                + arrays.table[arrays.row[e], d, f]
                            )
                        if arrival > latest:
                            latest, cause = arrival, u
                    if behind[v] >= 0 and end[behind[v]] > latest:
                        cause = behind[v]
                    v = cause
            # The node at which the move begins: any, or one of the critical path.
            v = int(draws[at + 1] * n)
            if length > 0 and draws[at + 2] < moves.critical:
                v = path[int(draws[at + 1] * length)]
            # A move in the order: to a place between the last node that v reads and the first that reads it, so that
            # the order stays topological.
            if draws[at + 3] < moves.orders:
                low, high = 0, n - 1
                for i in range(arrays.offsets_in[v], arrays.offsets_in[v + 1]):
                    low = max(low, place[arrays.tails[arrays.entering[i]]] + 1)
                for e in range(arrays.offsets[v], arrays.offsets[v + 1]):
                    high = min(high, place[arrays.heads[e]] - 1)
                if draws[at + 4] < moves.near:
                    span = 1 + int(-np.log(1.0 - draws[at + 5]) * 8.0)
                    low, high = max(low, place[v] - span), min(high, place[v] + span)
                target_place = low + int(draws[at + 6] * (high - low + 1))
                at += 7
                if target_place == place[v]:
                    continue
                shifted = v
                source = place[v]
                first = min(source, target_place)
            else:
                # A move to another device: the supernode of v, and the device of a neighbour or any.
                c = field.group[v]
                source = home[c]
                target = int(draws[at + 4] * k)
                degree = arrays.offsets_in[v + 1] - arrays.offsets_in[v] + arrays.offsets[v + 1] - arrays.offsets[v]
                if degree > 0 and draws[at + 5] < moves.along:
                    i = int(draws[at + 6] * degree)
                    if i < arrays.offsets_in[v + 1] - arrays.offsets_in[v]:
                        target = device[arrays.tails[arrays.entering[arrays.offsets_in[v] + i]]]
                    else:
                        i -= arrays.offsets_in[v + 1] - arrays.offsets_in[v]
                        target = device[arrays.heads[arrays.offsets[v] + i]]
                size = 1
                if draws[at + 7] < moves.blocks:
                    size = min(LARGEST, 1 + int(-np.log(1.0 - draws[at + 8]) * moves.grown * draws[at + 9]))
                swaps = draws[at + 10] < moves.swaps
                at += 11
                if target == source:
                    continue
                # Grow a block around it: neighbours on the same device, of two drawn the one whose transfer would take
                # longer. The stamp says what is in it already.
                stamp += 1
                mark[c] = stamp
                moved[0] = c
                m = 1
                tries = 4 * (size - 1)
                while m < size and tries > 0:
                    tries -= 1
                    c = moved[m - 1] if draws[at] < 0.4 else moved[int(draws[at + 1] * m)]
                    v = field.members[
                        field.members_at[c] + int(draws[at + 2] * (field.members_at[c + 1] - field.members_at[c]))
                    ]
                    at += 3
                    into = arrays.offsets_in[v + 1] - arrays.offsets_in[v]
                    degree = into + arrays.offsets[v + 1] - arrays.offsets[v]
                    if degree == 0:
                        break
                    chosen, costliest = -1, -1.0
                    for pick in range(2):
                        i = int(draws[at + pick] * degree)
                        e = arrays.entering[arrays.offsets_in[v] + i] if i < into else arrays.offsets[v] + i - into
                        w = arrays.tails[e] if i < into else arrays.heads[e]
                        carry = (
                            arrays.latency[source, target]
                            + arrays.size[e] * arrays.inverse[source, target]
                            + arrays.table[arrays.row[e], source, target]
                        )
                        if carry > costliest:
                            chosen, costliest = w, carry
                    at += 2
                    c = field.group[chosen]
                    if home[c] == source and mark[c] != stamp:
                        mark[c] = stamp
                        moved[m] = c
                        m += 1
                # One supernode comes back from the target.
                if swaps:
                    w = int(draws[at] * n)
                    at += 1
                    c = field.group[w]
                    if home[c] == target and mark[c] != stamp:
                        mark[c] = stamp
                        moved[m] = c
                        m += 1
                # Move them all, with their memory and their shares of the rows, as differences.
                possible = True
                first = n
                for i in range(m):
                    c = moved[i]
                    origin[i] = home[c]
                    goal = target if origin[i] == source else source
                    possible = possible and field.may[c, goal]
                    state.used[origin[i]] -= field.need[c]
                    state.used[goal] += field.need[c]
                    home[c] = goal
                    if rows is not None:
                        rows.occupants[origin[i]] -= 1
                        rows.occupants[goal] += 1
                        for j in range(rows.at[c * k + origin[i]], rows.at[c * k + origin[i] + 1]):
                            rows.on[rows.row[j]] -= rows.weight[j]
                        for j in range(rows.at[c * k + goal], rows.at[c * k + goal + 1]):
                            rows.on[rows.row[j]] += rows.weight[j]
                # What may not be where it is now, for conflict sets or support, is refused without timing.
                for i in range(m):
                    c = moved[i]
                    for j in range(field.apart_at[c], field.apart_at[c + 1]):
                        possible = possible and home[field.apart[j]] != home[c]
                    for j in range(field.members_at[c], field.members_at[c + 1]):
                        device[field.members[j]] = home[c]
                        first = min(first, place[field.members[j]])
                # Take a refused move back.
                if not possible:
                    for i in range(m):
                        c = moved[i]
                        if rows is not None:
                            rows.occupants[home[c]] -= 1
                            rows.occupants[origin[i]] += 1
                            for j in range(rows.at[c * k + home[c]], rows.at[c * k + home[c] + 1]):
                                rows.on[rows.row[j]] -= rows.weight[j]
                            for j in range(rows.at[c * k + origin[i]], rows.at[c * k + origin[i] + 1]):
                                rows.on[rows.row[j]] += rows.weight[j]
                        state.used[home[c]] -= field.need[c]
                        home[c] = origin[i]
                        state.used[home[c]] += field.need[c]
                        for j in range(field.members_at[c], field.members_at[c + 1]):
                            device[field.members[j]] = home[c]
                    continue
        # Apply a move in the order: what stands between the two places moves by one.
        if shifted >= 0:
            way = 1 if target_place > source else -1
            i = source
            while i != target_place:
                order[i] = order[i + way]
                place[order[i]] = i
                i += way
            order[target_place] = shifted
            place[shifted] = target_place
        # Charge devices over their limits, and rows that do not speak of times.
        excess = 0.0
        for d in range(k):
            if state.used[d] > field.limit[d]:
                excess += penalty * (0.1 + (state.used[d] - field.limit[d]) / max(field.limit[d], 1e-300))
        if rows is not None:
            for r in range(len(rows.low)):
                if rows.per_peak[r] == 0.0 and rows.moment_at[r] == rows.moment_at[r + 1]:
                    left = rows.on[r]
                    for j in range(rows.part_at[r], rows.part_at[r + 1]):
                        if rows.occupants[rows.part[j]] > 0:
                            left += rows.per_use[j]
                    over = max(rows.low[r] - left, left - rows.high[r])
                    if over > rows.slack[r]:
                        excess += penalty * (ROW + over / rows.scale[r])
        # Metropolis: the longest makespan that will be accepted is known before the schedule is timed.
        allowed = np.inf if fresh else state.cost[0] - temperature * np.log(1.0 - draws[at]) - excess
        at += 1
        # Time the schedule from the last place before the first change at which its state was saved.
        begin = first // STRIDE
        free[:] = state.free[begin]
        peak = state.peak[begin]
        begin *= STRIDE
        accepted = allowed >= 0
        for i in range(begin, n if accepted else begin):
            if i % STRIDE == 0:
                trial_free[i // STRIDE] = free
                trial_peak[i // STRIDE] = peak
            v = order[i]
            f = device[v]
            ready = 0.0
            for j in range(arrays.offsets_in[v], arrays.offsets_in[v + 1]):
                e = arrays.entering[j]
                u = arrays.tails[e]
                d = device[u]
                sent = trial[u] if place[u] >= begin else end[u]
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
            trial[v] = ready
            peak = max(peak, ready)
            # The least time from v to the end is more than will be accepted: stop.
            if ready + field.tail[v, f] > allowed * (1 + 1e-12):
                accepted = False
                break
        accepted = accepted and peak <= allowed and (fresh or peak < np.inf)
        # The rows that speak of times.
        if rows is not None:
            late = 0.0
            for r in range(len(rows.low) if accepted and peak < np.inf else 0):
                if rows.per_peak[r] != 0.0 or rows.moment_at[r] < rows.moment_at[r + 1]:
                    left = rows.on[r] + rows.per_peak[r] * peak
                    for j in range(rows.part_at[r], rows.part_at[r + 1]):
                        if rows.occupants[rows.part[j]] > 0:
                            left += rows.per_use[j]
                    for j in range(rows.moment_at[r], rows.moment_at[r + 1]):
                        v = rows.moment[j]
                        at_end = trial[v] if place[v] >= begin else end[v]
                        left += rows.per_time[j] * (at_end - rows.ahead[j] * arrays.time[v, device[v]])
                    over = max(rows.low[r] - left, left - rows.high[r])
                    if over > rows.slack[r]:
                        late += penalty * (ROW + over / rows.scale[r])
            accepted = accepted and peak + late <= allowed
            excess += late
        # Accepted: the trial becomes the state, and the best one if it breaks nothing.
        if accepted:
            for i in range(begin, n):
                end[order[i]] = trial[order[i]]
            state.free[begin // STRIDE :] = trial_free[begin // STRIDE :]
            state.peak[begin // STRIDE :] = trial_peak[begin // STRIDE :]
            state.cost[0] = peak + excess
            age += 1
            if excess == 0 and peak < best.cost[0]:
                best.cost[0] = peak
                best.order[:] = order
                best.device[:] = device
            continue
        # Refused: put everything back.
        if shifted >= 0:
            way = 1 if source > target_place else -1
            i = target_place
            while i != source:
                order[i] = order[i + way]
                place[order[i]] = i
                i += way
            order[source] = shifted
            place[shifted] = source
        for i in range(m):
            c = moved[i]
            if rows is not None:
                rows.occupants[home[c]] -= 1
                rows.occupants[origin[i]] += 1
                for j in range(rows.at[c * k + home[c]], rows.at[c * k + home[c] + 1]):
                    rows.on[rows.row[j]] -= rows.weight[j]
                for j in range(rows.at[c * k + origin[i]], rows.at[c * k + origin[i] + 1]):
                    rows.on[rows.row[j]] += rows.weight[j]
            state.used[home[c]] -= field.need[c]
            home[c] = origin[i]
            state.used[home[c]] += field.need[c]
            for j in range(field.members_at[c], field.members_at[c + 1]):
                device[field.members[j]] = home[c]
    return step


SAMPLE_SEARCH = Kernel(_search, STEPS_A_SECOND)
