"""Plans that are known before a solver runs, where they count as plans of the formulation that it solves."""

from __future__ import annotations

from dataclasses import dataclass, field

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Backend, Formulation
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.list_schedules import Etf, Greedy, Heft
from mtpp_dsl.solvers.methods.mip.plugin_rows import read_through
from mtpp_dsl.solvers.methods.partition import SliceGraph
from mtpp_dsl.solvers.runtime.reduced import Aside

SLICE_SHARE, SLICE_SECONDS = 0.05, 2.0
"""How long to look for a first plan, where none is given."""
LIST_SHARE = 0.5
"""The same for schedules; lists are through in a moment, and what time there is only counts while they are compiled."""


@dataclass
class KnownPlan:
    """The best plan of one call of a formulation.

    Attributes:
        own_rows: whether the formulation may exclude plans of the problem; then each is read through its model.
        plan, cost: the best plan that counts, of those given to :meth:`hold` and :meth:`take`.
        excluded: whether its rows have excluded one.
        notes: on plans left out.
    """

    formulation: Formulation
    backend: Backend
    problem: Problem
    limits: Limits
    progress: Progress
    own_rows: bool
    plan: Plan | None = None
    cost: float | None = None
    excluded: bool = False
    notes: list[str] = field(default_factory=list)

    def take(self, plan: Plan, what: str) -> Plan | None:
        """Count a plan from elsewhere and return it, as the formulation has it; None, with a note, where it has not."""
        if self.own_rows:
            plan_read = read_through(self.formulation, self.backend, self.problem, plan, self.limits, self.progress)
            self.excluded |= plan_read.excluded
            if plan_read.plan is None:
                self.notes.append(f"{what}, of cost {self._cost(plan):.9g}, was left out: {plan_read.reason}")
                return None
            plan = plan_read.plan
        self.hold(plan)
        return plan

    def excludes(self, plan: Plan) -> bool:
        """Return whether rows of the formulation's own are known to exclude a plan that it gave."""
        if not self.own_rows:
            return False
        limits, progress = self.limits, self.progress
        return read_through(self.formulation, self.backend, self.problem, plan, limits, progress).excluded

    def hold(self, plan: Plan) -> None:
        """Report a plan of the formulation."""
        cost = self._cost(plan)
        if self.cost is None or cost < self.cost:
            self.plan, self.cost = plan, cost
        self.progress.report_plan(plan, cost)

    def take_reported(self) -> None:
        """Count the plan that somebody has reported before, where the formulation has rows of its own."""
        plan = self.progress.plan
        if self.own_rows and plan is not None and plan is not self.limits.start and not verify(self.problem, plan):
            self.take(plan, "a plan known from elsewhere")

    @property
    def best(self) -> Plan | None:
        """The best plan known, if it is one."""
        if self.own_rows:
            return self.plan
        plan = self.progress.plan
        return None if plan is None or verify(self.problem, plan) else plan

    def found(self) -> Plan | None:
        """Return a plan found in a small share of the time, by list schedulers or slicing; None where none counts."""
        if self.own_rows and self.formulation.role == "relaxation":
            return None
        return self._listed() if self.problem.timed else self._sliced()

    def _sliced(self) -> Plan | None:
        """Return a plan by slicing, and report it if plans are asked for."""
        slicing = SliceGraph()
        if slicing.accepts(self.problem) is not None:
            return None
        share = self.limits.within(min(SLICE_SHARE * self.limits.remaining, SLICE_SECONDS), start=None)
        aside = self.own_rows or self.formulation.role == "relaxation"
        plan = slicing.solve(self.problem, share, Aside(self.progress) if aside else self.progress).plan
        if plan is None or verify(self.problem, plan):
            return None
        return self.take(plan, "the plan that slicegraph has found") if self.own_rows else plan

    def _listed(self) -> Plan | None:
        """Return the best plan of some list schedulers, and report it."""
        listener = Aside(self.progress) if self.own_rows else self.progress
        for scheduler in (Heft(), Greedy(), Etf()):
            if scheduler.accepts(self.problem) is None:
                share = self.limits.within(LIST_SHARE * self.limits.remaining, start=None)
                scheduler.solve(self.problem, share, listener)
        if self.own_rows and listener.plan is not None and not verify(self.problem, listener.plan):
            self.take(listener.plan, "the plan of the list schedulers")
        return self.best

    def _cost(self, plan: Plan) -> float:
        return evaluate(self.problem, plan).cost
