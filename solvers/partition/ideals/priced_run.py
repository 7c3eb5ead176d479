"""Method ``ideals`` for weighted sums: devices to buy, energy by load, latency, and moves from an old plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, Colocate, Forbid, InOrder, Linear, Memory, Pin, Robust
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, chain, measure
from mtpp_dsl.solvers.algorithms.ideals.supernodes import ordered_supernodes
from mtpp_dsl.solvers.algorithms.stages.build import load_rows, stage_table, states_of_table, with_deviations
from mtpp_dsl.solvers.algorithms.stages.costs import Aggregate, ShapeStates
from mtpp_dsl.solvers.algorithms.stages.outside import outside_of
from mtpp_dsl.solvers.algorithms.stages.sweep import StageStep, StageSweep, sweep_stages
from mtpp_dsl.solvers.partition.ideals.ideals_search import CROWDED, IdealsSearch, Placed, as_verified
from mtpp_dsl.solvers.partition.ideals.priced import (
    Priced,
    most_load,
    places_of,
    priced_types,
    sums_of,
    within_budgets,
)

ORDERS = 6
FIRST_STEP = 0.02
"""The first target is above the bound by this share; the next by twice that, and so on."""
ROUNDING = 1e-9
"""Of a sum of floats: what a bound gives away for their rounding."""
DETAIL = "every chain of ideals costs this or more; prices and loads were added up in whole numbers, rounded down"
SHARES = "the least that each node costs: its own price, its load, and its share of a device that is bought for it"


class PricedRun(IdealsSearch):
    """Solves one problem whose objective is a weighted sum.

    The value of a chain of stages is the sum of what each costs: the price of its device, of its load, and of its nodes
    there. Every stage has to keep the limit of the bottleneck. Nothing of a device is paid before it is used, so equal
    devices are counted, not named. No load is paid by a node that may go to an earlier stage for nothing, as that holds
    of the largest load alone.
    """

    def _prepare(self) -> None:
        problem = self._original
        terms, constant = problem.objective.cost_terms
        kept = [(decision, a) for decision, a in terms if type(decision).__name__ != "Penalties"]
        sums = sums_of(problem, kept, constant)
        assert isinstance(sums, Priced), "a problem that is refused"
        self._sums, self._most = sums, most_load(problem)
        self._devices = as_verified(priced_types(problem, sums), problem)
        self._first = [group[0] for group in self._devices.members]

    def _go(self) -> None:
        problem = self._original
        self._supernodes = supernodes = ordered_supernodes(problem, self._devices, "forward", absorb=False)
        table = stage_table(problem, self._devices, supernodes, load_rows(problem, self._devices), problem.k, TOLERANCE)
        table = with_deviations(table, problem)
        first = [self._first[shape.kind] for shape in table.shapes]
        places = places_of(self._sums, supernodes, first)
        self._loads = bool(self._sums.load.any())
        if self._loads:
            table = table.with_prices(self._sums.load[self._first])
        self._table = table.with_sum(places, self._sums.used[first])
        self._least = self._shares(places, first)
        lower = self._sums.constant + float(self._least.sum())
        self._raise(lower - ROUNDING * abs(lower), SHARES)
        if not supernodes.n or self._closed:
            return
        self._trim()
        lattice = self._lattice(supernodes)
        single = lattice is not None and lattice.size == supernodes.n + 1
        for order in () if single else islice(self._orders(supernodes), ORDERS):
            self._search(chain(order), proves=False)
            if self._closed:
                return
            self._pause()
            self._trim()
        states = len(states_of_table(self._table, self._original).used)
        if lattice is None or self._crowded(lattice, states) or not self._search(lattice, proves=True):
            self._give_up(CROWDED.format(n=supernodes.n, room=self._most_bytes / 1e6))

    def _shares(self, places: Floats, first: Sequence[int]) -> Floats:
        """Return [n] what each supernode costs at least: a device of price p that is used holds work of the limit T.

        So a stage S pays ``p >= p * work(S) / T``: every node of it pays its part, wherever it is.
        """
        part = self._sums.load[first][:, None] * self._table.time[0]
        if np.isfinite(self._most) and self._most > 0:
            part = part + self._sums.used[first][:, None] * self._table.time[0] / self._most
        whole = np.where(np.isfinite(self._table.fixed), part + places, np.inf).min(axis=0, initial=np.inf)
        return np.where(np.isfinite(whole), whole, 0.0)

    def _trim(self) -> None:
        """Leave out equal devices that no plan as cheap as the best uses: more than there are nodes, or too dear."""
        known = self._incumbent.cost - self._sums.constant
        members = []
        for group, first in zip(self._devices.members, self._first, strict=True):
            price, most = float(self._sums.used[first]), min(len(group), self._supernodes.n)
            if price > 0 and np.isfinite(known):
                most = min(most, max(1, int(known / price * (1 + ROUNDING)) + 1))
            members.append(group[:most])
        self._table = replace(self._table, types=replace(self._table.types, members=tuple(members)))

    def _states(self) -> ShapeStates:
        """Return the states, those beyond a budget closed."""
        states = states_of_table(self._table, self._original)
        if self._original.line is not None:  # states do not tell which devices are used, and rows are refused
            return states
        fine = within_budgets(self._original, self._devices, states.used)
        return states._replace(open=states.open & fine[states.to])

    def _search(self, lattice: Lattice, *, proves: bool) -> bool:
        """Raise a target until a sweep finds a chain below it, or nothing is left; return False without room."""
        dearest = max(1.0, float(self._sums.load.max(initial=0.0)))  # a priced load is a load of its own
        top = (min(self._most * (1 + ROUNDING), self._ceiling()) or 1e-300) * dearest * (1 + ROUNDING)
        costs, units, most = self._table.whole(top)
        limit = {0: min(most, int(self._most / units[0]) + 1)} if np.isfinite(self._most) else {}
        rows = [*([1] if self._loads else []), len(units) - 1]
        weight = [float(units[p]) for p in rows]
        states, least = self._states(), float(self._least.sum())
        known = self._incumbent.cost - self._sums.constant
        last = known * (1 + ROUNDING) if np.isfinite(known) else np.inf
        goal, share = least, FIRST_STEP if proves else np.inf
        nothing = self._cheapest()
        while True:
            goal = min(last, goal + share * max(goal, nothing)) if np.isfinite(share) else last
            if goal > self._dearest():
                goal = np.inf
            aggregate = Aggregate.create(
                len(units), [(p, True) for p in rows], limit=limit, weight=weight, goal=goal * (1 + ROUNDING)
            )
            outside = outside_of(lattice, self._table, costs, states, aggregate, self._progress.say)
            left, _ = measure(lattice, _Nets(costs), self._least[None, :], self._progress.say)
            if len(rows) == 1:
                sure = np.floor(left[:, 0] * (1 - ROUNDING) / units[rows[0]]) - lattice.word.size - len(costs.parts)
                outside = outside._replace(
                    rest=np.maximum(outside.rest, np.maximum(sure, 0.0).astype(np.int64)[:, None])
                )
            room = self._most_bytes / 2
            swept = sweep_stages(lattice, costs, states, aggregate, outside, self._progress.say, self._pause, room)
            if swept is None:
                return False
            if len(swept.values):
                self._found(swept, np.array(weight), proves=proves)
                return True
            if goal >= last or np.isinf(goal):
                if proves and np.isinf(last):
                    kinds = (Acyclic, Colocate, Forbid, InOrder, Linear, Memory, Pin, Robust)
                    self._no_plan("no chain of ideals keeps the limits; all were tried", *kinds)
                elif proves:
                    self._bounded(known)
                return True
            if proves:
                self._bounded(goal)
                if self._closed:
                    return True
            share *= 2

    def _found(self, swept: StageSweep, weight: Floats, *, proves: bool) -> None:
        """Keep the cheapest chain of a sweep, whose value bounds all that there are."""
        values = swept.values @ weight
        label = int(values.argmin())
        self._take(swept.steps(label))
        if proves:
            self._bounded(float(values[label]))

    def _take(self, steps: Sequence[StageStep]) -> None:
        """Turn a chain of stages into a plan, and keep it if it is one."""
        blocks = ((block.tolist(), self._table.shapes[a].kind, 1) for block, a in steps)
        members = self._supernodes.members
        placed = Placed.on_types(self._original.graph.n, self._devices.members, members, blocks)
        self._incumbent.take(Plan.create(self._original, placed.assignment))

    def _bounded(self, lower: float) -> None:
        whole = self._sums.constant + lower
        self._raise(min(whole - ROUNDING * max(abs(whole), abs(self._sums.constant)), self._incumbent.cost), DETAIL)

    def _cheapest(self) -> float:
        """Return a cost to step up by from nothing: the least positive price of a device, or of the whole."""
        prices = self._sums.used[self._sums.used > 0]
        return float(prices.min()) if len(prices) else self._dearest() / 1000

    def _dearest(self) -> float:
        """Return a cost that no chain exceeds."""
        loads = self._ceiling() * float(self._sums.load.max(initial=0.0)) * self._original.k
        return float(self._sums.used.sum() + self._sums.on.max(axis=1, initial=0.0).sum() + loads)

    def _ceiling(self) -> float:
        """Return a load above that of every stage."""
        finite = np.isfinite(self._table.fixed)
        time = np.where(finite, self._table.time[0], 0.0).sum(axis=1).max(initial=0.0)
        cost = self._table.cost[0].sum() if len(self._table.cost) else 0.0
        return float(time + cost + self._table.stream.sum(axis=1).max(initial=0.0)) * (1 + 1e-6) or 1.0


class _Nets:
    """What :func:`measure` reads of nets, of which none is wanted."""

    def __init__(self, costs: object) -> None:
        self.start, self.tensor, self.pins = costs.start, costs.tensor, costs.pins  # type: ignore[attr-defined]
        self.cost = costs.cost[0]  # type: ignore[attr-defined]
