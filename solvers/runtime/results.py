"""What the baselines share: refusals, and results."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.constraints import Constraint
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result, Termination
from mtpp_dsl.problem import Links, Problem

__all__ = ["Ended", "Taker", "why_not"]


class Ended(Exception):
    """Time is up, or somebody asked to stop."""


def why_not(problem: Problem, name: str, honours: Sequence[type[Constraint]]) -> str | None:
    """Return why method *name*, which honours these constraints, cannot honour *problem*, or None."""
    if problem.objective.quantity != "bottleneck":
        return f"{name} minimises a bottleneck, not a {problem.objective.quantity}"
    if isinstance(problem.interconnect, Links):
        return f"{name} knows the shared and host interconnects, not links"
    if problem.hierarchical:
        return f"{name} has one bandwidth, not another between groups of devices"
    other = next((c for c in problem.constraints if not isinstance(c, tuple(honours))), None)
    return None if other is None else f"{name} cannot honour constraint {other}"


class Taker:
    """Takes plans as they are found, keeps the best that breaks nothing, and makes the result of a run.

    Args:
        name: of the method.
        problem: what is asked.
        limits: when to stop.
        progress: told of every plan that is better than those before.

    Attributes:
        plan, cost: the best plan so far; None and ``inf`` without one.
        broken: how the last plan that was none broke a constraint; "" if none was.
    """

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._name, self._problem, self._limits, self._progress = name, problem, limits, progress
        self.plan: Plan | None = None
        self.cost = float("inf")
        self.broken = ""
        self._notes: dict[str, None] = {}

    def take(self, plan: Plan) -> bool:
        """Keep *plan* if it is the best; return whether it breaks no constraint."""
        broken = verify(self._problem, plan)
        if broken:
            self.broken = str(broken[0])
            return False
        cost = evaluate(self._problem, plan).cost
        if cost < self.cost:
            self.plan, self.cost = plan, cost
            self._progress.report_plan(plan, cost)
        return True

    def note(self, note: str) -> None:
        """Tell the user of this run."""
        self._notes.setdefault(note)

    def pause(self) -> None:
        """Raise :class:`Ended` if it is time to stop."""
        if self._progress.stopped or self._limits.remaining <= 0:
            raise Ended

    def result(self, termination: Termination = "complete", solver: str | None = None) -> Result:
        """Return the best plan; *termination* holds unless the run was stopped."""
        if self._progress.stopped:
            termination = "interrupted"
        elif self._limits.remaining <= 0:
            termination = "time_limit"
        return Result(
            termination=termination,
            plan=self.plan,
            evaluation=None if self.plan is None else evaluate(self._problem, self.plan),
            method=self._name,
            solver=solver,
            seed=self._limits.seed,
            time={"total": self._progress.elapsed},
            log=tuple(self._progress.log),
            notes=tuple(self._notes),
        )
