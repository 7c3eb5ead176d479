"""Optimal slicing of an order too long for n² numbers: sweeps under a target, and bisection on the target.

For a target T, ``need[r]`` is the least number of devices, of a given sequence, that hold the first r
nodes with every load at most T. One sweep finds it: for l = 0, 1, ... grow the segment that starts
at l, its load updated in O(1) (see :mod:`~mtpp_dsl.solvers.algorithms.slicing.pins`), and stop as soon as what can
only grow exceeds T: its work, overflow, and the tensors it reads from before l; or its memory exceeds the limit. The
load itself may fall when a tensor closes, so it decides nothing but whether a segment may be a block. Where the
optimum is known to lie within a share, one pass of the programme over all numbers of devices finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.slicing.many_orders import Programme
from mtpp_dsl.solvers.algorithms.slicing.one_order import OrderBlock, Slicing
from mtpp_dsl.solvers.algorithms.slicing.pins import paid_tensors, pins_of

STEPS_A_SECOND = 3e6
PORTION = 30_000_000
"""Steps of compiled code between two looks at the time: some 0.2 s."""
SWEEPS = 20
"""About as many are made for one order."""

FIRST_STEP = 1e-3
"""The first target lies above the floor by this share; while none holds, the step doubles."""

NEAR = 0.05
"""How near the ends of the bisection are when the programme takes over."""

MAX_ENTRIES = 1e7
"""It does where it holds at most so many."""


class Cover:
    """Slices one order on one sequence of devices.

    Args:
        graph: the graph.
        devices: its device classes.
        order: [n] a topological order.
        kinds: [k] the classes of the devices in sequence; any device may stay empty.
        say: told when code has to be compiled.
    """

    def __init__(
        self, graph: Graph, devices: DeviceTypes, order: Ints, kinds: Sequence[int], say: Callable[[str], None]
    ) -> None:
        self._graph, self._devices, self._order, self._kinds, self._say = graph, devices, order, kinds, say
        time = devices.time[order]
        least = time.min(axis=1)
        self._floor = max(float(least.max(initial=0.0)), float(least.sum()) / len(kinds))
        self._paid = paid_tensors(graph, devices.tensor)
        self._pins = pins = pins_of(graph, self._paid, order[None, :], say)
        self._arrays = (
            order,
            graph.offsets_in,
            graph.producers,
            self._paid,
            pins.first[0],
            pins.last[0],
            pins.following[0],
            pins.left[0],
            time,
            np.append(np.cumsum(least[::-1])[::-1], 0.0),
            graph.params[order],
            graph.memory[order],
            devices.pays,
            devices.memory,
            devices.overflow,
            devices.bandwidth,
            _next_of_class(kinds, len(devices.members)),
        )
        self._steps = SWEEPS * (graph.n + float(graph.n) * graph.n / len(kinds))
        self._run = COVER.pick(self._steps, say)

    def slice(self, below: float = np.inf, stopped: Callable[[], bool] = lambda: False) -> Slicing | None:
        """Return a slicing with the least largest load, or None if none is below *below*.

        The first target is just under *below*, or, without one, near the floor, from where targets rise by
        growing steps: those that fail are cheap. The bisection ends exactly: a target that fails raises the
        lower end to the next load, or other threshold, at which the sweep could go otherwise; one that holds
        lowers the upper end to the largest load of the slicing found. When *stopped*, the best so far is returned.
        """
        low, high, best, step = self._floor, below, None, FIRST_STEP
        target = np.nextafter(below, 0.0) if np.isfinite(below) else low * (1 + step)
        near = NEAR if (self._graph.n + 1) * (len(self._kinds) + 1) <= MAX_ENTRIES else 0.0
        while low < high and not stopped():
            if best is not None and high <= low * (1 + near):
                return self._between(low, high) or best
            slicing, following = self.under(target, stopped)
            if slicing is not None:
                best, high = slicing, slicing.cost
            else:
                low = max(following, np.nextafter(target, np.inf))
            step *= 2
            target = min((low + high) / 2, np.nextafter(high, 0.0)) if np.isfinite(high) else (1 + step) * low
        return best

    def _between(self, low: float, high: float) -> Slicing | None:
        """Return the optimal slicing, which is not under *low*, or None if it is not under *high*."""
        programme = Programme(self._graph, self._devices, self._paid, len(self._kinds), self._steps, self._say)
        sequence = np.array(self._kinds)
        (cost,) = programme.costs(self._order[None, :], sequence[None, :], self._pins, high, low)
        return Slicing(programme.blocks(sequence), float(cost)) if cost < high else None

    def under(self, target: float, stopped: Callable[[], bool] = lambda: False) -> tuple[Slicing | None, float]:
        """Return a slicing with every load at most *target*, or None and a target below which there is none.

        When *stopped*, None and *target*, which then says nothing.
        """
        need = np.full(self._graph.n + 1, len(self._kinds) + 1)
        start = np.zeros(self._graph.n + 1, np.int64)
        load = np.zeros(self._graph.n + 1)
        reads, closed = np.zeros(self._graph.n), self._pins.closed[0].copy()
        first, following = 0, np.inf
        while first < self._graph.n:
            if first and stopped():
                return None, target
            first, nearest = self._run(
                target, first, COVER.portion(PORTION), *self._arrays, reads, closed, need, start, load
            )
            following = min(following, float(nearest))
        if need[-1] > len(self._kinds):
            return None, following
        blocks: list[OrderBlock] = []
        end = self._graph.n
        while end > 0:
            blocks.append(OrderBlock(int(start[end]), end, int(self._kinds[need[end] - 1])))
            end = blocks[-1].start
        return Slicing(tuple(blocks[::-1]), max(float(load[block.end]) for block in blocks)), following


def _next_of_class(kinds: Sequence[int], classes: int) -> Ints:
    """Return [k+1, classes] the first device of a class at or after each place of the sequence, k for none."""
    k = len(kinds)
    table = np.full((k + 1, classes), k, np.int64)
    for place in range(k - 1, -1, -1):
        table[place] = table[place + 1]
        table[place, kinds[place]] = place
    return table


def _cover(
    target: float,
    first: int,
    budget: int,
    order: Ints,
    offsets_in: Ints,
    producers: Ints,
    paid: Floats,
    first_pin: Ints,
    last_pin: Ints,
    following_pin: Ints,
    left: Floats,
    time: Floats,
    rest: Floats,
    params: Floats,
    memory: Floats,
    pays: Bools,
    memory_limit: Floats,
    overflow_limit: Floats,
    bandwidth: float,
    following_of_class: Ints,
    reads: Floats,
    closed: Floats,
    need: Ints,
    start: Ints,
    block_load: Floats,
) -> tuple[int, float]:
    """Fill ``need`` and, where it is at most k, ``start`` and ``block_load`` of the last block of each prefix.

    The sweep goes on at place *first*, for about *budget* steps; *reads* and *closed* are its state. Returns where to
    go on, and the least of the numbers above *target* that this part was compared with.
    """
    n, classes = time.shape
    k = len(following_of_class) - 1
    made = paid[order]
    following = np.inf
    need[0] = 0
    steps = 0
    while first < n and steps < budget:
        used = need[first]
        room = (k - used) * (1 + 1e-12)
        if used < k and rest[first] > room * target:
            following = min(following, rest[first] / room)
            used = k
        for kind in range(classes if used < k else 0):
            device = following_of_class[used, kind]
            if device == k:
                continue
            work = read = io = size = size_in_memory = 0.0
            for v in range(first, n):
                steps += 1
                work += time[v, kind]
                size_in_memory += memory[v]
                size += params[v]
                if work == np.inf or size_in_memory > memory_limit[kind]:
                    break
                if pays[kind]:
                    read += reads[v]
                    io += made[v] - closed[v]
                streamed = max(size - overflow_limit[kind], 0.0) / bandwidth
                if work + read + streamed > target:
                    following = min(following, work + read + streamed)
                    break
                load = work + read + streamed + max(io, 0.0)
                if load > target:
                    following = min(following, load)
                elif device + 1 < need[v + 1]:
                    need[v + 1] = device + 1
                    start[v + 1] = first
                    block_load[v + 1] = load
        if first_pin[first] < n:
            closed[last_pin[first]] = left[first]
            reads[first_pin[first]] += made[first]
        for e in range(offsets_in[order[first]], offsets_in[order[first] + 1]):
            if following_pin[e] < n:
                reads[following_pin[e]] += paid[producers[e]]
        first += 1
        steps += 1
    return first, following


COVER = Kernel(_cover, STEPS_A_SECOND)
