"""Keep what is known of the modules of a row: bounds and schedules for all devices of their ends, and shortest ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKinds
from mtpp_dsl.solvers.schedule.lifted.classes import ClassGraph
from mtpp_dsl.solvers.schedule.lifted.module_search import ModuleSchedule
from mtpp_dsl.solvers.schedule.lifted.paths import path_times

__all__ = ["EndPair", "RowTables", "ShortestWay"]

EndPair: TypeAlias = tuple[int, int, int]
"""A kind of module, and the devices of its ends; 0 where there is none."""


@dataclass(frozen=True, eq=False)
class ShortestWay:
    """The shortest way over the devices of the cut nodes, by some tables.

    Attributes:
        length: of all modules together; ``inf`` if there is no way.
        ahead: [modules + 1] what it takes to each device of each cut node at least, from the beginning.
        behind: [modules + 1] the same from there to the end.
        pairs: [modules] which devices the ends of each module are on.
    """

    length: float
    ahead: Sequence[Floats]
    behind: Sequence[Floats]
    pairs: Sequence[EndPair]


class RowTables:
    """Lower bounds and schedules of the modules in a row, by kind and devices of the ends.

    Args:
        row: the modules.
        graphs: [kinds] the classes of each.
        alike: classes of devices of which any two can be swapped in every plan.

    Attributes:
        k: number of devices.
        count: [kinds] how many modules are of each.
        lower, upper: [kinds] of [entries, exits]: bounds, and the lengths of the best schedules known.
        schedules: the best known.
    """

    def __init__(self, row: ModuleKinds, graphs: Sequence[ClassGraph], alike: Sequence[Sequence[int]]) -> None:
        self.row, self.graphs = row, graphs
        self._alike = {d: tuple(devices) for devices in alike for d in devices}
        self.k = len(self._alike)
        self.count = np.bincount(row.number, minlength=len(graphs))
        self.lower = [path_times(graph) for graph in graphs]
        self.upper = [np.full_like(table, inf) for table in self.lower]
        self.schedules: dict[EndPair, ModuleSchedule] = {}
        self._ways: dict[str, ShortestWay] = {}

    @property
    def bounds(self) -> ShortestWay:
        """The shortest way by the bounds."""
        if "lower" not in self._ways:
            self._ways["lower"] = self._way(self.lower)
        return self._ways["lower"]

    @property
    def best(self) -> ShortestWay:
        """The shortest way by the schedules known."""
        if "upper" not in self._ways:
            self._ways["upper"] = self._way(self.upper)
        return self._ways["upper"]

    def _way(self, tables: Sequence[Floats]) -> ShortestWay:
        number = self.row.number
        ahead = [np.zeros(tables[number[0]].shape[0])]
        for c in number:
            ahead.append((ahead[-1][:, None] + tables[c]).min(axis=0))
        behind = [np.zeros(tables[number[-1]].shape[1])]
        for c in reversed(number):
            behind.append((tables[c] + behind[-1]).min(axis=1))
        behind.reverse()
        state, pairs = int(ahead[-1].argmin()), list[EndPair]()
        for j in range(len(number) - 1, -1, -1):
            before = int((ahead[j] + tables[number[j]][:, state]).argmin())
            pairs.append((number[j], before, state))
            state = before
        return ShortestWay(float(ahead[-1].min()), ahead, behind, pairs[::-1])

    def ends(self, pair: EndPair) -> tuple[int | None, int | None]:
        """Return the devices of the entry and of the exit; None where there is none."""
        graph = self.graphs[pair[0]]
        return None if graph.entry is None else pair[1], None if graph.exit is None else pair[2]

    def learn(self, pair: EndPair, length: float) -> None:
        """Record that no schedule of a pair is shorter, nor of one that swapped devices make of it."""
        self._ways.pop("lower", None)
        for (c, i, j), _ in self._images(pair):
            known = max(float(self.lower[c][i, j]), length)
            self.lower[c][i, j] = min(known, float(self.upper[c][i, j]))  # above that by rounding alone

    def learn_all(self, tables: Sequence[Floats]) -> None:
        """Record that no schedules are shorter than what [kinds] of [k, k] *tables* say, equal rows where none is."""
        self._ways.pop("lower", None)
        for lower, upper, table in zip(self.lower, self.upper, tables, strict=True):
            own = table[: lower.shape[0], : lower.shape[1]]
            np.minimum(np.maximum(lower, own), upper, out=lower)

    def keep(self, pair: EndPair, schedule: ModuleSchedule | None) -> bool:
        """Keep a schedule, and those that swapped devices make of it, where it is shorter; return whether it is."""
        if schedule is None or schedule.length >= self.upper[pair[0]][pair[1:]]:
            return False
        self._ways.pop("upper", None)
        for image, renamed in self._images(pair):
            if schedule.length < self.upper[image[0]][image[1:]]:
                self.upper[image[0]][image[1:]] = schedule.length
                own = ModuleSchedule(
                    renamed[schedule.device], schedule.key, schedule.start, schedule.sent, schedule.length
                )
                self.schedules[image] = own
        return True

    def alike(self, pair: EndPair) -> list[EndPair]:
        """Return the pairs that swapped devices make of one, and itself."""
        return [image for image, _ in self._images(pair)]

    def _images(self, pair: EndPair) -> Iterator[tuple[EndPair, np.ndarray]]:
        """Yield the pairs that swapped devices make of one, and [k] the new name of each device."""
        c, i, j = pair
        entry, exits = self.graphs[c].entry is not None, self.graphs[c].exit is not None
        for first in self._alike[i] if entry else (i,):
            for last in self._alike[j] if exits else (j,):
                if entry and exits and (i == j) != (first == last):
                    continue
                renamed = np.arange(self.k)
                if entry:
                    renamed[[i, first]] = first, i
                if exits and renamed[j] != last:
                    at = int(np.flatnonzero(renamed == last)[0])
                    renamed[[j, at]] = last, renamed[j]
                yield (c, first, last), renamed
