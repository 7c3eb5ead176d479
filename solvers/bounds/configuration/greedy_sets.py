"""Heavy sets of supernodes below a target, by randomised greedy and ruin: columns, never a proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.bounds.configuration.by_row import improve_each

STEPS_A_SECOND = 2e6
REPEATS = 8


def incidence(n: int, tensors: tuple[tuple[tuple[int, ...], float], ...]) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the pins of every tensor, and the tensors of every supernode, each as row pointers and a list."""
    pins = [v for net, _ in tensors for v in net]
    starts = np.cumsum([0, *(len(net) for net, _ in tensors)])
    tensor_of = np.repeat(np.arange(len(tensors)), np.diff(starts))
    order = np.argsort(np.array(pins, np.int64), kind="stable")
    by_supernode = np.concatenate(([0], np.cumsum(np.bincount(np.array(pins, np.int64), minlength=n))))
    return (
        starts.astype(np.int64),
        np.array(pins, np.int64),
        by_supernode.astype(np.int64),
        tensor_of[order].astype(np.int64),
    )


def _fill(
    weights: Floats,
    work: Ints,
    size: Floats,
    cost: Ints,
    starts: Ints,
    pins: Ints,
    first: Ints,
    at: Ints,
    capacity: int,
    memory: float,
    seed: int,
    repeats: int,
    sets: Bools,
    heaviest: Floats,
) -> None:
    """Make every row r of *sets*, which it starts from, a set of weight ``heaviest[r]``."""
    n = len(weights)
    state = seed % 2147483646 + 1
    count = np.zeros(len(cost), np.int64)
    delta = np.zeros(n, np.int64)
    in_set = np.zeros(n, np.bool_)
    queue = np.zeros(n, np.int64)
    for r in range(len(heaviest)):
        # Begin with the set given, or with a random supernode of some weight.
        in_set[:] = sets[r]
        sets[r, :] = False
        best = -1.0
        anchor = -1
        if not in_set.any():
            for _ in range(30):
                state = state * 48271 % 2147483647
                anchor = state % n
                if weights[anchor] > 0 and work[anchor] <= capacity:
                    break
            in_set[anchor] = work[anchor] <= capacity
        # How much the load counts beside the weight, in this row.
        state = state * 48271 % 2147483647
        power = 0.3 + state / 2147483647.0
        for _ in range(repeats):
            # Count the load anew: what each supernode would add, tensors that it would cut or keep whole included.
            load, total, used = 0, 0.0, 0.0
            count[:] = 0
            for v in range(n):
                delta[v] = work[v]
                if in_set[v]:
                    load += work[v]
                    total += weights[v]
                    used += size[v]
                    for j in range(first[v], first[v + 1]):
                        count[at[j]] += 1
            for e in range(len(cost)):
                pinned = starts[e + 1] - starts[e]
                if 0 < count[e] < pinned:
                    load += cost[e]
                if count[e] == 0 or count[e] == pinned - 1:
                    for i in range(starts[e], starts[e + 1]):
                        if not in_set[pins[i]]:
                            delta[pins[i]] += cost[e] if count[e] == 0 else 0
                            delta[pins[i]] -= cost[e] if count[e] == pinned - 1 else 0
            # Grow: always the supernode with most weight for its load, with some noise, that fits; what lowers the load
            # comes first.
            while True:
                chosen, score = -1, -1.0
                for v in range(n):
                    if in_set[v] or work[v] > capacity or used + size[v] > memory:
                        continue
                    d = delta[v]
                    if d > 0 and (load + d > capacity or weights[v] <= 0):
                        continue
                    state = state * 48271 % 2147483647
                    if d <= 0:
                        s = 1e30 * (1.0 + weights[v]) - d
                    else:
                        s = (weights[v] + 1e-9) / float(d) ** power * (0.7 + 0.6 * state / 2147483647.0)
                    if (d < 0 or weights[v] > 0) and s > score:
                        chosen, score = v, s
                if chosen < 0:
                    break
                # Add it: tensors with a first pin inside are cut from now on, those with a last pin outside would no
                # longer be.
                in_set[chosen] = True
                load += delta[chosen]
                total += weights[chosen]
                used += size[chosen]
                for j in range(first[chosen], first[chosen + 1]):
                    e = at[j]
                    pinned = starts[e + 1] - starts[e]
                    count[e] += 1
                    if count[e] == 1:
                        for i in range(starts[e], starts[e + 1]):
                            delta[pins[i]] -= cost[e]
                    if count[e] == pinned - 1:
                        for i in range(starts[e], starts[e + 1]):
                            if not in_set[pins[i]]:
                                delta[pins[i]] -= cost[e]
            # Keep the heaviest set met, and go on from it.
            if load <= capacity and used <= memory and total > best:
                best = total
                sets[r, :] = in_set
            if best >= 0:
                in_set[:] = sets[r]
            # Ruin: take out supernodes at random, or those around one, as far as tensors reach.
            state = state * 48271 % 2147483647
            share = state / 2147483647.0 * 0.5
            state = state * 48271 % 2147483647
            if state % 2 == 0:
                for v in range(n):
                    if in_set[v]:
                        state = state * 48271 % 2147483647
                        if state / 2147483647.0 < share:
                            in_set[v] = False
            else:
                many = 0
                for v in range(n):
                    many += in_set[v]
                doomed = int(share * many) + 1
                state = state * 48271 % 2147483647
                v = state % n
                for _ in range(n):
                    if in_set[v]:
                        break
                    v = (v + 1) % n
                queue[0] = v
                in_set[v] = False
                last = 1
                i = 0
                while i < last and last < doomed:
                    for j in range(first[queue[i]], first[queue[i] + 1]):
                        for z in range(starts[at[j]], starts[at[j] + 1]):
                            u = pins[z]
                            if in_set[u] and last < doomed:
                                in_set[u] = False
                                queue[last] = u
                                last += 1
                    i += 1
        heaviest[r] = best


_FILL = Kernel(_fill, STEPS_A_SECOND)


def heavy_sets(
    weights: Floats,
    work: Ints,
    size: Floats,
    cost: Ints,
    links: tuple[Ints, Ints, Ints, Ints],
    capacity: int,
    memory: float,
    *,
    starts: Bools,
    seed: int,
    say: Any,
    stopped: Callable[[], bool],
) -> tuple[Bools, Floats]:
    """Return [rounds, supernodes] sets within capacity and memory, and their weights; -1 where none was found.

    Args:
        weights: [supernodes] zero or more.
        work: [supernodes] units.
        size: [supernodes] memory.
        cost: [tensors] units that a cut tensor costs.
        links: of :func:`incidence`.
        capacity: of work and cut tensors.
        memory: how much of it there is.
        starts: [rounds, supernodes] sets to start from; from an empty one, a random supernode.
        seed: of the choices.
        say: told when code has to be compiled.
        stopped: whether to leave the rest of the sets.
    """
    sets = starts.copy()
    if not len(weights):
        return sets, np.zeros(len(starts))
    fill: Any = _FILL.pick(20.0 * len(starts) * REPEATS * len(weights) ** 1.5, say)
    given = (weights, work, size, cost, *links, capacity, memory)
    return sets, improve_each(lambda own, *row: fill(*given, own, REPEATS, *row), sets, seed, stopped)
