"""The least value of a sweep for each load of the first side, and the split that has it."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier

NONE = 1 << 29
"""A value that no split has: values lie between minus a half of it and a half of it."""
Table = NDArray[np.int32]


class Sweep:
    """What splits are worth by the load of the first side, in whole units.

    Args:
        states: of the sweep.
        load: [transitions] what the first side's load grows by.
        value: [transitions] what the value grows by, of either sign.
        capacity: the largest load.
    """

    def __init__(self, states: Frontier, load: Ints, value: Ints, capacity: int) -> None:
        self._states, self._capacity = states, capacity
        self._load, self._value = load.tolist(), value.tolist()
        self._stride = isqrt(len(states.order)) + 1
        self._kept: list[Table] = []
        self._room = np.empty(capacity + 1, np.int32)
        shape = (int(states.states.max(initial=1)), capacity + 1)
        self._tables = [np.empty(shape, np.int32) for _ in range(min(self._stride, len(states.order)) + 1)]

    def least(self) -> Table:
        """Return [capacity + 1] the least value of a split whose first side's load is no more; :data:`NONE`: none."""
        table = np.zeros((1, self._capacity + 1), np.int32)
        self._kept = []
        for step in range(len(self._states.order)):
            if step % self._stride == 0:
                self._kept.append(table.copy())
            table = self._next(step, table, self._tables[step % 2])
        least: Table = table[0].copy()
        return least

    def split(self, load: int) -> Bools:
        """Return [supernodes of the order] what is on the first side of the best split with that load or less.

        :meth:`least` has been called.
        """
        states = self._states
        on_one = np.zeros(len(states.order), np.bool_)
        state, step = 0, len(states.order)
        for kept in range(len(self._kept) - 1, -1, -1):
            first = kept * self._stride
            tables = [self._kept[kept]]
            for i in range(first, step):
                tables.append(self._next(i, tables[-1], self._tables[i - first]))
            while step > first:
                step -= 1
                before, value = tables[step - first], tables[step - first + 1][state, load]
                t = next(
                    t
                    for t in range(states.begins[step], states.begins[step + 1])
                    if states.after[t] == state
                    and self._load[t] <= load
                    and before[states.before[t], load - self._load[t]] + self._value[t] == value
                )
                on_one[step] = states.on_one[t]
                state, load = states.before[t], load - self._load[t]
        return on_one

    def _next(self, step: int, table: Table, out: Table) -> Table:
        """Return [states, loads] the least values after a step, in the first rows of *out*."""
        states, width = self._states, self._capacity + 1
        following, room = out[: states.states[step]], self._room
        seen = [False] * len(following)
        for t in range(states.begins[step], states.begins[step + 1]):
            shift, after = min(self._load[t], width), states.after[t]
            came = table[states.before[t], : width - shift]
            if seen[after]:
                best = following[after, shift:]
                np.add(came, np.int32(self._value[t]), out=room[: width - shift])
                np.minimum(best, room[: width - shift], out=best)
            else:
                seen[after] = True
                following[after, :shift] = NONE
                np.add(came, np.int32(self._value[t]), out=following[after, shift:])
        return following
