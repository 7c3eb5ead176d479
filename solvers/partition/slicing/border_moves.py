"""Annealing over moves of nodes between blocks: a slice is a local optimum only for its order.

The blocks stand in a sequence and every edge goes from a block to the same or a later one. A move takes
a node and what has to go with it, its successors in the block when it goes to a later block (its
predecessors, to an earlier one), and puts them into a block no farther than their neighbours outside allow. So
every state is a plan with an acyclic quotient graph. The energy is the sum of the fourth powers of
the loads, in units of the largest of the best state so far; the temperature falls geometrically.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes

COOLING = 1 / 30
LARGEST_GROUP = 4
CHUNK = 20_000
MOVES_A_SECOND = 8e4


def improve(
    graph: Graph,
    devices: DeviceTypes,
    blocks: Ints,
    kinds: Ints,
    *,
    moves: int,
    temperature: float,
    random: np.random.Generator,
    stopped: Callable[[], bool],
    say: Callable[[str], None],
) -> Ints:
    """Return [n] the block of every node in the best state met; *blocks* if none is better.

    Args:
        graph: the graph.
        devices: its device classes.
        blocks: [n] block of every node; edges must not go to earlier blocks, and the blocks must fit.
        kinds: [k] the device class of every block.
        moves: how many to try.
        temperature: the temperature at the start; 0.3 all but forgets *blocks*, 0.01 stays near.
        random: where the moves come from.
        stopped: looked at between chunks of moves.
        say: told when code has to be compiled.
    """
    if graph.n == 0 or len(kinds) == 1:
        return blocks
    best = blocks.copy()
    state = _state(graph, devices, blocks, kinds)
    run = ANNEAL.pick(moves, say)
    for done in range(0, moves, CHUNK):
        if stopped():
            break
        steps = np.arange(done, min(done + CHUNK, moves))
        run(random.random((len(steps), 4)), temperature * COOLING ** (steps / moves), LARGEST_GROUP, best, *state)
    return best


def _state(graph: Graph, devices: DeviceTypes, blocks: Ints, kinds: Ints) -> tuple[Any, ...]:
    """Return the arguments of the kernel from ``block`` on."""
    n, k = graph.n, len(kinds)
    readers = np.diff(graph.offsets)
    pins = np.where((readers > 0) & (devices.tensor > 0), readers + 1, 0)
    inside = np.zeros((n, k), np.int64)
    inside[np.arange(n), blocks] = 1
    np.add.at(inside, (graph.tails, blocks[graph.heads]), 1)
    cut = (inside > 0) & (inside < pins[:, None])
    time = np.ascontiguousarray(devices.time[:, kinds])
    base = np.bincount(blocks, weights=time[np.arange(n), blocks], minlength=k)
    base += np.where(devices.pays[kinds], devices.tensor @ cut, 0.0)
    params = np.bincount(blocks, weights=graph.params, minlength=k)
    memory = np.bincount(blocks, weights=graph.memory, minlength=k)
    load = base + np.maximum(params - devices.overflow[kinds], 0.0) / devices.bandwidth
    by_block = np.argsort(blocks, kind="stable")
    count = np.bincount(blocks, minlength=k)
    place = np.empty(n, np.int64)
    place[by_block] = np.arange(n) - np.repeat(np.cumsum(count) - count, count)
    members = np.zeros((k, n), np.int64)
    members[blocks, place] = np.arange(n)
    return (
        blocks.copy(),
        inside,
        base,
        params,
        memory,
        load,
        np.array([load.max()]),
        members,
        place,
        count,
        graph.offsets,
        graph.heads,
        graph.offsets_in,
        graph.producers,
        pins,
        devices.tensor,
        time,
        graph.params,
        graph.memory,
        devices.pays[kinds],
        devices.memory[kinds],
        devices.overflow[kinds],
        devices.bandwidth,
    )


def _anneal(
    draws: Floats,
    temperature: Floats,
    largest_group: int,
    best: Ints,
    block: Ints,
    inside: Ints,
    base: Floats,
    params: Floats,
    memory: Floats,
    load: Floats,
    least: Floats,
    members: Ints,
    place: Ints,
    count: Ints,
    offsets: Ints,
    heads: Ints,
    offsets_in: Ints,
    producers: Ints,
    pins: Ints,
    tensor: Floats,
    time: Floats,
    node_params: Floats,
    node_memory: Floats,
    pays: Bools,
    memory_limit: Floats,
    overflow_limit: Floats,
    bandwidth: float,
) -> None:
    """Try one move per row of *draws* (uniform in [0, 1)): from where, which node, where to, whether to take it.

    ``inside[u, b]`` counts the pins of tensor u in block b, ``base`` is load without overflow,
    ``members[b, :count[b]]`` are the nodes of block b and ``place`` their columns; ``least[0]`` is the
    largest load of *best*.
    """
    n, k = time.shape
    group = np.empty(largest_group, np.int64)
    for step in range(len(temperature)):
        if least[0] <= 0.0:
            return
        # Draw a node: half of the moves leave the block of the largest load.
        source = 0
        if draws[step, 0] < 0.5:  # half of the moves leave the block of the largest load
            for b in range(1, k):
                if load[b] > load[source]:
                    source = b
            group[0] = members[source, int(draws[step, 1] * count[source])]
        else:
            group[0] = int(draws[step, 1] * n)
            source = block[group[0]]
        # Collect what has to go with it: to a later block its successors in the block, to an earlier one its
        # predecessors. *limit* is the farthest block that neighbours outside allow; too large a group ends the move.
        later = draws[step, 2] < 0.5
        limit = k - 1 if later else 0
        size = 1
        i = 0
        while i < size <= largest_group:
            u = group[i]
            i += 1
            for e in range(offsets[u] if later else offsets_in[u], offsets[u + 1] if later else offsets_in[u + 1]):
                w = heads[e] if later else producers[e]
                if block[w] != source:
                    limit = min(limit, block[w]) if later else max(limit, block[w])
                    continue
                known = False
                for j in range(size):
                    known = known or group[j] == w
                if not known:
                    if size < largest_group:
                        group[size] = w
                    size += 1
                    if size > largest_group:
                        break
        if size > largest_group or limit == source:
            continue
        # Draw the target between the block and the limit: so the sequence of blocks stays an order of the quotient
        # graph.
        if later:
            target = source + 1 + int(2 * draws[step, 2] * (limit - source))
        else:
            target = source - 1 - int((2 * draws[step, 2] - 1) * (source - limit))
        # Move the group, and count pins: a block pays for a tensor that has pins in it and elsewhere.
        size_params = 0.0
        size_memory = 0.0
        from_base = base[source]
        to_base = base[target]
        for i in range(size):
            u = group[i]
            size_params += node_params[u]
            size_memory += node_memory[u]
            from_base -= time[u, source]
            to_base += time[u, target]
        if to_base == np.inf or memory[target] + size_memory > memory_limit[target]:
            continue
        for i in range(size):
            u = group[i]
            for e in range(offsets_in[u] - 1, offsets_in[u + 1]):
                t = producers[e] if e >= offsets_in[u] else u
                if pins[t] == 0:
                    continue
                if pays[source]:
                    if inside[t, source] == pins[t]:
                        from_base += tensor[t]
                    elif inside[t, source] == 1:
                        from_base -= tensor[t]
                inside[t, source] -= 1
                inside[t, target] += 1
                if pays[target]:
                    if inside[t, target] == 1:
                        to_base += tensor[t]
                    elif inside[t, target] == pins[t]:
                        to_base -= tensor[t]
        # The rule of Metropolis on the sum of the fourth powers of the loads; if it refuses, the pins go back.
        from_load = from_base + max(params[source] - size_params - overflow_limit[source], 0.0) / bandwidth
        to_load = to_base + max(params[target] + size_params - overflow_limit[target], 0.0) / bandwidth
        change = (from_load / least[0]) ** 4 + (to_load / least[0]) ** 4
        change -= (load[source] / least[0]) ** 4 + (load[target] / least[0]) ** 4
        if change > 0.0 and draws[step, 3] >= np.exp(-change / temperature[step]):
            for i in range(size):
                u = group[i]
                for e in range(offsets_in[u] - 1, offsets_in[u + 1]):
                    t = producers[e] if e >= offsets_in[u] else u
                    if pins[t] > 0:
                        inside[t, source] += 1
                        inside[t, target] -= 1
            continue
        # Accepted: keep the sums, and the lists of members, from which a node is taken in constant time.
        base[source] = from_base
        base[target] = to_base
        load[source] = from_load
        load[target] = to_load
        params[source] -= size_params
        params[target] += size_params
        memory[source] -= size_memory
        memory[target] += size_memory
        for i in range(size):
            u = group[i]
            block[u] = target
            count[source] -= 1
            moved = members[source, count[source]]
            members[source, place[u]] = moved
            place[moved] = place[u]
            members[target, count[target]] = u
            place[u] = count[target]
            count[target] += 1
        # The best state is that of the least largest load.
        peak = load.max()
        if peak < least[0] * (1 - 1e-12):
            least[0] = peak
            best[:] = block


ANNEAL = Kernel(_anneal, MOVES_A_SECOND)
