"""The least value of a sweep for each load of the first side, and the split that has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier

NONE = 1 << 29
"""A value that no split has: values lie between minus a half of it and a half of it."""
FIRST = -1
"""The row of a transition that is the first one to its state: it is compared with none."""
Table = NDArray[np.int32]


class Sweep:
    """What splits are worth by the load of the first side, in whole units.

    Args:
        states: of the sweep.
        load: [transitions] what the first side's load grows by.
        capacity: the largest load.
    """

    def __init__(self, states: Frontier, load: Ints, capacity: int) -> None:
        self._states, self._capacity = states, capacity
        self._load = np.minimum(load, capacity + 1).tolist()
        self._begins, self._before, self._after = states.begins.tolist(), states.before.tolist(), states.after.tolist()
        # Of each transition, where it is noted for which loads it is better than those before it to its state.
        self._row: list[int] = []
        rows = 0
        for begin, end in zip(self._begins[:-1], self._begins[1:], strict=True):
            seen: set[int] = set()
            for after in self._after[begin:end]:
                self._row.append(rows if after in seen else FIRST)
                rows += after in seen
                seen.add(after)
        shape = (int(states.states.max(initial=1)), capacity + 1)
        self._tables = [np.empty(shape, np.int32) for _ in range(2)]
        self._room = np.empty(capacity + 1, np.int32)
        self._wins = np.empty(capacity + 1, np.bool_)
        self._better = np.empty((rows, capacity // 8 + 1), np.uint8)  # a bit for each load

    def least(self, value: Ints) -> Table:
        """Return [capacity + 1] the least value of a split whose first side's load is no more; :data:`NONE`: none.

        Args:
            value: [transitions] what the value grows by, of either sign.
        """
        values = value.astype(np.int32)
        table, width = np.zeros((1, self._capacity + 1), np.int32), self._capacity + 1
        room, wins = self._room, self._wins
        for step, (begin, end) in enumerate(zip(self._begins[:-1], self._begins[1:], strict=True)):
            following = self._tables[step % 2]
            for t in range(begin, end):
                shift, row, after = self._load[t], self._row[t], following[self._after[t]]
                came = table[self._before[t], : width - shift]
                if row == FIRST:
                    after[:shift] = NONE
                    np.add(came, values[t], out=after[shift:])
                else:
                    gained = np.add(came, values[t], out=room[: width - shift])
                    wins[:shift] = False
                    np.less(gained, after[shift:], out=wins[shift:])
                    self._better[row] = np.packbits(wins)
                    np.minimum(after[shift:], gained, out=after[shift:])
            table = following
        least: Table = table[0].copy()
        return least

    def split(self, load: int) -> Bools:
        """Return [supernodes of the order] what is on the first side of the best split with that load or less.

        It is the best one for the values of which :meth:`least` was asked last.
        """
        states = self._states
        on_one = np.zeros(len(states.order), np.bool_)
        state = 0
        for step in range(len(states.order) - 1, -1, -1):
            t = next(
                t
                for t in range(self._begins[step + 1] - 1, self._begins[step] - 1, -1)
                if self._after[t] == state and (self._row[t] == FIRST or self._wins_at(self._row[t], load))
            )
            on_one[step] = states.on_one[t]
            state, load = self._before[t], load - self._load[t]
        return on_one

    def _wins_at(self, row: int, load: int) -> bool:
        """Return whether a transition was better at a load than those before it to its state."""
        return bool(self._better[row, load // 8] << load % 8 & 0x80)
