"""Begin and end both searches of method ``ideals``."""

from __future__ import annotations

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

__all__ = ["IdealsSearch"]


class IdealsSearch:
    """One run of a search; a derived class adds :meth:`_go`.

    Attributes:
        name: of the method.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        patience: seconds after which it ends, before its limits, unless :attr:`_few`.
    """

    name = "ideals"

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, patience: float = float("inf")) -> None:
        self._patience = limits.within(patience)
        self._few = False  # whether the ideals are counted, and so few that the search is near its end
        self._original, self._limits, self._progress = problem, limits, progress
        self._incumbent = Incumbent(self.name, problem, limits, progress)
        self._infeasibility: Infeasibility | None = None
        self._termination: Termination = "complete"

    def result(self) -> Result:
        """Search until done or stopped, and return the best plan and bound."""
        try:
            self._incumbent.take_start()
            self._pause()
            self._go()
        except SearchEnded:
            self._termination = "interrupted" if self._progress.stopped else "time_limit"
        return self._incumbent.result("gap" if self._closed else self._termination, infeasibility=self._infeasibility)

    def _go(self) -> None:
        raise NotImplementedError

    @property
    def _closed(self) -> bool:
        return self._infeasibility is not None or self._incumbent.closed()

    def _raise(self, lower: float, detail: str) -> None:
        """Report a bound, if it is better than those before."""
        self._incumbent.prove(Bound(lower, method="ideals", proof="checked", by="mtpp", detail=detail))

    def _pause(self) -> None:
        """Raise :class:`SearchEnded` if the time or the patience is over, or somebody asked to stop."""
        if self._progress.ended(self._limits if self._few else self._patience) is not None:
            raise SearchEnded
