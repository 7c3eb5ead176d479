"""Optimal slicing of an order too long for n² numbers: sweeps under a target, and bisection on the target.

For a target T, ``need[r]`` is the least number of devices, of a given sequence, that hold the first r
nodes with every load at most T. One sweep finds it: for l = 0, 1, ... grow the segment that starts
at l, its load updated in O(degree), and stop as soon as what can only grow exceeds T: its work,
overflow, and the tensors it reads from before l; or its memory exceeds the limit. The load itself may fall
when a tensor closes, so it decides nothing but whether a segment may be a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mtpp_dsl.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.solvers.combinatorial.compiled import Kernel
from mtpp_dsl.solvers.combinatorial.devices import DeviceClasses
from mtpp_dsl.solvers.combinatorial.slicing import Block, Slicing

__all__ = ["Cover"]

STEPS_WORTH_COMPILING = 1e6


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
        self, graph: Graph, devices: DeviceClasses, order: Ints, kinds: Sequence[int], say: Callable[[str], None]
    ) -> None:
        self._n, self._kinds = graph.n, kinds
        time = devices.time[order]
        least = time.min(axis=1)
        self._floor = max(float(least.max(initial=0.0)), float(least.sum()) / len(kinds))
        self._arrays = (
            *_by_position(graph, devices.tensor, order),
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
        self._run = COVER.pick(float(graph.n + graph.m) * graph.n / len(kinds), say)

    def slice(self, below: float = np.inf, stopped: Callable[[], bool] = lambda: False) -> Slicing | None:
        """Return a slicing with the least largest load, or None if none is below *below*.

        The bisection ends exactly: a target that fails raises the lower end to the next load, or other
        threshold, at which the sweep could go otherwise; one that holds lowers the upper end to
        the largest load of the slicing found. When *stopped*, the best so far is returned.
        """
        low, high, best = self._floor, below, None
        target = np.nextafter(below, 0.0) if np.isfinite(below) else low * 1.25
        while low < high and not stopped():
            found, following = self.under(target)
            if found is not None:
                best, high = found, found.cost
            else:
                low = max(following, np.nextafter(target, np.inf))
            target = min((low + high) / 2, np.nextafter(high, 0.0)) if np.isfinite(high) else 1.5 * low
        return best

    def under(self, target: float) -> tuple[Slicing | None, float]:
        """Return a slicing with every load at most *target*, or None and a target below which there is none."""
        need = np.full(self._n + 1, len(self._kinds) + 1)
        start = np.zeros(self._n + 1, np.int64)
        load = np.zeros(self._n + 1)
        following = float(self._run(target, *self._arrays, need, start, load))
        if need[-1] > len(self._kinds):
            return None, following
        blocks: list[Block] = []
        end = self._n
        while end > 0:
            blocks.append(Block(int(start[end]), end, int(self._kinds[need[end] - 1])))
            end = blocks[-1].start
        return Slicing(tuple(blocks[::-1]), max(float(load[block.end]) for block in blocks)), following


def _by_position(graph: Graph, tensor: Floats, order: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Return, by position: row pointers and positions of producers read, and the pins and costs of tensors."""
    position = np.empty(graph.n, np.int64)
    position[order] = np.arange(graph.n)
    paid = tensor[graph.tails] > 0
    heads, tails = position[graph.heads[paid]], position[graph.tails[paid]]
    by_head = np.argsort(heads, kind="stable")
    offsets = np.append(0, np.cumsum(np.bincount(heads, minlength=graph.n)))
    pins = 1 + np.bincount(tails, minlength=graph.n)
    return offsets, tails[by_head], pins, np.where(pins > 1, tensor[order], 0.0)


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
    offsets: Ints,
    producers: Ints,
    pins: Ints,
    tensor: Floats,
    time: Floats,
    rest: Floats,
    params: Floats,
    memory: Floats,
    pays: Bools,
    memory_limit: Floats,
    overflow_limit: Floats,
    bandwidth: float,
    following_of_class: Ints,
    need: Ints,
    start: Ints,
    block_load: Floats,
) -> float:
    """Fill ``need`` and, where it is at most k, ``start`` and ``block_load`` of the last block of each prefix.

    Returns the least of the numbers above *target* that the sweep was compared with.
    """
    n, classes = time.shape
    k = len(following_of_class) - 1
    inside = np.zeros(n, np.int64)
    stamp = np.full(n, -1, np.int64)
    following = np.inf
    need[0] = 0
    for first in range(n):
        used = need[first]
        if used >= k:
            continue
        room = (k - used) * (1 + 1e-12)
        if rest[first] > room * target:
            following = min(following, rest[first] / room)
            continue
        for kind in range(classes):
            device = following_of_class[used, kind]
            if device == k:
                continue
            run = first * classes + kind
            work = read = io = size = held = 0.0
            for v in range(first, n):
                work += time[v, kind]
                held += memory[v]
                size += params[v]
                if work == np.inf or held > memory_limit[kind]:
                    break
                if pays[kind]:
                    io += tensor[v]
                    inside[v] = 1
                    for e in range(offsets[v], offsets[v + 1]):
                        u = producers[e]
                        if u >= first:
                            inside[u] += 1
                            if inside[u] == pins[u]:
                                io -= tensor[u]
                        elif stamp[u] != run:
                            stamp[u] = run
                            io += tensor[u]
                            read += tensor[u]
                streamed = max(size - overflow_limit[kind], 0.0) / bandwidth
                if work + read + streamed > target:
                    following = min(following, work + read + streamed)
                    break
                load = work + io + streamed
                if load > target:
                    following = min(following, load)
                elif device + 1 < need[v + 1]:
                    need[v + 1] = device + 1
                    start[v + 1] = first
                    block_load[v + 1] = load
    return following


COVER = Kernel(_cover, STEPS_WORTH_COMPILING)
