"""The optimal slicing of many orders at once, each in one pass (archer2024, Algorithm 1), where it is below a limit.

``best[r, j]`` is the least largest load with which j devices of a sequence hold the first r nodes, the last one's not
empty. For l = 0, 1, ... a sweep visits the segments that start at l and cost less than a target; each updates the
states that end with it. From l only those j go on that are better than fewer devices of their kind, and for which
the time that remains fits below the target on the devices that remain. So the nearer the target is to the optimum, the
less is visited; where no order has been sliced yet, targets rise from a floor.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.slicing.one_order import OrderBlock
from mtpp_dsl.solvers.algorithms.slicing.pins import Pins

STEPS_A_SECOND = 1e6


class Programme:
    """Slices orders of one graph on sequences of its devices; holds 16 bytes for each of (n + 1)(places + 1) entries.

    Args:
        graph: the graph.
        devices: its device classes.
        paid: [n] as of :func:`~mtpp_dsl.solvers.algorithms.slicing.pins.paid_tensors`.
        places: how many devices there are in a sequence.
        steps: of the sweeps of all calls to come, for whether compiling pays.
        say: told when code has to be compiled.
    """

    def __init__(
        self,
        graph: Graph,
        devices: DeviceTypes,
        paid: Floats,
        places: int,
        steps: float,
        say: Callable[[str], None],
    ) -> None:
        self._best = np.empty((graph.n + 1, places + 1))
        self._start = np.empty((graph.n + 1, places + 1), np.int64)
        self._graph, self._devices, self._paid = graph, devices, paid
        finite = np.where(np.isfinite(devices.time), devices.time, 0.0)
        most = finite.max(axis=1, initial=0.0).sum() + paid.sum() + graph.params.sum() / devices.bandwidth
        self._ceiling = float(most) * (1 + 1e-9)
        self._run = SLICES.pick(steps, say)

    def costs(self, orders: Ints, sequences: Ints, pins: Pins, below: float, floor: float) -> Floats:
        """Return [count] the least largest loads, ``inf`` where they are not less than *below*.

        Args:
            orders: [count, n] topological orders.
            sequences: [count, places] the classes of the devices in sequence; any may stay empty.
            pins: of the orders.
            below: a limit, or ``inf``.
            floor: no slicing has all loads under it.
        """
        costs = np.empty(len(orders))
        graph, devices = self._graph, self._devices
        self._run(
            orders,
            sequences,
            below,
            floor,
            self._ceiling,
            graph.offsets_in,
            graph.producers,
            self._paid,
            pins.first,
            pins.last,
            pins.following,
            pins.closed,
            pins.left,
            np.ascontiguousarray(devices.time),
            graph.params,
            graph.memory,
            devices.pays,
            devices.memory,
            devices.overflow,
            devices.bandwidth,
            costs,
            self._best,
            self._start,
        )
        return costs

    def blocks(self, sequence: Ints) -> tuple[OrderBlock, ...]:
        """Return the blocks of the last order sliced, which had a slicing below the limit, on [places] *sequence*."""
        blocks: list[OrderBlock] = []
        end, places = len(self._best) - 1, len(sequence) + 1
        while end > 0:
            places = int(self._best[end, :places].argmin())
            begin = int(self._start[end, places])
            blocks.append(OrderBlock(begin, end, int(sequence[places - 1])))
            end = begin
        return tuple(blocks[::-1])


def _slices(
    orders: Ints,
    sequences: Ints,
    below: float,
    floor: float,
    ceiling: float,
    offsets_in: Ints,
    producers: Ints,
    paid: Floats,
    first_pin: Ints,
    last_pin: Ints,
    following_pin: Ints,
    closed_by: Floats,
    left: Floats,
    node_time: Floats,
    node_params: Floats,
    node_memory: Floats,
    pays: Bools,
    memory_limit: Floats,
    overflow_limit: Floats,
    bandwidth: float,
    costs: Floats,
    best: Floats,
    start: Ints,
) -> None:
    """Fill *costs* of [count, n] *orders* on [count, k] *sequences* of device classes; ``inf`` where not below *below*.

    No slicing has all loads under *floor*, and no load is above *ceiling*. ``best`` and ``start`` [n+1, k+1] are
    left as of the last order: ``start[r, j]`` is where the block starts that ends before r, on device j - 1.
    """
    count, n = orders.shape
    k = sequences.shape[1]
    classes = node_time.shape[1]
    time = np.empty((classes, n))
    made = np.empty(n)
    size = np.empty(n)
    needs = np.empty(n)
    rest = np.zeros(n + 1)
    fewest = np.empty(n + 1, np.int64)
    states = np.empty(k, np.int64)
    values = np.empty(k)
    for i in range(count):
        # Lay the nodes out in this order; rest[p] is the least time of those from place p on, on any class.
        order = orders[i]
        for p in range(n - 1, -1, -1):
            v = order[p]
            made[p] = paid[v]
            size[p] = node_params[v]
            needs[p] = node_memory[v]
            least = np.inf
            for c in range(classes):
                time[c, p] = node_time[v, c]
                least = min(least, time[c, p])
            rest[p] = rest[p + 1] + least
        # Raise the target until some slicing is below it: the lower it is, the fewer blocks a pass looks at.
        costs[i] = np.inf
        step = 0.05
        target = floor
        while costs[i] == np.inf and target < below and target <= ceiling:
            target = min(floor * (1 + step), below) if below < np.inf else floor * (1 + step)
            if floor == 0.0:
                target = below
            step *= 2
            # A pass by where blocks begin. best[r, j]: the least largest load of the first r nodes on the first j
            # devices; fewest[r]: the first j for which there is any; reads and closed: what a block that begins
            # here pays for tensors.
            best[:] = np.inf
            best[0, 0] = floor
            fewest[:] = k
            fewest[0] = 0
            reads = np.zeros(n)
            closed = closed_by[i].copy()
            for begin in range(n):
                most = min(k, int(k - rest[begin] / target * (1 - 1e-12)) + 1) if target < np.inf else k
                # The states from which a device of class c may go on here, each with a value below those before it;
                # more devices before it than there are in `most` leave too few for the rest of the work.
                for c in range(classes):
                    going = 0
                    least = passed = np.inf
                    for j in range(fewest[begin], most):
                        least = min(least, best[begin, j])
                        if sequences[i, j] == c and least < passed:
                            passed = least
                            states[going] = j
                            values[going] = least
                            going += 1
                    if going == 0:
                        continue
                    # Grow the block node by node, and move all these states on; what is fixed never shrinks, so the
                    # block ends where that reaches the target.
                    work = read = io = params = memory = 0.0
                    for at in range(begin, n):
                        work += time[c, at]
                        memory += needs[at]
                        params += size[at]
                        if work == np.inf or memory > memory_limit[c]:
                            break
                        if pays[c]:
                            read += reads[at]
                            io += made[at] - closed[at]
                        fixed = work + read + max(params - overflow_limit[c], 0.0) / bandwidth
                        if fixed >= target:
                            break
                        load = fixed + max(io, 0.0)
                        if load >= target:
                            continue
                        for s in range(going):
                            places = states[s] + 1
                            value = max(values[s], load)
                            if value < best[at + 1, places]:
                                best[at + 1, places] = value
                                start[at + 1, places] = begin
                                fewest[at + 1] = min(fewest[at + 1], places)
                # Behind this node a block reads its tensor where it is used first, and no longer closes it.
                if first_pin[i, begin] < n:
                    closed[last_pin[i, begin]] = left[i, begin]
                    reads[first_pin[i, begin]] += made[begin]
                for e in range(offsets_in[order[begin]], offsets_in[order[begin] + 1]):
                    if following_pin[i, e] < n:
                        reads[following_pin[i, e]] += paid[producers[e]]
            costs[i] = best[n].min()


SLICES = Kernel(_slices, STEPS_A_SECOND)
