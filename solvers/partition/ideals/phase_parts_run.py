"""Method ``ideals`` on single phases of splits on networks: each phase alone, its plans, and the bound that follows."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.partition.ideals.ideals_search import IdealsSearch
from mtpp_dsl.solvers.runtime.phase_bounds import PhaseBounds

__all__ = ["PhasePartsRun"]


class PhasePartsRun(IdealsSearch):
    """Solves each phase alone, and the weighted sum of all; the best of their plans, and the bound of all optima.

    Args:
        problem: of which :meth:`PhaseBounds.fits` is true.
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
        if self._infeasibility is None:
            bounds = PhaseBounds(self._original)
            self._infeasibility = bounds.take(self._methods, self._patience, self._progress, self._incumbent)
