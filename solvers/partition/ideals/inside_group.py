"""The inner dynamic programme: what a group of devices has, split over its devices."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice
from mtpp_dsl.solvers.partition.ideals.nest import Nest

STEPS_A_SECOND = 9e7


def _inside(
    first: int, wanted: Bools, groups: int, target: float, lattice: Lattice, nest: Nest,
    count: Ints, copies: Ints, used: Ints, stride: Ints, work: Floats, most: Floats, value: Floats, origin: Ints,
    cost: Floats, effort: int,
) -> bool:  # fmt: skip
    """Fill in *cost* of every wanted ideal above *first*; *value* and *origin* are those of the last one.

    A state is left when what is still to come, by *work* [ideals, rows], is more than *most* [states, rows]: what the
    devices left can take. Return False, and leave off, if an ideal takes more than so many steps (*effort*).

    Let G be what the ideal has beyond *first*. Of a tensor with pins inside and outside of G, made in G, its
    maker's block pays the dearer price; made elsewhere, every block that reads it does. All other tensors
    with pins in a block and outside of it cost the price within the group.
    """
    kinds, n = nest.time.shape
    rows = work.shape[1]
    states = len(used)
    last = len(lattice.start) - 2
    above = np.zeros(last + 1, np.bool_)  # ideals that contain the first
    above[first] = True
    for i in range(first, last):
        if above[i]:
            for e in range(lattice.start[i], lattice.start[i + 1]):
                above[lattice.above[e]] = True
    at_first = np.zeros(n, np.bool_)
    for v in range(n):
        at_first[v] = (lattice.bits[first, lattice.word[v]] & lattice.bit[v]) != 0
    member = np.zeros(n, np.bool_)  # of G
    below = np.zeros(last + 1, np.bool_)  # ideals from the first to the last of G
    stamp = np.full(last + 1, -1, np.int64)
    grouped = np.zeros(len(nest.pins), np.int64)  # pins of each tensor in G
    foreign = np.zeros(len(nest.pins), np.bool_)  # made outside of G
    leaving = np.zeros(len(nest.pins), np.bool_)  # made in G, read outside
    known = np.zeros(len(nest.pins), np.bool_)  # with a pin before the block
    inside = np.zeros(len(nest.pins), np.int64)  # pins in the block
    at = np.zeros(n + 1, np.int64)
    edge = np.zeros(n + 1, np.int64)
    added = np.zeros(n + 1, np.int64)
    time = np.zeros((n + 1, kinds))
    sync = np.zeros((n + 1, kinds))
    size = np.zeros(n + 1)
    stream = np.zeros(n + 1)
    cut = np.zeros(n + 1)
    forced = np.zeros(n + 1)
    round_ = 0
    limit = target * groups
    for j in range(first + 1, last + 1):
        if not above[j] or not wanted[j]:
            continue
        # The group holds G = ideal j without the first one: count the pins of each tensor in it.
        grouped[:] = 0
        for v in range(n):
            member[v] = not at_first[v] and (lattice.bits[j, lattice.word[v]] & lattice.bit[v]) != 0
            if member[v]:
                for y in range(nest.start[v], nest.start[v + 1]):
                    grouped[nest.tensor[y]] += 1
        between_groups = 0.0  # what the groups take to exchange weights
        # Equal groups that replicate G exchange weights around a ring.
        if groups > 1:
            for q in range(kinds):
                if copies[q] > 0:
                    total = 0.0
                    for v in range(n):
                        if member[v]:
                            total += nest.abroad[q, v]
                    between_groups = max(between_groups, total * (groups - 1) / groups)
            if between_groups >= target:
                continue
        # Which tensors cross the border of the group: those made in it and read outside, and those made outside.
        for t in range(len(grouped)):
            crossing = 0 < grouped[t] < nest.pins[t]
            leaving[t] = crossing and member[nest.producer[t]]
            foreign[t] = crossing and not member[nest.producer[t]]
        # The programme runs over the ideals between the first one and j.
        for i in range(first, j + 1):
            below[i] = False
            if above[i]:
                below[i] = True
                for w in range(len(lattice.bits[i])):
                    if lattice.bits[i, w] & ~lattice.bits[j, w]:
                        below[i] = False
                        break
            if below[i]:
                value[i] = np.inf
        value[first, 0] = 0.0
        steps = 0
        for i in range(first, j):
            if not below[i]:
                continue
            # Close the states of ideal i in which the devices left cannot take the rest of G.
            open_ = False
            for s in range(states):
                for r in range(rows):
                    if work[j, r] - work[i, r] > most[s, r]:
                        value[i, s] = np.inf
                if value[i, s] < limit:
                    open_ = True
            if not open_:
                continue
            known[:] = False
            for v in range(n):
                if lattice.bits[i, lattice.word[v]] & lattice.bit[v]:
                    for y in range(nest.start[v], nest.start[v + 1]):
                        known[nest.tensor[y]] = True
            # The state of the search from i: the block is empty, and the tensors that have a pin before it are known.
            round_ += 1
            depth = 0
            at[0] = i
            edge[0] = lattice.start[i]
            while depth >= 0:
                # Way back: all edges of this depth are done. Take the last supernode out of the block.
                if edge[depth] == lattice.start[at[depth] + 1]:
                    if depth > 0:
                        v = added[depth]
                        for y in range(nest.start[v], nest.start[v + 1]):
                            inside[nest.tensor[y]] -= 1
                    depth -= 1
                    continue
                # Way down: the next ideal within j, unless this search has been there.
                e = edge[depth]
                edge[depth] += 1
                steps += 1
                if steps > effort:
                    return False
                b = lattice.above[e]
                if b > j or not below[b] or stamp[b] == round_:
                    continue
                stamp[b] = round_
                v = lattice.node[e]
                deeper = depth + 1
                cut[deeper] = cut[depth]
                forced[deeper] = forced[depth]
                # A tensor is cut from its first pin in the block to its last, at the price within the group; across the
                # border it costs more. What is forced is paid whatever is added.
                for y in range(nest.start[v], nest.start[v + 1]):
                    t = nest.tensor[y]
                    if inside[t] == 0:
                        cut[deeper] += nest.near[t]
                        if foreign[t]:
                            cut[deeper] += nest.more[t]
                            forced[deeper] += nest.near[t] + nest.more[t]
                        elif known[t]:
                            forced[deeper] += nest.near[t]
                    elif inside[t] + 1 == nest.pins[t]:
                        cut[deeper] -= nest.near[t]
                    if leaving[t] and nest.producer[t] == v:
                        cut[deeper] += nest.more[t]
                        forced[deeper] += nest.more[t]
                    inside[t] += 1
                size[deeper] = size[depth] + nest.size[v]
                stream[deeper] = stream[depth] + nest.stream[v]
                # The loads of the block on each device type and number of replicas. Time, memory and what is forced
                # only grow: where they are too much on all of them, the search turns back.
                hope = False
                for q in range(kinds):
                    time[deeper, q] = time[depth, q] + nest.time[q, v]
                    sync[deeper, q] = sync[depth, q] + nest.sync[q, v]
                    if copies[q] == 0 or size[deeper] > nest.room[q]:
                        continue
                    base = time[deeper, q] + max(0.0, stream[deeper] - nest.kept[q])
                    whole = base
                    if nest.pays[q]:
                        base += forced[deeper]
                        whole += cut[deeper]
                    if not base * (1 - 1e-9) < limit * copies[q]:
                        continue
                    hope = True
                    # Extend every state of ideal i by the block on m devices of type q: the largest load counts.
                    for m in range(1, copies[q] + 1):
                        load = max(whole, sync[deeper, q] * (m - 1)) / m
                        for s in range(states):
                            if used[s, q] + m > count[q] or not value[i, s] < limit:
                                continue
                            new = s + m * stride[q]
                            worst = max(value[i, s], load)
                            if worst < value[b, new]:
                                value[b, new] = worst
                                origin[b, new] = i * states + s
                # Go deeper, or take the supernode out at once.
                if hope:
                    depth = deeper
                    at[depth] = b
                    edge[depth] = lattice.start[b]
                    added[depth] = v
                else:
                    for y in range(nest.start[v], nest.start[v + 1]):
                        inside[nest.tensor[y]] -= 1
        # What G costs is its best state, shared among the groups, or the exchange between them.
        cost[j] = max(value[j].min() / groups, between_groups)
    return True


INSIDE = Kernel(_inside, STEPS_A_SECOND)
