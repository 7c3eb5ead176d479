"""Bound the times of modules in a row, for all devices of their ends, by when the exit can end at the earliest."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.solvers.algorithms.windows.earliest_starts import EARLIEST, joining_steps, nodes_at_once
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKind, ModuleKinds

__all__ = ["COUNTS", "ModuleTimes"]

COUNTS = (4, 16, 64, 256)
"""How many nodes count where edges meet, in turn."""


class ModuleTimes:
    """The modules of a problem, and what is known of the time of each.

    Args:
        problem: a makespan on links.
        row: its modules.
        pause: called often; raises to end.
        say: told when code has to be compiled.

    Attributes:
        tables: [kinds] of [k, k] what a module takes at least, by the devices of its ends.
    """

    def __init__(
        self, problem: Problem, row: ModuleKinds, pause: Callable[[], None], say: Callable[[str], None]
    ) -> None:
        self._pause, self._say, self.row = pause, say, row
        self._alike = interchangeable(problem)
        self.tables = [np.zeros((problem.k, problem.k)) for _ in self.row.kinds]

    def length(self) -> float:
        """Return the length of the shortest way by what is known; ``inf`` if there is none."""
        reached = np.zeros(len(self.tables[0]))
        for number in self.row.number:
            reached = (reached[:, None] + self.tables[number]).min(axis=0)
        return float(reached.min())

    def deepen(self, most: int) -> None:
        """Raise what is known, with up to *most* nodes where edges meet; kinds that fill most of the graph first."""
        count = np.bincount(self.row.number, minlength=len(self.tables))
        size = count * [len(kind.time) for kind in self.row.kinds]
        for number in np.argsort(-size, kind="stable").tolist():
            kind, table = self.row.kinds[number], self.tables[number]
            self._raise(kind, table, most)
            if kind.net.exclusive and kind.entry is not None and kind.exit is not None:
                self._raise(kind.back, table.T, most)  # what leaves the entry's device takes turns as well

    def _raise(self, kind: ModuleKind, table: Floats, most: int) -> None:
        """Raise [k, k] the least times of a module from each device of its entry to each of its exit.

        Without an entry all rows are equal, and without an exit all columns. Of devices that can be swapped one is the
        entry's: with another in its place, the two are swapped at the exit as well.
        """
        if kind.entry is None:
            np.maximum(table, _ends(kind, None, most, self._pause, self._say), out=table)
            return
        for first, *others in self._alike:
            row = _ends(kind, first, most, self._pause, self._say)
            np.maximum(table[first], row, out=table[first])
            for other in others:
                swapped = row.copy()
                swapped[[first, other]] = row[[other, first]]
                np.maximum(table[other], swapped, out=table[other])


def _ends(
    kind: ModuleKind, device: int | None, most: int, pause: Callable[[], None], say: Callable[[str], None]
) -> Floats:
    """Return [k] when the exit can end on each device if the entry, on *device*, starts at 0.

    Without an exit it is when the last node can end, the same for all. ``inf`` where there is no way.
    """
    n, k = kind.time.shape
    time = kind.time
    if device is not None:
        time = time.copy()
        time[kind.entry, np.arange(k) != device] = inf
    start, since, weight = np.zeros((n, k)), np.full((n, k), np.nan), np.zeros((n, k, k + 1))
    steps = joining_steps(kind.net, k, most)
    run = EARLIEST.pick(steps, say)
    step = nodes_at_once(EARLIEST, n, most, steps)
    for first in range(0, n, step):
        pause()
        run(kind.net, time, first, min(n, first + step), most, start, since, weight)
    end = start + time
    if kind.exit is None:
        return np.full(k, end.min(axis=1).max(initial=0.0))
    ends: Floats = end[kind.exit]
    return ends
