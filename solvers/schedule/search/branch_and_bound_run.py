"""One run of method ``branch-and-bound``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.algorithms.windows.climbing import share_of
from mtpp_dsl.solvers.algorithms.windows.tighten import Tightening, TimeUp
from mtpp_dsl.solvers.runtime.reduced import Aside
from mtpp_dsl.solvers.schedule.search.sample_state import sample_field_of
from mtpp_dsl.solvers.schedule.search.schedule_annealing import anneal_sample
from mtpp_dsl.solvers.schedule.search.schedule_starts import sample_incumbent, take_starts
from mtpp_dsl.solvers.schedule.search.search_tree import BRANCH, CLOSER, BestInTree, tree_of

NAME = "branch-and-bound"
CHUNK = 5_000
FIRST_BUDGET = 50_000
EASY, HARD = 1.5, 0.5
PATIENCE, MOVES = 2, 100
SHARE = 0.2
COUNT = 256
"""How many nodes count where edges meet, in the bound on what follows a node."""
WHY = "every schedule that ends earlier was excluded; ghannane2023, 3.1"


class BranchAndBoundRun:
    """One call: a bound, annealing, then the search of the tree for longer and longer.

    Args:
        problem: a makespan on links.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        bound: returns a bound, or why there is no plan, in limits of its own.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        bound: Callable[[Problem, Limits, Progress], Result],
    ) -> None:
        self._problem, self._limits, self._progress, self._bound = problem, limits, progress, bound
        self._instance = ScheduleInstance.of(problem)
        self._incumbent = sample_incumbent(NAME, self._instance, limits, progress)
        self._field = sample_field_of(self._instance)
        self._proved_none: Infeasibility | None = None

    def result(self) -> Result:
        """Search until done or stopped."""
        incumbent = self._incumbent
        take_starts(incumbent, self._instance, self._limits)
        bounded = self._bound(self._problem, self._part(), Aside(self._progress))
        if bounded.infeasibility is not None:
            return replace(bounded, method=NAME)
        incumbent.prove(bounded.bound)
        if incumbent.plan is not None and not incumbent.done:
            better = anneal_sample(self._problem, self._part(), Aside(self._progress), PATIENCE, MOVES).plan
            if better is not None:
                incumbent.take(better)
        if self._instance.n and not incumbent.done:
            self._climb()
        result = incumbent.result()
        if self._proved_none is None:
            return result
        return replace(result, termination="infeasible", infeasibility=self._proved_none, plan=None, bound=None)

    def _part(self) -> Limits:
        return self._limits.within(SHARE * self._limits.remaining, start=self._incumbent.plan)

    def _climb(self) -> None:
        """Search below the best makespan, and in turn below smaller ones, for longer and longer."""
        try:
            tightening = Tightening(self._problem, COUNT, self._progress.say, self._stopped)
            tail = tightening.side(tightening.back, tightening.time).times
        except TimeUp:
            return
        self._field = self._field._replace(tail=np.where(np.isfinite(tail), np.maximum(tail, self._field.tail), 0.0))
        self._weights = share_of(tightening.time)[1]
        self._tree = tree_of(self._field)
        budget, step = FIRST_BUDGET, 0.25
        incumbent = self._incumbent
        while not incumbent.done:
            if self._search(incumbent.cost, budget):
                return
            low = 0.0 if incumbent.bound is None else incumbent.bound.cost
            if incumbent.plan is not None and not incumbent.done:
                refuted = self._search(low + step * (incumbent.cost - low), budget)
                step = min(0.9, max(1e-3, step * (EASY if refuted else HARD)))
            budget *= 2

    def _search(self, cut: float, budget: int) -> bool:
        """Look for schedules shorter than *cut*; return whether all were looked at."""
        instance, tree = self._instance, self._tree
        tree.depth[0] = 0
        tree.children[0] = -1
        tree.key[:] = -1
        record = BestInTree(
            cut=np.full(1, cut),
            best=np.full(1, np.inf),
            loose=np.full(1, np.inf),
            device=np.zeros(instance.n, np.int64),
            start=np.zeros(instance.n),
            sent=np.full(instance.m, -1.0),
        )
        room = instance.limit * (1 + TOLERANCE * (1 + 1e-6))
        order = instance.graph.topological_order
        run = BRANCH.pick(budget * instance.n * instance.k, self._progress.say)
        known = np.inf
        while tree.depth[0] >= 0 and budget > 0 and not self._stopped():
            budget -= run(self._field, order, room, self._weights, tree, record, min(CHUNK, budget))
            if record.best[0] < known:
                known = float(record.best[0])
                if not self._incumbent.take(self._plan(record)):
                    record.loose[0] = min(record.loose[0], known)
        if tree.depth[0] >= 0:
            return False
        cost = min(float(record.cut[0]), float(record.loose[0]))
        if cost < np.inf:
            cost *= 1 - CLOSER * (1 + 1e-3)
            self._incumbent.prove(Bound(cost, NAME, "checked", "mtpp", WHY))
        else:
            reason = "every choice of devices was looked at: none satisfies all constraints"
            self._proved_none = Infeasibility(reason, tuple(str(c) for c in self._problem.constraints))
        return True

    def _plan(self, record: BestInTree) -> Plan:
        sending = np.where(record.sent >= 0, record.sent, record.start[self._instance.graph.heads])
        return timed(self._instance, record.device, record.start, sending)

    def _stopped(self) -> bool:
        return self._progress.ended(self._limits) is not None
