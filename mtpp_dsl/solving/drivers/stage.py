"""The progress of one solve of several: what is reported to it is shown in place of the whole run's."""

from __future__ import annotations

from collections.abc import Callable

from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.objective import Objective


class Stage(Progress):
    """Receives the plans and bounds of one solve, and stops when the whole run is asked to.

    Args:
        outer: the progress of the whole run; its clock is this one's.
        objective: what this solve minimises: plans and bounds are shown in its unit.
        heading: what is shown before them.
        adopt: told of every plan that is the best so far.
    """

    def __init__(
        self, outer: Progress, objective: Objective, heading: str, adopt: Callable[[Plan], None] = lambda _: None
    ) -> None:
        super().__init__()
        self.started = outer.started
        self.objective, self.heading = objective, heading
        self._outer, self._adopt = outer, adopt

    def report_plan(self, plan: Plan, cost: float) -> None:
        """Report a plan; kept if it is the best so far."""
        with self._lock:
            before = self.plan
            super().report_plan(plan, cost)
            if self.plan is not before:
                self._adopt(plan)

    @property
    def stopped(self) -> bool:
        """Whether somebody asked the whole run to stop, or this solve."""
        return self._outer.stopped or self._stop.is_set()

    def say(self, message: str) -> None:
        """Tell the user what is being done."""
        if not self._closed:
            self._outer.relay(self, f"{self.heading}: {message}" if message and self.heading else message)

    @property
    def wants_solver_log(self) -> bool:
        """Whether anybody reads the log of a solver."""
        return self._outer.wants_solver_log

    def solver_says(self, line: str) -> None:
        """Pass on a line of a solver's own log."""
        if not self._closed:
            self._outer.solver_says(line)
