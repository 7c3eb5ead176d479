"""Run searches that know nothing of labelled constraints, or of sets held apart: their plans are checked against these.

Without these constraints a problem has all its plans and maybe more. So a bound on it is one on the problem, and where
it has no plan, the problem has none. A plan of it counts if it keeps them as it is, or after some nodes have moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Linear, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result, relative_gap
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.mending import Mender

__all__ = ["without_rows"]


def without_rows(
    search: Callable[[Problem, Limits, Progress], Result],
    problem: Problem,
    left: Problem,
    limits: Limits,
    progress: Progress,
) -> Result:
    """Return what *search* finds of *left* that is true of *problem*, which has more constraints.

    Args:
        search: the ``solve`` of a method.
        problem: what is asked.
        left: the same without the constraints that plans are only checked against.
        limits: when to stop, and where to start.
        progress: told of plans that keep all constraints, and of bounds.
    """
    listener = _Checked(problem, _left_out(problem, left), limits, progress)
    found = search(left, limits, listener)
    if found.infeasibility is not None:
        return replace(found, log=tuple(progress.log))
    if found.plan is not None:
        listener.check(found.plan)
    plan, bound = listener.kept, found.bound
    cost = None if plan is None else evaluate(problem, plan).cost
    closed = cost is not None and bound is not None and relative_gap(cost, bound.cost) <= limits.gap
    return replace(
        found,
        termination="complete" if found.termination == "gap" and not closed else found.termination,
        plan=plan,
        evaluation=None if plan is None else evaluate(problem, plan),
        log=tuple(progress.log),
        notes=(*found.notes, *listener.notes(found.method)),
    )


def _left_out(problem: Problem, left: Problem) -> str:
    """Return the constraints of *problem* that *left* does not have, in words."""
    words = {Linear: "the labelled constraints", Separate: "the nodes held apart"}
    return " and ".join(said for kind, said in words.items() if any(problem.of(kind)) and not any(left.of(kind)))


class _Checked(Progress):
    """Hears of plans and bounds of a problem without some constraints, and passes on what is true with them.

    It begins without what is known of the problem: a bound under the constraints is none without them.

    Attributes:
        kept: the best plan that keeps all constraints.
    """

    def __init__(self, problem: Problem, left_out: str, limits: Limits, outer: Progress) -> None:
        super().__init__()
        self.started = outer.started
        self.kept: Plan | None = None
        self._problem, self._left_out, self._limits, self._outer = problem, left_out, limits, outer
        self._mender = Mender(problem)
        self._least = float("inf")
        self._dropped = self._mended = 0

    @property
    def stopped(self) -> bool:
        return self._outer.stopped

    @property
    def wants_solver_log(self) -> bool:
        return self._outer.wants_solver_log

    def solver_says(self, line: str) -> None:
        self._outer.solver_says(line)

    def say(self, message: str) -> None:
        if message:
            self._outer.say(message)

    def report_model(self, path: Any) -> None:
        self._outer.report_model(path)

    def report_plan(self, plan: Plan, cost: float) -> None:
        with self._lock:
            super().report_plan(plan, cost)
            self.check(plan)

    def report_bound(self, bound: Bound) -> None:
        super().report_bound(bound)
        self._outer.report_bound(bound)

    def check(self, plan: Plan) -> None:
        """Keep and report a plan if it, or what mending makes of it, keeps all constraints and is the best."""
        if verify(self._problem, plan):
            mended = self._mender.mended(plan, min(self._limits.remaining, MAX_SECONDS))
            if mended is None or verify(self._problem, mended):
                self._dropped += 1
                return
            self._mended += 1
            plan = mended
        cost = evaluate(self._problem, plan).cost
        if cost < self._least:
            self.kept, self._least = plan, cost
            self._outer.report_plan(plan, cost)

    def notes(self, method: str) -> list[str]:
        """Return what the user should know of the plans that were dropped."""
        if not self._dropped and not self._mended:
            return []
        none = "" if self.kept is not None else "; none of those tried keeps them, which does not prove that none does"
        return [f"{method} searched without {self._left_out}, and its plans were checked against them{none}"]


MAX_SECONDS = 2.0
"""For mending one plan."""
