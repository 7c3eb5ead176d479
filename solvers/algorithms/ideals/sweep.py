"""The dynamic programme over ideals, below a target (tarnawski2020, 5.1, with pruning)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, Small
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import DeviceStates, WholeCosts

PAIRS_A_SECOND = 2.5e5
CHUNK = 5_000_000
"""Pairs of ideals between two looks at the clock."""


class Ahead(NamedTuple):
    """What is sure to come after an ideal.

    A row of ``weights`` gives each device type a price and each supernode its least price times time; then what is
    left of the supernodes is at most the sum of the prices of the devices left, times the largest load. With
    only devices left that pay for tensors, the cut of the ideal is paid once more, at the least price. Both hold with
    replicas too, whose loads add up to what their block costs or more.

    Attributes:
        left: [ideals, rows] sum of the weights of the supernodes outside of each ideal.
        cut: [ideals] cost of the tensors that it cuts.
        price: [states, rows] sum of the prices of the devices left.
        cheapest: [states, rows] least price of a device left, 0 if one left does not pay.
        slack: [rows] for rounding.
    """

    left: Floats
    cut: Floats
    price: Floats
    cheapest: Floats
    slack: Floats


class BlockStep(NamedTuple):
    """A block of the split that was found: the supernodes in it, the device type it is on, and on how many of them."""

    supernodes: Ints
    kind: int
    copies: int = 1


def sweep(
    lattice: Lattice,
    costs: WholeCosts,
    states: DeviceStates,
    ahead: Ahead,
    target: int,
    floor: int,
    say: Callable[[str], None],
    pause: Callable[[], None],
) -> tuple[int, list[BlockStep]] | None:
    """Return the least largest load, at least *floor*, of any split, and a split that has it.

    None proves that no split has a largest load below *target*.

    Args:
        lattice: ideals; the blocks are differences of a chain of them.
        costs: weights.
        states: of the devices.
        ahead: of the same ideals and states.
        target: as above.
        floor: loads up to this are as good as any: a proven bound.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
    """
    value = np.full((lattice.size, len(states.used)), target, np.int64)
    origin = np.full(value.shape, -1, np.int64)
    value[0] = floor
    stamp: Small = np.full(lattice.size, -1, np.int32)
    run = SWEEP.pick(0.0, say)  # how many blocks are good enough is not known
    source = 0
    while source < lattice.size - 1:
        source = run(source, SWEEP.portion(CHUNK), target, floor, lattice, costs, states, ahead, value, origin, stamp)
        pause()
    best = int(value[-1].argmin())
    if value[-1, best] >= target:
        return None
    return int(value[-1, best]), _trace(lattice, states, origin, best)


def _trace(lattice: Lattice, states: DeviceStates, origin: Ints, state: int) -> list[BlockStep]:
    steps: list[BlockStep] = []
    ideal, count = lattice.size - 1, len(states.used)
    while ideal > 0:
        before, earlier = divmod(int(origin[ideal, state]), count)
        added = (lattice.bits[ideal] & ~lattice.bits[before])[lattice.word] & lattice.bit
        taken = states.used[state] - states.used[earlier]
        kind = int(taken.argmax())
        steps.append(BlockStep(np.flatnonzero(added), kind, int(taken[kind])))
        ideal, state = before, earlier
    return steps[::-1]


def _sweep(
    source: int, budget: int, target: int, floor: int, lattice: Lattice, costs: WholeCosts, states: DeviceStates,
    ahead: Ahead, value: Ints, origin: Ints, stamp: Small,
) -> int:  # fmt: skip
    """Extend the splits that end at the ideals from *source* on by one block; return the ideal to go on with.

    From one ideal I, a depth-first search adds supernode after supernode to the block S, over every ideal above once.
    Time, memory and the tensors that have a pin in I and one in S only grow, so that the search turns back where these
    alone are too much, even when shared by as many replicas as there can be; every ideal on any way to a block that is
    good enough is good enough in this sense.
    """
    kinds, n = costs.time.shape
    count, rows = ahead.price.shape
    last = len(lattice.start) - 2
    inside = np.zeros(len(costs.pins), np.int64)  # pins of each tensor in S
    known = np.zeros(len(costs.pins), np.bool_)  # whether it has a pin in I
    labels = np.zeros(count, np.int64)
    shared = np.zeros(kinds, np.int64)  # among how many replicas at most
    at = np.zeros(n + 1, np.int64)
    edge = np.zeros(n + 1, np.int64)
    added = np.zeros(n + 1, np.int64)
    time = np.zeros((n + 1, kinds), np.int64)
    size = np.zeros(n + 1)
    stream = np.zeros(n + 1, np.int64)
    sync = np.zeros((n + 1, kinds), np.int64)
    cut = np.zeros(n + 1, np.int64)
    forced = np.zeros(n + 1, np.int64)
    pairs = 0
    while source < last and pairs < budget:
        # Settle the labels of ideal i: a label is of use below the target, and if no other has used as few devices of
        # each type at no larger value (dominance: whatever completes the first completes the other).
        i = source
        source += 1
        kept = 0
        shared[:] = 0
        for s in range(count):
            if value[i, s] >= target:
                continue
            keep = True
            for y in range(kept):
                if value[i, labels[y]] <= value[i, s]:
                    fewer = True
                    for q in range(kinds):
                        if states.used[labels[y], q] > states.used[s, q]:
                            fewer = False
                            break
                    if fewer:
                        keep = False
                        break
            if keep:
                labels[kept] = s
                kept += 1
                for q in range(kinds):
                    shared[q] = max(shared[q], min(costs.copies[q], states.left[s, q]))
        if kept == 0:
            continue
        # The state of the search from i: the block S is empty, and the tensors that have a pin in i are known.
        known[:] = False
        for v in range(n):
            if lattice.bits[i, lattice.word[v]] & lattice.bit[v]:
                for y in range(costs.start[v], costs.start[v + 1]):
                    known[costs.tensor[y]] = True
        depth = 0
        at[0] = i
        edge[0] = lattice.start[i]
        stamp[i] = i
        while depth >= 0:
            # No ideal above is left to try: take the last supernode out of S again.
            if edge[depth] == lattice.start[at[depth] + 1]:
                if depth > 0:
                    v = added[depth]
                    for y in range(costs.start[v], costs.start[v + 1]):
                        inside[costs.tensor[y]] -= 1
                depth -= 1
                continue
            # Go to the ideal j = at[depth] + v, unless another way from i has been there: S is the same by any way.
            e = edge[depth]
            edge[depth] += 1
            j = lattice.above[e]
            if stamp[j] == i:
                continue
            stamp[j] = i
            pairs += 1
            # Add v to S: its time and memory, and the tensors that S cuts, of which those with a pin in i stay cut for
            # good.
            v = lattice.node[e]
            deeper = depth + 1
            cut[deeper] = cut[depth]
            forced[deeper] = forced[depth]
            for y in range(costs.start[v], costs.start[v + 1]):
                t = costs.tensor[y]
                if inside[t] == 0:
                    cut[deeper] += costs.cost[t]
                    if known[t]:
                        forced[deeper] += costs.cost[t]
                elif inside[t] + 1 == costs.pins[t]:
                    cut[deeper] -= costs.cost[t]
                inside[t] += 1
            size[deeper] = size[depth] + costs.memory[v]
            stream[deeper] = stream[depth] + costs.stream[v]
            # Per type q and number of replicas m: is S a block below the target, or can it still grow into one?
            hope = False
            for q in range(kinds):
                time[deeper, q] = time[depth, q] + costs.time[q, v]
                sync[deeper, q] = sync[depth, q] + costs.sync[q, v]
                if shared[q] == 0 or size[deeper] > costs.room[q]:
                    continue
                base = time[deeper, q] + max(0, stream[deeper] - costs.kept[q])
                whole = base
                if costs.pays[q]:
                    base += forced[deeper]
                    whole += cut[deeper]
                if base >= target * shared[q]:
                    continue
                hope = True
                for m in range(1, shared[q] + 1):
                    load = max(whole // m, sync[deeper, q] * (m - 1) // m)
                    if load >= target:
                        continue
                    # Every label of i becomes one of j, if that is better there and enough can still be done with what
                    # is left.
                    checked = False
                    for y in range(kept):
                        s = labels[y]
                        if states.left[s, q] < m:
                            continue
                        new = s + m * states.stride[q]
                        worst = max(value[i, s], load)
                        if worst >= value[j, new]:
                            continue
                        if j < last:
                            enough = True
                            for p in range(rows):
                                need = ahead.left[j, p] + ahead.cheapest[new, p] * ahead.cut[j] - ahead.slack[p]
                                if need > target * ahead.price[new, p]:
                                    enough = False
                                    break
                            if not enough:
                                continue
                        # S is left out where a free supernode w above, which no later block pays for giving away, could
                        # join it at a load not above this one or the floor: the larger block is met later, and is as
                        # good.
                        if not checked:
                            checked = True
                            larger = False
                            for f in range(lattice.start[j], lattice.start[j + 1]):
                                w = lattice.node[f]
                                if not costs.free[w] or size[deeper] + costs.memory[w] > costs.room[q]:
                                    continue
                                with_w = time[deeper, q] + costs.time[q, w]
                                with_w += max(0, stream[deeper] + costs.stream[w] - costs.kept[q])
                                if costs.pays[q]:
                                    with_w += cut[deeper]
                                    for y2 in range(costs.start[w], costs.start[w + 1]):
                                        t = costs.tensor[y2]
                                        if inside[t] == 0:
                                            with_w += costs.cost[t]
                                        elif inside[t] + 1 == costs.pins[t]:
                                            with_w -= costs.cost[t]
                                with_w = max(with_w // m, (sync[deeper, q] + costs.sync[q, w]) * (m - 1) // m)
                                if with_w <= max(floor, load):
                                    larger = True
                                    break
                            if larger:
                                break
                        value[j, new] = worst
                        origin[j, new] = i * count + s
            # Go deeper only where time, memory and the tensors that stay cut, all of which only grow, leave hope.
            if hope:
                depth = deeper
                at[depth] = j
                edge[depth] = lattice.start[j]
                added[depth] = v
            else:
                for y in range(costs.start[v], costs.start[v + 1]):
                    inside[costs.tensor[y]] -= 1
    return source


SWEEP = Kernel(_sweep, PAIRS_A_SECOND)
