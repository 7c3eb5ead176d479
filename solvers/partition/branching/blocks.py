"""The inner loop: all blocks that a device may hold, by branching on nodes in and out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance

STEPS_A_SECOND = 1e4
DONE, BUSY, FULL = 0, 1, 2
"""Why the loop returned: all blocks seen; its steps used up; no room for what it finds."""

SOURCE, DEPTH, COUNT, STEPS, BEST = range(5)
"""What the numbers of ``Walk.at`` are: position in the sources, size of the stack, blocks found, steps in all, and the
weight that a block must exceed."""
INF = 1 << 61
"""More than any sum."""


class BlockQuestion(NamedTuple):
    """Which blocks are asked for.

    Attributes:
        chain: 1 to find the blocks that may follow ideals, 0 for all convex sets.
        climb: 1 to want only blocks heavier than all found before.
        cap: the largest load.
        before, after: the most work of the nodes outside that come before a block, and after it.
        left: what the devices left after the block may take: work, and each tensor cut once.
        rest: [rows] the most that the nodes left after the block may weigh, for each row of weights.
    """

    chain: int
    climb: int
    cap: int
    before: int
    after: int
    left: int
    rest: Ints


class BlockWalk(NamedTuple):
    """A depth-first search that can be left and taken up again, and what it has found.

    Attributes:
        at: see ``SOURCE`` and the others.
        inside, outside, fresh: stacks of subproblems: nodes in the block, nodes that are not, whether the block is new.
        block, source: found so far, and the position of the source of each.
    """

    at: Ints
    inside: Ints
    outside: Ints
    fresh: Ints
    block: Ints
    source: Ints


def walk_of(n: int, room: int) -> BlockWalk:
    """Return a walk over blocks of *n* nodes that has not begun, with room for so many."""
    at = np.zeros(5, np.int64)
    at[SOURCE] = -1
    inside, outside, fresh = (np.zeros(2 * n + 4, np.int64) for _ in range(3))
    return BlockWalk(at, inside, outside, fresh, np.zeros(room, np.int64), np.zeros(room, np.int64))


def _blocks(
    sources: Ints,
    mains: Ints,
    needs: Ints,
    budget: int,
    ask: BlockQuestion,
    data: BitsetInstance,
    rows: Ints,
    walk: BlockWalk,
) -> int:
    """Find the blocks of load *cap* or less that weigh more than they need.

    A subproblem is a set of nodes inside and one of nodes outside. Both are closed: what lies between two nodes inside
    is inside, and so on. Its blocks cost at least the work inside and the tensors that both sets touch. A bound on what
    they weigh: a tensor that the inside touches is paid, and each free node that it touches gets its share of it back;
    a tensor that only the outside touches is paid in shares by the free nodes it touches; then the best fractions of
    free nodes within the load, by one multiplier. The bound is lowered to a whole number, with room for rounding.

    Args:
        sources: what is outside from the start; with ``ask.chain``, ideals that the block follows.
        mains: [sources] which row of weights is meant by what a block weighs.
        needs: [sources] what it must weigh more than.
        budget: steps until it returns.
        ask: as there.
        data: the graph.
        rows: [rows, n] weights of the nodes, whole numbers.
        walk: where to go on, and what is found.
    """
    n, tensors = len(data.work), len(data.cost)
    at = walk.at
    stop = at[STEPS] + budget
    every = (1 << n) - 1
    extra = np.zeros(n)
    open_ones = np.zeros(n, np.int64)
    least = np.zeros(n, np.int64)
    mu = 1.0
    while True:
        # The stack of subproblems is empty: begin with the next source, of which nothing is inside.
        if at[DEPTH] == 0:
            at[SOURCE] += 1
            if at[SOURCE] >= len(sources):
                return DONE
            walk.inside[0], walk.outside[0], walk.fresh[0] = 0, sources[at[SOURCE]], 0
            at[DEPTH] = 1
            if ask.climb == 0 or at[BEST] < needs[at[SOURCE]]:
                at[BEST] = needs[at[SOURCE]]
        if at[STEPS] >= stop:
            return BUSY
        if at[COUNT] >= len(walk.block):
            return FULL
        at[STEPS] += 1
        at[DEPTH] -= 1
        # Take the last subproblem, and close the inside: what lies between two nodes of it is in it; in a chain, all
        # before it that the ideal does not have.
        inside, outside = walk.inside[at[DEPTH]], walk.outside[at[DEPTH]]
        fresh = walk.fresh[at[DEPTH]]
        ideal = sources[at[SOURCE]] if ask.chain else 0
        main = mains[at[SOURCE]]
        above, below = 0, 0
        for v in range(n):
            if (inside >> v) & 1:
                above |= data.before[v]
                below |= data.after[v]
        inside |= (above & ~ideal) if ask.chain else (above & below)
        if inside & outside:
            continue
        # Propagate until nothing changes: close the outside, sum up what is sure, and put nodes outside that are too
        # much.
        paid, cut, weighs, memory, params = 0, 0, 0, 0, 0
        dead = False
        changed = True
        while changed and not dead:
            changed = False
            for v in range(n):
                if (outside >> v) & 1 and not (ideal >> v) & 1:
                    if ask.chain or (below >> v) & 1:
                        outside |= data.after[v]
                    if (above >> v) & 1:
                        outside |= data.before[v]
            if inside & outside:
                dead = True
                break
            paid, cut, weighs, memory, params = 0, 0, 0, 0, 0
            early, late, gone = 0, 0, 0
            for v in range(n):
                if (inside >> v) & 1:
                    paid += data.work[v]
                    weighs += rows[main, v]
                    memory += data.memory[v]
                    params += data.params[v]
                elif (outside >> v) & 1:
                    if (above >> v) & 1:
                        early += data.work[v]
                    if (below >> v) & 1:
                        late += data.work[v]
                    if not (ideal >> v) & 1:
                        gone += data.work[v]
                least[v] = data.work[v]
            paid += max(0, params - data.kept)
            # What is outside for sure has to fit on the devices left, before and after this block.
            if memory > data.room or gone > ask.left or (not ask.chain and (early > ask.before or late > ask.after)):
                dead = True
                break
            for r in range(len(rows)):
                heavy = 0
                for v in range(n):
                    if (outside >> v) & 1 and not (ideal >> v) & 1:
                        heavy += rows[r, v]
                if heavy > ask.rest[r]:
                    dead = True
            # A tensor that both sets touch is paid. One that only the outside touches is paid by the first node that
            # joins; one that only the inside touches is cut as things are.
            cut = 0
            for t in range(tensors):
                pins = data.pins[t]
                if pins & outside:
                    if pins & inside:
                        paid += data.cost[t]
                    else:
                        for y in range(data.start[t], data.start[t + 1]):
                            least[data.member[y]] += data.cost[t]
                    if ask.chain and pins & (inside | ideal) and pins & outside & ~ideal:
                        gone += data.cost[t]
                elif pins & inside and pins & ~inside:
                    cut += data.cost[t]
            if paid > ask.cap or gone > ask.left:
                dead = True
                break
            # A free node with which the load or the memory would be too much is outside.
            for v in range(n):
                too_much = paid + least[v] > ask.cap or memory + data.memory[v] > data.room
                if too_much and not ((inside | outside) >> v) & 1:
                    outside |= 1 << v
                    changed = True
        if dead:
            continue
        free = every & ~inside & ~outside
        # The inside is a block by itself: within the cap, and heavier than needed. It counts if what is left fits on
        # the other devices, and, in a chain, if no node that may be added for free makes it larger.
        if fresh and paid + cut <= ask.cap and weighs > at[BEST]:
            early, late, border = 0, 0, 0
            for v in range(n):
                if not (inside >> v) & 1:
                    if (above >> v) & 1:
                        early += data.work[v]
                    if (below >> v) & 1:
                        late += data.work[v]
                    if not (ideal >> v) & 1:
                        border += data.work[v]
            good = early <= ask.before and late <= ask.after
            if ask.chain:
                good = True
                for t in range(tensors):
                    pins = data.pins[t]
                    if pins & (inside | ideal) and pins & ~(inside | ideal):
                        border += data.cost[t]
                if border > ask.left:
                    good = False
                for r in range(len(rows)):
                    heavy = 0
                    for v in range(n):
                        if not ((inside | ideal) >> v) & 1:
                            heavy += rows[r, v]
                    if heavy > ask.rest[r]:
                        good = False
                for v in range(n):
                    if not good:
                        break
                    if ((inside | ideal) >> v) & 1 or not data.spare[v]:
                        continue
                    if data.before[v] & ~(inside | ideal) or memory + data.memory[v] > data.room:
                        continue
                    load = max(0, params + data.params[v] - data.kept)
                    larger = inside | (1 << v)
                    for u in range(n):
                        if (larger >> u) & 1:
                            load += data.work[u]
                    for t in range(tensors):
                        if data.pins[t] & larger and data.pins[t] & ~larger:
                            load += data.cost[t]
                    if load <= ask.cap:
                        good = False
            if good:
                walk.block[at[COUNT]] = inside
                walk.source[at[COUNT]] = at[SOURCE]
                at[COUNT] += 1
                if ask.climb:
                    at[BEST] = weighs
        if free == 0:
            continue
        # Bound the weight of all blocks of this subproblem: extra[v] is what free node v costs, with its shares of the
        # tensors that it would save or pay.
        count = 0
        for v in range(n):
            if (free >> v) & 1:
                extra[v] = data.work[v]
                open_ones[count] = v
                count += 1
        for t in range(tensors):
            pins = data.pins[t]
            touched, closed = pins & inside != 0, pins & outside != 0
            if touched == closed or pins & free == 0:
                continue
            pinned = 0
            for y in range(data.start[t], data.start[t + 1]):
                pinned += (free >> data.member[y]) & 1
            share = data.cost[t] / pinned
            for y in range(data.start[t], data.start[t + 1]):
                if (free >> data.member[y]) & 1:
                    extra[data.member[y]] += -share if touched else share
        # Lagrangian relaxation of the cap: the best fractions of free nodes have one multiplier mu, found by halving;
        # every mu gives a bound, and a bound below one more than the best prunes.
        spare = float(ask.cap - paid - cut)
        high = -1.0
        low = 0.0
        alive = True
        for _ in range(12):
            value = weighs + mu * spare
            slope = spare
            for y in range(count):
                v = open_ones[y]
                gain = rows[main, v] - mu * extra[v]
                if gain > 0:
                    value += gain
                    slope -= extra[v]
            if value + 0.01 < at[BEST] + 1:
                alive = False
                break
            if slope < 0:
                low = mu
                mu = 2 * mu if high < 0 else (low + high) / 2
            else:
                high = mu
                mu = (low + high) / 2
        mu = max(mu, 1e-12)
        if not alive:
            continue
        # Branch on the free node that is worth most: outside first on the stack, so that inside is looked into first.
        pick, most = -1, -1e300
        for y in range(count):
            gain = rows[main, open_ones[y]] - mu * extra[open_ones[y]]
            if gain > most:
                pick, most = open_ones[y], gain
        top = at[DEPTH]
        walk.inside[top], walk.outside[top], walk.fresh[top] = inside, outside | (1 << pick), 0
        walk.inside[top + 1], walk.outside[top + 1], walk.fresh[top + 1] = inside | (1 << pick), outside, 1
        at[DEPTH] = top + 2


BLOCKS = Kernel(_blocks, STEPS_A_SECOND)
