"""The innermost loops of the dynamic programmes over chains."""

from __future__ import annotations

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints

__all__ = ["BELOW", "CHEAPEST", "FAR"]

STEPS_WORTH_COMPILING = 250_000
FAR = 1 << 62
"""In place of infinity, among whole numbers."""


def _below(
    target: int, modes: Ints, ahead: Ints, held: Floats, room: Floats, sent: Ints, received: Ints, stride: Ints,
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
        held: [n + 1] memory before each node.
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
                while low < end and held[end] - held[low] > room[v]:
                    low += 1
                if mode > 0:
                    while low < end and ahead[v, end] - ahead[v, low] > target:
                        least = min(least, ahead[v, end] - ahead[v, low])
                        low += 1
                while front < back and queue[front] < low:
                    front += 1
                if back == front:
                    continue
                begin = queue[front]
                load = into[c, v, begin]
                if mode == 0:
                    load += ahead[v, end] - ahead[v, begin]
                elif mode == 1:
                    load = 0
                if load > target:
                    least = min(least, load)
                    continue
                if end == n:
                    answer[0], answer[1], answer[2] = begin, v, c
                    return 0
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


def _cheapest(
    ahead: Floats, first: Ints, held: Floats, room: Floats, closing: Floats, stride: Ints, left: Ints, into: Floats,
    origin: Ints, queue: Ints, answer: Ints,
) -> float:  # fmt: skip
    """Find stages of the least sum of costs, and return it; ``inf`` where there are none.

    Args:
        ahead: [types, n + 1] price of the work before each node, forbidden nodes apart.
        first: [types, n + 1] the first node at which a stage that ends before each node may begin, or later.
        closing: [n, types, types] price of the transfer of the tensor of each node, at both ends.
        into: [states, types, n] least sum of what comes before each beginning, to be filled with ``inf``.
        held: this and the others are as for the other kernel.
        room: memory.
        stride: of states.
        left: of devices.
        origin: of stages.
        queue: scratch.
        answer: the last stage.
    """
    states, kinds, n = into.shape
    best = float("inf")
    for v in range(kinds):
        if left[0, v] > 0:
            into[0, v, 0] = 0.0
    for c in range(states):
        for v in range(kinds):
            if left[c, v] == 0:
                continue
            new = c + stride[v]
            front, back, low = 0, 0, 0
            for end in range(1, n + 1):
                begin = end - 1
                value = into[c, v, begin] - ahead[v, begin]
                if value < best:
                    while back > front and into[c, v, queue[back - 1]] - ahead[v, queue[back - 1]] >= value:
                        back -= 1
                    queue[back] = begin
                    back += 1
                low = max(low, first[v, end])
                while low < end and held[end] - held[low] > room[v]:
                    low += 1
                while front < back and queue[front] < low:
                    front += 1
                if back == front:
                    continue
                begin = queue[front]
                cost = into[c, v, begin] + (ahead[v, end] - ahead[v, begin])
                if cost >= best:
                    continue
                if end == n:
                    best = cost
                    answer[0], answer[1], answer[2] = begin, v, c
                    continue
                for w in range(kinds):
                    if left[new, w] == 0:
                        continue
                    value = cost + closing[end - 1, v, w]
                    if value < into[new, w, end]:
                        into[new, w, end] = value
                        origin[new, w, end, 0] = begin
                        origin[new, w, end, 1] = v
    return best


BELOW = Kernel(_below, STEPS_WORTH_COMPILING)
CHEAPEST = Kernel(_cheapest, STEPS_WORTH_COMPILING)
