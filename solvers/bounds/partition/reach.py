"""The reach bound: how far chains of ideals get with the memories and the speeds of the devices."""

from __future__ import annotations

from math import inf

from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.algorithms.reach.measures import MEMORY, ROOM, Measures, measured
from mtpp_dsl.solvers.algorithms.reach.states import Reach
from mtpp_dsl.solvers.algorithms.reach.trade_off import Unfinished
from mtpp_dsl.solvers.bounds.partition.bound_instance import finished

NAME = "reach"
STAGES = ((1 << 10, 2e-3), (1 << 13, 2e-4))
"""How many values of a measure are told apart, and, relatively, how near to a target that is not refuted to go."""
FIRST_STEP = 0.02
"""Relative: how far above what is proved the first target lies."""


def reach(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound; stopped early, that of the largest target refuted so far."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None or simple.bound is None:
        return progress.result(NAME, limits, simple.termination, infeasibility=simple.infeasibility)
    measures = measured(problem)
    if simple.bound.cost <= 0 or not (measures.room < measures.total[MEMORY]).any():
        return finished(NAME, limits, progress, simple.bound, complete=True)
    search = _Search(measures, simple.bound, limits, progress)
    try:
        complete = all(search.raised(cells, near) for cells, near in STAGES)
    except Unfinished:
        complete = False
    if search.none:
        clash = tuple(str(rule) for rule in problem.of(Memory))
        reason = "no chain of ideals fits into the memories, whatever the order of the devices"
        return progress.result(NAME, limits, "infeasible", infeasibility=Infeasibility(reason, clash))
    return finished(NAME, limits, progress, search.bound, complete)


class _Search:
    """The search for the largest target that is refuted.

    Attributes:
        bound: the best so far.
        none: whether every target is refuted: there is no plan.
    """

    def __init__(self, measures: Measures, simple: Bound, limits: Limits, progress: Progress) -> None:
        self.bound, self.none = simple, False
        self._measures, self._limits, self._progress = measures, limits, progress
        graph = measures.graph
        self._most = float(graph.time.max(axis=1, initial=0.0).sum()) * (1 + ROOM)

    def raised(self, cells: int, near: float) -> bool:
        """Raise the bound by targets until one next to it is not refuted; return False if stopped before.

        Raises:
            Unfinished: stopped within a target.
        """
        table = Reach(self._measures, cells, self._stopped)
        high, step = inf, FIRST_STEP if self.bound.method != NAME else near
        while not self.none and high - self.bound.cost > near * self.bound.cost:
            if self._stopped():
                return False
            low = self.bound.cost
            target = min(low * (1 + step), (low + high) / 2, max(self._most, low))
            if not table.refutes(target):
                high = target
                continue
            step *= 2
            self.none = target >= self._most
            self._report(target)
        return True

    def _stopped(self) -> bool:
        return self._progress.stopped or self._limits.remaining <= 0

    def _report(self, target: float) -> None:
        if self.none:
            return
        self.bound = Bound(
            target * (1 - ROOM),
            method=NAME,
            proof="checked",
            by="mtpp",
            detail="no chain of ideals has its loads below this within the memories, whatever the order of the devices",
        )
        self._progress.report_bound(self.bound)
