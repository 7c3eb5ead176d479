"""Bound the work of ideals by their memory, and their memory by their work: hulls of minimum cuts in whole numbers.

Let x be one of both measures and y the other. Of the ideals I with x(I) <= a, the most y(I) is bounded so:

* A supernode is *out* if what leads to it, with itself, has more than a of x.
* It is *in* if what does not depend on it has a less the largest x or less: an ideal without it could be given one
  more supernode, and another, until it has this one; its y does not fall.
* For whole p > 0 and q >= 0, and the largest g of p y(I) - q x(I) over the ideals between both, y(I) <= (g + q a) / p.
  That g is a minimum cut (Picard 1976). The best q / p is a slope of the hull of all (x(I), y(I)), which is
  found by starting at its ends and cutting off the line between them (Eisner, Severance 1976).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.maximum_flow import NO_LIMIT, arc, flow

CELLS = 1 << 13
LISTS = 12
STEPS_A_SECOND = 1e7
STEPS, MIN_CELLS = 20, 100
"""About how many steps a cell takes for each supernode and arc, and how many cells are sure to come."""
PORTION = 20_000_000
"""Steps between two looks at the clock."""
UNKNOWN = -1


class MeasuredPart(NamedTuple):
    """Supernodes, as the kernel takes them; see :class:`~mtpp_dsl.solvers.algorithms.reach.measures.Measures`.

    Attributes:
        values, needs, others: [2, n].
        starts, before: row pointers, and what has an arc to each supernode.
    """

    values: Ints
    needs: Ints
    others: Ints
    starts: Ints
    before: Ints


def _most(
    values: Ints,
    needs: Ints,
    others: Ints,
    starts: Ints,
    before: Ints,
    key: int,
    step: int,
    cells: Ints,
    bounds: Ints,
    slope: Ints,
    scratch: Ints,
) -> int:
    """Write for each of *cells* the most of the other measure of an ideal with so many *step* of measure *key*.

    Where:
        values, needs, others, starts, before: see :class:`MeasuredPart`.
        key: which measure is limited, 0 or 1.
        step: units to a cell.
        cells: which to fill.
        bounds: [cells] what is filled.
        slope: [2] p and q to begin with, or 0 and 0; afterwards those of the last cell.
        scratch: [LISTS, columns].

    Returns:
        The number of minimum cuts.
    """
    last, at, queue, path, source, sink = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    level, place, free, nxt, to, cap = scratch[6], scratch[7], scratch[8], scratch[9], scratch[10], scratch[11]
    x, y = values[key], values[1 - key]
    need, other = needs[key], others[key]
    n, cuts = len(x), 0
    total, total_y, largest = 0, 0, 0
    for v in range(n):
        total += x[v]
        total_y += y[v]
        largest = max(largest, x[v])
        place[v] = -1
    near = total_y // (2 * len(bounds))
    for i in range(len(cells)):
        a = min(cells[i] * step, total)
        # The window: what is in for sure, and what is neither in nor out.
        m, in_x, in_y, all_x, all_y = 0, 0, 0, 0, 0
        for v in range(n):
            if need[v] <= a:
                if other[v] <= a - largest:
                    in_x += x[v]
                    in_y += y[v]
                else:
                    place[v] = m
                    free[m] = v
                    m += 1
                    all_x += x[v]
                    all_y += y[v]
        left = a - in_x
        best = all_y
        if all_x > left:
            # The network of the free supernodes, with arcs of any capacity from each to those before it.
            many = 0
            for j in range(m):
                last[j] = -1
            for j in range(m):
                v = free[j]
                for e in range(starts[v], starts[v + 1]):
                    u = place[before[e]]
                    if u >= 0:
                        many = arc(j, u, 1, 0, many, last, nxt, to, cap)
            low_x, low_y, high_x, high_y = 0, 0, all_x, all_y
            rounds = 0
            while True:
                # The slope of the last cell is near the best one; slopes are rounded so that no product exceeds 2**58.
                first = rounds == 0 and slope[0] > 0
                rounds += 1
                p, q = (slope[0], slope[1]) if first else (high_x - low_x, high_y - low_y)
                while max(p, q) > 0 and max(p, q) > (1 << 58) // max(all_x, all_y, 1):
                    p >>= 1
                    q >>= 1
                p = max(p, 1)
                for e in range(0, many, 2):
                    cap[e] = 1 << 60
                    cap[e + 1] = 0
                gain = 0
                for j in range(m):
                    price = p * y[free[j]] - q * x[free[j]]
                    source[j] = max(price, 0)
                    sink[j] = max(-price, 0)
                    gain += source[j]
                gain -= flow(m, last, nxt, to, cap, source, sink, level, at, queue, path, NO_LIMIT)
                if (gain + q * left) // p < best:
                    best = (gain + q * left) // p
                    slope[0], slope[1] = p, q
                # A set above the line, between its ends, is a new end of it.
                new_x, new_y = 0, 0
                for j in range(m):
                    if level[j] >= 0:
                        new_x += x[free[j]]
                        new_y += y[free[j]]
                value = p * new_y - q * new_x
                if new_x < low_x or new_x > high_x:
                    break
                if not first and (value <= p * low_y - q * low_x or value <= p * high_y - q * high_x):
                    break
                if new_x <= left:
                    low_x, low_y = new_x, new_y
                else:
                    high_x, high_y = new_x, new_y
                # Between its ends the hull is above the line: the bound is near it, or the line is cut off again.
                on_line = low_y + (high_y - low_y) * ((left - low_x) / max(high_x - low_x, 1))
                if best <= on_line + near:
                    break
            cuts += rounds
        for j in range(m):
            place[free[j]] = -1
        bounds[cells[i]] = in_y + best
    return cuts


MOST = Kernel(_most, STEPS_A_SECOND, arc, flow)


class Unfinished(Exception):
    """There was no time for what was asked."""


class TradeOff:
    """Bounds on one measure of ideals by the other, each computed when it is first asked for.

    Args:
        part: the supernodes.
        cells: how many values of a measure are told apart; those between are rounded up.
        stopped: whether there is no time left.
    """

    def __init__(self, part: MeasuredPart, cells: int = CELLS, stopped: Callable[[], bool] = lambda: False) -> None:
        self._part, self._stopped = part, stopped
        n, arcs = part.values.shape[1], len(part.before)
        self.total = part.values.sum(axis=1)
        self._step = np.maximum(-(-self.total // cells), 1)
        self._bounds = np.full((2, cells + 1), UNKNOWN, np.int64)
        self._slope = np.zeros((2, 2), np.int64)
        self._scratch = np.zeros((LISTS, max(n, 2 * arcs) + 2), np.int64)
        self._steps = STEPS * (n + arcs + 1)
        self._run = MOST.pick(self._steps * MIN_CELLS)

    def most(self, key: int, limits: Ints) -> Ints:
        """Return the most that ideals of measure *key* up to each of *limits* have of the other one, or more.

        Limits are at least 0, and what is above the total is as the total.

        Raises:
            Unfinished: stopped before.
        """
        step, known = int(self._step[key]), self._bounds[key]
        cells = -(-np.minimum(limits, self.total[key]) // step)
        new = np.unique(cells[known[cells] == UNKNOWN])
        while len(new):
            if self._stopped():
                raise Unfinished
            many = max(MOST.portion(PORTION) // self._steps, 1)
            self._run(*self._part, key, step, new[:many], known, self._slope[key], self._scratch)
            new = new[many:]
        most: Ints = known[cells]
        return most

    def narrow(self, memory: Ints, work: Ints) -> tuple[Ints, Ints]:
        """Return pairs of measures that no ideal within these exceeds, of which neither is more than it was.

        Raises:
            Unfinished: stopped before.
        """
        work = np.minimum(work, self.most(0, memory))
        return np.minimum(memory, self.most(1, work)), work
