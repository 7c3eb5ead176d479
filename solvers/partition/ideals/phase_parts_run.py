"""Method ``ideals`` on phases of splits on networks: chains by walks over devices, others by each phase alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.chains.least_walk import least_walk
from mtpp_dsl.solvers.partition.ideals.ideals_search import IdealsSearch
from mtpp_dsl.solvers.partition.ideals.phase_walk import places_in_chain, walk_of
from mtpp_dsl.solvers.runtime.phase_bounds import PhaseBounds

__all__ = ["PhasePartsRun"]

WIDTHS = (250, 4_000, 40_000)
"""So many beginnings of a chain are kept at each node, at first and then."""
DETAIL = (
    "every split of the chain costs this or more: a dynamic programme over its nodes, with the devices, loads and "
    "memory of the nodes before as labels; sums are rounded down"
)
MANY = "the chain has more than {most:,} undominated beginnings at a node: the plan is the best of those that were kept"


class PhasePartsRun(IdealsSearch):
    """Solves chains by a programme over their nodes, which proves its plans, with or without ``acyclic``.

    Of other graphs it solves each phase alone, and the weighted sum of all: the best of their plans, and the bound of
    all optima. So it does of chains with too many labels.

    Args:
        problem: that asks for what grows with latencies and bottlenecks.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        parts: the methods that solve an ordinary problem of one phase, the cheapest first.
        patience: seconds after which it ends, before its limits.
    """

    def __init__(
        self, problem: Problem, limits: Limits, progress: Progress, parts: Sequence[Method], patience: float
    ) -> None:
        super().__init__(problem, limits, progress, patience)
        self._methods = parts

    def _go(self) -> None:
        self._infeasibility = quick(self._original)
        if self._infeasibility is None and not self._along_chain() and PhaseBounds.fits(self._original):
            bounds = PhaseBounds(self._original)
            self._infeasibility = bounds.take(self._methods, self._patience, self._progress, self._incumbent)

    def _along_chain(self) -> bool:
        """Solve a chain; return whether it is one, and nothing is left to do."""
        at = places_in_chain(self._original)
        walk = None if at is None else walk_of(self._original, at)
        if at is None or walk is None:
            return False
        for width in WIDTHS:
            found = least_walk(walk, width, upper=self._incumbent.cost, pause=self._pause)
            for devices in found.devices:
                if self._incumbent.take(Plan.create(self._original, devices[at])):
                    break
            if found.lower == inf:
                clash = tuple(str(constraint) for constraint in self._original.constraints)
                self._infeasibility = Infeasibility("no split of the chain fits on the devices; all were tried", clash)
                return True
            self._raise(min(found.lower, self._incumbent.cost), DETAIL)
            if self._closed or found.complete:
                return self._closed
        self._incumbent.note(MANY.format(most=WIDTHS[-1]))
        self._termination = "limit"
        return False
