"""The search tree of branch and bound over schedules on links, as one loop that can be taken up again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.schedule.search.sample_state import SampleField

__all__ = ["BRANCH", "CLOSER", "BestInTree", "tree_of"]

STEPS_A_SECOND = 3e5
CLOSER = 1e-9
"""Relative: schedules that are better by less than this are not looked for."""
FACTOR, MODULUS = 1_000_003, (1 << 41) - 21
TABLE = 4_000_000
"""Numbers kept of states that have been searched."""


class SearchTree(NamedTuple):
    """The path from the root to where the search is; [depth, ...].

    Attributes:
        end: [., n] of nodes that are done. device: [., n] of nodes that are done or settled, else -1.
        done: [., n]. arrived: [., m] ends of transfers that were given a turn, else -1.
        free: [., 3 k] of devices, sending ends, receiving ends. used: [., k] memory.
        clock: the start of the last item. total: the sum of all starts.
        item, where, value: [., candidates] the items that may come next (n + e for edge e), on which device (of a
            transfer: where its head will be), and the least makespan then, ascending.
        children, at: how many candidates there are (-1: not known yet), and which comes next.
        depth: [1] where the search is; -1 when it is over.
        table, key: searched states by a number made from them.
    """

    end: Floats
    device: Ints
    done: Bools
    arrived: Floats
    free: Floats
    used: Floats
    clock: Floats
    total: Floats
    item: Ints
    where: Ints
    value: Floats
    children: Ints
    at: Ints
    depth: Ints
    table: Floats
    key: Ints


class BestInTree(NamedTuple):
    """The best schedule met, and its cost.

    Attributes:
        cut: [1] schedules must be shorter. best: [1] the makespan of the best one; ``inf`` without one.
        loose: [1] the least makespan of those that a device's limit lets pass only by the tolerance of the check.
        device, start: [n]. sent: [m] starts of transfers that took turns, -1 of others.
    """

    cut: Floats
    best: Floats
    loose: Floats
    device: Ints
    start: Floats
    sent: Floats


def tree_of(field: SampleField) -> SearchTree:
    """Return a tree with its root alone."""
    arrays = field.arrays
    n, k = arrays.time.shape
    m = len(arrays.heads)
    depth = n + 1 + (m if arrays.exclusive else 0)
    width = (n + (m if arrays.exclusive else 0)) * k + 1
    vector = 2 * n + m + 4 * k + 2
    rows = max(64, min(1 << 16, TABLE // vector))
    return SearchTree(
        end=np.zeros((depth, n)),
        device=np.full((depth, n), -1, np.int64),
        done=np.zeros((depth, n), np.bool_),
        arrived=np.full((depth, m), -1.0),
        free=np.zeros((depth, 3 * k)),
        used=np.zeros((depth, k)),
        clock=np.zeros(depth),
        total=np.zeros(depth),
        item=np.zeros((depth, width), np.int64),
        where=np.zeros((depth, width), np.int64),
        value=np.zeros((depth, width)),
        children=np.full(depth, -1, np.int64),
        at=np.zeros(depth, np.int64),
        depth=np.zeros(1, np.int64),
        table=np.zeros((rows, vector)),
        key=np.full(rows, -1, np.int64),
    )


def _branch(
    field: SampleField, order: Ints, room: Floats, share: Floats, tree: SearchTree, record: BestInTree, states: int
) -> int:
    """Look at up to *states* more states; return at how many it looked.

    A state is a partial schedule; a child appends a node, or, where links are exclusive, a transfer, as early as it
    can start after all else on its device or link. Items are appended by their starts, so that every schedule in which
    nothing could start earlier in its place is met once. Nodes without time go first: they delay nothing. A
    state is dropped if

    * the longest path through some node that is left, or the weighted work that is left, exceeds the cut;
    * a node could have run before the last start, on whatever device it may still use: it would have (left shift);
    * a state with the same nodes done, the same devices where they still matter, and nothing later has been searched.

    Args:
        field: the problem; ``field.tail`` bounds what follows a node.
        order: [n] a topological order.
        room: [k] memory that the check of plans would still let pass.
        share: [k] weights of the devices in the bound by work.
        tree: where the search is.
        record: the best schedule, and what is looked for.
        states: how many to look at, at most.
    """
    arrays = field.arrays
    n, k = arrays.time.shape
    m = len(arrays.heads)
    early = np.empty((n, k))
    vector = np.empty(tree.table.shape[1])
    total_share = 0.0
    for d in range(k):
        total_share += share[d]
    seen = 0
    while tree.depth[0] >= 0 and seen < states:
        z = tree.depth[0]
        limit = record.cut[0] * (1.0 - CLOSER)
        # The state at depth z has not been looked at: bound it, and list its children.
        if tree.children[z] < 0:
            seen += 1
            count = 0
            clock = tree.clock[z]
            left = 0
            peak = 0.0
            for v in range(n):
                if tree.done[z, v]:
                    peak = max(peak, tree.end[z, v])
                else:
                    left += 1
            alive = peak <= limit
            # All nodes are done: a schedule. One that needs the tolerance of a memory limit is remembered as a bound
            # alone.
            if left == 0 and alive:
                exact = True
                for d in range(k):
                    exact = exact and tree.used[z, d] <= field.limit[d]
                if not exact:
                    record.loose[0] = min(record.loose[0], peak)
                elif peak < record.cut[0]:
                    record.cut[0] = peak
                    record.best[0] = peak
                    for v in range(n):
                        record.device[v] = tree.device[z, v]
                        record.start[v] = tree.end[z, v] - arrays.time[v, tree.device[z, v]]
                    for e in range(m):
                        record.sent[e] = -1.0
                        if tree.arrived[z, e] >= 0:
                            d, f = tree.device[z, arrays.tails[e]], tree.device[z, arrays.heads[e]]
                            record.sent[e] = tree.arrived[z, e] - (
                                arrays.latency[d, f]
                                + arrays.size[e] * arrays.inverse[d, f]
                                + arrays.table[arrays.row[e], d, f]
                            )
                alive = False
            # The bound by work: what devices are already used for, weighted, and the least weighted work of each node
            # left.
            work = 0.0
            if alive and left:
                for d in range(k):
                    work += share[d] * max(tree.free[z, d], clock)
            shift = np.inf
            urgent = -1
            for i in range(n if alive and left else 0):
                v = order[i]
                if tree.done[z, v]:
                    continue
                # The earliest start of v on each device f that it may still use, given what is done; arrivals of inputs
                # that are not placed are bounded from below, so that `early` never exceeds what any completion has.
                ready = True
                for j in range(arrays.offsets_in[v], arrays.offsets_in[v + 1]):
                    ready = ready and tree.done[z, arrays.tails[arrays.entering[j]]]
                through, least, latest_end, free_of_time = np.inf, np.inf, 0.0, ready
                for f in range(k):
                    early[v, f] = np.inf
                    c = field.group[v]
                    if tree.device[z, v] >= 0:
                        if tree.device[z, v] != f:
                            continue
                    elif not field.may[c, f] or tree.used[z, f] + field.need[c] > room[f]:
                        continue
                    else:
                        apart = True
                        for j in range(field.apart_at[c], field.apart_at[c + 1]):
                            apart = apart and tree.device[z, field.members[field.members_at[field.apart[j]]]] != f
                        if not apart:
                            continue
                    start, arrives = 0.0, True
                    for j in range(arrays.offsets_in[v], arrays.offsets_in[v + 1]):
                        e = arrays.entering[j]
                        u = arrays.tails[e]
                        arrival = np.inf
                        for d in range(k):
                            if tree.device[z, u] >= 0 and tree.device[z, u] != d:
                                continue
                            at = tree.end[z, u] if tree.done[z, u] else early[u, d] + arrays.time[u, d]
                            if d != f:
                                carry = (
                                    arrays.latency[d, f]
                                    + arrays.size[e] * arrays.inverse[d, f]
                                    + arrays.table[arrays.row[e], d, f]
                                )
                                if tree.arrived[z, e] >= 0:
                                    at = tree.arrived[z, e]
                                elif arrays.exclusive and carry > 0:
                                    arrives = False
                                    at = max(max(at, clock), max(tree.free[z, k + d], tree.free[z, 2 * k + f])) + carry
                                else:
                                    at += carry
                            arrival = min(arrival, at)
                        start = max(start, arrival)
                    takes = arrays.time[v, f]
                    if takes > 0:
                        # Left shift: if v were ready and fitted before the last start, it would have run there: no
                        # child on f.
                        start = max(start, tree.free[z, f])
                        if ready and arrives and start + takes <= clock:
                            continue
                        latest_end = max(latest_end, start + takes) if ready and arrives else np.inf
                        early[v, f] = max(start, clock)
                    else:
                        latest_end = np.inf
                        early[v, f] = start
                    if early[v, f] == np.inf:
                        continue
                    free_of_time = free_of_time and arrives and takes == 0
                    through = min(through, early[v, f] + takes + field.tail[v, f])
                    least = min(least, share[f] * takes)
                    # v can be appended on f.
                    if ready and arrives and (takes == 0 or start >= clock):
                        tree.item[z, count] = v
                        tree.where[z, count] = f
                        tree.value[z, count] = early[v, f] + takes + field.tail[v, f]
                        count += 1
                # The longest path through v already exceeds the cut on every device: drop the state.
                if through > limit:
                    alive = False
                    break
                work += least
                # Nothing that starts later than some ready node can end comes next: that node would have gone first.
                if ready:
                    shift = min(shift, latest_end)
                if free_of_time and urgent < 0:
                    urgent = v
            if alive and left and work > limit * total_share:
                alive = False
            # Where links are exclusive, transfers are appended, too, by the same rules.
            if alive and left and urgent < 0 and arrays.exclusive:
                for e in range(m):
                    u, v = arrays.tails[e], arrays.heads[e]
                    if not tree.done[z, u] or tree.done[z, v] or tree.arrived[z, e] >= 0:
                        continue
                    d = tree.device[z, u]
                    for f in range(k):
                        if f == d or early[v, f] == np.inf:
                            continue
                        carry = (
                            arrays.latency[d, f]
                            + arrays.size[e] * arrays.inverse[d, f]
                            + arrays.table[arrays.row[e], d, f]
                        )
                        start = max(tree.end[z, u], max(tree.free[z, k + d], tree.free[z, 2 * k + f]))
                        if carry == 0 or carry == np.inf or start < clock or start >= shift:
                            continue
                        bound = max(start + carry, early[v, f]) + arrays.time[v, f] + field.tail[v, f]
                        if bound <= limit:
                            tree.item[z, count] = n + e
                            tree.where[z, count] = f
                            tree.value[z, count] = bound
                            count += 1
            # Keep the children within the cut, sorted by their bounds. A node without time goes alone: it
            # delays nothing.
            kept = 0
            for i in range(count if alive else 0):
                v, f = tree.item[z, i], tree.where[z, i]
                if tree.value[z, i] > limit or (urgent >= 0 and v != urgent):
                    continue
                if v < n and urgent < 0 and early[v, f] >= shift:
                    continue
                value, j = tree.value[z, i], kept
                while j > 0 and tree.value[z, j - 1] > value:
                    tree.item[z, j] = tree.item[z, j - 1]
                    tree.where[z, j] = tree.where[z, j - 1]
                    tree.value[z, j] = tree.value[z, j - 1]
                    j -= 1
                tree.item[z, j], tree.where[z, j], tree.value[z, j] = v, f, value
                kept += 1
            # Memory of states: what is done, and devices and times as far as they still matter. A state is dropped if
            # one with the same nodes done and the same live devices was searched, and nothing of it was later.
            if kept > 1:
                code = np.int64(1)
                for v in range(n):
                    live = not tree.done[z, v]
                    for e in range(arrays.offsets[v], arrays.offsets[v + 1]):
                        live = live or not tree.done[z, arrays.heads[e]]
                    c = field.group[v]
                    for j in range(field.members_at[c], field.members_at[c + 1]):
                        live = live or not tree.done[z, field.members[j]]
                    for j in range(field.apart_at[c], field.apart_at[c + 1]):
                        for i in range(field.members_at[field.apart[j]], field.members_at[field.apart[j] + 1]):
                            live = live or not tree.done[z, field.members[i]]
                    mark = tree.device[z, v] + 1 if live else 0
                    mark = 2 * mark + (1 if tree.done[z, v] else 0)
                    vector[v] = mark
                    code = (code * FACTOR + mark) % MODULUS
                    vector[n + v] = tree.end[z, v] if live and tree.done[z, v] else 0.0
                for e in range(m):
                    waits = not tree.done[z, arrays.heads[e]]
                    vector[2 * n + e] = tree.arrived[z, e] if waits else -2.0
                    code = (code * FACTOR + (1 if waits and tree.arrived[z, e] >= 0 else 0)) % MODULUS
                at = 2 * n + m
                for d in range(3 * k):
                    vector[at + d] = tree.free[z, d]
                for d in range(k):
                    vector[at + 3 * k + d] = tree.used[z, d]
                vector[at + 4 * k] = clock
                vector[at + 4 * k + 1] = tree.total[z]
                # The hash says where to look; the vectors are compared in full, so that a collision drops nothing.
                row = code % len(tree.key)
                beaten = tree.key[row] == code
                if beaten:
                    for i in range(n):
                        beaten = beaten and tree.table[row, i] == vector[i]
                    for i in range(n, len(vector)):
                        sent = i >= 2 * n and i < 2 * n + m
                        beaten = beaten and tree.table[row, i] <= vector[i]
                        if sent:
                            beaten = beaten and (tree.table[row, i] >= 0) == (vector[i] >= 0)
                if beaten:
                    kept = 0
                else:
                    tree.key[row] = code
                    tree.table[row] = vector
            tree.children[z] = kept
            tree.at[z] = 0
        # No child is left, or the best of them is beyond the cut by now: go back.
        if tree.at[z] >= tree.children[z] or tree.value[z, tree.at[z]] > limit:
            tree.children[z] = -1
            tree.depth[0] = z - 1
            continue
        # Go to the next child: copy the state, and append its item.
        v, f = tree.item[z, tree.at[z]], tree.where[z, tree.at[z]]
        tree.at[z] += 1
        y = z + 1
        tree.end[y] = tree.end[z]
        tree.device[y] = tree.device[z]
        tree.done[y] = tree.done[z]
        tree.arrived[y] = tree.arrived[z]
        tree.free[y] = tree.free[z]
        tree.used[y] = tree.used[z]
        tree.clock[y] = tree.clock[z]
        e = v - n
        if e >= 0:
            v = arrays.heads[e]
        if tree.device[z, v] < 0:
            c = field.group[v]
            tree.used[y, f] += field.need[c]
            for j in range(field.members_at[c], field.members_at[c + 1]):
                tree.device[y, field.members[j]] = f
        # The item is a transfer: it keeps the sending end of d and the receiving end of f busy until it has arrived.
        if e >= 0:
            d = tree.device[z, arrays.tails[e]]
            start = max(tree.end[z, arrays.tails[e]], max(tree.free[z, k + d], tree.free[z, 2 * k + f]))
            finish = start + (
                arrays.latency[d, f] + arrays.size[e] * arrays.inverse[d, f] + arrays.table[arrays.row[e], d, f]
            )
            tree.arrived[y, e] = finish
            tree.free[y, k + d] = finish
            tree.free[y, 2 * k + f] = finish
            tree.clock[y] = start
        else:
            # The item is a node: it starts when its inputs have arrived and its device is free.
            start = 0.0
            for j in range(arrays.offsets_in[v], arrays.offsets_in[v + 1]):
                e = arrays.entering[j]
                d = tree.device[z, arrays.tails[e]]
                at = tree.end[z, arrays.tails[e]]
                if tree.arrived[z, e] >= 0:
                    at = tree.arrived[z, e]
                elif d != f:
                    at += (
                        arrays.latency[d, f] + arrays.size[e] * arrays.inverse[d, f] + arrays.table[arrays.row[e], d, f]
                    )
                start = max(start, at)
            if arrays.time[v, f] > 0:
                start = max(start, tree.free[z, f])
                tree.free[y, f] = start + arrays.time[v, f]
                tree.clock[y] = max(tree.clock[z], start)
            tree.end[y, v] = start + arrays.time[v, f]
            tree.done[y, v] = True
        tree.total[y] = tree.total[z] + start
        tree.children[y] = -1
        tree.depth[0] = y
    return seen


BRANCH = Kernel(_branch, STEPS_A_SECOND)
