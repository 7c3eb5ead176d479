"""One run of method ``orders``."""

from __future__ import annotations

from contextlib import suppress
from math import inf

from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.algorithms.reach.measures import Measures, measured
from mtpp_dsl.solvers.algorithms.reach.states import ReachTables
from mtpp_dsl.solvers.algorithms.reach.targets import DETAIL, NONE, QUICK, raise_bound
from mtpp_dsl.solvers.algorithms.reach.trade_off import Unfinished
from mtpp_dsl.solvers.backends.mip.matrix import by
from mtpp_dsl.solvers.partition.orders.ideal_chain import Tensors
from mtpp_dsl.solvers.partition.orders.order_tree import OrderTree
from mtpp_dsl.solvers.partition.orders.superblocks import Superblocks
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

NAME = "orders"
STEP = 0.1
"""Relative: how far above what is proved the next target lies, where no plan is known that is nearer."""
WORTH = 1e-5
"""Relative: by how much a bound must be better to be reported."""
MIN_NEAR, MAX_NEAR = 1e-6, 1e-3
"""Relative: how close plan and bound come, whatever gap is asked for: more than the tolerances of HiGHS."""
LINEAR = "linear programmes over chains of ideals, for ordered sets of devices; their dual values were added up again"
INTEGER = "integer programmes over chains of ideals, for ordered sets of devices"


def orders(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the best plan and the best bound found within the limits."""
    return _OrdersRun(problem, limits, progress).result()


class _OrdersRun:
    def __init__(self, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._incumbent = Incumbent(NAME, problem, limits, progress, shared=True)
        self._infeasibility: Infeasibility | None = None
        self._solver: str | None = None
        self._of: Ints

    def result(self) -> Result:
        """Search until plan and bound meet, or there is no more time."""
        self._incumbent.take_start()
        simple = least_load(self._problem, self._limits, self._progress)
        self._incumbent.prove(simple.bound)
        self._infeasibility = simple.infeasibility
        if not self._problem.graph.n:
            self._incumbent.take(Plan.create(self._problem, []))
        elif self._infeasibility is None:
            with suppress(SearchEnded, Unfinished):
                self._search(measured(self._problem))
        ended: Termination | None = None if self._infeasibility is None else "infeasible"
        return self._incumbent.result(ended, solver=self._solver, infeasibility=self._infeasibility)

    def _search(self, measures: Measures) -> None:
        """Search below targets that rise until a plan is below one, and then until none is."""
        low = raise_bound(measures, self._low, self._report_reach, self._stopped, (QUICK,))
        superblocks = Superblocks(ReachTables(measures, stopped=self._stopped))
        tensors = Tensors.of(measures.graph)
        self._of = measures.graph.of
        most, step = float(measures.graph.time.max(axis=1).sum() + tensors.cost.sum()) * (1 + STEP), STEP
        while low < inf and not self._incumbent.closed():
            target = min(self._incumbent.cost, max(low * (1 + step), most * 1e-6, 1e-300))
            step *= 2
            tree = OrderTree(
                superblocks,
                tensors,
                target,
                self._near,
                seconds=lambda: self._limits.remaining,
                stopped=self._stopped,
                take=self._take,
                cost=lambda: self._incumbent.cost,
            )
            for bound in tree.bounds():
                self._prove(bound, trusted=tree.trusted)
                self._incumbent.pause()
                if self._incumbent.closed():
                    return
            if tree.improved or target >= self._incumbent.cost:
                return
            low = inf if target >= most else target
        if low == inf:
            clash = tuple(str(rule) for rule in self._problem.of(Memory))
            self._infeasibility = Infeasibility(NONE, clash)

    @property
    def _low(self) -> float:
        return 0.0 if self._incumbent.bound is None else self._incumbent.bound.cost

    @property
    def _near(self) -> float:
        return max(min(self._limits.gap, MAX_NEAR), MIN_NEAR) / 2

    def _stopped(self) -> bool:
        return self._progress.ended(self._limits) is not None

    def _take(self, device: Ints) -> bool:
        """Take the plan that has each supernode on a device; return whether it is feasible."""
        return self._incumbent.take(Plan.create(self._problem, device[self._of]))

    def _report_reach(self, cost: float) -> None:
        self._incumbent.prove(Bound(cost, method="reach", proof="checked", by="mtpp", detail=DETAIL))

    def _prove(self, cost: float, *, trusted: bool) -> None:
        if cost <= self._low * (1 + WORTH) and not cost >= self._incumbent.cost * (1 - self._near):
            return
        if trusted:
            bound = Bound(cost, method=NAME, proof="trusted", by=by(), detail=INTEGER)
        else:
            bound = Bound(cost, method=NAME, proof="checked", by="mtpp", detail=LINEAR)
        self._incumbent.prove(bound)
