"""Method ``ideals`` on what is asked of single phases: labels of the largest loads, or sums of loads, of each phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Bottleneck, Decision, Largest, Latency
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, chain
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, ordered_supernodes
from mtpp_dsl.solvers.algorithms.stages.build import stage_table, staged_types, states_of_table
from mtpp_dsl.solvers.algorithms.stages.costs import Aggregate
from mtpp_dsl.solvers.algorithms.stages.outside import outside_of
from mtpp_dsl.solvers.algorithms.stages.sweep import StageStep, sweep_stages
from mtpp_dsl.solvers.algorithms.stages.table import LoadRow, StageTable
from mtpp_dsl.solvers.partition.ideals.ideals_search import (
    NO_CHAIN_OF_STAGES,
    IdealsSearch,
    Placed,
    as_verified,
    pieces,
)
from mtpp_dsl.solvers.partition.ideals.stage_search import SweepCrowded
from mtpp_dsl.solvers.runtime.phase_bounds import PhaseBounds

FIRST_STEP = 0.005
"""The first target is above the bound by this share; the next by twice that, and so on."""
MAX_PIECES = 80
"""Orders of more supernodes than this are cut into so many pieces."""
ORDERS = 8
DETAIL = (
    "every chain of stages costs this or more, by all undominated values of what is asked of the phases; loads were "
    "added up in whole numbers, rounded down"
)
SIMPLE = "of each phase: the least times of the nodes shared among all devices, and the costliest node"
CROWDED_VALUES = "the ideals of {n} supernodes, with the values of the phases, take more than {room:,.0f} MB"

Terms = Iterable[tuple[Decision, float]]


def unfit_for_labels(problem: Problem) -> str | None:
    """Return why what *problem* asks does not grow with largest loads, and sums of loads, of its phases, or None."""
    wanted = [("the objective", problem.objective.terms, problem.objective.maximized)]
    wanted += [(f"constraint {row}", row.terms, row.sense != "<=") for row in problem.hard_rows]
    for what, terms, wrong in wanted:
        if wrong or not _grows(terms):
            return (
                "ideals minimises, and limits from above, sums of bottleneck(phase) and latency(phase) and the "
                f"largest of such sums; {what} is another"
            )
    return None


def _grows(terms: Terms) -> bool:
    """Return whether a sum grows with largest loads and sums of loads alone."""
    for decision, a in terms:
        if a < 0 or not isinstance(decision, (Bottleneck, Latency, Largest)):
            return False
        if isinstance(decision, Largest) and not all(_grows(inner) for inner, _ in decision.sums):
            return False
    return True


class PhasesRun(IdealsSearch):
    """Solves one problem with phases: all values of chains of ideals that may cost less than a target, which is raised.

    The problem is under ``acyclic``, and :func:`unfit_for_labels` returns None of it.
    """

    def _prepare(self) -> None:
        self._types = as_verified(staged_types(self._original), self._original)
        self._parts = self._asked()
        self._phases = list(dict.fromkeys(decision.phase for decision in self._parts))

    def _asked(self) -> list[Bottleneck | Latency]:
        """Return what the objective and the rows are made of; a bottleneck of all phases where they ask for that."""
        parts: dict[Bottleneck | Latency, None] = {}

        def note(terms: Terms) -> None:
            for decision, _ in terms:
                if isinstance(decision, Largest):
                    for inner, _ in decision.sums:
                        note(inner)
                elif isinstance(decision, (Bottleneck, Latency)):
                    parts[decision] = None

        problem = self._original
        note(problem.objective.terms if problem.objective.is_linear else ((Bottleneck(), 1.0),))
        for row in problem.hard_rows:
            note(row.terms)
        return list(parts)

    def _cost(self, values: Floats) -> float:
        """Return the cost of a chain from the values of what it is made of, in seconds."""
        objective = self._original.objective
        if not objective.is_linear:
            return float(values[self._parts.index(Bottleneck())])
        return objective.constant + self._sum(objective.terms, values)

    def _sum(self, terms: Terms, values: Floats) -> float:
        total = 0.0
        for decision, a in terms:
            if isinstance(decision, Largest):
                total += a * max(constant + self._sum(inner, values) for inner, constant in decision.sums)
            elif isinstance(decision, (Bottleneck, Latency)):
                total += a * float(values[self._parts.index(decision)])
        return total

    def _keeps(self, values: Floats) -> bool:
        """Return whether the rows hold as the check of plans has it, with a little room for rounding."""
        for row in self._original.hard_rows:
            left = self._sum(row.terms, values)
            if left > row.rhs + 2 * TOLERANCE * max(abs(row.rhs), abs(left)):
                return False
        return True

    def _go(self) -> None:
        supernodes = ordered_supernodes(self._original, self._types, "forward", absorb=False)
        table = self._tabled(supernodes)
        least = self._least(table)
        self._raise(self._cost(least), SIMPLE)
        if self._closed:
            return
        states = len(states_of_table(table, self._original).used)
        lattice = self._lattice(supernodes)
        self._along(supernodes, 1)
        if lattice is not None and not self._crowded(lattice, states) and not self._closed:
            try:
                self._search(lattice, table, least, proves=True)
                return
            except SweepCrowded:
                pass
        if self._closed:
            return
        self._give_up(CROWDED_VALUES.format(n=supernodes.n, room=self._most_bytes / 1e6))
        bounds = PhaseBounds(self._original)
        self._infeasibility = bounds.take(self._methods, self._patience, self._progress, self._incumbent)
        if not self._closed:
            self._along(supernodes, ORDERS)

    def _tabled(self, supernodes: OrderedSupernodes) -> StageTable:
        rows = [self._row(phase) for phase in self._phases]
        return stage_table(self._original, self._types, supernodes, rows, self._original.k, TOLERANCE)

    def _row(self, phase: str | None) -> LoadRow:
        """Return the loads of a phase, or of all together, by node."""
        problem, types = self._original, self._types
        alone = problem if phase is None else problem.phase(phase)
        first = [members[0] for members in types.members]
        time = np.where(np.isfinite(types.time), alone.time[:, first], np.inf)
        none = np.zeros_like(time)
        return LoadRow(time, alone.tensor_time, np.zeros(len(time)), none, np.zeros(len(time)))

    def _least(self, table: StageTable) -> Floats:
        """Return what the value of each part is at least."""
        time = np.where(table.allowed[None], table.time.transpose(0, 2, 1), np.inf).min(axis=2)
        values = []
        for part in self._parts:
            own = time[self._phases.index(part.phase)]
            largest = max(own.max(initial=0.0), own.sum() / self._original.k)
            values.append(own.sum() if isinstance(part, Latency) else largest)
        return np.array(values) * (1 - 1e-9)

    def _most(self, table: StageTable) -> Floats:
        """Return what the value of each part is below, whatever the chain."""
        time = np.where(np.isfinite(table.time), table.time, 0.0).max(axis=1).sum(axis=1)
        paid = table.cost.sum(axis=1)
        values = []
        for part in self._parts:
            p = self._phases.index(part.phase)
            values.append(time[p] + paid[p] * (self._original.k if isinstance(part, Latency) else 1))
        return np.array(values) * (1 + 1e-6) + 1e-300

    def _along(self, supernodes: OrderedSupernodes, count: int) -> None:
        """Find the best chains of some orders of the supernodes, cut into pieces where these are many."""
        for order in islice(self._orders(supernodes), count):
            if self._closed:
                return
            parts = pieces(supernodes, order, MAX_PIECES)
            table = self._tabled(parts)
            try:
                self._search(chain(np.arange(parts.n)), table, self._least(table), proves=False)
            except SweepCrowded:
                return
            self._pause()

    def _search(self, lattice: Lattice, table: StageTable, least: Floats, *, proves: bool) -> None:
        """Raise the target until the chains of a lattice that may cost less have a best one.

        Raises:
            Crowded: the labels take too much memory.
        """
        most = self._most(table)
        if not np.isfinite(least).all():
            if proves:
                self._no_plan(NO_CHAIN_OF_STAGES)
            return
        last, low, share = self._cost(most), self._cost(least), FIRST_STEP
        while True:
            known = self._incumbent.cost
            goal = min(last, known, low + share * max(abs(low), abs(last) / 1000) + 1e-300)
            caps = self._caps(least, most, goal)
            values = np.zeros((0, len(least)))
            chains: Callable[[int], Sequence[StageStep]] = _none
            if (caps >= least).all():
                values, chains = self._sweep(lattice, table, caps)
            costs = np.array([self._cost(value) if self._keeps(value) else np.inf for value in values])
            for label in np.argsort(costs)[:20].tolist():
                if np.isfinite(costs[label]) and self._found(table, chains(label)):
                    break
            sure = min(goal, costs.min(initial=np.inf))
            if proves and not (goal >= last and np.isinf(costs.min(initial=np.inf)) and self._incumbent.plan is None):
                self._raise(sure, DETAIL)
            if self._closed or sure < goal or goal >= min(last, known):
                if proves and goal >= last and self._incumbent.plan is None and not np.isfinite(costs).any():
                    self._no_plan(NO_CHAIN_OF_STAGES)
                return
            low, share = goal, 2 * share
            self._pause()

    def _caps(self, least: Floats, most: Floats, goal: float) -> Floats:
        """Return what each part may be at most in a chain that keeps the rows and costs *goal* at most."""
        caps = most.copy()
        for i in range(len(least)):
            low, high = float(least[i]), float(most[i])
            if self._fine(least, i, high, goal):
                continue
            if not self._fine(least, i, low, goal):
                caps[i] = -1.0
                continue
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if self._fine(least, i, middle, goal) else (low, middle)
            caps[i] = high
        return caps

    def _fine(self, least: Floats, part: int, value: float, goal: float) -> bool:
        """Return whether a chain with this value of one part, and the least ones of all others, would do."""
        values = least.copy()
        values[part] = value
        return self._cost(values) <= goal and self._keeps(values)

    def _sweep(
        self, lattice: Lattice, table: StageTable, caps: Floats
    ) -> tuple[Floats, Callable[[int], Sequence[StageStep]]]:
        """Return the undominated values of the chains of a lattice below *caps*, and what gives the chain of each.

        The values are rounded down.

        Raises:
            Crowded: the labels take too much memory.
        """
        top = max(float(caps.max()) * (1 + 1e-6), 1e-300)
        costs, units, most = table.whole(top)
        limit: dict[int, int] = {}
        ceiling: dict[int, int] = {}
        rows = [self._phases.index(part.phase) for part in self._parts]
        for i, (part, p) in enumerate(zip(self._parts, rows, strict=True)):
            cap = min(int(caps[i] / float(units[p])) + 2, most)
            limit[p] = min(limit.get(p, most), cap)
            if isinstance(part, Latency):
                ceiling[i] = int(caps[i] / float(units[p])) + 2
        components = [(p, isinstance(part, Latency)) for part, p in zip(self._parts, rows, strict=True)]
        aggregate = Aggregate.create(len(costs.time), components, limit=limit, ceiling=ceiling)
        states = states_of_table(table, self._original)
        outside = outside_of(lattice, table, costs, states, aggregate, self._progress.say)
        swept = sweep_stages(
            lattice, costs, states, aggregate, outside, self._progress.say, self._pause, self._most_bytes
        )
        if swept is None:
            raise SweepCrowded
        return swept.values * units[rows], swept.steps

    def _found(self, table: StageTable, steps: Sequence[StageStep]) -> bool:
        """Turn a chain of stages into a plan; return whether it is one, or no better than the best."""
        blocks = ((block.tolist(), table.shapes[a].kind, 1) for block, a in steps)
        placed = Placed.on_types(self._original.graph.n, self._types.members, table.supernodes.members, blocks)
        return self._incumbent.take(Plan.create(self._original, placed.assignment))


def _none(_: int) -> Sequence[StageStep]:
    """Return the chain of no label."""
    return ()
