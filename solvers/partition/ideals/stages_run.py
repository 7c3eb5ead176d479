"""Method ``ideals`` on stages: memory by stage, recomputing, iterations, and groups that share nodes or inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, Colocate, Forbid, InOrder, Memory, Pin, StageMemory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.ideals.lattice import chain
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, TrainingOrder, ordered_supernodes
from mtpp_dsl.solvers.algorithms.slicing.orders import kahn
from mtpp_dsl.solvers.algorithms.stages.build import load_rows, stage_table, staged_types, states_of_table
from mtpp_dsl.solvers.algorithms.stages.sweep import StageStep
from mtpp_dsl.solvers.algorithms.stages.table import StageTable
from mtpp_dsl.solvers.partition.ideals.flat_run import FlatRun
from mtpp_dsl.solvers.partition.ideals.ideals_search import (
    APART,
    CROWDED,
    NO_CHAIN_OF_STAGES,
    UNASKED,
    IdealsSearch,
    Placed,
    as_verified,
    ignore,
    pieces,
)
from mtpp_dsl.solvers.partition.ideals.stage_search import StageSearch, SweepCrowded
from mtpp_dsl.solvers.runtime.reduced import Aside

ORDERS = 4
MAX_PIECES = 150
"""Orders of more supernodes than this are cut into so many pieces."""
MANY_IDEALS = 3_000
"""With more ideals, plans are first sought along orders."""
TOO_MANY_IDEALS = 50_000
"""With more ideals, the bound is first that of the bottleneck without memory by stage."""
ORDER_BYTES = 1e8
"""What the labels of one order may take at least."""
PATIENCE = 8
"""Where there are too many ideals, the search of orders ends after so many rounds without a better plan."""
SPREADS = (0.9, 1.8)
"""How far a supernode may stray from the stage that it is on, in orders near the best plan."""
DETAIL = (
    "every chain of stages costs this or more, with what a stage keeps after the stages that come after it; loads were "
    "added up in whole numbers, rounded down"
)
SIMPLE = "the least times of the nodes on their best shapes, shared among all devices, and the costliest node"
WITHOUT_SHARE = 0.4
WITHOUT = "; without memory by stage, and for an iteration with the sum of the least times"


def reversed_order(supernodes: OrderedSupernodes) -> OrderedSupernodes:
    """Return the same supernodes in the opposite order: a chain of its ideals begins with the last stage."""
    return replace(supernodes, before=tuple((b, a) for a, b in supernodes.before))


class StagesRun(IdealsSearch):
    """Solves one problem, with *slices* for the bound without memory by stage."""

    def _prepare(self) -> None:
        problem = self._original
        self._devices = as_verified(staged_types(problem), problem)
        line = problem.line
        self._absorbs = line is None or not line.filled  # nodes may move to where others are
        self._parts = problem.objective.quantity == "separate iteration"
        self._table: StageTable | None = None
        self._cut: set[bytes] = set()  # orders that were cut into stages

    def _go(self) -> None:
        acyclic = self._original.acyclic
        if not acyclic:
            self._incumbent.note(UNASKED)
        self._search("forward", proves=acyclic)
        if self._original.graph.backward.any() and self._incumbent.plan is None and self._infeasibility is None:
            self._incumbent.note(APART)
            modes: tuple[TrainingOrder, ...] = ("mirrored", "parallel")
            for mode in modes:
                self._search(mode, proves=False)

    def _search(self, mode: TrainingOrder, *, proves: bool) -> None:
        """Search one mode of the problem."""
        problem = self._original
        supernodes = reversed_order(ordered_supernodes(problem, self._devices, mode, absorb=self._absorbs))
        search = self._searching(self._tabled(supernodes), proves=proves)
        if proves and np.isfinite(search.first_bound):
            self._raise(search.first_bound, SIMPLE)
        if self._closed:
            return
        lattice = self._lattice(supernodes)
        crowded = self._crowded(lattice, len(search.states.used))
        if crowded or (lattice is not None and lattice.size > MANY_IDEALS):
            self._along(supernodes, islice(self._orders(supernodes), ORDERS))
        if proves and not self._closed and (lattice is None or crowded or lattice.size > TOO_MANY_IDEALS):
            self._without_places(search.total)
        if self._closed:
            return
        if lattice is not None and not crowded:
            self._few = lattice.size <= MANY_IDEALS
            self._table = search.table
            try:
                there = search.run(lattice, self._incumbent.cost)
            except SweepCrowded:
                crowded = True
            else:
                if proves and not there and self._incumbent.plan is None:
                    kinds = (Acyclic, Colocate, Forbid, InOrder, Memory, Pin, StageMemory)
                    self._no_plan(NO_CHAIN_OF_STAGES, *kinds)
        if crowded:
            self._give_up(CROWDED.format(n=supernodes.n, room=self._most_bytes / 1e6))
            self._improve(supernodes)

    def _without_places(self, total: float) -> None:
        """Bound by the least bottleneck without memory by stage, and try its plan; no parameters are streamed for that.

        Args:
            total: what no plan's sum of loads is below.
        """
        problem, link = self._original, self._original.interconnect
        if any(problem.shard):
            return
        assert isinstance(link, (Shared, Host))
        kept = [c for c in problem.constraints if not isinstance(c, (InOrder, StageMemory))]
        kept += [Acyclic()] if problem.line is not None else []
        relaxed = replace(
            problem.asking(Objective("bottleneck"), kept),
            interconnect=replace(link, overflow=False),
            graph=replace(problem.graph, workspace=np.zeros(problem.graph.n)),
        )
        limits = self._limits.within(WITHOUT_SHARE * self._limits.remaining, start=None)
        result = FlatRun(relaxed, limits, Aside(self._progress), self._most_bytes, slices=self._slices).result()
        self._infeasibility = result.infeasibility
        if result.bound is not None:
            others = (problem.objective.microbatches or 1) - 1
            cost = others * result.bound.cost + total if problem.objective.is_iteration else result.bound.cost
            self._raise(cost, result.bound.detail + WITHOUT)
        if result.plan is not None:
            self._incumbent.take(Plan.create(problem, result.plan.assignment, replicas=result.plan.replicas))
        self._pause()

    def _tabled(self, supernodes: OrderedSupernodes) -> StageTable:
        rows = load_rows(self._original, self._devices, parts=self._parts)
        return stage_table(self._original, self._devices, supernodes, rows, self._original.k, TOLERANCE)

    def _searching(self, table: StageTable, *, proves: bool) -> StageSearch:
        objective = self._original.objective
        return StageSearch(
            table,
            states_of_table(table, self._original, backwards=True),
            microbatches=objective.microbatches or 1,
            bottleneck=not objective.is_iteration,
            parts=self._parts,
            most_bytes=self._most_bytes if proves else max(self._most_bytes, ORDER_BYTES),
            proves=proves,
            keep=self._found,
            bounded=self._bounded if proves else ignore,
            closed=lambda: self._closed,
            say=self._progress.say,
            pause=self._pause,
        )

    def _along(self, supernodes: OrderedSupernodes, some: Iterable[Ints]) -> None:
        """Find the best chains of some orders of the supernodes, cut into pieces where these are many."""
        for order in some:
            if self._closed:
                return
            if order.tobytes() in self._cut:
                continue
            self._cut.add(order.tobytes())
            parts = pieces(supernodes, order, MAX_PIECES)
            search = self._searching(self._tabled(parts), proves=False)
            self._table = search.table
            try:
                search.run(chain(np.arange(parts.n)), self._incumbent.cost)
            except SweepCrowded:
                return
            self._pause()

    def _improve(self, supernodes: OrderedSupernodes) -> None:
        """Try more orders: random ones, and those in which the stages of the best plan follow one another."""
        graph, _ = supernodes.as_graph()
        random = np.random.default_rng(self._limits.seed)
        others = islice(self._orders(supernodes), ORDERS, None)
        rounds, best = 0, self._incumbent.cost
        while rounds < PATIENCE and not self._closed:
            plan = self._incumbent.plan
            self._along(supernodes, [next(others)])
            if plan is not None and plan.order is not None:
                place = np.argsort(np.array(plan.order))
                stage = place[plan.assignment[[members[0] for members in supernodes.members]]]  # the last comes first
                self._along(supernodes, [kahn(graph, random.random(graph.n) * spread - stage) for spread in SPREADS])
            rounds, best = (rounds + 1, best) if self._incumbent.cost >= best else (0, self._incumbent.cost)

    def _found(self, steps: Sequence[StageStep]) -> float:
        """Turn a chain of stages into a plan, keep it if it is one, and return what it costs."""
        table, problem = self._table, self._original
        assert table is not None
        shapes = [table.shapes[step.shape] for step in steps]
        blocks = (
            (step.supernodes.tolist(), shape.kind, shape.devices) for step, shape in zip(steps, shapes, strict=True)
        )
        assignment, replicas, leads = Placed.on_types(
            problem.graph.n, self._devices.members, table.supernodes.members, blocks
        )
        shards: dict[int, int] = {}
        recomputed: list[int] = []
        for number, (lead, shape) in enumerate(zip(leads, shapes, strict=True)):
            if shape.shards > 1:
                shards[lead] = shape.shards
            if shape.recompute and not self._fits_without(table, steps[number], len(steps) - 1 - number):
                recomputed.append(lead)
        staged = problem.acyclic and not problem.graph.backward.any()
        order = (*leads, *(d for d in range(problem.k) if d not in leads)) if staged else None
        plan = Plan.create(problem, assignment, order, replicas, shards=shards, recomputed=recomputed)
        return evaluate(problem, plan).cost if self._incumbent.take(plan) else float("inf")

    @staticmethod
    def _fits_without(table: StageTable, step: StageStep, after: int) -> bool:
        """Return whether a stage that recomputes may, and need not."""
        shape = table.shapes[step.shape]._replace(recompute=False)
        if shape not in table.shapes:
            return False
        a = table.shapes.index(shape)
        return bool(table.held(step.supernodes, a, after) <= table.room[a])

    def _bounded(self, lower: float) -> None:
        if np.isfinite(lower):
            self._raise(lower, DETAIL)


class StageSlices(StagesRun):
    """Looks for plans alone: the best chains of some orders, then of orders near the best plan.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans.
        count: how many orders to begin with.
    """

    name = "slicegraph"
    looks_for_clashes = False

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, count: int) -> None:
        super().__init__(problem, limits, progress, ORDER_BYTES)
        self._count = count

    def _go(self) -> None:
        mode: TrainingOrder = "parallel" if self._original.graph.backward.any() else "forward"
        supernodes = reversed_order(ordered_supernodes(self._original, self._devices, mode, absorb=self._absorbs))
        self._along(supernodes, islice(self._orders(supernodes), self._count))
        self._improve(supernodes)
