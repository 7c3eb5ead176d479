"""Method ``ideals`` for the least bottleneck within budgets: of prices of used devices, of loads, and of moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf, nextafter

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, Colocate, Forbid, InOrder, Linear, Memory, Pin, Robust
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.ideals.lattice import chain
from mtpp_dsl.solvers.algorithms.ideals.supernodes import ordered_supernodes
from mtpp_dsl.solvers.algorithms.stages.build import load_rows, stage_table, states_of_table, with_deviations
from mtpp_dsl.solvers.algorithms.stages.costs import ShapeStates
from mtpp_dsl.solvers.algorithms.stages.sweep import StageStep
from mtpp_dsl.solvers.algorithms.stages.table import StageTable
from mtpp_dsl.solvers.partition.ideals.ideals_search import CROWDED, IdealsSearch, Placed, as_verified, ignore
from mtpp_dsl.solvers.partition.ideals.priced import (
    Budget,
    Priced,
    budgets_of,
    most_load,
    places_of,
    priced_types,
    within_budgets,
)
from mtpp_dsl.solvers.partition.ideals.stage_search import StageSearch, SweepCrowded

ORDERS = 6
MANY_IDEALS = 300
"""With more ideals, plans are first sought along orders."""
FEW_IDEALS = 3_000
MANY = 10**9
SIMPLE = "the least times of the nodes on their best devices, shared among all devices, and the costliest node"
DETAIL = (
    "every chain of ideals within the budgets costs this or more; loads were added up in whole numbers, rounded down"
)


@dataclass(frozen=True, eq=False)
class BudgetTable:
    """The stages of a problem with rows for what budgets count, and the states of devices that prices allow.

    Attributes:
        table: of stages; its first row is the load.
        states: of devices used, those beyond a price closed.
        budgets: the rows of the table of which a chain has a limited sum, and the limits.
        members: the devices of each type, also of those that no stage needs.
    """

    table: StageTable
    states: ShapeStates
    budgets: tuple[tuple[int, float], ...]
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def create(cls, problem: Problem, *sums: Priced) -> BudgetTable:
        """Return the table of *problem*, whose rows are budgets.

        Args:
            problem: on ``shared`` or ``host``, under ``acyclic``.
            sums: what else is counted, and tells devices apart.
        """
        limits = budgets_of(problem)
        assert not isinstance(limits, str), "a problem that is refused"
        devices = as_verified(priced_types(problem, *sums), problem)
        first = [group[0] for group in devices.members]
        supernodes = ordered_supernodes(problem, devices, "forward", absorb=False)
        table = stage_table(problem, devices, supernodes, load_rows(problem, devices), problem.k, TOLERANCE)
        table = with_deviations(table, problem)
        budgets: list[tuple[int, float]] = []
        for one in limits:
            table, rows = _with_budget(table, one, first, counted=problem.line is None)
            budgets = [(p + (rows[0][0] <= p), most) for p, most in budgets] if rows else budgets
            budgets += rows
        members = tuple(
            group[: max(1, min([supernodes.n, *(_affordable(one, group[0]) for one in limits)]))]
            for group in devices.members
        )
        table = replace(table, types=replace(table.types, members=members))
        states = states_of_table(table, problem)
        if problem.line is None:
            states = states._replace(open=states.open & within_budgets(problem, devices, states.used)[states.to])
        return cls(table, states, tuple(budgets), devices.members)

    def plan(self, problem: Problem, steps: Sequence[StageStep]) -> Plan:
        """Return the plan of a chain of stages."""
        blocks = ((block.tolist(), self.table.shapes[a].kind, 1) for block, a in steps)
        placed = Placed.on_types(problem.graph.n, self.members, self.table.supernodes.members, blocks)
        return Plan.create(problem, placed.assignment)


def _affordable(budget: Budget, device: int) -> int:
    """Return how many devices like *device* a budget pays for at most."""
    price = float(budget.sums.used[device])
    return int(max(0.0, budget.most) / price * (1 + TOLERANCE)) if price > 0 else MANY


def _with_budget(
    table: StageTable, budget: Budget, first: Sequence[int], *, counted: bool
) -> tuple[StageTable, list[tuple[int, float]]]:
    """Return the table with a row for what *budget* counts, and that row with its limit; none if devices count.

    Args:
        table: of stages.
        budget: what is limited.
        first: a device of each type.
        counted: whether states tell which devices are used.
    """
    sums, most = budget.sums, budget.most
    if sums.load.any():
        unit = float(sums.load.max())  # so that no row is above the load itself
        return table.with_prices(sums.load[first] / unit), [(table.loads, most / unit)]
    if counted and not sums.on.any():
        return table, []
    kinds = [first[shape.kind] for shape in table.shapes]
    return table.with_sum(places_of(sums, table.supernodes, kinds), sums.used[kinds]), [(len(table.time), most)]


class BudgetRun(IdealsSearch):
    """Solves one problem; see :class:`mtpp_dsl.solvers.partition.ideals.ideals_search.IdealsSearch`.

    The value of a chain of stages is its largest load. Devices of a type are counted; ways to have used them that cost
    too much are left out. What loads or places cost is a second number of a chain, of which more than the limit is no
    chain.
    """

    def _go(self) -> None:
        problem = self._original
        self._budgets = budgets = BudgetTable.create(problem)
        supernodes, search = budgets.table.supernodes, self._searching(proves=True)
        if np.isfinite(search.first_bound):
            self._raise(search.first_bound, SIMPLE)
        if self._closed:
            return
        lattice = self._lattice(supernodes)
        crowded = self._crowded(lattice, len(budgets.states.used))
        if crowded or (lattice is not None and lattice.size > MANY_IDEALS):
            for order in islice(self._orders(supernodes), ORDERS):
                self._along(order)
        if lattice is not None and not crowded and not self._closed:
            self._few = lattice.size <= FEW_IDEALS
            try:
                there = search.run(lattice, self._upper)
            except SweepCrowded:
                crowded = True
            else:
                if not there and self._incumbent.plan is None:
                    kinds = (Acyclic, Colocate, Forbid, InOrder, Linear, Memory, Pin, Robust)
                    self._no_plan("no chain of ideals keeps the budgets; all were tried", *kinds)
        if crowded and not self._closed:
            self._give_up(CROWDED.format(n=supernodes.n, room=self._most_bytes / 1e6))

    @property
    def _upper(self) -> float:
        """What chains of interest are below: the best plan, or what rows say of the bottleneck."""
        return min(self._incumbent.cost, nextafter(most_load(self._original), inf))

    def _along(self, order: object) -> None:
        """Find the best chain of one order."""
        if self._closed:
            return
        try:
            self._searching(proves=False).run(chain(np.asarray(order, np.int64)), self._upper)
        except SweepCrowded:
            return
        self._pause()

    def _searching(self, *, proves: bool) -> StageSearch:
        return StageSearch(
            self._budgets.table,
            self._budgets.states,
            most_bytes=self._most_bytes,
            proves=proves,
            keep=self._found,
            bounded=self._bounded if proves else ignore,
            closed=lambda: self._closed,
            say=self._progress.say,
            pause=self._pause,
            budgets=self._budgets.budgets,
        )

    def _found(self, steps: Sequence[StageStep]) -> float:
        """Keep the plan of a chain, and return what it costs."""
        plan = self._budgets.plan(self._original, steps)
        return evaluate(self._original, plan).cost if self._incumbent.take(plan) else float("inf")

    def _bounded(self, lower: float) -> None:
        if np.isfinite(lower):
            self._raise(lower, DETAIL)
