"""The cheapest set of nodes between two sets: a minimum cut, as loads are submodular.

A set pays prices of its nodes, and the cost of every tensor of which it has some and not all pins. A search or a bound
says which nodes are in it and which are not; the network has the free ones only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.maximum_flow import NO_LIMIT, arc, flow

FREE, IN, OUT = 0, 1, 2
INF = 1 << 60
"""Capacity of arcs that no minimum cut contains."""
STEPS_A_SECOND = 1e7
SOURCE, SINK, LEVEL, PLACE, LISTS = 4, 5, 6, 7, 12
"""Rows of the scratch of :func:`cheapest_set`, and how many there are."""


def scratch_for(n: int, nets: int, pins: int, edges: int, more: int = 0) -> Ints:
    """Return [:data:`LISTS` + *more*, columns] room for the network of a graph."""
    return np.zeros((LISTS + more, max(2 * (edges + nets + 2 * pins) + 8, n + 2 * nets)), np.int64)


def cheapest_set(
    state: Ints,
    after: Bools,
    before: Bools,
    price: Ints,
    cost: Ints,
    unit: int,
    starts: Ints,
    pins: Ints,
    edges: Ints,
    scratch: Ints,
    enough: int,
) -> int:
    """Return the least of ``sum of price + unit * cost of cut tensors`` over the sets that a state leaves.

    Sets are closed as far as a cut can tell: what comes after a node that is in has its predecessors that do so too,
    and the mirror image. Afterwards ``level[place[v]] >= 0`` says whether a free node is in the smallest least set,
    where *level* and *place* are rows of *scratch*.

    Where:
        state: [n] free, in or out.
        after, before: [n] whether a node comes after, or before, one that is in.
        price: [n] of a node, of either sign.
        cost, starts, pins: of the tensors.
        unit: what costs are multiplied with.
        edges: [edges, 2].
        scratch: see :func:`scratch_for`; its row PLACE becomes the vertex of every free node, or -1.
        enough: some number no less than it is returned if the least is no less, and no set then.
    """
    last, at, queue, path, source, sink = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    level, place, own, nxt, to, cap = scratch[6], scratch[7], scratch[8], scratch[9], scratch[10], scratch[11]
    n, m, total, many = len(state), 0, 0, 0
    # Every free node is a vertex; what is in is paid.
    for v in range(n):
        place[v] = -1
        if state[v] == FREE:
            place[v] = m
            own[m] = price[v]
            last[m] = -1
            m += 1
        elif state[v] == IN:
            total += price[v]
    frees = m
    for e in range(len(cost)):
        # A tensor that is cut for sure is paid. With one free pin it changes the price of that node; with two it is an
        # arc between these; else it gets vertices of its own, which are on the side of the set as soon as some pin is,
        # or all.
        inside, outside, free, one, other = False, False, 0, -1, -1
        for i in range(starts[e], starts[e + 1]):
            v = pins[i]
            if state[v] == IN:
                inside = True
            elif state[v] == OUT:
                outside = True
            else:
                free += 1
                other = one
                one = place[v]
        amount = cost[e] * unit
        if amount == 0:
            continue
        if inside and outside:
            total += amount
        elif free == 0:
            continue
        elif free == 1 and inside:
            own[one] -= amount
            total += amount
        elif free == 1:
            own[one] += amount if outside else 0
        elif free == 2 and not inside and not outside:
            many = arc(one, other, amount, amount, many, last, nxt, to, cap)
        else:
            into, out = -1, -1
            if not inside:
                into = m
                last[m] = -1
                source[m] = 0
                sink[m] = amount if outside else 0
                m += 1
            if not outside:
                out = m
                last[m] = -1
                source[m] = amount if inside else 0
                sink[m] = 0
                m += 1
            if into >= 0 and out >= 0:
                many = arc(into, out, amount, 0, many, last, nxt, to, cap)
            for i in range(starts[e], starts[e + 1]):
                v = place[pins[i]]
                if v >= 0:
                    if into >= 0:
                        many = arc(v, into, INF, 0, many, last, nxt, to, cap)
                    if out >= 0:
                        many = arc(out, v, INF, 0, many, last, nxt, to, cap)
    # Arcs of any capacity close the set.
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        a, b = place[u], place[v]
        if a >= 0 and b >= 0:
            if after[u] and after[v]:
                many = arc(b, a, INF, 0, many, last, nxt, to, cap)
            elif before[u] and before[v]:
                many = arc(a, b, INF, 0, many, last, nxt, to, cap)
    # Nodes of negative price are sources, the others sinks: the least set is the side of the sources of a minimum cut.
    for v in range(frees):
        source[v] = -own[v] if own[v] < 0 else 0
        sink[v] = max(0, own[v])
        total -= source[v]
    return total + flow(m, last, nxt, to, cap, source, sink, level, at, queue, path, enough - total)


CHEAPEST_SET = Kernel(cheapest_set, STEPS_A_SECOND, arc, flow)


class CheapestSets:
    """The cheapest sets of one graph, for prices and states that change.

    Args:
        n: how many nodes.
        nets: pins and cost of every tensor, in whole units.
        edges: [edges, 2] of paths along which sets are convex.
        steps: of the innermost loops, over all sets to come; see :class:`~mtpp_dsl.core.base.compiling.Kernel`.
    """

    def __init__(self, n: int, nets: Iterable[tuple[Sequence[int], int]], edges: Ints, steps: float) -> None:
        paid = [(pins, cost) for pins, cost in nets if cost > 0]
        cost = np.array([cost for _, cost in paid], np.int64)
        starts = np.cumsum([0, *(len(pins) for pins, _ in paid)])
        pins = np.array([v for pins, _ in paid for v in pins], np.int64)
        self._nets = cost, 1, starts, pins, edges
        self._scratch = scratch_for(n, len(cost), len(pins), len(edges))
        self._run = CHEAPEST_SET.pick(steps)

    def least(self, state: Ints, after: Bools, before: Bools, price: Ints, enough: int = NO_LIMIT) -> tuple[int, Bools]:
        """Return what :func:`cheapest_set` does, or *enough* if it is no less, and [n] the set."""
        value = int(self._run(state, after, before, price, *self._nets, self._scratch, enough))
        if value >= enough:
            return enough, state == IN
        place = self._scratch[PLACE, : len(state)]
        return value, (state == IN) | ((place >= 0) & (self._scratch[LEVEL, place] >= 0))
