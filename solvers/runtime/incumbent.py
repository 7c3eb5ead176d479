"""The incumbent: the best plan that one run of a method has found, and the best bound that it has proved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from threading import RLock

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.core.problem.problem import Problem


class SearchEnded(Exception):
    """The time is up, or somebody asked to stop."""


class Incumbent:
    """Evaluates and verifies the plans of one run, reports them and bounds, and makes the result of the run.

    A method hands every plan to :meth:`take` and every bound to :meth:`prove`, and ends with :meth:`result`; it keeps
    neither of them elsewhere. Threads may share an incumbent.

    Args:
        method: the name of the method.
        problem: the problem.
        limits: when to stop, and which gap is small enough.
        progress: told of every plan and bound that is better than those before.
        known: the cost of a bound known before; it counts in :meth:`closed`, and is not reported.
        shared: whether plans that others have reported to *progress* count as the run's own.
        misfit: a check beside that of all constraints; returns what is wrong with a plan, or None.

    Attributes:
        bound: the best bound that the run has proved, or None.
        broken: which constraint the last plan that was not feasible breaks; "" if there was none.
        notes: for the user of the run.
    """

    def __init__(
        self,
        method: str,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        *,
        known: float | None = None,
        shared: bool = False,
        misfit: Callable[[Plan], str | None] = lambda _: None,
    ) -> None:
        self._method, self._problem, self._limits, self._progress = method, problem, limits, progress
        self._known, self._shared, self._misfit = known, shared, misfit
        self._own: tuple[Plan | None, float] = (None, inf)
        self._lock = RLock()
        self.bound: Bound | None = None
        self.broken = ""
        self.notes: list[str] = []

    @property
    def plan(self) -> Plan | None:
        """The best plan, or None."""
        return self._best[0]

    @property
    def cost(self) -> float:
        """The cost of the best plan; ``inf`` without one."""
        return self._best[1]

    @property
    def _best(self) -> tuple[Plan | None, float]:
        progress = self._progress
        if self._shared and progress.cost is not None:
            return progress.plan, progress.cost
        return self._own

    def take(self, plan: Plan) -> bool:
        """Verify *plan*, and keep and report it if it is the best; return whether it is feasible."""
        faults = verify(self._problem, plan)
        why = str(faults[0]) if faults else self._misfit(plan)
        if why is not None:
            self.broken = why
            return False
        self.keep(plan)
        return True

    def keep(self, plan: Plan) -> float:
        """Keep and report *plan*, which is known to be feasible, if it is the best; return its cost."""
        cost = evaluate(self._problem, plan).cost
        with self._lock:
            if cost < self._own[1]:
                self._own = plan, cost
                self._progress.report_plan(plan, cost)
        return cost

    def take_start(self) -> bool:
        """Take the plan to start from; return whether there is one. One that is not feasible is dropped, with a note.

        A start that is dropped counts as none.
        """
        start = self._limits.start
        if start is None:
            return False
        taken = self.take(start)
        if not taken:
            self.note(f"the start was dropped, it is no plan: {self.broken}")
        return taken

    def prove(self, bound: Bound | None) -> bool:
        """Keep and report *bound* if it is the best that the run has proved; return whether it is."""
        if bound is None or (self.bound is not None and bound.cost <= self.bound.cost):
            return False
        self.bound = bound
        self._progress.report_bound(bound)
        return True

    def note(self, note: str) -> None:
        """Tell the user of this run; the same note is told once."""
        if note not in self.notes:
            self.notes.append(note)

    def closed(self, cost: float | None = None) -> bool:
        """Return whether *cost*, by default that of the best plan, is close enough to the best bound of anybody."""
        cost = self.cost if cost is None else cost
        bounds = [bound.cost for bound in (self.bound, self._progress.bound) if bound is not None]
        bound = max(bounds if self._known is None else [*bounds, self._known], default=None)
        return cost < inf and bound is not None and relative_gap(cost, bound) <= self._limits.gap

    @property
    def done(self) -> bool:
        """Whether the run has to end: there is no more time, somebody asked to stop, or the gap is closed."""
        return self._progress.ended(self._limits) is not None or self.closed()

    def pause(self) -> None:
        """Raise :class:`SearchEnded` if the time is up or somebody asked to stop."""
        if self._progress.ended(self._limits) is not None:
            raise SearchEnded

    def result(
        self,
        termination: Termination | None = None,
        *,
        solver: str | None = None,
        time: Mapping[str, float] | None = None,
        infeasibility: Infeasibility | None = None,
    ) -> Result:
        """Return what the run has found.

        Args:
            termination: why it ended; None for "gap" where the gap is closed, else for what the clock says.
            solver: the back end that was used, if any.
            time: seconds by phase.
            infeasibility: why there is no plan, where the run has proved that.
        """
        if termination is None:
            termination = "gap" if self.closed() else self._progress.ended(self._limits) or "complete"
        plan = self.plan
        return self._progress.result(
            self._method,
            self._limits,
            termination,
            plan=plan,
            bound=self.bound,
            evaluation=None if plan is None else evaluate(self._problem, plan),
            solver=solver,
            time=time,
            infeasibility=infeasibility,
            notes=self.notes,
        )
