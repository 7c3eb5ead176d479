"""The compiled loop of the programme over stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import Small

if TYPE_CHECKING:
    from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice
    from mtpp_dsl.solvers.algorithms.stages.costs import Aggregate, Outside, ShapeStates, StageCosts

PAIRS_A_SECOND = 1e5
CHUNK = 2_000_000
"""Pairs of ideals and labels between two looks at the clock."""


class LabelStore(NamedTuple):
    """Labels, of which those of one ideal and state form a list.

    Attributes:
        value: [room, components].
        ideal, state, shape, parent: [room] where the label is, and the stage and the label that led there.
        next: [room] the next of its list, or of the free labels; -1 for none.
        head: [ideals, states] the first of each list; -1 for none.
        stamp: [ideals] the last ideal from which each was reached.
        taken: [2] how many labels were ever taken, and the first free one or -1.
    """

    value: Ints
    ideal: Small
    state: Small
    shape: Small
    parent: Ints
    next: Ints
    head: Ints
    stamp: Small
    taken: Ints


def _sweep_stages(
    source: int, budget: int, lattice: Lattice, costs: StageCosts, states: ShapeStates, aggregate: Aggregate,
    outside: Outside, store: LabelStore,
) -> int:  # fmt: skip
    """Extend the chains that end at the ideals from *source* on by one stage; return the ideal to go on with.

    From one ideal I, a depth-first search adds supernode after supernode to the stage S, over every ideal above once.
    The time, the fixed memory and the nets with a pin in I and one in S only grow, and ``kept`` is least after the
    fewest stages, so that the search turns back where these alone are too much on every shape.

    Where there is no room for another label it returns -1 - I, and I has to be gone through again.
    """
    rows, shapes, n = costs.time.shape
    rates, nets = costs.cost.shape
    count, counters = states.used.shape
    parts = len(aggregate.row)
    prices = outside.left.shape[1]
    last = len(lattice.start) - 2
    room = len(store.next)
    inside = np.zeros(nets, np.int64)  # pins of each net in S
    known = np.zeros(nets, np.bool_)  # whether it has a pin in I
    reading = np.zeros(len(costs.size), np.int64)  # readers in S of each tensor
    made = np.zeros(len(costs.size), np.bool_)  # whether S makes it
    least = np.zeros(count, np.int64)
    usable = np.zeros(shapes, np.bool_)
    fewest = np.zeros(shapes, np.int64)
    fits = np.zeros(shapes, np.bool_)
    load = np.zeros((shapes, rows), np.int64)
    new = np.zeros(parts, np.int64)
    at = np.zeros(n + 1, np.int64)
    edge = np.zeros(n + 1, np.int64)
    added = np.zeros(n + 1, np.int64)
    time = np.zeros((n + 1, rows, shapes), np.int64)
    sync = np.zeros((n + 1, shapes), np.int64)
    stream = np.zeros((n + 1, shapes), np.int64)
    fixed = np.zeros((n + 1, shapes))
    further = np.zeros((n + 1, shapes))
    enter = np.zeros(n + 1)
    cut = np.zeros((n + 1, rates), np.int64)
    forced = np.zeros((n + 1, rates), np.int64)
    labels = np.zeros(1024, np.int64)
    work = 0
    time[0] = costs.base
    while source < last and work < budget:
        i = source
        source += 1
        # Settle the labels of ideal i: those that no other dominates, which is one of no larger value in every
        # component that has used no more devices of each type (whatever completes the first completes the other).
        kept = 0
        if parts == 1:  # the least value of the states that use no more, in the order of the states
            for s in range(count):
                least[s] = np.int64(2) ** 62
                for q in range(counters):
                    if states.used[s, q] > 0:
                        least[s] = min(least[s], least[s - states.stride[q]])
                label = store.head[i, s]
                if label >= 0 and store.value[label, 0] < least[s]:
                    least[s] = store.value[label, 0]
                    if kept == len(labels):
                        labels = np.append(labels, np.zeros(kept, np.int64))
                    labels[kept] = label
                    kept += 1
        else:
            for s in range(count):
                label = store.head[i, s]
                while label >= 0:
                    keep = True
                    for y in range(kept):
                        other = labels[y]
                        o = store.state[other]
                        if o == s:
                            continue
                        better = True
                        for c in range(parts):
                            if store.value[other, c] > store.value[label, c]:
                                better = False
                                break
                        if better:
                            for q in range(counters):
                                if states.used[o, q] > states.used[s, q]:
                                    better = False
                                    break
                            if better:
                                keep = False
                                break
                    if keep:
                        if kept == len(labels):
                            labels = np.append(labels, np.zeros(kept, np.int64))
                        labels[kept] = label
                        kept += 1
                    label = store.next[label]
        if kept == 0:
            continue
        # On which shapes may a stage follow, and after how few stages: fewer stages before keep less in memory.
        for a in range(shapes):
            usable[a] = False
            fewest[a] = count
            for y in range(kept):
                s = store.state[labels[y]]
                if states.open[s, a]:
                    usable[a] = True
                    fewest[a] = min(fewest[a], states.after[s])
        known[:] = False
        for v in range(n):
            if lattice.bits[i, lattice.word[v]] & lattice.bit[v]:
                for y in range(costs.start[v], costs.start[v + 1]):
                    known[costs.tensor[y]] = True
        # The state of the search from i: the stage S is empty, and the nets that have a pin in i are known.
        depth = 0
        at[0] = i
        edge[0] = lattice.start[i]
        store.stamp[i] = i
        while depth >= 0:
            # Way back: all edges of this depth are done. Take the last supernode out of S.
            if edge[depth] == lattice.start[at[depth] + 1]:
                if depth > 0:
                    v = added[depth]
                    for y in range(costs.start[v], costs.start[v + 1]):
                        inside[costs.tensor[y]] -= 1
                    for y in range(costs.flow_start[v], costs.flow_start[v + 1]):
                        if costs.makes[y]:
                            made[costs.flow[y]] = False
                        else:
                            reading[costs.flow[y]] -= 1
                depth -= 1
                continue
            # Way down: the next ideal above, unless this search has been there.
            e = edge[depth]
            edge[depth] += 1
            j = lattice.above[e]
            if store.stamp[j] == i:
                continue
            store.stamp[j] = i
            v = lattice.node[e]
            deeper = depth + 1
            work += shapes
            # A net is cut from its first pin in S to its last; cut for sure, whatever is added, if it has a pin in i.
            for f in range(rates):
                cut[deeper, f] = cut[depth, f]
                forced[deeper, f] = forced[depth, f]
            for y in range(costs.start[v], costs.start[v + 1]):
                t = costs.tensor[y]
                if inside[t] == 0:
                    for f in range(rates):
                        cut[deeper, f] += costs.cost[f, t]
                        if known[t]:
                            forced[deeper, f] += costs.cost[f, t]
                elif inside[t] + 1 == costs.pins[t]:
                    for f in range(rates):
                        cut[deeper, f] -= costs.cost[f, t]
                inside[t] += 1
            # What S reads from outside: each tensor that it has a reader of and does not make, once.
            enter[deeper] = enter[depth]
            for y in range(costs.flow_start[v], costs.flow_start[v + 1]):
                t = costs.flow[y]
                if costs.makes[y]:
                    if reading[t] > 0:
                        enter[deeper] -= costs.size[t]
                    made[t] = True
                else:
                    if reading[t] == 0 and not made[t]:
                        enter[deeper] += costs.size[t]
                    reading[t] += 1
            # The loads of S on every shape. Where what only grows exceeds memory or limit on all of them there is no
            # hope for larger stages; where the loads are within the limits, S itself is a stage.
            hope = False
            possible = False
            for a in range(shapes):
                fits[a] = False
                fixed[deeper, a] = fixed[depth, a] + costs.fixed[a, v]
                further[deeper, a] = further[depth, a] + costs.further[a, v]
                sync[deeper, a] = sync[depth, a] + costs.sync[a, v]
                stream[deeper, a] = stream[depth, a] + costs.stream[a, v]
                for p in range(rows):
                    time[deeper, p, a] = time[depth, p, a] + costs.time[p, a, v]
                if not usable[a]:
                    continue
                if fixed[deeper, a] + costs.kept[a, fewest[a]] * further[deeper, a] > costs.room[a]:
                    continue
                share = costs.parts[a]
                exchange = sync[deeper, a] * (share - 1) // share
                streamed = max(0, stream[deeper, a] - costs.spared[a])
                grows = True
                below = True
                for p in range(rows):
                    most = aggregate.limit[p]
                    if p >= costs.loads:
                        load[a, p] = time[deeper, p, a]
                        if load[a, p] >= most:
                            grows = False
                            break
                        continue
                    base = time[deeper, p, a]
                    if costs.streams[p]:
                        base += streamed
                    whole = base
                    f = costs.rate[p, a]
                    if f >= 0:
                        base += forced[deeper, f]
                        whole += cut[deeper, f]
                    if base // share >= most:
                        grows = False
                        break
                    load[a, p] = whole // share
                    if costs.exchanges[p]:
                        load[a, p] = max(load[a, p], exchange)
                    if costs.remains[p] >= 0:
                        load[a, p] = max(load[a, p], exchange - load[a, costs.remains[p]] - costs.ulp)
                    if load[a, p] >= most:
                        below = False
                if grows:
                    hope = True
                    if below:
                        fits[a] = True
                        possible = True
            # Extend every label by S on every shape that fits.
            if possible:
                work += kept
                for y in range(kept):
                    label = labels[y]
                    s = store.state[label]
                    for a in range(shapes):
                        if not fits[a] or not states.open[s, a]:
                            continue
                        after = states.after[s]
                        size = fixed[deeper, a] + costs.kept[a, after] * further[deeper, a]
                        if size + costs.enter[a, after] * enter[deeper] > costs.room[a]:
                            continue
                        # The new value of each component, which may not reach the ceiling, nor the weighted sum the
                        # goal, with what is sure to come after j at the least.
                        good = True
                        total = 0.0
                        for c in range(parts):
                            if aggregate.adds[c]:
                                new[c] = store.value[label, c] + load[a, aggregate.row[c]]
                            else:
                                new[c] = max(store.value[label, c], load[a, aggregate.row[c]])
                            if new[c] + outside.rest[j, c] >= aggregate.ceiling[c]:
                                good = False
                                break
                            total += aggregate.weight[c] * (new[c] + outside.rest[j, c])
                        if not good or total >= aggregate.goal:
                            continue
                        # At the last ideal the chain must be allowed to end. Before it, the devices left must be able
                        # to hold what is outside of j: each price row bounds that (tarnawski2020, 5.1, relaxed to
                        # prices).
                        state = states.to[s, a]
                        if j == last:
                            if not states.final[state]:
                                continue
                        else:
                            for p in range(prices):
                                need = outside.left[j, p] - outside.slack[p]
                                need += outside.cheapest[state, p] * outside.cut[j]
                                if need > aggregate.limit[0] * outside.price[state, p]:
                                    good = False
                                    break
                            if not good:
                                continue
                        # Compare with the labels of the same ideal and state: drop the new one if an old one is no
                        # larger, and give the room of those back that it makes useless.
                        other = store.head[j, state]
                        before = -1
                        while other >= 0:
                            worse = True
                            better = True
                            for c in range(parts):
                                if store.value[other, c] > new[c]:
                                    worse = False
                                elif store.value[other, c] < new[c]:
                                    better = False
                            if worse:
                                good = False
                                break
                            follows = store.next[other]
                            if better:
                                if before < 0:
                                    store.head[j, state] = follows
                                else:
                                    store.next[before] = follows
                                store.next[other] = store.taken[1]
                                store.taken[1] = other
                            else:
                                before = other
                            other = follows
                        if not good:
                            continue
                        # Store the new label in a place that has become free, or in the next one.
                        fresh = store.taken[1]
                        if fresh >= 0:
                            store.taken[1] = store.next[fresh]
                        else:
                            fresh = store.taken[0]
                            if fresh == room:
                                return -1 - i
                            store.taken[0] += 1
                        for c in range(parts):
                            store.value[fresh, c] = new[c]
                        store.ideal[fresh] = j
                        store.state[fresh] = state
                        store.shape[fresh] = a
                        store.parent[fresh] = label
                        store.next[fresh] = store.head[j, state]
                        store.head[j, state] = fresh
            # Go deeper, or take the supernode out at once.
            if hope:
                depth = deeper
                at[depth] = j
                edge[depth] = lattice.start[j]
                added[depth] = v
            else:
                for y in range(costs.start[v], costs.start[v + 1]):
                    inside[costs.tensor[y]] -= 1
                for y in range(costs.flow_start[v], costs.flow_start[v + 1]):
                    if costs.makes[y]:
                        made[costs.flow[y]] = False
                    else:
                        reading[costs.flow[y]] -= 1
    return source


STAGE_SWEEP = Kernel(_sweep_stages, PAIRS_A_SECOND)
