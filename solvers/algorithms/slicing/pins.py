"""Where along an order the pins of every tensor lie: what a sweep over the segments of the order asks of the edges.

A tensor has a pin at its producer and at each of its readers. The segment ``[l, r)`` pays for it at its first pin
inside, and no more from its last pin on if its producer is inside. As l grows past a pin, the first pin inside becomes
the next one. So the costs of all segments that begin at l are sums over positions of what the nodes there make, read
and close, and passing a node changes these at O(degree) positions: inside a segment no edge is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints

STEPS_A_SECOND = 1e6


@dataclass(frozen=True, eq=False)
class Pins:
    """The pins along some orders; positions are 0..n-1, and n stands for "nowhere".

    Attributes:
        first: [orders, n] by position of its producer, where a tensor is read first.
        last: [orders, n] by position of its producer, where it is read last.
        following: [orders, m] by edge in the order of heads, where its tensor is read after its head.
        closed: [orders, n] what the tensors cost that have their last pin at a position.
        left: [orders, n] by position of a producer: what of ``closed[last]`` comes from producers after it.
    """

    first: Ints
    last: Ints
    following: Ints
    closed: Floats
    left: Floats


def paid_tensors(graph: Graph, tensor: Floats) -> Floats:
    """Return [n] what a crossing of a node's tensor costs, 0 where no node reads it."""
    return np.where(np.diff(graph.offsets) > 0, tensor, 0.0)


def pins_of(graph: Graph, paid: Floats, orders: Ints, say: Callable[[str], None], steps: float = 0.0) -> Pins:
    """Return the pins along [orders, n] topological *orders* of *graph*.

    Args:
        graph: the graph.
        paid: [n] as of :func:`paid_tensors`.
        orders: nodes by position.
        say: told when code has to be compiled.
        steps: further nodes and edges of orders that are to follow.
    """
    count, n = orders.shape
    pins = Pins(
        first=np.full((count, n), n),
        last=np.full((count, n), n),
        following=np.empty((count, graph.m), np.int64),
        closed=np.zeros((count, n)),
        left=np.zeros((count, n)),
    )
    run = PINS.pick(steps + float(count) * (n + graph.m), say)
    run(
        orders,
        graph.offsets_in,
        graph.producers,
        paid,
        pins.first,
        pins.last,
        pins.following,
        pins.closed,
        pins.left,
    )
    return pins


def _pins(
    orders: Ints,
    offsets_in: Ints,
    producers: Ints,
    paid: Floats,
    first: Ints,
    last: Ints,
    following: Ints,
    closed: Floats,
    left: Floats,
) -> None:
    """Fill the arrays of :class:`Pins`, from the last position to the first."""
    count, n = orders.shape
    next_pin = np.empty(n, np.int64)
    last_pin = np.empty(n, np.int64)
    for i in range(count):
        next_pin[:] = n
        for position in range(n - 1, -1, -1):
            v = orders[i, position]
            if next_pin[v] < n:
                first[i, position] = next_pin[v]
                end = last_pin[v]
                last[i, position] = end
                left[i, position] = closed[i, end]
                closed[i, end] += paid[v]
            for e in range(offsets_in[v], offsets_in[v + 1]):
                u = producers[e]
                following[i, e] = next_pin[u]
                if next_pin[u] == n:
                    last_pin[u] = position
                next_pin[u] = position


PINS = Kernel(_pins, STEPS_A_SECOND)
