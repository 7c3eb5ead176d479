"""The best chain of stages on a lattice of ideals: by the largest load, or by the time of an iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice
from mtpp_dsl.solvers.algorithms.stages.costs import Aggregate, ShapeStates, StageCosts
from mtpp_dsl.solvers.algorithms.stages.outside import first_bounds, outside_of
from mtpp_dsl.solvers.algorithms.stages.sweep import StageStep, StageSweep, sweep_stages
from mtpp_dsl.solvers.algorithms.stages.table import StageTable

__all__ = ["StageSearch", "SweepCrowded"]

FIRST_STEP = 0.005
"""The first target is above the bound by this share; the next by twice that, and so on."""
COARSE = 4.0
"""A chain that is better than the known limit by more than this factor calls for a finer unit."""
ROUNDED = 1e-12
"""By which share a target of several components is lowered, as it is compared in floating-point numbers."""


class SweepCrowded(Exception):
    """The labels of a sweep took too much memory."""


@dataclass
class StageSearch:
    """Finds and proves the best chain of stages of a table.

    Attributes:
        table: of stages; its first row is the load, and with *parts* the next two are the passes.
        states: of its devices.
        microbatches: M of an iteration, ``(M - 1) max + sum``; 1 and *bottleneck* for the largest load alone.
        bottleneck: whether the cost is the largest load.
        parts: whether the largest load of an iteration is the sum of the largest of both passes.
        most_bytes: of memory for labels.
        proves: whether bounds are of use; else the first target is *upper* itself.
        keep: told of every chain, from the first stage to the last; returns the cost of its plan.
        bounded: told of every bound on the cost.
        closed: whether the search may end.
        say, pause: as everywhere.
        budgets: rows of the table of which a chain has a limited sum, and the limits; for the largest load alone.
    """

    table: StageTable
    states: ShapeStates
    most_bytes: float
    proves: bool
    keep: Callable[[Sequence[StageStep]], float]
    bounded: Callable[[float], None]
    closed: Callable[[], bool]
    say: Callable[[str], None]
    pause: Callable[[], None]
    microbatches: int = 1
    bottleneck: bool = True
    parts: bool = False
    budgets: Sequence[tuple[int, float]] = ()

    def __post_init__(self) -> None:
        self.largest, self.total = first_bounds(self.table)

    @property
    def first_bound(self) -> float:
        """The lower bound on the cost of any chain that :func:`first_bounds` gives."""
        return self.largest if self.bottleneck else (self.microbatches - 1) * self.largest + self.total

    def run(self, lattice: Lattice, upper: float) -> bool:
        """Search a lattice, of the reversed order; return whether there is a chain that is cheaper than *upper*.

        The bounds that it reports hold for the chains of this lattice.

        Raises:
            Crowded: the labels take too much memory.
        """
        if not self.table.supernodes.n:
            self.keep([])
            self.bounded(0.0)
            return True
        if upper <= 0 or np.isinf(self.largest):
            return False
        if self.parts:
            return self._by_parts(lattice, upper)
        if self.bottleneck:
            return self._least_largest(lattice, upper) is not None
        return self._iteration(lattice, upper)

    def ceiling(self) -> float:
        """Return a load above that of every stage."""
        finite = np.isfinite(self.table.fixed)
        time = np.where(finite, self.table.time[0], 0.0).sum(axis=1).max(initial=0.0)
        cost = self.table.cost[: self.table.loads].max(axis=0, initial=0.0).sum()
        extra = (self.table.stream + self.table.sync).sum(axis=1).max(initial=0.0)
        return float(time + cost + extra) * (1 + 1e-6) or 1.0

    def _least_largest(self, lattice: Lattice, upper: float, *, tell: bool = True) -> tuple[float, float] | None:
        """Return the least largest load below *upper*, in seconds, and what its plan costs; None if there is none.

        With *tell* bounds are reported: the largest load is the cost.
        """
        top, least = min(upper, self.ceiling()), self.largest
        while True:
            costs, units, most = self.table.whole(top)
            unit, share = float(units[0]), FIRST_STEP if self.proves else np.inf
            floor, answer = int(least / unit), None
            while floor < most:
                target = int(min(most, floor + share * max(floor, most / 1000) + 1))
                rows = [(0, False), *((p, True) for p, _ in self.budgets)]
                ceiling = {c + 1: int(b / float(units[p])) + 1 for c, (p, b) in enumerate(self.budgets)}
                swept = self._sweep(lattice, costs, rows, {0: target}, ceiling=ceiling, floor=floor)
                if len(swept.values):
                    answer = int(swept.values[:, 0].min()), swept
                    break
                least = max(least, min(target * unit, top))
                if tell:
                    self.bounded(min(least, upper))
                    if self.closed():
                        return None
                floor, share = target, 2 * share
            if answer is None:
                return None
            value, swept = answer
            cost = self.keep(swept.steps(swept.best()))
            finer = max(value * COARSE * unit, 2 * cost if self.bottleneck else 0.0)
            if 0 < finer < top / 2:
                top = finer
                continue
            if tell:
                self.bounded(min(value * unit, upper))
            return value * unit, cost

    def _iteration(self, lattice: Lattice, upper: float) -> bool:
        """Search the least ``(M - 1) max + sum``: the least sum below one limit of the loads after the other.

        A chain of largest load b and sum s costs at least ``(M - 1) b + g(b)``, with g(T) the least sum of chains of
        loads T or less. g stays what it is from the largest load of its chain up to T, so the next limit is that load.
        A chain whose largest load is ``(best - least sum) / (M - 1)`` or more is no better than the best.
        """
        m, slack = self.microbatches - 1, 1 + ROUNDED
        cheapest = self._least_largest(lattice, min(upper / (m + 1) * slack, self.ceiling()), tell=False)
        if cheapest is None:
            self.bounded(upper)
            return False
        least = cheapest[0]
        top = min(self.ceiling(), max(min(cheapest[1], upper) / (m + 1) * slack, 2 * least))
        costs, units, most = self.table.whole(top)
        unit = float(units[0])
        low = int(least / unit)
        low -= low > 0  # another unit than that in which it was found
        known, total, limit = self._known(costs, lattice, (low, most)), int(self.total / unit), most
        best = min([cost for cost in (known, np.ceil(upper / unit)) if cost < np.inf], default=None)
        if best is None:
            return False
        best = int(best)
        while True:
            if m:
                limit = min(limit, max(low, -(-(best - total) // m)))
            if limit <= low or best <= m * low + total:
                break
            ceiling = max(1, best - m * low)
            swept = self._sweep(lattice, costs, [(0, True)], {0: limit}, ceiling={0: ceiling})
            if not len(swept.values):
                break
            label = swept.best()
            steps, total = swept.steps(label), max(total, int(swept.values[label, 0]))
            largest = max(load_of(costs, step, 0) for step in steps)
            if m * largest + total < best:
                best = m * largest + total
                self.keep(steps)
            self.bounded(min(min(best, m * low + total) * unit, upper))
            if self.closed():
                return True
            limit = largest
        self.bounded(min(best * unit, upper))
        return best * unit < upper

    def _known(self, costs: StageCosts, lattice: Lattice, between: tuple[int, int]) -> float:
        """Return the iteration of a chain of least sum at about the least largest load, in units; ``inf`` for none.

        Args:
            costs: of stages.
            lattice: of ideals.
            between: the least largest load, and what all loads are below.
        """
        low, most = between
        for limit in (low + 4 + low // 10**9, most):
            swept = self._sweep(lattice, costs, [(0, True)], {0: min(limit, most)})
            if len(swept.values):
                steps = swept.steps(swept.best())
                self.keep(steps)
                loads = [load_of(costs, step, 0) for step in steps]
                return (self.microbatches - 1) * max(loads) + sum(loads)
        return np.inf

    def _by_parts(self, lattice: Lattice, upper: float) -> bool:
        """Search the least ``(M - 1) (max f + max b) + sum c`` by labels of these three, below a rising goal."""
        m = self.microbatches - 1
        ceiling = self.ceiling() * 2
        top = min(upper, ceiling * (m + self.table.types.counts.sum()))
        costs, units, most = self.table.whole(min(ceiling, top))
        unit = float(units[0])
        weight, last = [float(m), float(m), 1.0], top / unit
        share, floor = FIRST_STEP if self.proves else np.inf, self.first_bound / unit
        self.bounded(self.first_bound)
        while True:
            goal = min(last, floor + share * max(floor, last / 1e4) + 1)
            limit = {0: min(most, int(goal / (m + 1)) + costs.ulp + 4)}
            rows = [(1, False), (2, False), (0, True)]
            swept = self._sweep(lattice, costs, rows, limit, weight=weight, goal=goal)
            if len(swept.values):
                whole = [m * (int(f) + int(b)) + int(c) for f, b, c in swept.values.tolist()]
                label = int(np.argmin(whole))
                self.keep(swept.steps(label))
                self.bounded(min(whole[label], goal * (1 - ROUNDED)) * unit)
                return whole[label] * unit < upper
            floor, share = goal, 2 * share
            self.bounded(goal * (1 - ROUNDED) * unit)
            if self.closed() or goal >= last:
                return False

    def _sweep(
        self,
        lattice: Lattice,
        costs: StageCosts,
        components: list[tuple[int, bool]],
        limit: dict[int, int],
        *,
        ceiling: dict[int, int] | None = None,
        weight: list[float] | None = None,
        goal: float = np.inf,
        floor: int = 0,
    ) -> StageSweep:
        aggregate = Aggregate.create(
            len(costs.time), components, limit=limit, ceiling=ceiling, weight=weight, goal=goal, floor=floor
        )
        outside = outside_of(lattice, self.table, costs, self.states, aggregate, self.say)
        swept = sweep_stages(lattice, costs, self.states, aggregate, outside, self.say, self.pause, self.most_bytes)
        if swept is None:
            raise SweepCrowded
        return swept


def load_of(costs: StageCosts, step: StageStep, row: int) -> int:
    """Return a load of a stage in whole numbers; see :class:`StageCosts`."""
    block, a = step.supernodes, step.shape
    total = int(costs.base[row, a] + costs.time[row, a, block].sum())
    if costs.rate[row, a] >= 0:
        inside = np.zeros(len(costs.pins), np.int64)
        for v in block.tolist():
            inside[costs.tensor[costs.start[v] : costs.start[v + 1]]] += 1
        total += int(costs.cost[costs.rate[row, a], (inside > 0) & (inside < costs.pins)].sum())
    if costs.streams[row]:
        total += max(0, int(costs.stream[a, block].sum() - costs.spared[a]))
    m = int(costs.parts[a])
    exchange = int(costs.sync[a, block].sum()) * (m - 1) // m
    return max(total // m, exchange if costs.exchanges[row] else 0)
