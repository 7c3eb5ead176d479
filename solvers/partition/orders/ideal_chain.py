"""The chain of ideals of one sequence of superblocks as a mixed-integer programme, with exact transfers.

x(v, j) says whether supernode v is in the first j sets: it does not fall with j, and what leads to v is in no later
than v. With y(v, j) = x(v, j) - x(v, j - 1), set j pays a tensor of producer u and reader r if it has one and not the
other: for ``out >= y(u, j) - y(r, j)`` of all r, and ``in >= y(r, j) - y(u, j)``; of both at most one is 1. The largest
load is minimised. Windows leave few x open; what is fixed is in no column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.solvers.algorithms.reach.measures import MEMORY
from mtpp_dsl.solvers.backends.mip.bounded import BoxProgramme
from mtpp_dsl.solvers.partition.orders.superblocks import IdealWindows, Sets, SetSuperblock, Superblocks

CLOSED = 2.0
"""What a supernode counts where it may not be, as a share of the target: no plan below the target has it there."""
EXCESS = 1000.0
"""What an excess of memory by the memory of all supernodes costs, as a share of the target, in relaxations."""


@dataclass(frozen=True, eq=False)
class Tensors:
    """The tensors between supernodes: a pair for each of a tensor and one of its other pins.

    Attributes:
        cost: [nets].
        net, root, pin: [pairs].
    """

    cost: Floats
    net: Ints
    root: Ints
    pin: Ints

    @classmethod
    def of(cls, graph: Hypergraph) -> Tensors:
        """Return the tensors of a problem on ``shared`` or ``host``."""
        nets = graph.nets(graph.problem.tensor_time)
        rows = [(number, net.pins[0], pin) for number, net in enumerate(nets) for pin in net.pins[1:]]
        pairs = np.array(rows, np.int64).reshape(-1, 3).T
        return cls(np.array([net.cost for net in nets], np.float64), *map(np.ascontiguousarray, pairs))


class _Rows:
    """Rows under construction over x and other columns; what windows fix goes to the right-hand side."""

    def __init__(self, windows: IdealWindows) -> None:
        free = windows.high & ~windows.low
        self._column = np.full(free.shape, -1, np.int64)
        self._column[free] = np.arange(int(free.sum()))
        self._fixed = windows.low.astype(np.float64)
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._right: list[tuple[Ints, Floats]] = []
        self.free: Bools = free
        self.columns, self.count = int(free.sum()), 0

    def new(self, count: int) -> Ints:
        """Return the numbers of new rows, ``0 >= 0`` until something is added."""
        self.count += count
        return np.arange(self.count - count, self.count)

    def new_columns(self, count: int) -> Ints:
        """Return the numbers of new columns."""
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add(self, rows: Ints, columns: Ints, values: Floats) -> None:
        """Add values times columns to rows."""
        self._entries.append((rows, columns, values))

    def raise_least(self, rows: Ints, values: Floats) -> None:
        """Raise what rows must be at least."""
        self._right.append((rows, values))

    def add_x(self, rows: Ints, v: Ints, j: int, values: Floats) -> None:
        """Add values times x(v, j) to rows."""
        column = self._column[v, j]
        free = column >= 0
        self.add(rows[free], column[free], values[free])
        self.raise_least(rows[~free], -(values * self._fixed[v, j])[~free])

    def add_y(self, rows: Ints, v: Ints, j: int, values: Floats) -> None:
        """Add values times y(v, j) to rows."""
        self.add_x(rows, v, j, values)
        self.add_x(rows, v, j - 1, -values)

    def entries(self) -> tuple[Ints, Ints, Floats]:
        """Return rows, columns and values of all entries."""
        rows, columns, values = zip(*self._entries, strict=True)
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)

    def least(self) -> Floats:
        """Return what each row must be at least."""
        least = np.zeros(self.count)
        for rows, values in self._right:
            np.add.at(least, rows, values)
        return least


@dataclass(frozen=True, eq=False)
class IdealChain:
    """The programme of one sequence of sets; times are shares of the target.

    Columns are x, then the largest load, the excess of memory of each set, and the tensors.

    Attributes:
        superblocks: of the problem.
        tensors: of the problem.
        sets: in their order.
        windows: of plans below the target.
        target: in units of time.
    """

    superblocks: Superblocks
    tensors: Tensors
    sets: Sets
    windows: IdealWindows
    target: float

    def programme(self, *, whole: bool) -> BoxProgramme:
        """Return the programme; without *whole*, memory may be exceeded at a price, so that there is a solution."""
        rows, most = _Rows(self.windows), 0.0
        free = rows.columns
        peak, excess = rows.new_columns(1), rows.new_columns(len(self.sets))
        self._order(rows)
        for j, devices in enumerate(self.sets, 1):
            block = self.superblocks.of(devices)
            self._memory(rows, j, block, excess[j - 1 : j])
            load = rows.new(1)
            rows.add(load, peak, np.ones(1))
            most = max(most, self._work(rows, j, block, load) + self._transfers(rows, j, block, load))
        row, column, value = rows.entries()
        cost, high = np.zeros(rows.columns), np.ones(rows.columns)
        cost[peak], cost[excess] = 1.0, EXCESS
        high[peak] = 1.0 if whole else most
        high[excess] = 0.0 if whole else 1.0
        integer: Bools = np.arange(rows.columns) < free
        return BoxProgramme(cost, np.zeros(rows.columns), high, integer, row, column, value, rows.least())

    def positions(self, values: Floats) -> Ints:
        """Return [n] the number of the set that each supernode is in, by the values of the columns."""
        free = self.windows.high & ~self.windows.low
        x = self.windows.low.copy()
        x[free] = values[: int(free.sum())] > 0.5
        positions: Ints = (~x[:, 1:]).sum(axis=1).astype(np.int64)
        return positions

    def _order(self, rows: _Rows) -> None:
        """Add that x falls along arcs, and rises with j."""
        tails, heads = self.superblocks.measures.arcs.T
        for j in range(1, len(self.sets)):
            both = rows.free[tails, j] & rows.free[heads, j]
            self._at_least(rows, tails[both], j, heads[both], j)
            still = np.flatnonzero(rows.free[:, j] & rows.free[:, j - 1])
            self._at_least(rows, still, j, still, j - 1)

    @staticmethod
    def _at_least(rows: _Rows, v: Ints, j: int, w: Ints, i: int) -> None:
        """Add x(v, j) >= x(w, i)."""
        new, ones = rows.new(len(v)), np.ones(len(v))
        rows.add_x(new, v, j, ones)
        rows.add_x(new, w, i, -ones)

    def _may(self, j: int) -> tuple[Bools, Bools]:
        """Return [n] whether each supernode must be, and may be, in set j."""
        low, high = self.windows
        return low[:, j] & ~high[:, j - 1], high[:, j] & ~low[:, j - 1]

    def _memory(self, rows: _Rows, j: int, block: SetSuperblock, excess: Ints) -> None:
        memory = self.superblocks.measures.values[MEMORY]
        total = int(memory.sum())
        if block.room >= total:
            return
        row, v = rows.new(1), np.flatnonzero(self._may(j)[1])
        rows.raise_least(row, np.array([-block.room / total]))
        rows.add(row, excess, np.ones(1))
        rows.add_y(np.repeat(row, len(v)), v, j, -memory[v] / total)

    def _work(self, rows: _Rows, j: int, block: SetSuperblock, load: Ints) -> float:
        """Add the work of set j to its load; return the most that it can be."""
        v = np.flatnonzero(self._may(j)[1])
        time = np.minimum(block.time[v] / self.target, CLOSED)
        rows.add_y(np.repeat(load, len(v)), v, j, -time)
        return float(time.sum())

    def _transfers(self, rows: _Rows, j: int, block: SetSuperblock, load: Ints) -> float:
        """Add the tensors that set j pays for to its load; return the most that they can be."""
        if block.transfer <= 0:
            return 0.0
        must, may = self._may(j)
        cost, net = self.tensors.cost * (block.transfer / self.target), self.tensors.net
        most = 0.0
        for has, has_not in ((self.tensors.root, self.tensors.pin), (self.tensors.pin, self.tensors.root)):
            paid = np.zeros(len(cost), np.bool_)
            paid[net[must[has] & ~may[has_not]]] = True
            open_pairs = np.flatnonzero(may[has] & ~must[has_not] & ~paid[net])
            cut, number = np.unique(net[open_pairs], return_inverse=True)
            columns, new, ones = rows.new_columns(len(cut)), rows.new(len(open_pairs)), np.ones(len(open_pairs))
            rows.add(new, columns[number], ones)
            rows.add_y(new, has[open_pairs], j, -ones)
            rows.add_y(new, has_not[open_pairs], j, ones)
            rows.add(np.repeat(load, len(cut)), columns, -cost[cut])
            rows.raise_least(load, np.array([cost[paid].sum()]))
            most += float(cost[paid].sum() + cost[cut].sum())
        return most
