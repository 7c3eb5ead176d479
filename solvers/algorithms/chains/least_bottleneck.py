"""Find the split of a chain of nodes with the least bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.whole_numbers import binary_unit, floored
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain, Typed, typed

__all__ = ["least_bottleneck"]

BITS, FINE = 52, 32
"""The cost of all nodes one after the other is a whole number of at most so many bits, where there are few nodes; that
of the best split has to have so many, else the search begins again."""
FIRST_STEP = 0.03
"""The first target is above the bound by this share, the next by twice that, and so on; then halves are tried."""
MAX_STATES = 100_000
"""In how many ways some devices of each type may be used, at the most."""


@dataclass(frozen=True, eq=False)
class ChainSplit:
    """What the search found.

    Attributes:
        device: [n] the best split, as devices of the nodes; None if there is none.
        value: its largest load; ``inf`` without one.
        lower: no split's largest load is below this; ``inf`` where it is proved that there is none.
    """

    device: Ints | None
    value: float
    lower: float


def least_bottleneck(
    chain: NodeChain,
    *,
    upper: float = np.inf,
    gap: float = 0.0,
    say: Callable[[str], None] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> ChainSplit:
    """Return the split of least largest load in which each device holds one range of nodes, or none.

    Whether there is a split with all loads up to a target is seen by a dynamic programme over (nodes done, devices used
    of each type, type of the next), which takes time in proportion to nodes times states times squared types. Targets
    are halved in between; a failure also tells the next target that could succeed. Times are rounded down to whole
    numbers, so that sums are exact and what is proved holds.

    Args:
        chain: what is split, and over which devices.
        upper: the cost of a split that is known; only better ones are looked for, if any.
        gap: the search ends where the bound is this near to the split found, as a share of it.
        say: told when code has to be compiled.
        pause: called between targets; may raise.
    """
    if upper <= 0:
        return ChainSplit(None, np.inf, 0.0)
    types = typed(chain)
    limit = min(upper, _ceiling(chain))
    best, value, lower = None, upper, 0.0
    while True:  # a second time where the known plan was so much dearer that the unit was too large
        search = _Search(types, chain, limit, say)
        low, high, share = search.least(), search.top + 1, FIRST_STEP
        while low < high and not (value < np.inf and value - lower <= gap * value):
            target = min((low + high - 1) // 2, low + int(share * low))
            if best is None and upper == np.inf and share == FIRST_STEP:
                target = search.top  # is there any split at all?
            pause()
            steps, following = search.below(target)
            if steps is None:
                low = min(following, high)
            else:
                device = types.devices(steps, chain.n)
                cost = float(chain.loads(device).max())
                if cost < value:
                    best, value = device, cost
                high = min(target, search.cost(steps))
            lower = max(lower, low * search.unit)
            share *= 2
        lower = max(lower, low * search.unit)
        if best is None or value >= 2.0**FINE * search.unit or limit <= value:
            break
        limit = value
    if best is None:
        return ChainSplit(None, np.inf, np.inf if upper == np.inf else min(lower, upper))
    return ChainSplit(best, value, min(lower, value))


class _Search:
    """The programme in whole numbers."""

    def __init__(self, types: Typed, chain: NodeChain, limit: float, say: Callable[[str], None] | None) -> None:
        n, kinds = types.time.shape
        self.unit = binary_unit(limit, min(BITS, 61 - n.bit_length()))
        self.top = int(limit / self.unit) + 1
        self._types = types
        self._mode = np.where(types.halves, 2, 1) if chain.overlap else np.zeros(kinds, np.int64)
        self._ahead = np.zeros((kinds, n + 1), np.int64)
        time = self._whole(types.time)
        np.cumsum(time.T, axis=1, out=self._ahead[:, 1:])
        self._least = max(int(time.min(axis=1).max()), -int(-time.min(axis=1).sum() // chain.k))
        self._held = np.concatenate([[0.0], np.cumsum(types.memory)])
        self._sent, self._received = self._whole(types.sent), self._whole(types.received)
        self._into = np.empty((types.states, kinds, n), np.int64)
        self._origin = np.empty((types.states, kinds, n, 2), np.int64)
        self._queue = np.empty(n, np.int64)
        self._run = BELOW.pick(10 * self._into.size * kinds, say)

    def _whole(self, values: Floats) -> Ints:
        """Return times in the unit, rounded down; those above every target count as one more than that."""
        return floored(values, self.unit, self.top + 1)

    def least(self) -> int:
        """Return a bound: the largest node, or each device's share of the work."""
        return min(self._least, self.top + 1)

    def below(self, target: int) -> tuple[list[tuple[int, int, int]] | None, int]:
        """Return stages (begin, end, type) of loads up to *target*, or None; and the next target."""
        types = self._types
        self._into.fill(FAR)
        answer = np.zeros(3, np.int64)
        following = self._run(
            target, self._mode, self._ahead, self._held, types.room, self._sent, self._received, types.stride,
            types.left, self._into, self._origin, self._queue, answer,
        )  # fmt: skip
        if following:
            return None, following
        return _traced(types, self._origin, answer), target

    def cost(self, steps: list[tuple[int, int, int]]) -> int:
        """Return the largest load of stages, in whole numbers."""
        largest = 0
        for s, (begin, end, v) in enumerate(steps):
            work = int(self._ahead[v, end] - self._ahead[v, begin])
            into = int(self._received[begin - 1, steps[s - 1][2], v]) if s else 0
            out = int(self._sent[end - 1, v, steps[s + 1][2]]) if s + 1 < len(steps) else 0
            loads = (work + into + out, max(work, into, out), max(work, into + out))
            largest = max(largest, loads[int(self._mode[v])])
        return largest


