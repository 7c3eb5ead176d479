"""The inner loop of the lazy search: all blocks that can follow an ideal, each once."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import DeviceStates, WholeCosts
from mtpp_dsl.solvers.partition.ideals.lazy_state import (
    BUSY,
    COUNT,
    CUT_SHORT,
    DEPTH,
    DONE,
    ENTRY,
    FOUND,
    FULL,
    LAST,
    LIMIT,
    MARK,
    MODE,
    SOURCE,
    STEPS,
    VALUE,
    LazyWalk,
    Modes,
    SupernodeArcs,
)
from mtpp_dsl.solvers.partition.ideals.lazy_store import Entries, Needs

STEPS_A_SECOND = 5e4


def _walk(
    state: int, sources: Ints, budget: int, patience: int, target: int, arcs: SupernodeArcs, costs: WholeCosts, states:
        DeviceStates,
    modes: Modes, needs: Needs, store: Entries, word: Ints, bit: Ints, keys: Ints, walk: LazyWalk,
) -> int:  # fmt: skip
    """Store the ideals that one more block of load below *target* leads to from *sources*, all of one state.

    A block grows by ready supernodes, each included first and then left out, and with it all that come after it: they
    are dead. Its time, what it streams, and the tensors that it is sure to cut (a pin inside, and one in the ideal or
    dead) only grow on the way down, and so does what the dead and the tensors they cut take of the devices left.

    A block is not stored when a ready supernode that no later block misses (``costs.free``) can be added to it.
    """
    kinds, n = costs.time.shape
    rows = len(needs.slack)
    tensors = len(costs.pins)
    width = store.bits.shape[1]
    mask = len(store.table) - 1
    at = walk.at
    stop = at[STEPS] + budget
    depth = at[DEPTH]
    mode = at[MODE]
    ways = len(modes.kind)
    q, m, most = 0, 1, target
    if mode < ways:
        q, m = modes.kind[mode], modes.copies[mode]
        most = target * m
    grown = np.zeros(width, np.int64)
    while True:
        # At depth -1 no block is open: go on with the next mode of this source, or the next source.
        if depth < 0:
            mode += 1
            if mode >= ways:
                at[SOURCE] += 1
                if at[SOURCE] >= len(sources):
                    at[SOURCE], at[MODE], at[DEPTH] = -1, ways, -1
                    return DONE
                i = sources[at[SOURCE]]
                if store.value[i] >= target:
                    continue
                # A source is needless if the same ideal has been reached with no more devices of any type below the
                # target: what completes this one completes that one, too (dominance).
                if ways > 1:
                    needless = False
                    slot = store.hashes[i] & mask
                    while store.table[slot] >= 0:
                        e = store.table[slot]
                        slot = (slot + 1) & mask
                        if e == i or store.hashes[e] != store.hashes[i] or store.value[e] >= target:
                            continue
                        fewer = True
                        for w in range(width):
                            if store.bits[e, w] != store.bits[i, w]:
                                fewer = False
                        for p in range(kinds):
                            if states.used[store.state[e], p] > states.used[state, p]:
                                fewer = False
                        if fewer:
                            needless = True
                            break
                    if needless:
                        continue
                # Set up the source: its supernodes are placed, and sums over all others say what is left for later
                # devices.
                mode = -1
                walk.outside[:] = 0
                walk.spent[:] = 0
                walk.synced[:] = 0
                walk.base[:] = 0
                walk.known[:] = 0
                walk.waiting[:] = arcs.before
                for v in range(n):
                    if store.bits[i, word[v]] & bit[v]:
                        walk.place[v] = 1
                        for y in range(costs.start[v], costs.start[v + 1]):
                            walk.known[costs.tensor[y]] += 1
                        for y in range(arcs.start[v], arcs.start[v + 1]):
                            walk.waiting[arcs.after[y]] -= 1
                    else:
                        walk.place[v] = 0
                        walk.base[1] += costs.stream[v]
                        walk.base[2] += 1
                        for p in range(rows):
                            walk.outside[p] += needs.weight[p, v]
                        for p in range(kinds):
                            walk.spent[p] += costs.time[p, v]
                            walk.synced[p] += costs.sync[p, v]
                for t in range(tensors):
                    if 0 < walk.known[t] < costs.pins[t]:
                        walk.base[0] += costs.cost[t]
                at[LIMIT] = at[STEPS] + patience
                continue
            # Open an empty block on m devices of type q; its candidates are the supernodes that wait for none outside
            # the ideal.
            q, m = modes.kind[mode], modes.copies[mode]
            most = target * m
            if states.left[state, q] < m:
                continue
            walk.inside[:] = 0
            walk.lost[:] = 0
            fresh = 0
            for v in range(n):
                if walk.place[v] > 1:
                    walk.place[v] = 0
                if walk.place[v] == 0 and walk.waiting[v] == 0:
                    walk.ready[fresh] = v
                    fresh += 1
            depth = 0
            walk.cursor[0], walk.end[0], walk.deaths[0], at[MARK] = 0, fresh, 0, 0
            walk.time[0], walk.stream[0], walk.sync[0], walk.cut[0], walk.forced[0] = 0, 0, 0, 0, 0
            walk.size[0] = 0.0
            walk.border[0], walk.crossed[0] = walk.base[0], 0
            walk.weight[0] = 0.0
            walk.gone[0] = 0.0
        # The state that the devices are in after this block.
        after = state + m * states.stride[q]
        # Way back: all candidates of this depth have been tried. The last supernode is taken out of the block, and is
        # dead from now on, with all that come after it.
        if walk.cursor[depth] >= walk.end[depth]:
            while at[MARK] > walk.deaths[depth]:
                at[MARK] -= 1
                v = walk.dead[at[MARK]]
                walk.place[v] = 0
                for y in range(costs.start[v], costs.start[v + 1]):
                    walk.lost[costs.tensor[y]] -= 1
            depth -= 1
            if depth < 0:
                continue
            x = walk.added[depth + 1]
            for y in range(costs.start[x], costs.start[x + 1]):
                walk.inside[costs.tensor[y]] -= 1
            for y in range(arcs.start[x], arcs.start[x + 1]):
                walk.waiting[arcs.after[y]] += 1
            walk.place[x] = 3
            # Spread the deaths: tensors with a pin among the dead and one in the block are cut for sure, and those with
            # one in block or ideal cross the border for sure.
            first = at[MARK]
            walk.dead[first] = x
            at[MARK] += 1
            while first < at[MARK]:
                v = walk.dead[first]
                first += 1
                for p in range(rows):
                    walk.gone[depth, p] += needs.weight[p, v]
                for y in range(costs.start[v], costs.start[v + 1]):
                    t = costs.tensor[y]
                    if walk.lost[t] == 0:
                        if walk.inside[t] > 0 and walk.known[t] == 0:
                            walk.forced[depth] += costs.cost[t]
                        if walk.inside[t] + walk.known[t] > 0:
                            walk.crossed[depth] += costs.cost[t]
                    walk.lost[t] += 1
                for y in range(arcs.start[v], arcs.start[v + 1]):
                    w = arcs.after[y]
                    if walk.place[w] == 0:
                        walk.place[w] = 3
                        walk.dead[at[MARK]] = w
                        at[MARK] += 1
            # Is there hope without the dead? The bound is that of the devices left: their prices times the target must
            # cover the weight of the dead, and of what no block as large as allowed can hold, and what crosses.
            base = walk.time[depth] + max(0, walk.stream[depth] - costs.kept[q])
            if costs.pays[q]:
                base += walk.forced[depth]
            hope = base < most
            for p in range(rows):
                later = needs.cheapest[after, p] * walk.crossed[depth] - needs.slack[p]
                least = walk.outside[p] - walk.weight[depth, p] - needs.rate[p, q] * (most - base)
                if max(walk.gone[depth, p], least) + later > target * needs.price[after, p]:
                    hope = False
            if not hope:
                walk.cursor[depth] = walk.end[depth]
            continue
        # Reasons to leave the loop, with all in place to take it up again: steps used up, no room; and to leave a
        # source early, when its patience is over.
        if at[STEPS] >= stop:
            at[DEPTH], at[MODE] = depth, mode
            return BUSY
        if at[COUNT] >= len(store.hashes) or walk.end[depth] + n > len(walk.ready):
            at[DEPTH], at[MODE] = depth, mode
            return FULL
        if at[STEPS] >= at[LIMIT]:
            at[CUT_SHORT] = 1
            for f in range(1, depth + 1):
                for y in range(arcs.start[walk.added[f]], arcs.start[walk.added[f] + 1]):
                    walk.waiting[arcs.after[y]] += 1
            depth = -1
            at[LIMIT] = at[STEPS] + patience
            continue
        # Way down: the next candidate x joins the block. The sums of the new depth follow from those above.
        at[STEPS] += 1
        x = walk.ready[walk.cursor[depth]]
        walk.cursor[depth] += 1
        deeper = depth + 1
        walk.cut[deeper] = walk.cut[depth]
        walk.forced[deeper] = walk.forced[depth]
        walk.border[deeper] = walk.border[depth]
        walk.crossed[deeper] = walk.crossed[depth]
        walk.time[deeper] = walk.time[depth] + costs.time[q, x]
        walk.stream[deeper] = walk.stream[depth] + costs.stream[x]
        walk.sync[deeper] = walk.sync[depth] + costs.sync[q, x]
        walk.size[deeper] = walk.size[depth] + costs.memory[x]
        for p in range(rows):
            walk.weight[deeper, p] = walk.weight[depth, p] + needs.weight[p, x]
            walk.gone[deeper, p] = walk.gone[depth, p]
        # A tensor is cut from its first pin in the block to its last; cut for sure, if a pin is in the ideal or dead.
        for y in range(costs.start[x], costs.start[x + 1]):
            t = costs.tensor[y]
            here, before = walk.inside[t], walk.known[t]
            if here == 0:
                walk.cut[deeper] += costs.cost[t]
                if before > 0 or walk.lost[t] > 0:
                    walk.forced[deeper] += costs.cost[t]
                if before == 0:
                    walk.border[deeper] += costs.cost[t]
                    if walk.lost[t] > 0:
                        walk.crossed[deeper] += costs.cost[t]
            elif here + 1 == costs.pins[t]:
                walk.cut[deeper] -= costs.cost[t]
            walk.inside[t] = here + 1
            if here + before + 1 == costs.pins[t]:
                walk.border[deeper] -= costs.cost[t]
        walk.place[x] = 2
        walk.added[deeper] = x
        walk.deaths[deeper] = at[MARK]
        walk.cursor[deeper] = walk.end[depth]
        fresh = walk.end[depth]
        for y in range(arcs.start[x], arcs.start[x + 1]):
            walk.waiting[arcs.after[y]] -= 1
        # Is the block within the target, and may a larger one be? Time, memory, exchange and what is cut for sure only
        # grow; the bound on the devices left counts what is dead, and at the border what is outside now.
        work = walk.time[deeper] + max(0, walk.stream[deeper] - costs.kept[q])
        base, load = work, work
        if costs.pays[q]:
            base += walk.forced[deeper]
            load += walk.cut[deeper]
        hope = base < most and walk.size[deeper] <= costs.room[q] and walk.sync[deeper] * (m - 1) < most
        good = hope and load < most
        for p in range(rows):
            later = needs.cheapest[after, p] * walk.crossed[deeper] - needs.slack[p]
            beyond = walk.outside[p] - walk.weight[deeper, p]
            least = beyond - needs.rate[p, q] * (most - base)
            if max(walk.gone[deeper, p], least) + later > target * needs.price[after, p]:
                hope = False
            at_border = needs.cheapest[after, p] * walk.border[deeper] - needs.slack[p]
            if beyond + at_border > target * needs.price[after, p]:
                good = False
        good = good and hope
        # The candidates of the new depth: those left of the old one, and the supernodes that waited for x alone.
        if hope:
            for y in range(walk.cursor[depth], walk.end[depth]):
                walk.ready[fresh] = walk.ready[y]
                fresh += 1
            for y in range(arcs.start[x], arcs.start[x + 1]):
                if walk.waiting[arcs.after[y]] == 0:
                    walk.ready[fresh] = arcs.after[y]
                    fresh += 1
        walk.end[deeper] = fresh
        depth = deeper
        if not good:
            continue
        # The block is good: its ideal is reached with the load *worst*. If one more block can hold all the rest, a
        # whole split is found; *last* is the mode of that block, -1 where nothing is left, -2 where there is none.
        source = sources[at[SOURCE]]
        worst = max(store.value[source], load // m, walk.sync[depth] * (m - 1) // m)
        final = worst
        last = -1 if walk.base[2] == depth else -2
        devices_left = 0
        for p in range(kinds):
            devices_left += states.left[after, p]
        for way in range(ways):
            p, shared = modes.kind[way], modes.copies[way]
            if states.left[after, p] < shared:
                continue
            rest, exchanged = walk.spent[p], walk.synced[p]
            for f in range(1, depth + 1):
                rest -= costs.time[p, walk.added[f]]
                exchanged -= costs.sync[p, walk.added[f]]
            rest += max(0, walk.base[1] - walk.stream[depth] - costs.kept[p])
            if costs.pays[p]:
                rest += walk.border[depth]
            rest = max(rest // shared, exchanged * (shared - 1) // shared)
            if rest >= target or (last >= -1 and max(worst, rest) >= final):
                continue
            memory = 0.0
            for v in range(n):
                if walk.place[v] == 0 or walk.place[v] == 3:
                    memory += costs.memory[v]
            if memory <= costs.room[p]:
                final = max(worst, rest)
                last = way
        # Do not store a block to which a free supernode can be added within the cap: the larger one leaves less to do,
        # and no later block misses that supernode.
        if last == -2:
            if devices_left <= 1:
                continue
            larger = False
            open_ones = walk.end[depth] - walk.cursor[depth]
            for y in range(open_ones + at[MARK]):
                v = walk.ready[walk.cursor[depth] + y] if y < open_ones else walk.dead[y - open_ones]
                if not costs.free[v] or walk.waiting[v] > 0 or walk.size[depth] + costs.memory[v] > costs.room[q]:
                    continue
                with_v = walk.time[depth] + costs.time[q, v]
                with_v += max(0, walk.stream[depth] + costs.stream[v] - costs.kept[q])
                if costs.pays[q]:
                    with_v += walk.cut[depth]
                    for y2 in range(costs.start[v], costs.start[v + 1]):
                        t = costs.tensor[y2]
                        if walk.inside[t] == 0:
                            with_v += costs.cost[t]
                        elif walk.inside[t] + 1 == costs.pins[t]:
                            with_v -= costs.cost[t]
                if with_v < most and (walk.sync[depth] + costs.sync[q, v]) * (m - 1) < most:
                    larger = True
                    break
            if larger:
                continue
        # Look up the new ideal. It is dropped if it has been reached as cheaply with the same devices, or below the
        # target with fewer.
        hashed = store.hashes[source]
        for w in range(width):
            grown[w] = store.bits[source, w]
        for f in range(1, depth + 1):
            v = walk.added[f]
            grown[word[v]] |= bit[v]
            hashed ^= keys[v]
        slot = hashed & mask
        same = -1
        dominated = False
        while store.table[slot] >= 0:
            e = store.table[slot]
            if store.hashes[e] == hashed:
                equal = True
                for w in range(width):
                    if store.bits[e, w] != grown[w]:
                        equal = False
                        break
                if equal:
                    if store.state[e] == after:
                        same = e
                    elif store.value[e] < target:
                        fewer = True
                        for p in range(kinds):
                            if states.used[store.state[e], p] > states.used[after, p]:
                                fewer = False
                                break
                        if fewer:
                            dominated = True
                            break
            slot = (slot + 1) & mask
        if last == -2 and dominated:
            continue
        if same >= 0 and store.value[same] <= worst and last == -2:
            continue
        # Store it: where it is new in a new entry, else with the lower load and the new way to it.
        if same < 0:
            same = at[COUNT]
            at[COUNT] += 1
            store.table[slot] = same
            store.hashes[same] = hashed
            store.state[same] = after
            for w in range(width):
                store.bits[same, w] = grown[w]
            store.value[same] = target
        if worst < store.value[same] or last != -2:
            store.value[same] = worst
            store.parent[same] = source
            # The score is the load that the devices left need at least, by the costliest row of weights: searches for
            # plans go on from the least.
            score = 0.0
            for p in range(rows):
                beyond = walk.outside[p] - walk.weight[depth, p] + needs.cheapest[after, p] * walk.border[depth]
                score = max(score, beyond / max(needs.price[after, p], 1e-300))
            store.score[same] = score
        if last != -2:
            at[ENTRY], at[LAST], at[VALUE] = same, last, final
            at[DEPTH], at[MODE] = depth, mode
            return FOUND


WALK = Kernel(_walk, STEPS_A_SECOND)
