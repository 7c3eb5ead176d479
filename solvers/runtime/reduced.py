"""A smaller problem and the way back, for methods that work on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.problem import Problem


def identity(plan: Plan) -> Plan:
    """Return the plan itself: the way back from no reduction."""
    return plan


class Reduced:
    """A reduced problem whose plans are lifted, and whose bounds are passed on, as they are reported.

    Attributes:
        original: the problem as asked.
        problem: the smaller problem.
        lift: turns its plans into plans of the original of no larger cost.
        best_plan, best_cost: the best plan of the smaller problem reported so far.
    """

    def __init__(self, original: Problem, problem: Problem, lift: Callable[[Plan], Plan], outer: Progress) -> None:
        self.original, self.problem, self.lift, self.outer = original, problem, lift, outer
        self.best_plan: Plan | None = outer.plan if lift is identity else None
        self.best_cost = outer.cost if lift is identity else None

    def listener(self, must_satisfy: Problem | None = None, enough: Callable[[], bool] = lambda: False) -> Progress:
        """Return a progress for a method on the smaller problem.

        With *must_satisfy*, only plans that satisfy it count: for a method that was given fewer constraints. With
        *enough*, the method is also asked to stop when that is true: for one that looks at no bound.
        """
        return _Listener(self, must_satisfy, enough)

    def take(self, plan: Plan, cost: float) -> None:
        """Lift a plan and report it."""
        if self.best_cost is None or cost < self.best_cost:
            self.best_plan, self.best_cost = plan, cost
        lifted = self.lift(plan)
        self.outer.report_plan(lifted, evaluate(self.original, lifted).cost)


class Aside(Progress):
    """Keeps to itself what is reported, as of a problem whose plans or bounds say nothing yet of the one asked.

    It stops when the outer one does.
    """

    def __init__(self, outer: Progress) -> None:
        super().__init__()
        self._outer = outer

    @property
    def stopped(self) -> bool:
        return self._outer.stopped

    def say(self, message: str) -> None:
        if message:
            self._outer.say(message)


class _Listener(Progress):
    """Passes on to the outer progress what is reported here."""

    def __init__(self, reduced: Reduced, must_satisfy: Problem | None, enough: Callable[[], bool]) -> None:
        super().__init__()
        self._reduced, self._must_satisfy, self._enough = reduced, must_satisfy, enough
        self.started = reduced.outer.started
        if must_satisfy is None:  # the optimum is that of the original, and so are bounds
            self.bound = reduced.outer.bound
            self.plan, self.cost = reduced.best_plan, reduced.best_cost

    @property
    def stopped(self) -> bool:
        return self._reduced.outer.stopped or self._enough()

    def report_plan(self, plan: Plan, cost: float) -> None:
        problem = self._must_satisfy
        if problem is not None and verify(problem, plan):
            super().report_plan(plan, cost)
            return
        with self._lock:
            super().report_plan(plan, cost)
            self._reduced.take(plan, cost if problem is None else evaluate(problem, plan).cost)

    def report_bound(self, bound: Bound) -> None:
        super().report_bound(bound)
        if self._reduced.lift is not identity:  # a certificate speaks of the nodes of the smaller problem
            bound = replace(bound, certificate=None)
        self._reduced.outer.report_bound(bound)

    def report_cost(self, cost: float) -> None:
        super().report_cost(cost)
        if self._must_satisfy is None:  # else the plan may break what was left out, or cost more under it
            self._reduced.outer.report_cost(cost)

    @property
    def wants_solver_log(self) -> bool:
        return self._reduced.outer.wants_solver_log

    def solver_says(self, line: str) -> None:
        self._reduced.outer.solver_says(line)

    def say(self, message: str) -> None:
        if message:
            self._reduced.outer.say(message)
