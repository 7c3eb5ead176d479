"""Raises a target until it is proved: an optimal split of supernodes, with its bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, chain, lattice_of
from mtpp_dsl.solvers.algorithms.ideals.outside import Prices, first_bound
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import Ahead, BlockStep, sweep
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import WholeCosts, ceiling, states_of, whole_costs
from mtpp_dsl.solvers.algorithms.slicing.orders import orders
from mtpp_dsl.solvers.partition.ideals.ideals_search import pieces, pieces_of
from mtpp_dsl.solvers.partition.ideals.lazy_search import INF, Climb

ORDERS = 20
FIRST_STEP = 0.005
"""The first target is above the bound by this share; the next by twice that, and so on."""
ENTRY_BYTES = 16
LAZY_FROM_IDEALS = 20_000
"""From so many ideals on, the search without the lattice has the first try."""
EFFORT = 300
"""Its steps for each ideal."""
EXACT = 1e-6
"""A gap of no more than this asks for the optimum."""
PIECES = 60
"""An order of more supernodes is first cut into so many pieces, of which plain code finds the best split at once."""
ROUGH = 1.5
"""That is done where the plan that is known costs more than the bound by this factor."""
COARSE = 4.0
"""A plan cheaper than the known one by more than this factor calls for a finer unit."""


class RaisingSearch:
    """The best split of supernodes into a chain of blocks.

    Args:
        supernodes: what to place.
        devices: where.
        most_bytes: how much memory the ideals and their labels may take.
        seed: of the random orders.
        say: told what is being done.
        pause: called now and then; may raise.
        keep: told of every split that is better than those before, and its largest load; returns what it costs.
        bounded: told of every bound that is better than those before.
        improve: called when there is no room for the lattice; looks for plans elsewhere, returns the least cost known.
        counted: told how many ideals there are, once the lattice of all is stored.

    Attributes:
        lower: no split's largest load is below this.
        upper: the least largest load of a split found, or known at the start; ``inf`` for none.
        done: whether ``lower`` is as good as ``upper``; with ``upper = inf``, that there is no split.
        crowded: whether there was no room for the lattice of all ideals.
        ideals: how many there are; 0 if they were not needed, or there was no room.
    """

    def __init__(
        self,
        supernodes: OrderedSupernodes,
        devices: DeviceTypes,
        *,
        most_bytes: float,
        seed: int,
        say: Callable[[str], None],
        pause: Callable[[], None],
        keep: Callable[[Sequence[BlockStep], float], float],
        bounded: Callable[[float], None],
        improve: Callable[[], float],
        counted: Callable[[int], None],
    ) -> None:
        self.supernodes, self.devices = supernodes, devices
        self.lower, self.upper = -np.inf, np.inf
        self.done = self.crowded = False
        self.ideals = 0
        self._most_bytes, self._seed = most_bytes, seed
        self._say, self._pause, self._keep, self._bounded, self._improve = say, pause, keep, bounded, improve
        self._counted = counted
        self._states = states_of(devices)

    def run(self, upper: float, gap: float, *, along_orders: bool = True) -> None:
        """Search until the bound is within *gap* of the best split.

        Args:
            upper: the cost of a split that is known; ``inf`` for none.
            gap: as a share of the cost.
            along_orders: whether to look first for the best splits of some orders.
        """
        self.upper = upper
        self._raise(first_bound(self.supernodes, self.devices))
        if not self.supernodes.n:
            self._take([], 0.0)
            self.done, self.ideals = True, 1
            return
        if along_orders:
            self._along_orders(gap)
        if self._closed(gap):
            return
        taken = len(self._states.used) * ENTRY_BYTES
        lattice = lattice_of(self.supernodes, self._most_bytes / 2, self._say, self._pause)
        if lattice is None or lattice.size * taken > self._most_bytes:
            self.crowded = True
            self.upper = min(self.upper, self._improve())
            self._lazily(gap, INF)
            return
        self.ideals = lattice.size
        self._counted(lattice.size)
        if lattice.size > LAZY_FROM_IDEALS:
            self._lazily(gap, EFFORT * lattice.size)
        while not self.done and not self._closed(gap):
            self._prove(lattice, gap)

    def _lazily(self, gap: float, effort: int) -> None:
        """Search without the lattice, for so many steps."""
        climb = Climb(
            self.supernodes,
            self._states,
            self._most_bytes / (2 if self.ideals else 1),
            self._say,
            self._pause,
            costs=self._net,
            known=lambda: (self.lower, self.upper),
            take=self._take,
            prove=self._raise,
            effort=effort,
        )
        climb.dive(gap, 2 if effort == INF else 1)
        climb.climb(gap)
        self.done = not climb.gave_up

    def _closed(self, gap: float) -> bool:
        if np.isfinite(self.upper) and self.upper - self.lower <= gap * self.upper:
            self.done = True
        return self.done

    def _raise(self, lower: float) -> None:
        if lower > self.lower:
            self.lower = lower
            self._bounded(lower)

    def _take(self, steps: Sequence[BlockStep], value: float) -> None:
        self.upper = min(self.upper, self._keep(steps, value))

    def _net(self) -> tuple[WholeCosts, float, int]:
        top = self.upper if np.isfinite(self.upper) else ceiling(self.supernodes, self.devices)
        return whole_costs(self.supernodes, self.devices, top)

    def _sweep(
        self, lattice: Lattice, costs: WholeCosts, target: int, floor: int, ahead: Ahead
    ) -> tuple[int, list[BlockStep]] | None:
        return sweep(lattice, costs, self._states, ahead, target, floor, self._say, self._pause)

    def _ahead(self, lattice: Lattice, costs: WholeCosts, top: int) -> Ahead:
        time = np.where(costs.time < top * costs.copies.max(), costs.time, np.inf).T
        return Prices(time).ahead(lattice, costs, self._states, self._say)

    def _along_orders(self, gap: float) -> None:
        """Find the best splits of some orders of the supernodes."""
        for order in islice(orders(*self.supernodes.as_graph(), self._seed), ORDERS):
            if self._closed(gap):
                return
            if self.supernodes.n > PIECES and self.upper > ROUGH * self.lower:
                self._roughly(order)
            costs, unit, top = self._net()
            lattice = chain(order)
            floor = int(self.lower / unit)
            if floor < top:
                best = self._sweep(lattice, costs, top, floor, self._ahead(lattice, costs, top))
                if best is not None:
                    self._take(best[1], best[0] * unit)
            self._pause()

    def _roughly(self, order: Ints) -> None:
        """Find the best split of an order that is cut into a few pieces: quick, and near the best of the order."""
        rough = pieces(self.supernodes, order, PIECES)
        top = self.upper if np.isfinite(self.upper) else ceiling(rough, self.devices)
        costs, unit, limit = whole_costs(rough, self.devices, top)
        lattice = chain(np.arange(rough.n))
        best = self._sweep(lattice, costs, limit, int(self.lower / unit), self._ahead(lattice, costs, limit))
        if best is not None:
            of = pieces_of(self.supernodes, order, PIECES)
            steps = [step._replace(supernodes=np.flatnonzero(np.isin(of, step.supernodes))) for step in best[1]]
            self._take(steps, best[0] * unit)

    def _prove(self, lattice: Lattice, gap: float) -> None:
        """Raise the target until a sweep finds a split, or none is left to find."""
        costs, unit, top = self._net()
        ahead = self._ahead(lattice, costs, top)
        last = top if gap <= EXACT or np.isinf(self.upper) else min(top, int(top * (1 - gap)) + 1)
        share, floor = FIRST_STEP, int(self.lower / unit)
        while floor < last:
            target = min(last, int(floor + share * max(floor, top / 1000)) + 1)
            best = self._sweep(lattice, costs, target, floor, ahead)
            if best is not None:
                value, steps = best
                self._take(steps, value * unit)
                if value * COARSE < top:
                    return
                self._raise(min(value * unit, self.upper))
                break
            self._raise(min(target * unit, self.upper))
            if target == last:  # lower / unit may be a unit less than that, by rounding
                break
            share *= 2
        self.done = True