def _traced(types: Typed, origin: Ints, answer: Ints) -> list[tuple[int, int, int]]:
    """Return the stages (first node, node after the last, type) that end with the one in *answer*."""
    steps = []
    end = origin.shape[2]
    begin, v, c = (int(x) for x in answer)
    while True:
        steps.append((begin, end, v))
        if begin == 0:
            return steps[::-1]
        end = begin
        begin, before = (int(x) for x in origin[c, v, begin])
        v = before
        c -= int(types.stride[v])


def _ceiling(chain: NodeChain) -> float:
    """Return more than any split costs."""
    costs = (chain.time, chain.sent[:-1], chain.received[:-1])
    finite = (np.where(np.isfinite(cost), cost, 0.0) for cost in costs)
    total = sum(float(cost.max(axis=tuple(range(1, cost.ndim)), initial=0.0).sum()) for cost in finite)
    return total * 2 or 1.0


# The innermost loop of the dynamic programme over a chain.

STEPS_A_SECOND = 2e6
FAR = 1 << 62
"""In place of infinity, among whole numbers."""


def _below(
    target: int, modes: Ints, ahead: Ints, memory: Floats, room: Floats, sent: Ints, received: Ints, stride: Ints,
    left: Ints, into: Ints, origin: Ints, queue: Ints, answer: Ints,
) -> int:  # fmt: skip
    """Find stages whose loads are *target* or less; return 0, or else the least target at which more is possible.

    A state is how many devices of each type are used, the type of the next stage, and the node that it begins at; its
    value is the least that the next stage pays to receive. The best beginning of a stage that ends at a node is the
    least of a window that slides: what is too large for the memory leaves it in front.

    Args:
        target: as above.
        modes: [types] 0: work, sending and receiving add up; 1: they overlap; 2: the last two add up then.
        ahead: [types, n + 1] work before each node.
        memory: [n + 1] memory before each node.
        room: [types] memory of each.
        sent: [n, types, types] what a type pays to send the tensor of each node to a type.
        received: the same for receiving.
        stride: [types] what one device of the type adds to the number of a state of used devices.
        left: [states, types] how many devices are unused.
        into: [states, types, n] least cost of receiving, to be filled with FAR.
        origin: [states, types, n, 2] where the last stage begins, and its type.
        queue: [n] scratch.
        answer: [3] where the last stage begins, its type, and its state.
    """
    states, kinds, n = into.shape
    far = 1 << 62
    least = far
    # At first nothing is done, and no device used.
    for v in range(kinds):
        if left[0, v] > 0:
            into[0, v, 0] = 0
    for c in range(states):
        for v in range(kinds):
            if left[c, v] == 0:
                continue
            mode = modes[v]
            new = c + stride[v]
            front, back, low = 0, 0, 0
            for end in range(1, n + 1):
                begin = end - 1
                # Let the node before the end into the window as a beginning; the queue keeps only beginnings that no
                # later one is as good as, in the order of their values.
                value = into[c, v, begin]
                if value < far:
                    if mode == 0:
                        value -= ahead[v, begin]
                    while back > front:
                        other = into[c, v, queue[back - 1]]
                        if mode == 0:
                            other -= ahead[v, queue[back - 1]]
                        if other < value:
                            break
                        back -= 1
                    queue[back] = begin
                    back += 1
                if back == front:
                    continue
                # Beginnings with too much memory, or, where transfers overlap it, too much work, leave the window in
                # front; the least work that did not fit is a next target.
                while low < end and memory[end] - memory[low] > room[v]:
                    low += 1
                if mode > 0:
                    while low < end and ahead[v, end] - ahead[v, low] > target:
                        least = min(least, ahead[v, end] - ahead[v, low])
                        low += 1
                while front < back and queue[front] < low:
                    front += 1
                if back == front:
                    continue
                # The best beginning: what the stage receives, and its work where both add up.
                begin = queue[front]
                load = into[c, v, begin]
                if mode == 0:
                    load += ahead[v, end] - ahead[v, begin]
                elif mode == 1:
                    load = 0
                if load > target:
                    least = min(least, load)
                    continue
                # All nodes are done within the target.
                if end == n:
                    answer[0], answer[1], answer[2] = begin, v, c
                    return 0
                # Hand over to a stage of each type: sending counts here, receiving there.
                for w in range(kinds):
                    if left[new, w] == 0:
                        continue
                    cost = load + sent[end - 1, v, w]
                    value = received[end - 1, v, w]
                    if value >= into[new, w, end]:
                        continue
                    if cost > target or value > target:
                        least = min(least, max(cost, value))
                        continue
                    into[new, w, end] = value
                    origin[new, w, end, 0] = begin
                    origin[new, w, end, 1] = v
    return least


BELOW = Kernel(_below, STEPS_A_SECOND)
