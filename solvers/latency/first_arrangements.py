"""Find arrangements to start from: parts of orders, and everything beside host memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import strong
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.latency.slot_latency import latency_of
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance

__all__ = ["Orders", "arrangement_of", "beside", "measured", "worth"]

LARGEST = 4e9
"""Steps of one dynamic programme over an order; graphs that need more do without."""


def measured(instance: LatencyInstance, slot: Ints) -> tuple[float, float, float]:
    """Return what :func:`~mtpp_dsl.solvers.latency.slot_latency.latency_of` says of an arrangement."""
    graph = instance.graph
    return latency_of(
        slot,
        instance.pieces,
        instance.home,
        graph.offsets,
        graph.heads,
        instance.time,
        instance.tensor,
        instance.memory,
        instance.limit,
    )


def worth(instance: LatencyInstance, slot: Ints) -> float:
    """Return the makespan of an arrangement that fits into the memories, else ``inf``."""
    makespan, _, excess = measured(instance, slot)
    return makespan if excess == 0 else float("inf")


def beside(instance: LatencyInstance) -> Ints | None:
    """Return the arrangement of each node, with those colocated, where it is fastest of the devices with ``io = free``.

    Those without a limit come first, then all. None where some node is on none of these.
    """
    every = np.arange(instance.pieces, len(instance.home))
    endless = every[np.isinf(instance.limit[instance.home[every]])]
    slots = (_fastest(instance, free) for free in (endless, every))
    return next((slot for slot in slots if slot is not None), None)


def _fastest(instance: LatencyInstance, free: Ints) -> Ints | None:
    """Return the arrangement of every class in the slot of *free* where it is fastest; None if none may have it."""
    if not len(free):
        return None
    total = np.zeros((int(instance.group.max(initial=-1)) + 1, len(free)))
    np.add.at(total, instance.group, instance.time[:, instance.home[free]])
    slot: Ints = free[total.argmin(axis=1)][instance.group]
    return slot if np.isfinite(measured(instance, slot)[0]) else None


def arrangement_of(instance: LatencyInstance, plan: Plan) -> Ints | None:
    """Return the arrangement of a plan; None of one without subgraphs, or that uses what the instance leaves out."""
    if plan.schedule is None or plan.schedule.piece is None:
        return None
    slot = np.full(instance.n, -1, np.int64)
    for d in np.unique(plan.assignment).tolist():
        on = np.flatnonzero(plan.assignment == d)
        slots = np.flatnonzero(instance.home == instance.alike[d])
        if slots[-1:].size and slots[-1] < instance.pieces:
            number = np.unique(plan.schedule.piece[on], return_inverse=True)[1].reshape(-1)
            if number.max() < len(slots):
                slot[on] = slots[number]
        elif slots.size:
            slot[on] = slots[0]
    return slot if slot.min(initial=0) >= 0 and np.isfinite(measured(instance, slot)[0]) else None


class Orders:
    """Parts of topological orders of a problem's units: nodes that are colocated, and units that cycles of these join.

    Args:
        instance: the problem.
        random: draws orders.
        say: told when numba has to be loaded.
    """

    def __init__(self, instance: LatencyInstance, random: np.random.Generator, say: Callable[[str], None]) -> None:
        self._instance, self._random, self._say = instance, random, say
        graph = instance.graph
        self.unit = strong(instance.group, graph.tails, graph.heads)
        self.count = int(self.unit.max(initial=-1)) + 1
        ends = np.unique(np.stack([self.unit[graph.tails], self.unit[graph.heads]], axis=1), axis=0)
        ends = ends[ends[:, 0] != ends[:, 1]]
        self._after: list[list[int]] = [[] for _ in range(self.count)]
        for a, b in ends.tolist():
            self._after[a].append(b)
        self._waiting = np.bincount(ends[:, 1], minlength=self.count)
        self._nodes = np.argsort(self.unit, kind="stable")
        self._offsets = np.concatenate(([0], np.cumsum(np.bincount(self.unit, minlength=self.count))))

    @property
    def steps(self) -> float:
        """Steps of one dynamic programme, at most."""
        return (self._instance.graph.n + self._instance.graph.m) * float(self.count) * (self._instance.pieces + 1)

    def arrangements(self, start: Floats | None, count: int, room: float = 1.0) -> Iterator[Ints]:
        """Yield up to *count* arrangements, of *start* (a time of each node) in its order first, where it is given.

        Args:
            start: [n] or None.
            count: how many orders to part.
            room: memories are taken to be larger by this factor.
        """
        if self.steps > LARGEST:
            return
        for number in range(count):
            if number == 0:
                times = np.arange(self._instance.n)[np.argsort(self._instance.graph.topological_order)]
                order = self._by_priority(times.astype(np.float64) if start is None else start)
            elif number % 2:
                order = self._deep()
            else:
                noise = self._random.random(self._instance.n)
                order = self._by_priority(noise if start is None else start * (1 + 0.1 * noise))
            slot = self._parted(np.array(order, np.int64), number % 3 != 2, room)
            if slot is not None:
                yield slot

    def _parted(self, order: Ints, full: bool, room: float) -> Ints | None:
        instance, graph = self._instance, self._instance.graph
        number = instance.number
        slots = np.arange(instance.pieces)
        own = np.bincount(instance.home[: instance.pieces], minlength=instance.problem.k)
        if full:  # one subgraph on each device
            slots = slots[number[: instance.pieces] == 0]
            own = np.minimum(own, 1)
        shuffled = self._random.permutation(instance.problem.k)
        slots = slots[np.lexsort((shuffled[instance.home[slots]], number[slots]))]
        device = instance.home[slots]
        free = np.flatnonzero(np.isinf(instance.limit[instance.home[instance.pieces :]])) + instance.pieces
        slot = np.empty(instance.n, np.int64)
        cost = PARTED.pick(self.steps, self._say)(
            order,
            self._offsets,
            self._nodes,
            np.stack([slots, device], axis=1),
            graph.offsets,
            graph.offsets_in,
            graph.producers,
            instance.time,
            instance.tensor,
            instance.memory,
            room * instance.limit[device] / np.maximum(own[device], 1),
            np.stack([free, instance.home[free]], axis=1),
            slot,
        )
        return slot if np.isfinite(cost) else None

    def _by_priority(self, priority: Floats) -> list[int]:
        """Return the topological order that takes the unit of least priority next."""
        key = np.full(self.count, np.inf)
        np.minimum.at(key, self.unit, priority)
        waiting = self._waiting.copy()
        ready = [(float(key[u]), u) for u in np.flatnonzero(waiting == 0).tolist()]
        heapify(ready)
        order = []
        while ready:
            _, u = heappop(ready)
            order.append(u)
            for v in self._after[u]:
                waiting[v] -= 1
                if waiting[v] == 0:
                    heappush(ready, (float(key[v]), v))
        return order

    def nodes(self, unit: int) -> Ints:
        """Return the nodes of a unit."""
        return self._nodes[self._offsets[unit] : self._offsets[unit + 1]]

    def depth_first(self) -> list[int]:
        """Return the units in the reverse order in which a depth-first search has done with them."""
        seen = np.zeros(self.count, np.bool_)
        finished: list[int] = []
        for root in range(self.count):
            path = [] if seen[root] else [(root, iter(self._after[root]))]
            seen[root] = True
            while path:
                u, others = path[-1]
                v = next((v for v in others if not seen[v]), None)
                if v is None:
                    finished.append(u)
                    path.pop()
                else:
                    seen[v] = True
                    path.append((v, iter(self._after[v])))
        return finished[::-1]

    def _deep(self) -> list[int]:
        """Return an order that goes on where it is as long as it can, and else takes up what was ready last."""
        waiting = self._waiting.copy()
        ready = self._random.permutation(np.flatnonzero(waiting == 0)).tolist()
        order = []
        while ready:
            u = ready.pop()
            order.append(u)
            fresh = []
            for v in self._after[u]:
                waiting[v] -= 1
                if waiting[v] == 0:
                    fresh.append(v)
            ready += self._random.permutation(np.array(fresh, np.int64)).tolist()
        return order


# Arrangements along topological orders: the least sum of subgraphs and single nodes, one after another.


def parted(
    order: Ints,
    unit_offsets: Ints,
    unit_nodes: Ints,
    sequence: Ints,
    offsets: Ints,
    offsets_in: Ints,
    producers: Ints,
    time: Floats,
    tensor: Floats,
    memory: Floats,
    limit: Floats,
    free: Ints,
    slot: Ints,
) -> float:
    """Fill *slot* with the cheapest way to part an order into subgraphs and single units; return the sum of the costs.

    A dynamic programme over the prefixes of the order and the slots of *sequence* used so far: each slot takes the next
    units, or none, and units between run on a device with ``io = free``. The sum is that of all costs in a row, so the
    latency is not more. ``inf`` if no such way exists.

    Args:
        order: [units] a topological order of units, which are sets of nodes that stay together.
        unit_offsets: [units + 1] where the nodes of each unit begin.
        unit_nodes: [n] these nodes.
        sequence: [used, 2] slot and device, in the order in which they are to be used.
        offsets: [n + 1] where the readers of each node begin.
        offsets_in: [n + 1] where the nodes that each reads begin.
        producers: [m] these nodes.
        time: [n, devices] running times; ``inf`` where a node may not be.
        tensor: [n] what it takes to read or to write each node's tensor.
        memory: [n] of every node.
        limit: [used] what each slot of the sequence may hold.
        free: [free, 2] slot and device of those with ``io = free``; none has a limit.
        slot: [n] filled.
    """
    count, used, n = len(order), len(sequence), len(slot)
    best = np.full((used + 1, count + 1), np.inf)
    came = np.full((used + 1, count + 1), -1, np.int64)
    alone = np.full(count, np.inf)
    which = np.zeros(count, np.int64)
    place = np.empty(n, np.int64)
    # What each unit takes by itself on the fastest device with free input.
    for i in range(count):
        unit = order[i]
        for f in range(len(free)):
            total = 0.0
            for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                total += time[unit_nodes[x], free[f, 1]]
            if total < alone[i]:
                alone[i] = total
                which[i] = free[f, 0]
        for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
            place[unit_nodes[x]] = i
    # best[r, i]: the least sum for the first i units, with subgraphs on the first r slots of the sequence at most.
    best[0, 0] = 0.0
    for i in range(count):
        best[0, i + 1] = best[0, i] + alone[i]
    mark = np.full(n, -1, np.int64)
    open_ends = np.zeros(n, np.int64)
    stamp = 0
    for r in range(used):
        device = sequence[r, 1]
        best[r + 1] = best[r]
        for i in range(count):
            # Either the next unit is alone, or a subgraph on slot r begins at i and takes unit after unit.
            base = best[r, i]
            if best[r + 1, i] + alone[i] < best[r + 1, i + 1]:
                best[r + 1, i + 1] = best[r + 1, i] + alone[i]
                came[r + 1, i + 1] = -2
            if base == np.inf:
                continue
            stamp += 1
            size, cost = 0.0, 0.0
            for j in range(i, count):
                unit = order[j]
                for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                    v = unit_nodes[x]
                    size += memory[v]
                    cost += time[v, device]
                    open_ends[v] = offsets[v + 1] - offsets[v]
                    if open_ends[v] > 0:
                        cost += tensor[v]
                # Each tensor from outside is read once; one that is made inside is written only while some reader is
                # outside.
                for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                    v = unit_nodes[x]
                    for e in range(offsets_in[v], offsets_in[v + 1]):
                        u = producers[e]
                        if place[u] < i:
                            if mark[u] != stamp:
                                mark[u] = stamp
                                cost += tensor[u]
                        else:
                            open_ends[u] -= 1
                            if open_ends[u] == 0:
                                cost -= tensor[u]
                if size > limit[r] or cost == np.inf:
                    break
                if base + cost < best[r + 1, j + 1]:
                    best[r + 1, j + 1] = base + cost
                    came[r + 1, j + 1] = i
    # Go back along the choices, and fill the slots.
    i, r = count, used
    if best[r, i] == np.inf:
        return np.inf
    while i > 0:
        start = came[r, i]
        if r > 0 and start == -1:
            r -= 1
            continue
        begin = start if r > 0 and start >= 0 else i - 1
        to = sequence[r - 1, 0] if r > 0 and start >= 0 else which[i - 1]
        for j in range(begin, i):
            unit = order[j]
            for x in range(unit_offsets[unit], unit_offsets[unit + 1]):
                slot[unit_nodes[x]] = to
        i = begin
        if r > 0 and start >= 0:
            r -= 1
    return float(best[used, count])


PARTED = Kernel(parted, 5e6)
